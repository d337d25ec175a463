"""`intent-router tools`: every tool there is, the files of declared ones checked, one called.

It is called through the same gate and ledger as flows do.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
from pydantic import JsonValue

from router.cli.options import DataFolder, echo_aligned, paths_argument, person, settings_in
from router.contracts.activities import ToolCall
from router.documents.strict_json import strict_json
from router.domain.errors import Forbidden, UnusableResult
from router.domain.principals import FLOW_ROLE
from router.runtime.composition import assembled
from router.runtime.data_folder import made
from router.runtime.definitions import declared_tools, load_tools
from router.settings import Settings
from router.tool.registry import Registry
from router.tool.tool import Tool


async def call(
    settings: Settings, name: str, arguments: dict[str, JsonValue], *, user: str, confirmed: bool
) -> JsonValue:
    """The tool's result; each call of a write has a key of its own, so that two are two."""
    caller = person(settings, user)
    made(settings.data)
    async with assembled(settings) as parts, AsyncExitStack() as reached:
        if name not in parts.offered.registry:  # of an MCP server: starting them takes a while
            await reached.enter_async_context(parts.tools.running())
        tool = parts.offered.registry[name]
        given = ToolCall(
            tool=name,
            arguments=arguments,
            caller=caller,
            key=f"command-line/{uuid4().hex}" if tool.writes else "",
            now=datetime.now(UTC),
        )
        if tool.asks_first and not confirmed:
            await parts.caller.check(given)
            raise Forbidden(f"{name} asks before it is called: look at {arguments}, then add --yes")
        try:
            return await parts.caller.call(given, confirmed)
        except UnusableResult as error:
            expected = re.search(r"Expected `([^`]+)`", str(error.__cause__))
            declared = f" ({expected[1]} was expected)" if expected else ""
            remedy = f"mend what it returns, or the type that it declares{declared}"
            raise UnusableResult(f"{name}: {error}; {remedy}") from error


LOOKED_WITHIN = 10.0
"""Seconds for all MCP servers together; a package runner may need more, as `doctor` allows."""

Row = tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """Every tool there is, and what isn't there or not offered for want of something."""

    registry: Registry
    away: Mapping[str, str]
    """By MCP server, why it isn't there."""
    absent: Mapping[str, str]
    """By file of declared tools, the variable without which there is nothing of it."""
    withheld: Mapping[str, str]
    """By tool, the setting without which nobody is offered it."""


async def every_tool(settings: Settings) -> Listed:
    """The tools of code, files and MCP servers, which are asked all at once."""
    tools = load_tools(settings)
    away, registry = await tools.look(LOOKED_WITHIN), tools.registry
    return Listed(registry, away, tools.absent, withheld(settings, registry))


def withheld(settings: Settings, registry: Registry) -> dict[str, str]:
    """The tools that nobody is offered, each with the setting that would give it."""
    unset = registry.lacking(settings).items()
    return {
        t.name: setting for provider, setting in unset for t in registry if provider in t.providers
    }


def unoffered(listed: Listed) -> Iterator[str]:
    """What is withheld or absent, a sentence for each setting."""
    for setting in dict.fromkeys(listed.withheld.values()):
        names = ", ".join(name for name, lacks in listed.withheld.items() if lacks == setting)
        yield f"not offered to anybody: {names}; set {setting}"
    for path, variable in listed.absent.items():
        yield f"nothing of {Path(path).name}: {variable} isn't set; set it"


def row_of(tool: Tool, kind: str) -> Row:
    """What a line says of the tool: its name, how it is called, where it is, what it does."""
    return (
        tool.name,
        tool.permission,
        " or ".join(sorted(tool.roles)) or "everyone",
        kind,
        Path(tool.source.file).name,
        tool.description.partition("\n")[0],
    )


LEAST: dict[str, JsonValue] = {
    "type": "object",
    "properties": {},
    "required": [],
    "additionalProperties": False,
}
"""What a schema of arguments always says: files and servers may leave it out."""


def object_of(tool: Tool, kind: str, lacks: str | None) -> dict[str, Any]:
    """The same for programs, with its arguments' schema and the setting that it lacks, if any."""
    return {
        "name": tool.name,
        "kind": kind,
        "file": tool.source.file,
        "line": tool.source.line,
        "title": tool.title.model_dump(),
        "description": tool.about.model_dump(),
        "permission": tool.permission,
        "asks_first": tool.asks_first,
        "roles": sorted(tool.roles),
        "parameters": {**LEAST, **tool.parameters},
        "in_english_only": tool.in_english_only,
        "lacks": lacks,
    }


def in_english_only(tools: Iterable[Tool]) -> str | None:
    """Which tools people are offered and read in English, whatever language they speak.

    None where there is none, else a sentence with what to do about it.
    """
    offered = (tool for tool in tools if tool.options.listed and tool.roles != {FLOW_ROLE})
    foreign = [tool.name for tool in offered if tool.in_english_only]
    if not foreign:
        return None
    remedy = "give title, description_zh and labels where they are declared (docs/tools.md)"
    return f"read in English by all, in part at least: {', '.join(foreign)}; {remedy}"


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
    settings = Settings.load()
    listed = asyncio.run(every_tool(settings))
    kinds = [(tool, tool.implementation.kind) for tool in listed.registry]
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


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None,
        paths_argument("JSON files that declare tools, or folders of them.", "those in use"),
    ] = None,
) -> None:
    """Check files of declared tools; name each problem with its file, line and remedy."""
    settings = Settings.load()
    for place in paths or (settings.http_tools,):
        loaded = declared_tools(settings.model_copy(update={"http_tools": place}))
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
    data: DataFolder = None,
) -> None:
    """Call one tool through the gate, as USER, and print its result as JSON."""
    try:
        given = strict_json(arguments)
    except ValueError as error:
        raise typer.BadParameter(f"JSON {arguments!r} isn't JSON: {error}") from None
    if not isinstance(given, dict):
        raise typer.BadParameter(f'JSON {arguments!r} is no object: write {{"name": value}}')
    settings = settings_in(data)
    result = asyncio.run(call(settings, name, given, user=user, confirmed=yes))
    typer.echo(json.dumps(result, ensure_ascii=False))
