"""`intent-router skills`: `validate` and `eval`."""

from pathlib import Path
from typing import Annotated

import typer

from router.cli.options import paths_argument
from router.domain.errors import DefinitionError
from router.runtime.definitions import skill_folders, skill_remarks
from router.settings import Settings
from router.skill.loader import load_all

app = typer.Typer(help="Look after skill folders.")


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None, paths_argument("Skill folders, or folders of them.", "the skills in use")
    ] = None,
) -> None:
    """Check skill folders; name each problem with its file, line and remedy."""
    settings = Settings.load()
    loaded = load_all(paths) if paths else skill_folders(settings).load()
    for remark in skill_remarks(settings, loaded):
        typer.echo(f"warning: {remark}", err=True)
    if loaded.flaws:
        raise DefinitionError(loaded.flaws)
    for found in loaded.found:
        skill, allowed = found.skill, found.skill.allowed_tools
        words = _counted(len(skill.instructions.split()), "word")
        tools = "any tool" if allowed is None else _counted(len(allowed), "tool")
        files = f", {_counted(len(skill.files), 'file')}" if skill.files else ""
        typer.echo(f"ok  {skill.name}: {words}, {tools}{files}")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
