"""The JSON Schema of files that declare tools.

`python -m router.extensions.http.file_schema` writes it again after a change of the models.
"""

from pathlib import Path

from pydantic import TypeAdapter

from router.cli.schemas import JsonSchema, written
from router.extensions.http.declaration import HttpToolEntry, SelectionEntry
from router.extensions.http.temporal import KIND, TemporalToolEntry

FILE = Path(__file__).parent / "schemas" / "tools.json"


def tools_schema() -> JsonSchema:
    """What a file of declared tools may hold: see docs/tools.md."""
    schema = TypeAdapter(HttpToolEntry | SelectionEntry | TemporalToolEntry).json_schema()
    definitions = schema["$defs"]
    for each in ("HttpToolEntry", "SelectionEntry", "TemporalToolEntry"):
        definitions[each]["properties"]["$schema"] = {"type": "string"}
    definitions["entry"] = {
        "if": {"required": ["openapi"]},
        "then": {"$ref": "#/$defs/SelectionEntry"},
        "else": {
            "if": {"required": [KIND]},
            "then": {"$ref": "#/$defs/TemporalToolEntry"},
            "else": {"$ref": "#/$defs/HttpToolEntry"},
        },
    }
    return {
        "title": "Tools that intent-router calls over HTTP, or through Temporal",
        "if": {"type": "array"},
        "then": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
        "else": {
            "if": {"required": ["tools"], "not": {"required": ["openapi"]}},
            "then": _tools_with_defaults(),
            "else": {"$ref": "#/$defs/entry"},
        },
        "$defs": definitions,
    }


def _tools_with_defaults() -> JsonSchema:
    headers = {"type": "object", "description": "Of every tool that doesn't have them itself."}
    defaults = {
        "headers": headers,
        "base_url": {"type": "string", "description": "Before every url that begins with /."},
        "timeout": {"type": ["number", "string"], "description": "Of one that has none."},
    }
    properties = {
        "$schema": {"type": "string"},
        "tools": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
        "defaults": {"type": "object", "properties": defaults, "additionalProperties": False},
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


if __name__ == "__main__":
    FILE.write_text(written(tools_schema()), encoding="utf-8")
