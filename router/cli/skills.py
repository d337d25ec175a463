"""`intent-router skills validate`."""

from pathlib import Path
from typing import Annotated

import typer

from router.cli.paths import paths_argument

app = typer.Typer(help="Look after skill folders.")


@app.callback()
def _skills() -> None:
    """Keep `validate` a command of its own while it is the only one."""


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None, paths_argument("Skill folders, or folders of them.", "the skills in use")
    ] = None,
) -> None:
    """Check skill folders; name each problem with its file, line and remedy."""
    from router.assembly import load_skill_catalog
    from router.settings import Settings
    from router.skill.loader import load_all

    catalog = load_all(paths) if paths else load_skill_catalog(Settings.load())
    for skill in catalog:
        words = len(skill.instructions.split())
        typer.echo(f"ok  {skill.name}: {words} words, {_tools(skill.allowed_tools)}")


def _tools(allowed: frozenset[str] | None) -> str:
    return "any tool" if allowed is None else f"{len(allowed)} tools"
