"""Every tool there is, as `tools list` shows it: in a row for people, as JSON for programs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from router.definitions import lacking, load_tools, mcp_servers
from router.domain.principals import FLOW_ROLE
from router.settings import Settings
from router.tool.http.implementation import HttpImplementation
from router.tool.mcp.publishing import Publisher
from router.tool.mcp.servers import Servers
from router.tool.registry import CODE, Registry
from router.tool.tool import Tool

LOOKED_WITHIN = 10.0
"""Seconds for all MCP servers together; a package runner may need more, as `doctor` allows."""

Kind = Literal["code", "http", "openapi", "mcp"]
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
    """The tools of code, files and MCP servers, which are asked all at once.

    Raises:
        DefinitionError: with every problem of every file.
    """
    (registry, declared), entries = load_tools(settings), mcp_servers(settings)
    file = settings.mcp_servers or Path()
    servers = Servers(entries, settings.environment, Publisher(registry).publish, file)
    away = await servers.look(LOOKED_WITHIN)
    return Listed(registry, away, declared.absent, withheld(settings, registry))


def withheld(settings: Settings, registry: Registry) -> dict[str, str]:
    """The tools that nobody is offered, each with the setting that would give it."""
    unset = lacking(settings).items()
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


def row_of(tool: Tool, kind: Kind) -> Row:
    """What a line says of the tool: its name, how it is called, where it is, what it does."""
    return (
        tool.name,
        tool.permission,
        " or ".join(sorted(tool.roles)) or "everyone",
        kind,
        Path(tool.source.file).name,
        tool.description.partition("\n")[0],
    )


def object_of(tool: Tool, kind: Kind, lacks: str | None) -> dict[str, Any]:
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
        "parameters": schema_of(tool),
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


def schema_of(tool: Tool) -> dict[str, JsonValue]:
    """The JSON Schema of its arguments, which says the same things whoever wrote it.

    Type, properties, which are required and whether others are taken are always there, for
    files and servers leave out what goes without saying.
    """
    always: dict[str, JsonValue] = {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    return {**always, **tool.parameters}


def kind_of(tool: Tool, registry: Registry) -> Kind:
    """Where it comes from: Python, a file, an OpenAPI document, or an MCP server."""
    if isinstance(tool.implementation, HttpImplementation):
        return "openapi" if tool.implementation.from_document else "http"
    return "code" if registry.group_of(tool.name) == CODE else "mcp"
