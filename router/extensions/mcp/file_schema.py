"""The JSON Schema of files of MCP servers.

`python -m router.extensions.mcp.file_schema` writes it again after a change of the models.
"""

from pathlib import Path

from pydantic import TypeAdapter

from router.cli.schemas import JsonSchema, described, written
from router.extensions.mcp.file import LONGEST_SERVER, SERVER, ServerEntry, ToolEntry

FILE = Path(__file__).parent / "schemas" / "mcp.json"


def mcp_schema() -> JsonSchema:
    """What a file of MCP servers may hold: see docs/tools.md."""
    servers = TypeAdapter(dict[str, ServerEntry]).json_schema(by_alias=True)
    definitions = described(servers, [ServerEntry, ToolEntry]).pop("$defs")
    one_way = [
        {"required": [key], "properties": {key: {"type": "string"}}} for key in ("command", "url")
    ]
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


if __name__ == "__main__":
    FILE.write_text(written(mcp_schema()), encoding="utf-8")
