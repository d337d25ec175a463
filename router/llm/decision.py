"""Calls as a JSON answer, for servers that take no functions.

The model is told what it may call, and answers `{"calls": [{"name": …, "arguments": …}]}`;
where the server can hold it to a schema, to this module's.
"""

import json
from collections.abc import Sequence
from typing import Any

from router.llm.chat import AssistantMessage, Function, FunctionCall, ToolMessage
from router.llm.portable import portable
from router.llm.signatures import signature

MAX_TEXT = 1200
MAX_ITEMS = 20
"""A small model in a string or list without an end writes until its tokens are spent, and
what comes back is cut."""


def decision_schema(
    functions: Sequence[Function], max_calls: int, limits: bool = True
) -> dict[str, Any]:
    """The schema of an answer that calls one to `max_calls` of the functions.

    `limits` bounds what the model can write; some servers refuse a schema that has any.
    """
    calls = {"type": "array", "items": {"anyOf": [_call(function) for function in functions]}}
    if limits:
        calls = _limited(calls) | {"minItems": 1, "maxItems": max_calls}
    return _closed({"calls": calls})


def told(functions: Sequence[Function], max_calls: int) -> str:
    """What a model has to know to answer with JSON; the same bytes for the same functions."""
    lines = [
        "Answer with one JSON object and nothing else:",
        '{"calls":[{"name":"<function>","arguments":{…}}]}',
        f"with one to {max_calls} calls. Give every argument; null where there is none."
        if max_calls > 1
        else "with exactly one call. Give every argument; null where there is none.",
        "The functions:",
    ]
    return "\n".join(lines + [_told(function) for function in functions])


def written(message: AssistantMessage) -> str:
    """An earlier answer as it would have been given in JSON."""
    if not message.calls:
        return message.text
    return compact({"calls": [_written(call) for call in message.calls]})


def results(messages: Sequence[ToolMessage]) -> str:
    """What calls came to, for a model that has no messages for it."""
    return "\n".join(f"Result of {message.name}: {message.text}" for message in messages)


def compact(value: Any) -> str:
    """JSON without a byte too many."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _call(function: Function) -> dict[str, Any]:
    return _closed(
        {
            "name": {"type": "string", "enum": [function.name]},
            "arguments": portable(function.parameters),
        }
    )


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _limited(node: Any) -> Any:
    """The schema with an end to every string and list in it."""
    if isinstance(node, list):
        return [_limited(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    limited = {key: _limited(value) for key, value in node.items()}
    named = node.get("type")
    if "enum" not in node and _names(named, "string"):
        limited["maxLength"] = MAX_TEXT
    if _names(named, "array"):
        limited["maxItems"] = MAX_ITEMS
    return limited


def _names(named: Any, kind: str) -> bool:
    return named == kind or (isinstance(named, list) and kind in named)


def _told(function: Function) -> str:
    arguments = signature(portable(function.parameters))
    return f"- {function.name}: {function.description}\n  arguments: {arguments}"


def _written(call: FunctionCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}
