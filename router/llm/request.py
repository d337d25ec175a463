"""What of a question is alike in every protocol: what is used, functions in words, its length.

A server that takes no functions is told what may be called, and the model answers
`{"calls": [{"name": …, "arguments": …}]}`, held to a schema where the server can do that.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import ceil
from typing import Any

from router.llm.schema import portable
from router.llm.servers import Feature, RefusedFeatures, way_of_asking
from router.llm.types import (
    AssistantMessage,
    ChatMessage,
    ChatRequest,
    Function,
    FunctionCall,
    How,
    ShownPicture,
    SystemMessage,
    ToolMessage,
    UserMessage,
)


@dataclass(frozen=True)
class Sending:
    """The body of a request, how it offers the functions, and which features it makes use of."""

    body: dict[str, Any]
    how: How
    features: frozenset[Feature]


class BodyWriter:
    """Puts one body together for a server that refuses these features, and notes what it uses."""

    def __init__(self, request: ChatRequest, refused: RefusedFeatures) -> None:
        self.request = request
        self.how: How = way_of_asking(refused) if request.functions else "text"
        self.body: dict[str, Any] = {}
        self._refused = refused
        self._used: set[Feature] = set()
        shown = any(isinstance(m, UserMessage) and m.pictures for m in request.messages)
        self.sees = shown and self.may("pictures")
        """Whether pictures are shown; else what stands in them is told in words."""

    def may(self, feature: Feature) -> bool:
        """True, and noted as used, where the server doesn't refuse the feature."""
        if feature in self._refused:
            return False
        self._used.add(feature)
        return True

    def use(self, feature: Feature, **part: Any) -> None:
        """Put this part into the body, unless the server refuses the feature."""
        if self.may(feature):
            self.body.update(part)

    def kept(self, message: AssistantMessage, call: str = "") -> list[dict[str, Any]]:
        """What the model thought before a call of the message, or before all, to be given back."""
        found = message.reasoning.at(call)
        return found if found and self.may("reasoning_kept") else []

    @property
    def choice(self) -> str:
        """`required`, `auto`, or nothing: whether a call is asked for, as the server takes it."""
        if not self.may("tool_choice"):
            return ""
        choices: list[Feature] = ["tool_choice=required", "tool_choice=auto"]
        ordered = choices if self.request.must_call else choices[::-1]
        return next(one for one in ordered if self.may(one)).partition("=")[2]

    @property
    def decision(self) -> dict[str, Any]:
        """The schema of an answer that calls functions in JSON."""
        limits = self.may("limits")
        return decision_schema(self.request.functions, self.request.max_calls, limits)

    @property
    def messages(self) -> list[ChatMessage]:
        """The messages, those without functions told as text where the server takes none."""
        own = list(self.request.messages)
        takes_functions = way_of_asking(self._refused) == "functions"
        return numbered(own) if takes_functions else plainly(self.request)

    def sending(self) -> Sending:
        """What was put together."""
        return Sending(self.body, self.how, frozenset(self._used))


def numbered(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages with ids of calls that any provider takes, each used once.

    What another one gave may stand twice in a history, or be none here.
    """
    taken: set[str] = set()
    now: dict[str, str] = {}
    kept: list[ChatMessage] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.calls:
            now = {call.id: _free(call.id, taken) for call in message.calls}
            kept.append(_renamed(message, now))
        elif isinstance(message, ToolMessage):
            known = now.get(message.call_id, message.call_id)
            kept.append(message.replace(call_id=known))
        else:
            kept.append(message)
    return kept


_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _free(id_: str, taken: set[str]) -> str:
    free = id_
    if id_ in taken or not _ID.fullmatch(id_):
        free = next(name for n in count(1) if (name := f"call_{n}") not in taken)
    taken.add(free)
    return free


def _renamed(message: AssistantMessage, now: dict[str, str]) -> AssistantMessage:
    if all(old == new for old, new in now.items()):
        return message

    def call(one: FunctionCall) -> FunctionCall:
        return one.replace(id=now[one.id])

    pieces = tuple(
        each.replace(before=now.get(each.before, each.before)) for each in message.reasoning.pieces
    )
    reasoning = message.reasoning.replace(pieces=pieces)
    calls = tuple(map(call, message.calls))
    return message.replace(calls=calls, reasoning=reasoning)


def plainly(request: ChatRequest) -> list[ChatMessage]:
    """The messages for a server without functions: the rules told, calls and results as text.

    The rules follow the first system message, so that what comes first stays byte-identical.
    """
    rest = list(request.messages)
    leading = [rest.pop(0).text] if rest and isinstance(rest[0], SystemMessage) else []
    rules = [told(request.functions, request.max_calls)] if request.functions else []
    system = "\n\n".join(filter(None, leading + rules))
    plain: list[ChatMessage] = [SystemMessage(text=system)] if system else []
    for is_result, group in groupby(rest, lambda message: isinstance(message, ToolMessage)):
        if is_result:
            plain.append(UserMessage(text="\n".join(map(written, group))))
        else:
            plain += map(_without_calls, group)
    return plain


def _without_calls(message: ChatMessage) -> ChatMessage:
    is_call = isinstance(message, AssistantMessage) and message.calls
    return AssistantMessage(text=written(message)) if is_call else message


def base64_of(picture: ShownPicture) -> str:
    """A picture's content as it travels in JSON."""
    return b64encode(picture.content).decode()


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


def written(message: ChatMessage) -> str:
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


def estimated_prompt_tokens(messages: Sequence[ChatMessage], functions: Sequence[Function]) -> int:
    """A guess at the tokens of a question with the functions it offers."""
    own = (AssistantMessage, UserMessage)
    said = [written(m) if isinstance(m, own) else m.text for m in messages]
    offered = [compact(function.model_dump()) for function in functions]
    shown = sum(len(m.pictures) for m in messages if isinstance(m, UserMessage))
    return sum(map(estimated_tokens, said + offered)) + shown * PER_PICTURE
