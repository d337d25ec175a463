"""What of a question is alike in every protocol: functions told in words, and how long it is.

A server that takes no functions is told what may be called, and the model answers
`{"calls": [{"name": …, "arguments": …}]}`, held to a schema where the server can do that.
"""

import json
import re
from collections.abc import Sequence
from math import ceil
from typing import Any

from router.llm.schema import portable
from router.llm.types import AssistantMessage, Function, Message, ToolMessage, UserMessage


def signature(schema: dict[str, Any]) -> str:
    """What to give for a portable schema, as it would be written with types for values."""
    described = schema.get("description")
    if not described:
        return _type(schema)
    return f"{_type(schema)} {described if described.startswith('(') else f'({described})'}"


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return "|".join(signature(one) for one in schema["anyOf"])
    if "enum" in schema:
        return "|".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    named = schema.get("type", "string")
    return "|".join(_one(name, schema) for name in (named if isinstance(named, list) else [named]))


def _one(name: str, schema: dict[str, Any]) -> str:
    if name == "object":
        inner = schema.get("properties", {}).items()
        return "{" + ", ".join(f'"{key}": {signature(one)}' for key, one in inner) + "}"
    return f"[{signature(schema['items'])}, …]" if name == "array" else name


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
    called = [
        _closed(
            {
                "name": {"type": "string", "enum": [function.name]},
                "arguments": portable(function.parameters),
            }
        )
        for function in functions
    ]
    calls: dict[str, Any] = {"type": "array", "items": {"anyOf": called}}
    if limits:
        calls = _limited(calls) | {"minItems": 1, "maxItems": max_calls}
    return _closed({"calls": calls})


def told(functions: Sequence[Function], max_calls: int) -> str:
    """What a model has to know to answer with JSON; the same bytes for the same functions."""
    calls = f"one to {max_calls} calls" if max_calls > 1 else "exactly one call"
    lines = [
        "Answer with one JSON object and nothing else:",
        '{"calls":[{"name":"<function>","arguments":{…}}]}',
        f"with {calls}. Give every argument; null where there is none.",
        "The functions:",
    ]
    for function in functions:
        arguments = signature(portable(function.parameters))
        lines.append(f"- {function.name}: {function.description}\n  arguments: {arguments}")
    return "\n".join(lines)


def written(message: Message) -> str:
    """A message's text: calls as they would have been given in JSON, and what one came to."""
    if isinstance(message, ToolMessage):
        return f"Result of {message.name}: {message.text}"
    if isinstance(message, UserMessage):
        return message.unseeing
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message.text
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    return compact({"calls": calls})


def compact(value: Any) -> str:
    """JSON without a byte too many."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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
    kinds = named if isinstance(named, list) else [named]
    if "enum" not in node and "string" in kinds:
        limited["maxLength"] = MAX_TEXT
    if "array" in kinds:
        limited["maxItems"] = MAX_ITEMS
    return limited


_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+")
_PER_NARROW = 0.27
_PER_WIDE = 0.75
"""Tokens a character, on the high side for the tokenizers in use: a budget errs on the side
of stopping early."""


def estimated_tokens(text: str) -> int:
    """A guess at the tokens of a text, within about a third of the truth.

    >>> estimated_tokens("请三天年假")
    4
    """
    wide = sum(map(len, _WIDE.findall(text)))
    return ceil(wide * _PER_WIDE + (len(text) - wide) * _PER_NARROW)


PER_PICTURE = 1_600
"""Tokens that a picture of the largest size takes, about: providers count from 800 to 2,500."""


def estimated_prompt_tokens(messages: Sequence[Message], functions: Sequence[Function]) -> int:
    """A guess at the tokens of a question with the functions it offers."""
    own = (AssistantMessage, UserMessage)
    said = [written(m) if isinstance(m, own) else m.text for m in messages]
    offered = [compact(function.model_dump()) for function in functions]
    shown = sum(len(m.pictures) for m in messages if isinstance(m, UserMessage))
    return sum(map(estimated_tokens, said + offered)) + shown * PER_PICTURE
