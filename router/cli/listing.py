"""Every tool there is, as `tools list` shows it: in a row for people, as JSON for programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from router.definitions import load_registry, mcp_servers
from router.domain.principals import FLOW_ROLE
from router.settings import Settings
from router.tool.http.watching import GROUP
from router.tool.mcp.publishing import Publisher
from router.tool.mcp.servers import Servers
from router.tool.registry import CODE, Registry
from router.tool.tool import Tool

LOOKED_WITHIN = 10.0
"""Seconds for all MCP servers together; a package runner may need more, as `doctor` allows."""

Kind = Literal["code", "http", "mcp"]
Row = tuple[str, ...]


async def every_tool(settings: Settings) -> tuple[Registry, Mapping[str, str]]:
    """The tools of code, files and MCP servers, and why each server isn't there that isn't.

    Raises:
        DefinitionError: with every problem of every file.
    """
    registry, entries = load_registry(settings), mcp_servers(settings)
    file = settings.mcp_servers or Path()
    servers = Servers(entries, settings.environment, Publisher(registry).publish, file)
    return registry, await servers.look(LOOKED_WITHIN)


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


def object_of(tool: Tool, kind: Kind) -> dict[str, Any]:
    """The same for programs, with the schema of its arguments."""
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
    }


def in_english_only(registry: Registry) -> list[str]:
    """The tools that people are offered and read in English, whatever language they speak."""
    offered = (tool for tool in registry if tool.options.listed and tool.roles != {FLOW_ROLE})
    return [tool.name for tool in offered if tool.in_english_only]


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
    """Where it comes from: Python, a file that declares it, or an MCP server."""
    group = registry.group_of(tool.name)
    return "code" if group == CODE else "http" if group == GROUP else "mcp"
