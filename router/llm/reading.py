"""A server's answer, whatever it holds, as a `ChatAnswer`. Never raises.

Nothing in an answer is trusted: every field may be missing, of another type, too long, or
made up. What is usable beyond doubt is used, and everything else named among the problems.
"""

from typing import Any

from router.llm.chat import ChatAnswer, ChatRequest, Finish, FunctionCall, How, Usage
from router.llm.json_reading import NotJson, clean_text, read_json
from router.llm.restoring import restored
from router.llm.text_calls import RawCall, TextCalls, calls_in, raw_call, without_thinking
from router.llm.tokens import estimated_prompt_tokens, estimated_tokens

MAX_TEXT = 100_000
MAX_NAME = 64
"""Characters of a name or id, as OpenAI allows them."""
MAX_COUNT = 10**9

_FINISHES: dict[Any, Finish] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


def read_answer(
    body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1
) -> ChatAnswer:
    """The answer in the body of a Chat Completion to this request, which was asked `how`."""
    choice = _first(_get(body, "choices"))
    message = _get(choice, "message")
    finish = _finish(choice)
    found = _found(message, request, how, finish)
    calls, problems = _Calls(request, cut=finish == "length").read(list(found.calls))
    return ChatAnswer(
        text=found.text,
        calls=tuple(calls),
        refusal=_text(_get(message, "refusal")) or None,
        finish=finish,
        usage=_usage(_get(body, "usage"), request, message),
        model=_text(_get(body, "model")) or model,
        how=how,
        attempts=attempts,
        problems=(*_shortcomings(choice, message, finish), *found.problems, *problems),
        prompt=request.prompt,
    )


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _text(value: Any) -> str:
    return clean_text(value[:MAX_TEXT]) if isinstance(value, str) else ""


def _finish(choice: Any) -> Finish:
    reason = _get(choice, "finish_reason")
    return _FINISHES.get(reason, "unknown") if isinstance(reason, str) else "unknown"


def _shortcomings(choice: Any, message: Any, finish: Finish) -> list[str]:
    if not isinstance(message, dict):
        return ["the answer holds no message" if choice else "the answer holds no choices"]
    if finish == "length":
        return ["the answer was cut: it reached the limit of tokens"]
    if finish == "filtered":
        return ["the answer was withheld by the server's content filter"]
    return []


def _found(message: Any, request: ChatRequest, how: How, finish: Finish) -> TextCalls:
    """Text and calls, the latter as such or out of the text."""
    text = without_thinking(_content(_get(message, "content"))).strip()
    listed = _listed(message)
    if listed or not request.functions or not text:
        return TextCalls(text, tuple(listed))
    known = {function.name for function in request.functions}
    is_json = how in {"json_schema", "json_object", "text"}
    return calls_in(text, known, is_json, cut=finish == "length")


def _content(content: Any) -> str:
    """Text, or the text among parts, as some servers give it."""
    if isinstance(content, list):
        return _text("".join(_text(_get(part, "text")) for part in content))
    return _text(content)


def _listed(message: Any) -> list[RawCall]:
    entries = _get(message, "tool_calls")
    old = _get(message, "function_call")
    listed = entries if isinstance(entries, list) else [old] if isinstance(old, dict) else []
    return [
        raw_call(entry) if isinstance(entry, dict) else RawCall(None, entry) for entry in listed
    ]


def _usage(usage: Any, request: ChatRequest, message: Any) -> Usage:
    prompt, completion = _get(usage, "prompt_tokens"), _get(usage, "completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    written = [_content(_get(message, "content"))]
    written += [str(call.arguments)[:MAX_TEXT] for call in _listed(message)]
    return Usage(
        prompt_tokens=estimated_prompt_tokens(request.messages, request.functions),
        completion_tokens=sum(map(estimated_tokens, written)),
        estimated=True,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


class _Calls:
    """Goes through an answer's calls and keeps those that can be used."""

    def __init__(self, request: ChatRequest, cut: bool) -> None:
        self._functions = {function.name: function for function in request.functions}
        self._limit = request.max_calls
        self._cut = cut
        self._calls: list[FunctionCall] = []
        self._given: list[str | None] = []
        self._problems: list[str] = []

    def read(self, raw: list[RawCall]) -> tuple[list[FunctionCall], list[str]]:
        """The usable calls in their order, and what is wrong with the others."""
        for position, call in enumerate(raw, 1):
            if len(self._calls) == self._limit:
                self._leave_out(raw[position - 1 :])
                break
            self._take(position, call, is_last=position == len(raw))
        return self._calls, self._problems

    def _take(self, position: int, call: RawCall, is_last: bool) -> None:
        if not isinstance(call.name, str) or not call.name.strip():
            self._problems.append(f"call {position} names no function")
            return
        name = clean_text(call.name.strip()[:MAX_NAME])
        try:
            arguments, repaired = _arguments(call, cut=self._cut and is_last)
        except NotJson as error:
            self._problems.append(f"call {position} ({name}): its arguments can't be read: {error}")
            return
        self._add(position, call.id, self._call(name, arguments, repaired))

    def _call(self, name: str, arguments: dict[str, Any], repaired: bool) -> FunctionCall:
        function = self._functions.get(name)
        if function is not None:
            arguments = restored(arguments, function.parameters)
        else:
            self._problems.append(f"there is no function {name!r}")
        return FunctionCall(
            id="", name=name, arguments=arguments, known=function is not None, repaired=repaired
        )

    def _add(self, position: int, given: Any, call: FunctionCall) -> None:
        own = given if isinstance(given, str) and 0 < len(given) <= MAX_NAME else None
        if own is not None and own in self._given:
            twin = self._calls[self._given.index(own)]
            if (twin.name, twin.arguments) == (call.name, call.arguments):
                self._problems.append(f"call {position} ({call.name}) repeats the call {own!r}")
                return
        taken = {one.id for one in self._calls}
        name = clean_text(own) if own and own not in taken else _free_id(position, taken)
        self._given.append(own)
        self._calls.append(call.model_copy(update={"id": name}))

    def _leave_out(self, calls: list[RawCall]) -> None:
        names = ", ".join(_named(call) for call in calls[:20])
        more = f" and {len(calls) - 20} more" if len(calls) > 20 else ""  # noqa: PLR2004
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
