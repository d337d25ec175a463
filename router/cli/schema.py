"""`intent-router schema`: JSON Schemas of the files that people write, for their editors."""

from pathlib import Path
from typing import Annotated

import typer

from router.domain.errors import Conflict, MisconfiguredError
from router.runtime.extensions import load_configured, register_flow_kinds
from router.settings import Settings

FOLDER = Path(__file__).parents[1] / "schemas"
CORE_NAMES = ("flow", "story", "skill", "directory", "persona", "tenants")


def schema_files() -> dict[str, Path]:
    """Return the files of all schemas by name: those of the core, and those of extensions."""
    found = {name: FOLDER / f"{name}.json" for name in CORE_NAMES}
    for added in load_configured(Settings.load()).collect(lambda each: each.file_schemas()):
        found = {**found, **{n: each for n, each in added.items() if n not in found}}
    return found


def text_of(name: str) -> str:
    """Return the schema of this name, as JSON: that of flow files with what extensions add."""
    if name == "flow" and (text := _extended_flow_schema()) is not None:
        return text
    return schema_files()[name].read_text("utf-8")


def _extended_flow_schema() -> str | None:
    load_configured(Settings.load()).collect(register_flow_kinds)
    from router.flow.registration import find_added_kinds, find_added_types

    if not find_added_types() and not find_added_kinds():
        return None
    from router.cli.schemas import built

    return built("flow")


def schema(
    name: Annotated[
        str | None, typer.Argument(help="Of which files, such as flow, story or skill.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FOLDER", help="Copy all of them there.")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, or copy all to where an editor finds them.

    The first line of a YAML file then names its own:
    # yaml-language-server: $schema=.schemas/flow.json
    """
    files = schema_files()
    if (name is None) == (write is None) or (name is not None and name not in files):
        raise typer.BadParameter(f"name one of {', '.join(files)}, or --write")
    if name is not None:
        typer.echo(text_of(name), nl=False)
        return
    folder = write or Path()
    copies = {folder / f"{name}.json": text_of(name) for name in files}
    try:
        for path in copies:
            if path.exists() and '"$schema"' not in path.read_text("utf-8", "replace")[:200]:
                raise Conflict(f"{path} is there and no schema: name another folder for --write")
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in copies.items():
            path.write_text(text, encoding="utf-8")
            typer.echo(f"wrote {path}")
    except OSError as error:
        raise MisconfiguredError(
            f"--write {folder} can't be written to ({error.strerror}): name another folder"
        ) from None
