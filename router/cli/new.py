"""`intent-router new`: `flow`, `skill` and `tool`, begun from files that work at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from router.cli.starting_points.written import Written

app = typer.Typer(help="Begin a flow, a skill or a tool with files that work at once.")

Name = Annotated[
    str, typer.Argument(help="What it is called, such as desk_lamp (skills: desk-lamp).")
]
Zh = Annotated[
    str | None, typer.Option("--zh", metavar="WORDS", help="What people call it in Chinese.")
]
En = Annotated[
    str | None,
    typer.Option(
        "--en", metavar="WORDS", help="The same in English.", show_default="the name's words"
    ),
]
Folder = Annotated[
    Path | None, typer.Option(help="Where to write.", show_default="where it is found at once")
]


@app.command()
def flow(name: Name, zh: Zh = None, en: En = None, folder: Folder = None) -> None:
    """Write a flow with stories of it. It loads, and its examples start it and no other."""
    from router.cli.starting_points.flow import new_flow
    from router.cli.starting_points.names import named
    from router.definitions import load_registry
    from router.settings import Settings

    settings = Settings.load()
    names = named("flow", name, zh, en, load_registry(settings).names)
    _write(new_flow(settings, names, folder))


@app.command()
def skill(name: Name, zh: Zh = None, en: En = None, folder: Folder = None) -> None:
    """Write a skill, with lines that people say who mean it."""
    from router.cli.starting_points.names import named
    from router.cli.starting_points.skill import new_skill
    from router.settings import Settings

    _write(new_skill(Settings.load(), named("skill", name, zh, en), folder))


@app.command()
def tool(
    name: Name,
    kind: Annotated[
        Literal["python", "http", "openapi", "mcp"],
        typer.Option(
            help="A function here, a declared request, an operation of an OpenAPI document, "
            "or a program of its own."
        ),
    ] = "python",
    zh: Zh = None,
    en: En = None,
    folder: Folder = None,
) -> None:
    """Write a tool with a test of it."""
    from router.cli.starting_points.names import named
    from router.cli.starting_points.tool import new_tool
    from router.definitions import load_registry
    from router.settings import Settings

    settings = Settings.load()
    names = named("tool", name, zh, en, load_registry(settings).names)
    _write(new_tool(settings, names, kind, folder))


def _write(written: "Written") -> None:
    from router.cli.starting_points.files import write_all

    write_all(written.files)
    for file in written.files:
        typer.echo(f"wrote {file.path}")
    if written.remark:
        typer.echo(f"then  {written.remark}")
    for number, command in enumerate(written.commands):
        typer.echo(f"{'next ' if number == 0 else '     '} {command}")
