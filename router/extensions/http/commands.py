"""The commands of declared tools: their files checked, and a process of the gallery copied."""

from pathlib import Path
from typing import Annotated

import typer

from router.cli.options import paths_argument
from router.cli.scaffold import write_scaffold
from router.extensions.http.scaffold import new_process
from router.extensions.http.settings import HttpSettings
from router.extensions.http.source import load_declared_tools
from router.settings import Settings


def validate(
    paths: Annotated[
        list[Path] | None,
        paths_argument("JSON files that declare tools, or folders of them.", "those in use"),
    ] = None,
) -> None:
    """Check files of declared tools; name each problem with its file, line and remedy.

    Lines that begin with `as` tell what was read otherwise than it is written.
    """
    settings = Settings.load()
    own = settings.section(HttpSettings)
    for place in paths or (own.tools,):
        loaded = load_declared_tools(settings.having(own.replace(tools=place)))
        for tool in loaded.tools:
            typer.echo(f"ok  {tool.name} in {tool.source.file}")
        for note in loaded.notes:
            typer.echo(f"as  {note}")
        for file, variable in loaded.absent.items():
            typer.echo(f"--  nothing of {file}: {variable} isn't set")


def process(
    name: Annotated[str, typer.Argument(help="One of the gallery's, such as overtime.")],
) -> None:
    """Copy a whole process of the gallery: its flow, its stories, and the file of its tools."""
    write_scaffold(new_process(Settings.load(), name))
