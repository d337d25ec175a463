"""The calls of an answer: which can be used, and what is wrong with the others."""

from typing import Any

from router.llm.chat import ChatRequest, FunctionCall
from router.llm.json_reading import NotJson, clean_text, read_json
from router.llm.restoring import restored
from router.llm.text_calls import RawCall

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
