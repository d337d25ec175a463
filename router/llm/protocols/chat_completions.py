"""OpenAI's Chat Completions, as its many servers speak it, each with exceptions of its own.

A question is made of what its server isn't known to refuse.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai

from router.llm.answers import (
    MAX_CALLS,
    MAX_PARTS,
    ParsedAnswer,
    TokenCounts,
    answer_of,
    finish_of,
    first,
    get,
    grown,
    text_of,
)
from router.llm.calls import RawCall, raw_call
from router.llm.protocols import openai_client, openai_listing
from router.llm.refusals import unwrapping
from router.llm.request import BodyWriter, Sending, base64_of, compact
from router.llm.schema import portable
from router.llm.servers import RefusedFeatures
from router.llm.stream import DONE, HttpAnswer, ServerAnswer
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatMessage,
    ChatRequest,
    Finish,
    Function,
    How,
    ReasoningPiece,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

PROVIDER = "openai"


connect, listing = openai_client, openai_listing


def sending(model: str, request: ChatRequest, refused: RefusedFeatures, stream: bool) -> Sending:
    """The body of a request to a server that refuses these features."""
    writer = BodyWriter(request, refused)
    messages = [_message(message, writer) for message in writer.messages]
    writer.body |= {"model": model, "messages": messages}
    # `max_tokens` first: who doesn't know it says so, while servers that don't know
    # `max_completion_tokens` ignore it and write without end.
    name = "max_tokens" if writer.may("max_tokens") else "max_completion_tokens"
    writer.body[name] = request.max_tokens
    if request.temperature is not None:
        writer.use("temperature", temperature=request.temperature)
    if request.effort is not None:
        writer.use("effort", reasoning_effort=request.effort)
    if request.cache_key:
        writer.use("prompt_cache_key", prompt_cache_key=request.cache_key)
    _offer(writer)
    if stream:
        writer.body["stream"] = True
        writer.use("stream_options", stream_options={"include_usage": True})
    return writer.sending()


def _offer(writer: BodyWriter) -> None:
    """Offer the functions as the server takes them."""
    request = writer.request
    if writer.how == "functions":
        writer.may("tools")
        strict = {"strict": True} if writer.may("strict") else {}
        writer.body["tools"] = [_function(one, strict) for one in request.functions]
        if choice := writer.choice:
            writer.body["tool_choice"] = choice
        several = request.max_calls > 1
        writer.use("parallel_tool_calls", parallel_tool_calls=several)
    elif writer.how == "json_schema":
        writer.may("json_schema")
        decision: dict[str, Any] = {"name": "decision", "schema": writer.decision}
        decision |= {"strict": True} if writer.may("strict") else {}
        writer.body["response_format"] = {"type": "json_schema", "json_schema": decision}
    elif writer.how == "json_object":
        writer.use("json_object", response_format={"type": "json_object"})


def _function(function: Function, strict: dict[str, bool]) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description}
    parameters = {"parameters": portable(function.parameters)}
    return {"type": "function", "function": described | parameters | strict}


def _message(message: ChatMessage, writer: BodyWriter) -> dict[str, Any]:
    match message:
        case UserMessage():
            return {"role": "user", "content": _said(message, writer.sees)}
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage():
            return _answered(message, writer)


def _answered(message: AssistantMessage, writer: BodyWriter) -> dict[str, Any]:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": compact(call.arguments)},
        }
        for call in message.calls
    ]
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if not calls:
        return {"role": "assistant", "content": message.text}
    # DeepSeek refuses calls that come back without the thoughts before them.
    for piece in writer.kept(message):
        said |= piece
    return said | {"tool_calls": calls}


def _said(message: UserMessage, sees: bool) -> str | list[dict[str, Any]]:
    """What a person said: words, with the pictures as parts behind them where those are seen."""
    if not sees or not message.pictures:
        return message.unseeing
    urls = (f"data:{one.media_type};base64,{base64_of(one)}" for one in message.pictures)
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}]
    return [*parts, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


@asynccontextmanager
async def post(
    client: openai.AsyncOpenAI, sent: Sending, headers: dict[str, str]
) -> AsyncIterator[ServerAnswer]:
    """The answer while within, as yet unread; raises `StatusAnswer`, `BrokenOff`."""
    create = client.chat.completions.with_streaming_response.create
    # The client walks through what it is given, key by key, for ten milliseconds where functions
    # have schemas; what is extra is sent as it is, in place of what it was given.
    walked: dict[str, Any] = {"messages": [], "model": sent.body["model"]}
    if sent.body.get("stream"):
        walked["stream"] = True
    with unwrapping(openai.APIConnectionError):
        async with create(**walked, extra_body=sent.body, extra_headers=headers) as response:
            yield HttpAnswer(response.headers, response.iter_bytes())


_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


def read(body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1) -> ChatAnswer:
    """The answer in the body of a Chat Completion to this request, which was asked `how`."""
    choice = first(get(body, "choices"))
    message = get(choice, "message")
    key, reasoning = _reasoned(message)
    calls = _listed(message)
    missing = "the answer holds no message" if choice else "the answer holds no choices"
    parsed = ParsedAnswer(
        text=_content(get(message, "content")),
        calls=calls,
        finish=finish_of(get(choice, "finish_reason"), _FINISHES),
        refusal=get(message, "refusal"),
        tokens=_counted(get(body, "usage")),
        model=get(body, "model"),
        thinking=reasoning,
        reasoning=[ReasoningPiece(content={key: reasoning})] if reasoning else [],
        missing="" if isinstance(message, dict) else missing,
    )
    return answer_of(parsed, request, how, model, attempts)


def _reasoned(message: Any) -> tuple[str, str]:
    """What it let see of its thoughts, and what the server calls that."""
    names = ("reasoning_content", "reasoning")
    return next(((name, said) for name in names if (said := text_of(get(message, name)))), ("", ""))


def _content(content: Any) -> str:
    """Text, or the text among parts, as some servers give it."""
    if isinstance(content, list):
        return text_of("".join(text_of(get(part, "text")) for part in content[:MAX_PARTS]))
    return text_of(content)


def _listed(message: Any) -> list[RawCall]:
    entries = get(message, "tool_calls")
    old = get(message, "function_call")
    listed = entries if isinstance(entries, list) else [old] if isinstance(old, dict) else []
    return [raw_call(entry) for entry in listed[:MAX_CALLS]]


def _counted(usage: Any) -> TokenCounts:
    cached = get(usage, "prompt_tokens_details", "cached_tokens")
    # DeepSeek's own name for it.
    cached = get(usage, "prompt_cache_hit_tokens") if cached is None else cached
    return TokenCounts(
        prompt=get(usage, "prompt_tokens"),
        completion=get(usage, "completion_tokens"),
        cached=cached,
        written=get(usage, "prompt_tokens_details", "cache_write_tokens"),
        reasoning=get(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def partial() -> "PartialCompletion":
    """What the events of a streamed answer are put together in."""
    return PartialCompletion()


class PartialCompletion:
    """The pieces of a streamed answer, put together to the body it would have been at once."""

    def __init__(self) -> None:
        self.content = ""
        self.calls: list[dict[str, Any]] = []
        """Each with `index`, `id`, `name` and `arguments` as far as they have come."""
        self._refusal = ""
        self._reasoning, self._reasoning_name = "", "reasoning_content"
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
            if given := get(event, key):
                self._rest[key] = given
        choice = first(get(event, "choices"))
        self._finish = get(choice, "finish_reason") or self._finish
        # Some servers send the last event with the whole message instead of a delta.
        delta = get(choice, "delta") or get(choice, "message")
        self.content = grown(self.content, get(delta, "content"))
        self._refusal = grown(self._refusal, get(delta, "refusal"))
        name, piece = _reasoned(delta)
        self._reasoning = grown(self._reasoning, piece)
        self._reasoning_name = name or self._reasoning_name
        pieces = get(delta, "tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add_call(piece)

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body of a Chat Completion."""
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in self.calls
        ]
        message: dict[str, Any] = {
            "content": self.content,
            "refusal": self._refusal,
            "tool_calls": calls,
        }
        message[self._reasoning_name] = self._reasoning
        choice: dict[str, Any] = {"message": message, "finish_reason": self._finish}
        return {**self._rest, "choices": [choice]}

    def _add_call(self, piece: dict[str, Any]) -> None:
        call = self._call_for(piece)
        function = piece.get("function")
        if call is None or not isinstance(function, dict):
            return
        call["id"] = call["id"] or piece.get("id")
        call["name"] = grown(call["name"], function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, str) and isinstance(call["arguments"], str):
            call["arguments"] = grown(call["arguments"], arguments)
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
