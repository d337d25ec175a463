"""`intent-router tools`: every tool there is, and one called.

It is called through the same gate and ledger as flows do.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any
from uuid import uuid4

import typer
from pydantic import JsonValue

from activities.call_tool import failed_for_good, wait_before
from activities.tool_caller import ToolCaller
from router.cli.checks.dotenv_trust import TrustDotenv, not_looked_at
from router.cli.options import DataFolderOption, echo_aligned, person, settings_in
from router.contracts.activities import ToolCall
from router.contracts.failures import RETRYABLE
from router.domain.errors import Forbidden, Unavailable, UnusableResult
from router.domain.principals import FLOW_ROLE
from router.formats.strict_json import strict_json
from router.runtime.composition import assembled
from router.runtime.data_folder import made
from router.runtime.definitions import load_tools
from router.settings import Settings
from router.settings.environment import of_dotenv
from router.tool.registry import Registry
from router.tool.tool import Tool

SERVER_SECONDS = 20.0
"""For the MCP server of the tool that is called to start, in addition to what all wait for one."""
POLL_SECONDS = 0.1


async def call(
    settings: Settings, name: str, arguments: dict[str, JsonValue], *, user: str, confirmed: bool
) -> JsonValue:
    """The tool's result; each call of a write has a key of its own, so that two are two."""
    caller = person(settings, user)
    made(settings.data)
    async with assembled(settings) as parts, AsyncExitStack() as reached:
        if name not in parts.offered.registry:  # of an MCP server: starting them takes a while
            await reached.enter_async_context(parts.tools.running())
        tool = await _await_tool(parts.offered.registry, name)
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
            return await _insisted(parts.caller, tool, given, confirmed=confirmed)
        except UnusableResult as error:
            expected = re.search(r"Expected `([^`]+)`", str(error.__cause__))
            declared = f" ({expected[1]} was expected)" if expected else ""
            remedy = f"mend what it returns, or the type that it declares{declared}"
            raise UnusableResult(f"{name}: {error}; {remedy}") from error


async def _await_tool(registry: Registry, name: str) -> Tool:
    """Return the tool, as soon as its MCP server has come; raises as the registry does."""
    deadline = monotonic() + SERVER_SECONDS
    while True:
        try:
            return registry[name]
        except Unavailable:
            if monotonic() > deadline:
                raise
        await asyncio.sleep(POLL_SECONDS)


async def _insisted(
    caller: ToolCaller, tool: Tool, given: ToolCall, *, confirmed: bool
) -> JsonValue:
    """The result, tried as often as a turn would, with the same key each time."""
    attempt = 1
    while True:
        try:
            return await caller.call(given, confirmed)
        except RETRYABLE as error:
            if (failure := failed_for_good(given, tool, error, attempt)) is not None:
                raise failure from error
            attempt += 1
            wait = wait_before(attempt, error)
        await asyncio.sleep(wait)


LOOKED_WITHIN = 10.0
"""Seconds for all MCP servers together; a package runner may need more, as `doctor` allows."""


def withheld(settings: Settings, registry: Registry) -> dict[str, str]:
    """The tools that nobody is offered, each with the setting that would give it."""
    unset = registry.lacking(settings).items()
    return {
        t.name: setting for provider, setting in unset for t in registry if provider in t.providers
    }


LEAST: dict[str, JsonValue] = {
    "type": "object",
    "properties": {},
    "required": [],
    "additionalProperties": False,
}
"""What a schema of arguments always says: files and servers may leave it out."""


def in_english_only(tools: Iterable[Tool]) -> str | None:
    """A sentence on tools that all people read in English, with what to do; None for none."""
    offered = (tool for tool in tools if tool.options.listed and tool.roles != {FLOW_ROLE})
    foreign = [tool.name for tool in offered if tool.in_english_only]
    if not foreign:
        return None
    remedy = "give title, description_zh and labels where they are declared (docs/tools.md)"
    return f"read in English by all, in part at least: {', '.join(foreign)}; {remedy}"


def shown_path(file: Path) -> str:
    """Return a file's path from here, or from where Python finds its package."""
    for folder in (Path.cwd(), *(Path(each) for each in sys.path if each)):
        if file.is_relative_to(folder):
            return str(file.relative_to(folder))
    return str(file)


app = typer.Typer(help="List tools, check their files, and call one.")


@app.command("list")
def list_tools(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array, with schemas.")] = False,
    trust_dotenv: TrustDotenv = False,
) -> None:
    """List every tool: its name, whether it reads or writes, who may call it, what it does.

    Before what it does stand its kind and where it is declared. MCP servers are asked, and other
    systems that extensions have tools of, all at once; one that isn't there is named on stderr,
    and the others are listed. So are tools that nobody is offered, with the setting that would
    give them. What only the .env of this folder names is neither started nor asked.
    """
    settings = Settings.load()
    tools = load_tools(settings)
    passed_over = {} if trust_dotenv else tools.named_in(of_dotenv())
    away = asyncio.run(tools.look(LOOKED_WITHIN, but_for=passed_over))
    lacking = withheld(settings, tools.registry)
    if as_json:
        found = [_object_of(tool, lacking.get(tool.name)) for tool in tools.registry]
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        rows = []
        for tool in tools.registry:
            who = " or ".join(sorted(tool.roles)) or "everyone"
            kind, file = tool.implementation.kind, shown_path(Path(tool.source.file))
            about = tool.description.partition("\n")[0]
            rows.append((tool.name, tool.permission, who, kind, file, about))
        echo_aligned(rows)
    for group, variable in passed_over.items():
        typer.echo(f"{group}: {not_looked_at(variable)}", err=True)
    for name, why in away.items():
        typer.echo(f"{name} isn't there: {why}; `intent-router doctor` says more", err=True)
    if foreign := in_english_only(tools.registry):
        typer.echo(foreign, err=True)
    if as_json:
        return
    for setting in dict.fromkeys(lacking.values()):
        names = ", ".join(name for name, lacks in lacking.items() if lacks == setting)
        typer.echo(f"not offered to anybody: {names}; set {setting}", err=True)
    for path, variable in tools.absent.items():
        typer.echo(f"nothing of {shown_path(Path(path))}: {variable} isn't set; set it", err=True)


def _object_of(tool: Tool, lacks: str | None) -> dict[str, Any]:
    """The tool for programs, with its arguments' schema and the setting that it lacks, if any."""
    return {
        "name": tool.name,
        "kind": tool.implementation.kind,
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


@app.command("call")
def call_tool(
    name: Annotated[str, typer.Argument(help="A tool's name: see `tools list`.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments, an object.")],
    user: Annotated[str, typer.Option(help="On whose behalf: a user id from the directory.")],
    yes: Annotated[bool, typer.Option("--yes", help="Let it write.")] = False,
    data: DataFolderOption = None,
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
