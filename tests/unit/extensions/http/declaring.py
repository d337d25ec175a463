"""Files of declared tools, written for a test and loaded."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from router.domain.errors import DefinitionError
from router.extensions.http.declarations import LoadedTools, load_http_tools
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.tool.context import Dependencies
from router.tool.tool import Tool
from tests.fakes.web_server import Got, WebServer
from tests.unit.tool.samples import context

URL = "https://api.example.com/things"


def declaration(**changes: Any) -> dict[str, Any]:
    """A tool that needs nothing, with changes; `endpoint` is changed key by key."""
    endpoint = {"url": URL, **changes.pop("endpoint", {})}
    base = {"name": "get_things", "description": "Gets things.", "endpoint": endpoint}
    return {**base, **changes}


def takes(**properties: Any) -> dict[str, Any]:
    """A schema of required parameters; those whose name ends with `_` may be left out."""
    named = {name.removesuffix("_"): schema for name, schema in properties.items()}
    required = [name for name in properties if not name.endswith("_")]
    return {"type": "object", "properties": named, "required": required}


TEXT = {"type": "string"}
KEY = "s3cret/key=="
"""What `{env.ROUTER_TOOL_KEY}` is."""


class Folder:
    """A folder of declared tools."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, data: Any, name: str = "tool.json") -> Path:
        """Write a file, a second later than before: a text as it is, anything else as JSON."""
        file = self.path / name
        before = file.stat().st_mtime if file.exists() else None
        file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        if before:
            os.utime(file, (before + 1, before + 1))
        return file

    def load(
        self,
        variables: Mapping[str, str] | None = None,
        allowed: tuple[str, ...] = (),
        sender: Sender | None = None,
    ) -> LoadedTools:
        return load_http_tools(self.path, variables or {}, sender or Sender(OutboundGuard(allowed)))

    def problems(self, data: Any, variables: Mapping[str, str] | None = None) -> list[str]:
        """What is said against a file, without its folder; nothing where it is fine."""
        self.write(data)
        try:
            self.load(variables)
        except DefinitionError as error:
            return [str(problem).removeprefix(f"{self.path}/") for problem in error.problems]
        return []

    def tool(self, data: Any, *allowed: str, **variables: str) -> Tool:
        """The one tool of a file."""
        self.write(data)
        (tool,) = self.load(variables, allowed).tools
        return tool


async def call(tool: Tool, key: str = "", /, **arguments: Any) -> Any:
    """What the tool gives, for arguments that it takes."""
    assert tool.implementation.problems(arguments) == []
    return await tool.call(arguments, context(key=key), Dependencies())


class Desk:
    """A server, and tools that are declared to call it."""

    def __init__(self, folder: Folder, server: WebServer) -> None:
        self.folder = folder
        self.server = server

    def tool(self, path: str = "", *allowed: str, takes: Any = None, **endpoint: Any) -> Tool:
        """A tool whose endpoint is there, and which may go to other places that are allowed."""
        parameters = {"parameters": takes} if takes else {}
        data = declaration(endpoint={"url": self.server.origin + path, **endpoint}, **parameters)
        return self.folder.tool(data, self.server.origin, *allowed, ROUTER_TOOL_KEY=KEY)

    async def asked(self, tool: Tool, **arguments: Any) -> Got:
        """The request that a call makes."""
        await call(tool, "k1" if tool.writes else "", **arguments)
        return self.server.requests[-1]
