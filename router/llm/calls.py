"""The calls of an answer: found in text where a server left them there, checked, and repaired.

Every model family has its own marks for calls. Marked ones are taken wherever they stand; bare
JSON and `name(argument="value")` only where they are all there is, since within a sentence they
may be an example. What is usable beyond doubt is used, and all else named among the problems.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from router.llm.json_repair import NotJson, Read, clean_text, read_json
from router.llm.schema import restored
from router.llm.types import ChatRequest, FunctionCall

_THINKING = re.compile(r"\s*<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_TAGGED = re.compile(
    r"<(?P<tag>tool_call|function_call)>(?P<body>.*?)(?:</(?P=tag)>|(?=<(?P=tag)>)|\Z)"
    r"|<function=(?P<name>[\w.:-]+)>(?P<arguments>.*?)(?:</function>|\Z)"
    r"|\[TOOL_CALLS\](?P<list>.*)\Z",
    re.DOTALL,
)
_FENCE = re.compile(r"```(?:json|tool_call|tool_code)?\s*\n")
_DECISION = re.compile(r'\{\s*"calls"\s*:')
_NAME = re.compile(r"([A-Za-z_][\w.-]*)\(")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*=\s*")

MARKS = ("<tool_call>", "<function_call>", "<function=", "[TOOL_CALLS]")
"""What marked calls begin with: nothing from here on is for the user's eyes."""


@dataclass(frozen=True)
class RawCall:
    """A call as it was given: everything in it may be missing or of any type."""

    name: Any
    arguments: Any
    id: Any = None
    repaired: bool = False


@dataclass(frozen=True)
class TextCalls:
    """The calls within a text, what is left of the text, and what couldn't be read."""

    text: str
    calls: tuple[RawCall, ...] = ()
    problems: tuple[str, ...] = ()


def without_thinking(text: str) -> str:
    """The text without the thoughts that it begins with."""
    return _THINKING.sub("", text, count=1) if _THINKING.match(text) else text


def calls_in(text: str, known: AbstractSet[str], is_json: bool, cut: bool = False) -> TextCalls:
    """The calls in a text; `is_json` where JSON was asked for, so that all JSON means calls.

    >>> calls_in('<tool_call>{"name": "now"}</tool_call>', {"now"}, is_json=False).calls
    (RawCall(name='now', arguments=None, id=None, repaired=False),)
    """
    if _TAGGED.search(text):
        return _tagged(text, cut)
    inner = _unfenced(text.strip())
    if is_json:
        inner = _decision(inner)
    if inner.startswith(("{", "[")):
        return _bare(text, inner, known, is_json, cut)
    if (call := _syntax(inner, known)) is not None:
        return TextCalls("", (call,))
    return TextCalls(text)


def _unfenced(text: str) -> str:
    fence = _FENCE.match(text)
    return text[fence.end() :].removesuffix("```").strip() if fence else text


def _decision(text: str) -> str:
    """The decision within sentences that a small model puts around it all the same."""
    opening = _DECISION.search(text)
    if opening is None:
        return text
    found = text[opening.start() :]
    end = found.rfind("}") + 1
    return found if set('{[]"') & set(found[end:]) else found[:end]


def _tagged(text: str, cut: bool) -> TextCalls:
    calls: list[RawCall] = []
    problems: list[str] = []
    for match in _TAGGED.finditer(text):
        # Only what reaches to the end can have been cut.
        try:
            calls += _marked(match, cut and match.end() == len(text))
        except NotJson as error:
            problems.append(f"the call written as {_shown(match[0])} can't be read: {error}")
    return TextCalls(_TAGGED.sub("", text).strip(), tuple(calls), tuple(problems))


def _marked(match: re.Match[str], cut: bool) -> list[RawCall]:
    if match["name"]:
        arguments = read_json(match["arguments"].strip() or "{}", cut)
        return [RawCall(match["name"], arguments.value, repaired=arguments.repaired)]
    read = read_json((match["body"] or match["list"] or "").strip(), cut)
    found = _calls_of(read)
    if not found:
        raise NotJson("it names no function")
    return found


def _bare(text: str, inner: str, known: AbstractSet[str], is_json: bool, cut: bool) -> TextCalls:
    try:
        found = _calls_of(read_json(inner, cut))
    except NotJson as error:
        problem = f"the answer isn't valid JSON: {error}"
        return TextCalls("", (), (problem,)) if is_json else TextCalls(text)
    if is_json and not found:
        return TextCalls("", (), (f"the answer {_shown(inner)} names no function in `calls`",))
    if is_json or any(call.name in known for call in found):
        return TextCalls("", tuple(found))
    return TextCalls(text)


def _calls_of(read: Read) -> list[RawCall]:
    value = read.value
    if isinstance(value, dict) and isinstance(value.get("calls"), list):
        value = value["calls"]
    entries = value if isinstance(value, list) else [value]
    calls = [raw_call(entry, read.repaired) for entry in entries if isinstance(entry, dict)]
    return [call for call in calls if _is_text(call.name)]


def raw_call(entry: dict[str, Any], repaired: bool = False) -> RawCall:
    """A call out of any of the shapes in which they are written."""
    function = entry.get("function")
    inner = function if isinstance(function, dict) else entry
    name = inner.get("name", function if isinstance(function, str) else None)
    arguments = next((inner[key] for key in ("arguments", "parameters") if key in inner), None)
    return RawCall(name, arguments, entry.get("id"), repaired)


def _syntax(text: str, known: AbstractSet[str]) -> RawCall | None:
    """`name(argument="value", …)`, where the name was offered and every value is JSON."""
    match = _NAME.match(text)
    if match is None or match[1] not in known or not text.endswith(")"):
        return None
    # As an object: `{"argument": "value", …}`. An equals sign within a string stays one only
    # where it doesn't look like an argument; where it does, the JSON breaks and it is text.
    written = _ARGUMENT.sub(r'"\1": ', text[match.end() : -1])
    try:
        return RawCall(match[1], read_json(f"{{{written}}}").value, repaired=True)
    except NotJson:
        return None


def _is_text(name: Any) -> bool:
    return isinstance(name, str) and bool(name)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")  # noqa: PLR2004


MAX_NAME = 64
"""Characters of a name or id, as OpenAI allows them."""
MAX_LOOKED_AT = 100
"""Calls, usable or not: nobody wants to hear of a million broken ones."""
MAX_NAMED = 20
"""Calls that are left out by name; more are only counted."""


class CallReader:
    """Goes through an answer's calls and keeps those that can be used."""

    def __init__(self, request: ChatRequest, cut: bool) -> None:
        self._functions = {function.name: function for function in request.functions}
        self._limit = request.max_calls
        self._cut = cut
        self._calls: list[FunctionCall] = []
        self._given: list[str] = []
        self._problems: list[str] = []

    def read(self, raw: list[RawCall]) -> tuple[list[FunctionCall], list[str]]:
        """The usable calls in their order, and what is wrong with the others."""
        for position, call in enumerate(raw, 1):
            if len(self._calls) == self._limit or position > MAX_LOOKED_AT:
                self._leave_out(raw[position - 1 :])
                break
            self._take(position, call, is_last=position == len(raw))
        return self._calls, self._problems

    def _take(self, position: int, call: RawCall, is_last: bool) -> None:
        if not isinstance(call.name, str) or not call.name.strip():
            self._problems.append(f"call {position} names no function")
            return
        name = clean_text(call.name.strip())
        try:
            arguments, repaired = _arguments(call, cut=self._cut and is_last)
        except NotJson as error:
            shown = f"call {position} ({name[:MAX_NAME]})"
            self._problems.append(f"{shown}: its arguments can't be read: {error}")
            return
        self._add(position, call.id, self._call(name, arguments, repaired))

    def _call(self, name: str, arguments: dict[str, Any], repaired: bool) -> FunctionCall:
        function = self._functions.get(name)
        if function is not None:
            arguments = restored(arguments, function.parameters)
        else:
            self._problems.append(f"there is no function {name[:MAX_NAME]!r}")
        return FunctionCall(
            id="",
            name=name[:MAX_NAME],
            arguments=arguments,
            known=function is not None,
            repaired=repaired,
        )

    def _add(self, position: int, given: Any, call: FunctionCall) -> None:
        own = clean_text(given) if isinstance(given, str) and len(given) <= MAX_NAME else ""
        if own and own in self._given:
            twin = self._calls[self._given.index(own)]
            if (twin.name, twin.arguments) == (call.name, call.arguments):
                self._problems.append(f"call {position} ({call.name}) repeats the call {own!r}")
                return
        taken = {one.id for one in self._calls}
        name = own if own and own not in taken else _free_id(position, taken)
        self._given.append(own)
        self._calls.append(call.model_copy(update={"id": name}))

    def _leave_out(self, calls: list[RawCall]) -> None:
        names = ", ".join(_named(call) for call in calls[:MAX_NAMED])
        more = f" and {len(calls) - MAX_NAMED} more" if len(calls) > MAX_NAMED else ""
        self._problems.append(
            f"only {self._limit} calls are taken at once; left out: {names}{more}"
        )


def _named(call: RawCall) -> str:
    return clean_text(call.name[:MAX_NAME]) if isinstance(call.name, str) else "one without a name"


def _free_id(position: int, taken: set[str]) -> str:
    name = f"call_{position}"
    while name in taken:
        name += "x"
    return name


def _arguments(call: RawCall, cut: bool) -> tuple[dict[str, Any], bool]:
    """The arguments as an object: given as one, as its text, or as the text of its text."""
    value, repaired = call.arguments, call.repaired
    for _ in range(2):
        if isinstance(value, str) and value.strip():
            read = read_json(value, cut)
            value, repaired = read.value, repaired or read.repaired or isinstance(read.value, str)
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}, repaired
    if not isinstance(value, dict):
        raise NotJson(f"they are no object but {str(value)[:60]!r}")
    return value, repaired
