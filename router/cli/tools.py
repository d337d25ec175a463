"""`intent-router tools list` and `tools call`."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="List tools, and call one.")


@app.command("list")
def list_tools() -> None:
    """List every tool: its name, whether it reads or writes, who may call it, what it does."""
    from router.assembly import load_registry

    rows = [
        (
            tool.name,
            tool.permission,
            " or ".join(sorted(tool.roles)) or "everyone",
            tool.description.partition("\n")[0],
        )
        for tool in load_registry()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in cells).rstrip())


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
