"""The schemas of directory and MCP files, from the models that they are read into."""

from pydantic import TypeAdapter

from router.cli.schemas.words import JsonSchema, described
from router.directory.file import PersonEntry
from router.tool.mcp.file import ServerEntry, ToolEntry
from router.tool.mcp.names import LONGEST_SERVER, SERVER


def directory_schema() -> JsonSchema:
    """What a directory file may hold: people, by a list."""
    person = described(PersonEntry.model_json_schema(by_alias=True), [PersonEntry])
    definitions = person.pop("$defs", {})
    return {
        "title": "The people of intent-router",
        "type": "object",
        "required": ["users"],
        "properties": {
            "users": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/PersonEntry"}}
        },
        "$defs": {**definitions, "PersonEntry": person},
    }


def mcp_schema() -> JsonSchema:
    """What a file of MCP servers may hold: see docs/tools.md."""
    servers = TypeAdapter(dict[str, ServerEntry]).json_schema(by_alias=True)
    definitions = described(servers, [ServerEntry, ToolEntry]).pop("$defs")
    one_way = [{"required": [key], "properties": {key: {"type": "string"}}} for key in _WAYS]
    definitions["ServerEntry"] |= {"oneOf": one_way}
    by_name = {
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
        "propertyNames": {
            "anyOf": [
                {"const": "$schema"},
                {"pattern": f"^{SERVER.pattern}$", "maxLength": LONGEST_SERVER},
            ]
        },
        "additionalProperties": {"$ref": "#/$defs/ServerEntry"},
    }
    wrapped = {
        "type": "object",
        "properties": {"$schema": {"type": "string"}, "mcpServers": by_name},
        "additionalProperties": False,
    }
    return {
        "title": "MCP servers of intent-router",
        "type": "object",
        "if": {"required": ["mcpServers"]},
        "then": wrapped,
        "else": by_name,
        "$defs": definitions,
    }


_WAYS = ("command", "url")
