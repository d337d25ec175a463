"""`intent-router tools list`, `tools validate` and `tools call`."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from router.cli.paths import paths_argument

app = typer.Typer(help="List tools, check their files, and call one.")


@app.command("list")
def list_tools(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array, with schemas.")] = False,
) -> None:
    """List every tool: its name, whether it reads or writes, who may call it, what it does.

    Before what it does stand its kind and where it is declared. MCP servers are asked, all at
    once; one that isn't there is named on stderr, and the others are listed. So are tools that
    nobody is offered, with the setting that would give them.
    """
    from router.cli.listing import (
        every_tool,
        in_english_only,
        kind_of,
        object_of,
        row_of,
        unoffered,
    )
    from router.settings import Settings

    settings = Settings.load()
    listed = asyncio.run(every_tool(settings))
    kinds = [(tool, kind_of(tool, listed.registry)) for tool in listed.registry]
    if as_json:
        found = [object_of(t, kind, listed.withheld.get(t.name)) for t, kind in kinds]
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        echo_aligned([row_of(*each) for each in kinds])
    for name, why in listed.away.items():
        remedy = f"mend it, or correct {settings.mcp_servers}; `intent-router doctor` says more"
        typer.echo(f"the MCP server {name} isn't there: {why}; {remedy}", err=True)
    if foreign := in_english_only(listed.registry):
        typer.echo(foreign, err=True)
    for said in [] if as_json else unoffered(listed):
        typer.echo(said, err=True)


def echo_aligned(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the rows, which have equally many cells, with their columns one below another."""
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
    from router.definitions import http_tools
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
