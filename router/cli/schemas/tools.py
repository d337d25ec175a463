"""The schema of a file of declared tools, from the rules that it is read by."""

from typing import Any, get_args

from router.cli.schemas.words import JsonSchema
from router.tool.http.openapi import SELECTION_KEYS
from router.tool.http.options import LONGEST, RETRIES, SECONDS
from router.tool.http.reading import ENDPOINT_KEYS, METHODS, TOOL_KEYS
from router.tool.tool import Permission

TEXT: dict[str, Any] = {"type": "string", "pattern": r"\S"}
TEXTS = {"type": "array", "items": TEXT}
NAME = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,62}$"}
BOTH = {
    "type": "object",
    "required": ["zh", "en"],
    "additionalProperties": False,
    "properties": {"zh": TEXT, "en": TEXT},
}
TIMEOUT = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
        {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(ms|s|m)$"},
        {"type": "null"},
    ],
    "description": f"Seconds, or a text such as 500ms; otherwise {SECONDS:g} s.",
}
VALUES = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["string", "number", "boolean"]},
    "description": "By name; {parameter}, {context.user_id} and {env.ROUTER_TOOL_…} are holes.",
}
POINTER = {"type": "string", "pattern": "^(/|$)"}
MOST = {"type": ["integer", "null"], "minimum": 1}
KEYS: dict[str, Any] = {
    "name": {**NAME, "description": "What models and flows call it by.", "examples": ["get_x"]},
    "description": {**TEXT, "description": "What it does, for models and in English."},
    "description_zh": {**TEXT, "description": "The same for people addressed in Chinese."},
    "parameters": {
        "type": "object",
        "description": "JSON Schema of its arguments; x-zh is what a Chinese form calls one.",
    },
    "title": {"anyOf": [TEXT, BOTH, {"type": "null"}], "description": "Its name for people."},
    "examples": {**TEXTS, "description": "What people say who mean it, in both languages."},
    "permission": {
        "enum": [*get_args(Permission), None],
        "description": "Otherwise read for GET and HEAD, else write, which asks first.",
    },
    "confirm": {"type": "boolean", "description": "Ask before a read too."},
    "roles": {**TEXTS, "description": "Who may call it; otherwise everyone."},
    "idempotent": {"type": "boolean", "description": "A second call with its key does nothing."},
    "retries": {
        "type": ["integer", "null"],
        "minimum": 0,
        "description": f"How often it is tried again; null for ever; otherwise {RETRIES}.",
    },
    "timeout": TIMEOUT,
    "result": {
        "anyOf": [
            POINTER,
            {"type": "object", "minProperties": 1, "additionalProperties": POINTER},
            {"type": "null"},
        ],
        "description": "A JSON pointer into the answer, or several by name.",
    },
    "items": {
        "anyOf": [
            MOST,
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {"most": MOST, "keep": TEXTS},
            },
        ],
        "description": "Of a list how many, and which keys of each.",
    },
    "at_once": {**MOST, "description": "How many calls one worker has under way."},
    "openapi": {**TEXT, "description": "The document beside this file, YAML or JSON."},
    "server": {**TEXT, "description": "Otherwise the document's first."},
    "operations": {**TEXTS, "description": "Their operationId."},
    "tags": {**TEXTS, "description": "All operations that have one of them."},
    "prefix": {"type": "string", "description": "Put before every operationId."},
    "headers": VALUES,
    "query_params": VALUES,
    "tools": {"type": "object", "description": "Words for people, by operationId."},
}
ENDPOINT: dict[str, Any] = {
    "url": {**TEXT, "description": "https; {parameter} fills a segment of the path."},
    "method": {
        "type": "string",
        "pattern": f"^(?:{'|'.join([*METHODS, *map(str.lower, METHODS)])})$",
        "description": f"One of {', '.join(METHODS)}; otherwise GET.",
    },
    "headers": VALUES,
    "query_params": VALUES,
    "body": {"description": "JSON, whose texts may have holes."},
    "timeout": TIMEOUT,
}
SCHEMA = {"$schema": {"type": "string"}}


def tools_schema() -> JsonSchema:
    """What a file of declared tools may hold: see docs/tools.md."""
    endpoint = _closed(ENDPOINT_KEYS, ENDPOINT, ["url"])
    tool = _closed(TOOL_KEYS, {**KEYS, "endpoint": endpoint}, ["name", "description", "endpoint"])
    selection = _closed(SELECTION_KEYS, KEYS, ["openapi"])
    one = {"if": {"required": ["openapi"]}, "then": selection, "else": tool}
    several = {"type": "array", "items": {"$ref": "#/$defs/entry"}}
    return {
        "title": "Tools that intent-router calls over HTTP",
        "if": {"type": "array"},
        "then": several,
        "else": {"$ref": "#/$defs/entry"},
        "$defs": {"entry": one},
    }


def _closed(keys: tuple[str, ...], known: dict[str, Any], required: list[str]) -> JsonSchema:
    return {
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": {**SCHEMA, **{key: known[key] for key in keys}},
    }
