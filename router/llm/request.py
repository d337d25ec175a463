"""A question in the format of Chat Completions, made of what its server doesn't refuse.

Portable schemas in the words that a model needs: a third fewer than JSON Schema takes.

Calls as a JSON answer, for servers that take no functions.

The model is told what it may call, and answers `{"calls": [{"name": …, "arguments": …}]}`;
where the server can hold it to a schema, to this module's.

How many tokens a text may have, where nobody counted them.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Any

from router.llm.schema import portable
from router.llm.servers import Feature, Refused, way_of_asking
from router.llm.types import (
    AssistantMessage,
    ChatRequest,
    Function,
    FunctionCall,
    How,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)


def signature(schema: dict[str, Any]) -> str:
    """What to give for a portable schema, as it would be written with types for values.

    >>> signature({"type": "object", "properties": {
    ...     "kind": {"type": "string", "enum": ["annual", "sick"]},
    ...     "days": {"type": ["integer", "null"], "description": "How many"}}})
    '{"kind": "annual"|"sick", "days": integer|null (How many)}'
    """
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
    calls = {
        "type": "array",
        "items": {"anyOf": [_call_schema(function) for function in functions]},
    }
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


def _call_schema(function: Function) -> dict[str, Any]:
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


def estimated_prompt_tokens(messages: Sequence[Message], functions: Sequence[Function]) -> int:
    """A guess at the tokens of a question with the functions it offers."""
    said = [
        written(message) if isinstance(message, AssistantMessage) else message.text
        for message in messages
    ]
    offered = [compact(function.model_dump()) for function in functions]
    return sum(map(estimated_tokens, said + offered))


@dataclass(frozen=True)
class Sending:
    """The body of a request, how it offers the functions, and which features it makes use of."""

    body: dict[str, Any]
    how: How
    features: frozenset[Feature]


def sending(model: str, request: ChatRequest, refused: Refused, stream: bool) -> Sending:
    """What to send for a request to a server that refuses these features."""
    how = way_of_asking(refused) if request.functions else "text"
    return _Writer(model, request, refused, how).write(stream)


class _Writer:
    """Puts one body together and notes what it makes use of."""

    def __init__(self, model: str, request: ChatRequest, refused: Refused, how: How) -> None:
        self._request = request
        self._refused = refused
        self._how: How = how
        self._used: set[Feature] = set()
        self._body: dict[str, Any] = {"model": model, "messages": self._messages()}

    def write(self, stream: bool) -> Sending:
        self._write_limits()
        if self._how == "functions":
            self._write_functions()
        elif self._how == "json_schema":
            self._write_schema()
        elif self._how == "json_object":
            self._use("json_object", response_format={"type": "json_object"})
        if stream:
            self._body["stream"] = True
            self._use("stream_options", stream_options={"include_usage": True})
        return Sending(self._body, self._how, frozenset(self._used))

    def _may(self, feature: Feature) -> bool:
        """True, and noted as used, where the server doesn't refuse the feature."""
        if feature in self._refused:
            return False
        self._used.add(feature)
        return True

    def _use(self, feature: Feature, **part: Any) -> None:
        if self._may(feature):
            self._body.update(part)

    def _messages(self) -> list[dict[str, Any]]:
        request = self._request
        if way_of_asking(self._refused) == "functions":
            return [_message(message) for message in request.messages]
        rules = told(request.functions, request.max_calls) if request.functions else ""
        return _plainly(request.messages, rules)

    def _write_limits(self) -> None:
        # `max_tokens` first: who doesn't know it says so, while servers that don't know
        # `max_completion_tokens` ignore it and write without end.
        name = "max_tokens" if self._may("max_tokens") else "max_completion_tokens"
        self._body[name] = self._request.max_tokens
        if self._request.temperature is not None:
            self._use("temperature", temperature=self._request.temperature)

    def _write_functions(self) -> None:
        self._may("tools")
        strict = {"strict": True} if self._may("strict") else {}
        self._body["tools"] = [_function(one, strict) for one in self._request.functions]
        self._write_choice()
        several = self._request.max_calls > 1
        self._use("parallel_tool_calls", parallel_tool_calls=several)

    def _write_choice(self) -> None:
        choices: list[Feature] = ["tool_choice=required", "tool_choice=auto"]
        ordered = choices if self._request.must_call else choices[::-1]
        if self._may("tool_choice"):
            choice = next(one for one in ordered if self._may(one))
            self._body["tool_choice"] = choice.partition("=")[2]

    def _write_schema(self) -> None:
        self._may("json_schema")
        limits = self._may("limits")
        schema = decision_schema(self._request.functions, self._request.max_calls, limits)
        strict = {"strict": True} if self._may("strict") else {}
        self._body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "decision", "schema": schema, **strict},
        }


def _function(function: Function, strict: dict[str, bool]) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description}
    parameters = {"parameters": portable(function.parameters)}
    return {"type": "function", "function": described | parameters | strict}


def _message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage() | UserMessage():
            return {"role": message.role, "content": message.text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage():
            said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
            if message.calls:
                said["tool_calls"] = [_call(call) for call in message.calls]
            return said


def _call(call: FunctionCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": compact(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _plainly(messages: tuple[Message, ...], rules: str) -> list[dict[str, Any]]:
    """The messages for a server without functions: the rules told, calls and results as text.

    The rules follow the first system message, so that what comes first stays byte-identical.
    """
    leading, rest = (messages[:1], messages[1:]) if _has_system(messages) else ((), messages)
    system = "\n\n".join(filter(None, [*(message.text for message in leading), rules]))
    plain: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for is_result, group in groupby(rest, lambda message: isinstance(message, ToolMessage)):
        found = list(group)
        if is_result:
            told_of = results([one for one in found if isinstance(one, ToolMessage)])
            plain.append({"role": "user", "content": told_of})
        else:
            plain.extend(_plain(message) for message in found)
    return plain


def _plain(message: Message) -> dict[str, Any]:
    text = written(message) if isinstance(message, AssistantMessage) else message.text
    return {"role": message.role, "content": text}


def _has_system(messages: tuple[Message, ...]) -> bool:
    return bool(messages) and isinstance(messages[0], SystemMessage)
