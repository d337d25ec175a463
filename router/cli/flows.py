"""`intent-router flows validate`."""

from pathlib import Path
from typing import Annotated

import typer

from router.cli.paths import paths_argument

app = typer.Typer(help="Look after flow files.")


@app.callback()
def _flows() -> None:
    """Keep `validate` a command of its own while it is the only one."""


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None, paths_argument("Flow files, or folders of them.", "the flows in use")
    ] = None,
) -> None:
    """Check flow files; name each problem with its file, line and remedy."""
    from router.definitions import load_catalog, load_registry
    from router.flow.loader import load_all
    from router.settings import Settings

    settings = Settings.load()
    registry = load_registry(settings)
    known = registry.parameters()
    catalog = load_all(paths, known) if paths else load_catalog(settings, registry)
    for flow in catalog:
        typer.echo(f"ok  {flow.flow} version {flow.version}: {len(flow.states)} states")
