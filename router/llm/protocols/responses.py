"""OpenAI's Responses, with nothing kept by the server.

Items stand where Chat Completions have messages: a call is one, its result another, and so is what
the model thought, sealed, which goes back in before the call that it led to.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import openai

from router.llm.answers import (
    MAX_CALLS,
    ParsedAnswer,
    TokenCounts,
    answer_of,
    dicts,
    get,
    grown,
    text_of,
)
from router.llm.calls import RawCall
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
LEAST_TOKENS = 16
"""OpenAI takes no lower limit."""

connect, listing = openai_client, openai_listing


def sending(model: str, request: ChatRequest, refused: RefusedFeatures, stream: bool) -> Sending:
    """The body of a request to a server that refuses these features."""
    writer = BodyWriter(request, refused)
    items = [item for message in writer.messages for item in _items(message, writer)]
    writer.body |= {
        "model": model,
        "input": items,
        "max_output_tokens": max(LEAST_TOKENS, request.max_tokens),
        "store": False,
    }
    if request.temperature is not None:
        writer.use("temperature", temperature=request.temperature)
    if request.effort is not None:
        writer.use("effort", reasoning={"effort": request.effort})
    writer.use("reasoning_kept", include=["reasoning.encrypted_content"])
    if request.cache_key:
        writer.use("prompt_cache_key", prompt_cache_key=request.cache_key)
    _offer(writer)
    if stream:
        writer.body["stream"] = True
    return writer.sending()


def _offer(writer: BodyWriter) -> None:
    """Offer the functions as the server takes them."""
    request = writer.request
    if writer.how == "functions":
        writer.may("tools")
        strict = writer.may("strict")
        writer.body["tools"] = [_function(one, strict) for one in request.functions]
        if choice := writer.choice:
            writer.body["tool_choice"] = choice
        several = request.max_calls > 1
        writer.use("parallel_tool_calls", parallel_tool_calls=several)
    elif writer.how == "json_schema":
        writer.may("json_schema")
        decision: dict[str, Any] = {"type": "json_schema", "name": "decision"}
        decision |= {"schema": writer.decision, "strict": writer.may("strict")}
        writer.body["text"] = {"format": decision}
    elif writer.how == "json_object":
        writer.use("json_object", text={"format": {"type": "json_object"}})


def _function(function: Function, strict: bool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": function.name,
        "description": function.description,
        "parameters": portable(function.parameters),
        # Left out it means true.
        "strict": strict,
    }


def _items(message: ChatMessage, writer: BodyWriter) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage():
            yield {"role": "user", "content": _said(message, writer.sees)}
        case SystemMessage():
            yield {"role": "system", "content": message.text}
        case ToolMessage():
            told = {"call_id": message.call_id, "output": message.text}
            yield {"type": "function_call_output", **told}
        case AssistantMessage():
            yield from _answered(message, writer)


def _answered(message: AssistantMessage, writer: BodyWriter) -> Iterator[dict[str, Any]]:
    if message.calls:
        # A thought that leads to nothing is refused, and one before words is done with.
        yield from writer.kept(message)
    if message.text:
        yield {"role": "assistant", "content": message.text}
    for call in message.calls:
        yield from writer.kept(message, call.id)
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": compact(call.arguments),
        }


def _said(message: UserMessage, sees: bool) -> str | list[dict[str, Any]]:
    """What a person said: words, with the pictures as parts behind them where those are seen."""
    if not sees or not message.pictures:
        return message.unseeing
    urls = (f"data:{one.media_type};base64,{base64_of(one)}" for one in message.pictures)
    parts: list[dict[str, Any]] = [{"type": "input_text", "text": message.text}]
    return [*parts, *({"type": "input_image", "image_url": url} for url in urls)]


@asynccontextmanager
async def post(
    client: openai.AsyncOpenAI, sent: Sending, headers: dict[str, str]
) -> AsyncIterator[ServerAnswer]:
    """The answer while within, as yet unread; raises `StatusAnswer`, `BrokenOff`."""
    create = client.responses.with_streaming_response.create
    # As for Chat Completions: what is extra isn't walked through.
    walked: dict[str, Any] = {"input": [], "model": sent.body["model"]}
    if sent.body.get("stream"):
        walked["stream"] = True
    with unwrapping(openai.APIConnectionError):
        async with create(**walked, extra_body=sent.body, extra_headers=headers) as response:
            yield HttpAnswer(response.headers, response.iter_bytes())


_SHORT: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "filtered"}


def read(body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1) -> ChatAnswer:
    """The answer in the body of a Response to this request, which was asked `how`."""
    items = dicts(get(body, "output"))
    usage = get(body, "usage")
    parsed = ParsedAnswer(
        tokens=TokenCounts(
            prompt=get(usage, "input_tokens"),
            completion=get(usage, "output_tokens"),
            cached=get(usage, "input_tokens_details", "cached_tokens"),
            written=get(usage, "input_tokens_details", "cache_write_tokens"),
            reasoning=get(usage, "output_tokens_details", "reasoning_tokens"),
        ),
        model=get(body, "model"),
        missing="" if items or get(body, "status") == "incomplete" else "the answer holds no items",
    )
    sealed: list[dict[str, Any]] = []
    for item in items:
        sealed = _take(item, parsed, sealed)
    parsed.text = text_of(parsed.text)
    parsed.finish = _finish(body, parsed)
    return answer_of(parsed, request, how, model, attempts)


def _take(
    item: dict[str, Any], parsed: ParsedAnswer, sealed: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Take one item in; what was thought waits for the call or the words that it leads to."""
    match item.get("type"):
        case "reasoning":
            parsed.thinking = grown(parsed.thinking, _thinking(item) or "…")
            kept = {key: value for key, value in item.items() if key != "status"}
            return [*sealed, kept] if isinstance(item.get("encrypted_content"), str) else sealed
        case "function_call" if len(parsed.calls) < MAX_CALLS:
            place = len(parsed.calls) + 1
            id_ = text_of(item.get("call_id") or item.get("id")) or f"call_{place}"
            parsed.calls.append(RawCall(item.get("name"), item.get("arguments"), id_))
            before = id_ if place > 1 or parsed.text else ""
            parsed.reasoning += [ReasoningPiece(content=one, before=before) for one in sealed]
            return []
        case "message":
            for part in dicts(item.get("content")):
                parsed.text = grown(parsed.text, part.get("text"))
                parsed.refusal = grown(parsed.refusal, part.get("refusal"))
            parsed.reasoning += [ReasoningPiece(content=one) for one in sealed]
            return []
    return sealed


def _thinking(item: dict[str, Any]) -> str:
    parts = [*dicts(item.get("summary")), *dicts(item.get("content"))]
    return "".join(text_of(part.get("text")) for part in parts)


def _finish(body: Any, parsed: ParsedAnswer) -> Finish:
    if get(body, "status") == "incomplete":
        reason = get(body, "incomplete_details", "reason")
        return _SHORT.get(reason, "unknown") if isinstance(reason, str) else "unknown"
    return "calls" if parsed.calls else "stop" if get(body, "output") else "unknown"


def partial() -> "PartialResponse":
    """What the events of a streamed answer are put together in."""
    return PartialResponse()


class PartialResponse:
    """The events of a streamed Response, put together to the body it would have been at once."""

    def __init__(self) -> None:
        self.content = ""
        self.calls: list[dict[str, Any]] = []
        """Each with `item`, `id`, `name` and `arguments` as far as they have come."""
        self._items: list[dict[str, Any]] = []
        self._last: dict[str, Any] = {}
        self._error: Any = None

    @property
    def is_complete(self) -> bool:
        """True where the server said that this is all."""
        return bool(self._last)

    def add(self, event: Any) -> None:
        """Take in one event."""
        match get(event, "type"):
            case "response.output_text.delta":
                self.content = grown(self.content, get(event, "delta"))
            case "response.output_item.added":
                self._begin(get(event, "item"))
            case "response.function_call_arguments.delta" if self.calls:
                call = self._call_at(get(event, "item_id"))
                call["arguments"] = grown(call["arguments"], get(event, "delta"))
            case "response.output_item.done" if isinstance(get(event, "item"), dict):
                self._items.append(event["item"])
            case "response.completed" | "response.incomplete" | "response.failed":
                last = get(event, "response")
                self._last = last if isinstance(last, dict) and last else {"status": "completed"}
            case "error":
                self._error = get(event, "error") or event
            case None if event != DONE:
                self._error = get(event, "error") or self._error

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body of a Response."""
        body = {"output": self._items} | self._last
        if not body["output"]:
            body["output"] = self._items or self._pieced()
        if self._error:
            body["error"] = self._error
        return body

    def _begin(self, item: Any) -> None:
        if get(item, "type") == "function_call" and len(self.calls) < MAX_CALLS:
            about = {"item": item.get("id"), "id": item.get("call_id")}
            name = text_of(item.get("name"))
            self.calls.append({**about, "name": name, "arguments": ""})

    def _call_at(self, item: Any) -> dict[str, Any]:
        return next((call for call in self.calls if call["item"] == item), self.calls[-1])

    def _pieced(self) -> list[dict[str, Any]]:
        """What came in pieces, where no item came whole."""
        said = [{"type": "message", "content": [{"text": self.content}]}] if self.content else []
        calls = [
            {
                "type": "function_call",
                "call_id": call["id"],
                "name": call["name"],
                "arguments": call["arguments"],
            }
            for call in self.calls
        ]
        return [*said, *calls]
