"""The calls of an answer: found in text where a server left them there, checked, and repaired.

Every model family has its own marks for calls. Marked ones are taken wherever they stand; bare
JSON and `name(argument="value")` only where they are all there is, since within a sentence they
may be an example. What is usable beyond doubt is used, and all else named among the problems.
"""

import json
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from router.llm.json_repair import NotJson, Read, clean_text, read_json
from router.llm.schema import restored
from router.llm.types import AnswerProblem, AnswerProblemKind, ChatRequest, FunctionCall

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
_ARGUMENT = re.compile(r"(?<!\w)([A-Za-z_]\w*+)\s*+=\s*")

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
    problems: tuple[AnswerProblem, ...] = ()


def without_thinking(text: str) -> str:
    """The text without the thoughts that it begins with."""
    thoughts = _THINKING.match(text)
    return text[thoughts.end() :] if thoughts else text


def calls_in(text: str, known: AbstractSet[str], is_json: bool, cut: bool = False) -> TextCalls:
    """The calls in a text; `is_json` where JSON was asked for, so that all JSON means calls."""
    if _TAGGED.search(text):
        return _tagged(text, cut)
    inner = text.strip()
    if fence := _FENCE.match(inner):
        inner = inner[fence.end() :].removesuffix("```").strip()
    if is_json and (opening := _DECISION.search(inner)):
        # Within sentences that a small model puts around it all the same.
        inner = inner[opening.start() :]
        end = inner.rfind("}") + 1
        inner = inner if set('{[]"') & set(inner[end:]) else inner[:end]
    if inner.startswith(("{", "[")):
        return _bare(text, inner, known, is_json, cut)
    call = _syntax(inner, known)
    return TextCalls(text) if call is None else TextCalls("", (call,))


def _tagged(text: str, cut: bool) -> TextCalls:
    calls: list[RawCall] = []
    problems: list[AnswerProblem] = []
    for match in islice(_TAGGED.finditer(text), MAX_LOOKED_AT):
        # Only what reaches to the end can have been cut.
        try:
            calls += _marked(match, cut and match.end() == len(text))
        except NotJson as error:
            why = f"the call written as {_shown(match[0])} can't be read: {error}"
            problems.append(AnswerProblem(kind="unreadable", text=why))
    return TextCalls(_TAGGED.sub("", text).strip(), tuple(calls), tuple(problems))


def _marked(match: re.Match[str], cut: bool) -> list[RawCall]:
    if match["name"]:
        arguments = read_json(match["arguments"].strip() or "{}", cut)
        return [RawCall(match["name"], arguments.value, repaired=arguments.repaired)]
    if found := _calls_of(read_json((match["body"] or match["list"] or "").strip(), cut)):
        return found
    raise NotJson("it names no function")


def _bare(text: str, inner: str, known: AbstractSet[str], is_json: bool, cut: bool) -> TextCalls:
    try:
        found = _calls_of(read_json(inner, cut))
    except NotJson as error:
        problem = AnswerProblem(kind="not_json", text=f"the answer isn't valid JSON: {error}")
        return TextCalls("", (), (problem,)) if is_json else TextCalls(text)
    if is_json and not found:
        why = f"the answer {_shown(inner)} names no function in `calls`"
        return TextCalls("", (), (AnswerProblem(kind="nameless", text=why),))
    if is_json or any(call.name in known for call in found):
        return TextCalls("", tuple(found))
    return TextCalls(text)


def _calls_of(read: Read) -> list[RawCall]:
    value = read.value
    if isinstance(value, dict) and isinstance(value.get("calls"), list):
        value = value["calls"]
    entries = value if isinstance(value, list) else [value]
    calls = [raw_call(entry, read.repaired) for entry in entries if isinstance(entry, dict)]
    return [call for call in calls if isinstance(call.name, str) and call.name]


def raw_call(entry: Any, repaired: bool = False) -> RawCall:
    """A call out of any of the shapes in which they are written; whatever else it is, its name."""
    if not isinstance(entry, dict):
        return RawCall(None, entry)
    function = entry.get("function")
    inner = function if isinstance(function, dict) else entry
    name = inner.get("name", function if isinstance(function, str) else None)
    arguments = inner.get("arguments", inner.get("parameters"))
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
        self._by_id: dict[str, FunctionCall] = {}
        """Those that came with an id: the first of each."""
        self._problems: list[AnswerProblem] = []

    def read(self, raw: Sequence[RawCall]) -> tuple[list[FunctionCall], list[AnswerProblem]]:
        """The usable calls in their order, and what is wrong with the others."""
        for position, call in enumerate(raw, 1):
            if len(self._calls) == self._limit or position > MAX_LOOKED_AT:
                left = raw[position - 1 :]
                named = (_name_of(one)[:MAX_NAME] for one in left[:MAX_NAMED])
                names = ", ".join(name or "one without a name" for name in named)
                names += f" and {len(left) - MAX_NAMED} more" if len(left) > MAX_NAMED else ""
                text = f"only {self._limit} calls are taken at once; left out: {names}"
                self._problems.append(AnswerProblem(kind="surplus", text=text, names=names))
                break
            self._take(position, call, cut=self._cut and position == len(raw))
        return self._calls, self._problems

    def _take(self, position: int, call: RawCall, cut: bool) -> None:
        name = _name_of(call).strip()
        if not name:
            self._note("nameless", f"call {position} names no function")
            return
        shown = f"call {position} ({name[:MAX_NAME]})"
        try:
            arguments, repaired = _arguments(call, cut)
        except NotJson as error:
            self._note("unreadable", f"{shown}: its arguments can't be read: {error}")
            return
        function = self._functions.get(name)
        if function is None:
            self._note("unoffered", f"there is no function {name[:MAX_NAME]!r}")
        else:
            arguments = restored(arguments, function.parameters)
        given = clean_text(call.id) if isinstance(call.id, str) and len(call.id) <= MAX_NAME else ""
        twin = self._by_id.get(given)
        if twin and (twin.name, twin.arguments) == (name[:MAX_NAME], arguments):
            self._note("repeated", f"{shown} repeats the call {given!r}")
            return
        made = FunctionCall(
            id=self._free_id(given, position),
            name=name[:MAX_NAME],
            arguments=arguments,
            known=function is not None,
            repaired=repaired,
        )
        self._calls.append(made)
        if given:
            self._by_id.setdefault(given, made)

    def _note(self, kind: AnswerProblemKind, text: str) -> None:
        self._problems.append(AnswerProblem(kind=kind, text=text))

    def _free_id(self, given: str, position: int) -> str:
        taken = {one.id for one in self._calls}
        if given and given not in taken:
            return given
        return next(name for n in count() if (name := f"call_{position}{'x' * n}") not in taken)


def _name_of(call: RawCall) -> str:
    return clean_text(call.name) if isinstance(call.name, str) else ""


def _as_text(arguments: dict[str, Any]) -> str:
    """Arguments that came as an object, to be bounded and cleaned as those that come as text."""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        raise NotJson("they are nested too deeply") from None


def _arguments(call: RawCall, cut: bool) -> tuple[dict[str, Any], bool]:
    """The arguments as an object: given as one, as its text, or as the text of its text."""
    value, repaired = call.arguments, call.repaired
    if isinstance(value, dict):
        value = _as_text(value)
    for _ in range(2):
        if isinstance(value, str) and value.strip():
            read = read_json(value, cut)
            value, repaired = read.value, repaired or read.repaired or isinstance(read.value, str)
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}, repaired
    if not isinstance(value, dict):
        raise NotJson(f"they are no object but {str(value)[:60]!r}")
    return value, repaired
