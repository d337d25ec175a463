"""OpenAI's Chat Completions, as its many servers speak it, each with exceptions of its own.

A question is made of what its server isn't known to refuse. In an answer every field may be
missing, of another type, too long, or made up.
"""

from base64 import b64encode
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import Any

import openai

from router.llm.calls import CallReader, RawCall, TextCalls, calls_in, raw_call, without_thinking
from router.llm.json_repair import MAX_LENGTH, clean_text
from router.llm.protocols import Sending
from router.llm.request import (
    compact,
    decision_schema,
    estimated_prompt_tokens,
    estimated_tokens,
    told,
    written,
)
from router.llm.schema import portable
from router.llm.servers import Feature, Refused, way_of_asking
from router.llm.stream import DONE
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatRequest,
    Finish,
    Function,
    How,
    Message,
    SystemMessage,
    TokenUsage,
    ToolMessage,
    UserMessage,
)


def sending(model: str, request: ChatRequest, refused: Refused, stream: bool) -> Sending:
    """The body of a request to a server that refuses these features."""
    how = way_of_asking(refused) if request.functions else "text"
    return _Writer(model, request, refused, how).write(stream)


def post(
    client: openai.AsyncOpenAI, sent: Sending, headers: dict[str, str]
) -> AbstractAsyncContextManager[Any]:
    """The response while within, its body unread; raises the client's errors."""
    create = client.chat.completions.with_streaming_response.create
    # The client walks through what it is given, key by key, for ten milliseconds where functions
    # have schemas; what is extra is sent as it is, in place of what it was given.
    walked: dict[str, Any] = {"messages": [], "model": sent.body["model"]}
    if sent.body.get("stream"):
        walked["stream"] = True
    return create(**walked, extra_body=sent.body, extra_headers=headers)


def read(body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1) -> ChatAnswer:
    """The answer in the body of a Chat Completion to this request, which was asked `how`."""
    choice = _first(_get(body, "choices"))
    message = _get(choice, "message")
    finish = _finish(choice)
    found = _found(message, request, how, finish)
    calls, problems = CallReader(request, cut=finish == "length").read(list(found.calls))
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


class _Writer:
    """Puts one body together and notes what it makes use of."""

    def __init__(self, model: str, request: ChatRequest, refused: Refused, how: How) -> None:
        self._request = request
        self._refused = refused
        self._how: How = how
        self._used: set[Feature] = set()
        shown = any(isinstance(m, UserMessage) and m.pictures for m in request.messages)
        sees = shown and self._may("pictures")
        if way_of_asking(refused) == "functions":
            messages = [_message(message, sees) for message in request.messages]
        else:
            messages = _plainly(request, sees)
        self._body: dict[str, Any] = {"model": model, "messages": messages}

    def write(self, stream: bool) -> Sending:
        # `max_tokens` first: who doesn't know it says so, while servers that don't know
        # `max_completion_tokens` ignore it and write without end.
        name = "max_tokens" if self._may("max_tokens") else "max_completion_tokens"
        self._body[name] = self._request.max_tokens
        if self._request.temperature is not None:
            self._use("temperature", temperature=self._request.temperature)
        if self._how == "functions":
            self._may("tools")
            strict = {"strict": True} if self._may("strict") else {}
            self._body["tools"] = [_function(one, strict) for one in self._request.functions]
            if self._may("tool_choice"):
                choices: list[Feature] = ["tool_choice=required", "tool_choice=auto"]
                ordered = choices if self._request.must_call else choices[::-1]
                choice = next(one for one in ordered if self._may(one))
                self._body["tool_choice"] = choice.partition("=")[2]
            several = self._request.max_calls > 1
            self._use("parallel_tool_calls", parallel_tool_calls=several)
        elif self._how == "json_schema":
            self._may("json_schema")
            limits = self._may("limits")
            schema = decision_schema(self._request.functions, self._request.max_calls, limits)
            decision: dict[str, Any] = {"name": "decision", "schema": schema}
            decision |= {"strict": True} if self._may("strict") else {}
            self._body["response_format"] = {"type": "json_schema", "json_schema": decision}
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


def _function(function: Function, strict: dict[str, bool]) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description}
    parameters = {"parameters": portable(function.parameters)}
    return {"type": "function", "function": described | parameters | strict}


def _message(message: Message, sees: bool) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": _said(message, sees)}
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage():
            said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
            calls = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": compact(call.arguments)},
                }
                for call in message.calls
            ]
            return said | ({"tool_calls": calls} if calls else {})


def _said(message: UserMessage, sees: bool) -> str | list[dict[str, Any]]:
    """What a person said: words, with the pictures as parts behind them where those are seen."""
    if not sees or not message.pictures:
        return message.unseeing
    urls = (
        f"data:{one.media_type};base64,{b64encode(one.content).decode()}"
        for one in message.pictures
    )
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}]
    return [*parts, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


def _plainly(request: ChatRequest, sees: bool) -> list[dict[str, Any]]:
    """The messages for a server without functions: the rules told, calls and results as text.

    The rules follow the first system message, so that what comes first stays byte-identical.
    """
    rest = list(request.messages)
    leading = [rest.pop(0).text] if rest and isinstance(rest[0], SystemMessage) else []
    rules = [told(request.functions, request.max_calls)] if request.functions else []
    system = "\n\n".join(filter(None, leading + rules))
    plain: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for is_result, group in groupby(rest, lambda message: isinstance(message, ToolMessage)):
        if is_result:
            plain.append({"role": "user", "content": "\n".join(map(written, group))})
        else:
            plain += [{"role": one.role, "content": _in_words(one, sees)} for one in group]
    return plain


def _in_words(message: Message, sees: bool) -> str | list[dict[str, Any]]:
    return _said(message, sees) if isinstance(message, UserMessage) else written(message)


MAX_TEXT = 100_000
MAX_COUNT = 10**9
MAX_PARTS = 1_000
MAX_CALLS = 200
"""Of one answer."""

_FINISHES: dict[Any, Finish] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


_SHORT: dict[Finish, str] = {
    "length": "the answer was cut: it reached the limit of tokens",
    "filtered": "the answer was withheld by the server's content filter",
}


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
    return [_SHORT[finish]] if finish in _SHORT else []


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
        return _text("".join(_text(_get(part, "text")) for part in content[:MAX_PARTS]))
    return _text(content)


def _listed(message: Any) -> list[RawCall]:
    entries = _get(message, "tool_calls")
    old = _get(message, "function_call")
    listed = entries if isinstance(entries, list) else [old] if isinstance(old, dict) else []
    return [raw_call(entry) for entry in listed[:MAX_CALLS]]


def _usage(usage: Any, request: ChatRequest, message: Any) -> TokenUsage:
    prompt, completion = _get(usage, "prompt_tokens"), _get(usage, "completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return TokenUsage(prompt_tokens=prompt, completion_tokens=completion)
    written = [_content(_get(message, "content"))]
    written += [str(call.arguments)[:MAX_TEXT] for call in _listed(message)]
    return TokenUsage(
        prompt_tokens=estimated_prompt_tokens(request.messages, request.functions),
        completion_tokens=sum(map(estimated_tokens, written)),
        estimated=True,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


class Partial:
    """The pieces of a streamed answer, put together to the body it would have been at once."""

    def __init__(self) -> None:
        self.content = ""
        self.calls: list[dict[str, Any]] = []
        """Each with `index`, `id`, `name` and `arguments` as far as they have come."""
        self._refusal = ""
        self._finish: Any = None
        self._rest: dict[str, Any] = {}
        self._is_done = False

    @property
    def is_complete(self) -> bool:
        """True where the server said that this is all."""
        return self._is_done or self._finish is not None

    def add(self, event: Any) -> None:
        """Take in one event."""
        self._is_done = self._is_done or event == DONE
        for key in ("usage", "model", "error"):
            if given := _get(event, key):
                self._rest[key] = given
        choice = _first(_get(event, "choices"))
        self._finish = _get(choice, "finish_reason") or self._finish
        # Some servers send the last event with the whole message instead of a delta.
        delta = _get(choice, "delta") or _get(choice, "message")
        self.content = _grown(self.content, _get(delta, "content"))
        self._refusal = _grown(self._refusal, _get(delta, "refusal"))
        pieces = _get(delta, "tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add_call(piece)

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body of a Chat Completion."""
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in self.calls
        ]
        message = {"content": self.content, "refusal": self._refusal, "tool_calls": calls}
        choice = {"message": message, "finish_reason": self._finish}
        return {**self._rest, "choices": [choice]}

    def _add_call(self, piece: dict[str, Any]) -> None:
        call = self._call_for(piece)
        function = piece.get("function")
        if call is None or not isinstance(function, dict):
            return
        call["id"] = call["id"] or piece.get("id")
        call["name"] = _grown(call["name"], function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, str) and isinstance(call["arguments"], str):
            call["arguments"] = _grown(call["arguments"], arguments)
        elif arguments is not None:
            call["arguments"] = arguments

    def _call_for(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        """The call that a piece goes on with, or a new one.

        By its index; but an index may be missing, or the same for all, so another id begins
        another call.
        """
        index, given = piece.get("index"), piece.get("id")
        same = [call for call in self.calls if index is None or call["index"] == index]
        if same and (not given or same[-1]["id"] in (None, given)):
            return same[-1]
        if len(self.calls) >= MAX_CALLS:
            return None
        self.calls.append({"index": index, "id": given, "name": "", "arguments": ""})
        return self.calls[-1]


def _grown(text: str, piece: Any) -> str:
    """The text with a piece more, unless it is longer already than anything that is read."""
    return text + piece if isinstance(piece, str) and len(text) <= MAX_LENGTH else text
