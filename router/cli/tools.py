"""`intent-router tools list`, `tools validate` and `tools call`."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from router.cli.paths import paths_argument

app = typer.Typer(help="List tools, check their files, and call one.")


@app.command("list")
def list_tools() -> None:
    """List every tool: its name, whether it reads or writes, who may call it, what it does.

    Before what it does stand its kind and where it is declared.
    """
    from router.assembly import load_registry
    from router.settings import Settings

    registry = load_registry(Settings.load())
    rows = [
        (
            tool.name,
            tool.permission,
            " or ".join(sorted(tool.roles)) or "everyone",
            registry.group_of(tool.name),
            Path(tool.source.file).name,
            tool.description.partition("\n")[0],
        )
        for tool in registry
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in cells).rstrip())


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None,
        paths_argument("JSON files that declare tools, or folders of them.", "those in use"),
    ] = None,
) -> None:
    """Check files of declared tools; name each problem with its file, line and remedy."""
    from router.assembly import http_tools
    from router.settings import Settings
    from router.tool.registry import Registry

    settings = Settings.load()
    for place in paths or (settings.http_tools,):
        chosen = settings.model_copy(update={"http_tools": place})
        loaded = http_tools(chosen, Registry()).load()
        for tool in loaded.tools:
            typer.echo(f"ok  {tool.name} in {tool.source.file}")
        for file, variable in loaded.absent.items():
            typer.echo(f"--  nothing of {file}: {variable} isn't set")


@app.command("call")
def call_tool(
    name: Annotated[str, typer.Argument(help="A tool's name: see `tools list`.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments, an object.")],
    user: Annotated[str, typer.Option(help="On whose behalf: a user id from the directory.")],
    yes: Annotated[bool, typer.Option("--yes", help="Let it write.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="The data folder of `dev`.", show_default=".data")
    ] = None,
) -> None:
    """Call one tool through the gate, as USER, and print its result as JSON."""
    given = _object(arguments)

    from router.cli.calling import call
    from router.settings import Settings

    settings = Settings.load(**({} if data is None else {"data": data}))
    result = asyncio.run(call(settings, name, given, user=user, confirmed=yes))
    typer.echo(json.dumps(result, ensure_ascii=False))


def _object(written: str) -> dict[str, Any]:
    try:
        value = json.loads(written)
    except json.JSONDecodeError as error:
        raise typer.BadParameter(f"JSON {written!r} isn't JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f'JSON {written!r} is no object: write {{"name": value}}')
    return value
