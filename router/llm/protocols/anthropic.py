"""Anthropic's Messages.

What the system says stands apart, people and models take turns, results of calls come first in
what a person says next, and what the model thought goes back in before its call, untouched.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import Any

import httpx2

from router.llm.answers import (
    MAX_CALLS,
    ParsedAnswer,
    TokenCounts,
    answer_of,
    count_of,
    dicts,
    finish_of,
    get,
    grown,
    text_of,
)
from router.llm.calls import RawCall
from router.llm.http_server import HttpServer
from router.llm.request import BodyWriter, Sending, base64_of
from router.llm.schema import portable
from router.llm.servers import ModelListing, RefusedFeatures
from router.llm.stream import ServerAnswer
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

PROVIDER = "anthropic"
VERSION = "2023-06-01"
CACHED = {"type": "ephemeral"}
"""Two of the four marks that a request may have: behind the rules, and behind what was said."""
UNSPOKEN = "…"
"""Stands where nothing was said: an empty text is refused, and so is a dialogue that the model
begins."""


def connect(base_url: str, api_key: str | None, carrier: httpx2.AsyncClient) -> HttpServer:
    """Return the server, to be posted to."""
    return HttpServer(carrier, _root(base_url), _headers(api_key))


def listing(base_url: str, api_key: str | None) -> ModelListing:
    """Return where the server lists its models."""
    return ModelListing(f"{_root(base_url)}/models", _headers(api_key))


def _headers(api_key: str | None) -> dict[str, str]:
    key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    return {"anthropic-version": VERSION} | key


def _root(base_url: str) -> str:
    """Return the address with its version, with which it may end already."""
    return f"{base_url.rstrip('/').removesuffix('/v1')}/v1"


def sending(model: str, request: ChatRequest, refused: RefusedFeatures, stream: bool) -> Sending:
    """The body of a request to a server that refuses these features."""
    # There is no way to ask for JSON of any shape.
    writer = BodyWriter(request, refused | {"json_object"})
    messages = writer.messages
    system = [m.text for m in messages if isinstance(m, SystemMessage)]
    writer.body |= {"model": model, "max_tokens": request.max_tokens}
    if system:
        told = _text("\n\n".join(system))
        # Tools are read before it: this keeps both.
        writer.body["system"] = [_marked(told, writer)]
    writer.body["messages"] = _turns(messages, writer)
    if request.temperature is not None:
        writer.use("temperature", temperature=request.temperature)
    config: dict[str, Any] = {}
    if request.effort is not None and writer.may("effort"):
        config["effort"] = request.effort
        writer.body["thinking"] = {"type": "adaptive"}
    if writer.how == "functions":
        _offer(writer)
    elif writer.how == "json_schema":
        writer.may("json_schema")
        config["format"] = {"type": "json_schema", "schema": writer.decision}
    if config:
        writer.body["output_config"] = config
    if stream:
        writer.body["stream"] = True
    return writer.sending()


def _offer(writer: BodyWriter) -> None:
    """Offer the functions as the server takes them."""
    request = writer.request
    writer.may("tools")
    strict = {"strict": True} if writer.may("strict") else {}
    writer.body["tools"] = [_function(one, strict) for one in request.functions]
    if choice := writer.choice:
        chosen: dict[str, Any] = {"type": "any" if choice == "required" else "auto"}
        if request.max_calls == 1 and writer.may("parallel_tool_calls"):
            chosen["disable_parallel_tool_use"] = True
        writer.body["tool_choice"] = chosen


def _function(function: Function, strict: dict[str, bool]) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description}
    return {**described, "input_schema": portable(function.parameters), **strict}


def _turns(messages: list[ChatMessage], writer: BodyWriter) -> list[dict[str, Any]]:
    """What was said, by turns: the first is a person's, and results come before words."""
    said = [message for message in messages if not isinstance(message, SystemMessage)]
    lasting = _lasting(said)
    turns: list[dict[str, Any]] = []
    for is_model, group in groupby(said, lambda one: isinstance(one, AssistantMessage)):
        blocks: list[dict[str, Any]] = []
        for message in group:
            blocks += _blocks(message, writer)
            if message is lasting and blocks:
                blocks[-1] = _marked(blocks[-1], writer)
        if not is_model:
            blocks.sort(key=lambda block: block["type"] != "tool_result")
        role = "assistant" if is_model else "user"
        turns.append({"role": role, "content": blocks or [_text(UNSPOKEN)]})
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_text(UNSPOKEN)]})
    return turns


def _lasting(said: Sequence[ChatMessage]) -> ChatMessage | None:
    """The last message that the next question will have as well, if any.

    Results of calls stay where they are; what a person says stands between marks that only the
    newest message has, and comes after what changes from one question to the next.
    """
    if said and isinstance(said[-1], UserMessage):
        said = said[:-1]
    return said[-1] if said else None


def _marked(block: dict[str, Any], writer: BodyWriter) -> dict[str, Any]:
    """The block, to which the server is to keep what it has read, for five minutes.

    What is shorter than its least length the server doesn't keep, and doesn't bill for.
    """
    return {**block, "cache_control": CACHED} if writer.may("cache_control") else block


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else UNSPOKEN}


def _blocks(message: ChatMessage, writer: BodyWriter) -> list[dict[str, Any]]:
    match message:
        case UserMessage():
            seen = message.pictures if writer.sees else ()
            text = message.text if seen else message.unseeing
            return [_text(text), *({"type": "image", "source": _source(one)} for one in seen)]
        case ToolMessage():
            told = {"tool_use_id": message.call_id, "content": message.text or UNSPOKEN}
            return [{"type": "tool_result", **told}]
        case AssistantMessage():
            return _answered(message, writer)
    return []


def _source(picture: Any) -> dict[str, str]:
    return {"type": "base64", "media_type": picture.media_type, "data": base64_of(picture)}


def _answered(message: AssistantMessage, writer: BodyWriter) -> list[dict[str, Any]]:
    blocks = writer.kept(message) if message.calls else []
    blocks += [_text(message.text)] if message.text.strip() else []
    for call in message.calls:
        about = {"id": call.id, "name": call.name, "input": call.arguments}
        blocks += [*writer.kept(message, call.id), {"type": "tool_use", **about}]
    return blocks


def post(
    server: HttpServer, sent: Sending, headers: dict[str, str]
) -> AbstractAsyncContextManager[ServerAnswer]:
    """Post a question, whose answer is read within the block; raises as `HttpServer.send`."""
    return server.send(server.request(f"{server.base_url}/messages", sent.body, headers))


_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


def read(body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1) -> ChatAnswer:
    """The answer in the body of a Message to this request, which was asked `how`."""
    finish = finish_of(get(body, "stop_reason"), _FINISHES)
    content = get(body, "content")
    parsed = ParsedAnswer(
        finish=finish,
        tokens=_counted(get(body, "usage")),
        model=get(body, "model"),
        missing="" if isinstance(content, list) else "the answer holds no content",
    )
    thoughts: list[dict[str, Any]] = []
    for block in dicts(content):
        thoughts = _take(block, parsed, thoughts)
    parsed.text = text_of(parsed.text)
    if finish == "filtered":
        # What it had said by then isn't to be used.
        why = text_of(get(body, "stop_details", "explanation"))
        parsed.refusal, parsed.text, parsed.calls = why or parsed.text, "", []
    return answer_of(parsed, request, how, model, attempts)


def _take(
    block: dict[str, Any], parsed: ParsedAnswer, thoughts: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Take one block in; what was thought waits for what it leads to."""
    match block.get("type"):
        case "thinking" | "redacted_thinking":
            said = text_of(block.get("thinking"))
            parsed.thinking = grown(parsed.thinking, said or UNSPOKEN)
            is_whole = isinstance(block.get("signature") or block.get("data"), str)
            return [*thoughts, block] if is_whole else thoughts
        case "text":
            parsed.text = grown(parsed.text, block.get("text"))
        case "tool_use" if len(parsed.calls) < MAX_CALLS:
            place = len(parsed.calls) + 1
            id_ = text_of(block.get("id")) or f"call_{place}"
            parsed.calls.append(RawCall(block.get("name"), block.get("input"), id_))
            # The first ones stand before the text as well.
            before = id_ if parsed.reasoning or place > 1 else ""
            parsed.reasoning += [ReasoningPiece(content=one, before=before) for one in thoughts]
            return []
    return thoughts


def _counted(usage: Any) -> TokenCounts:
    """What was read from the cache, or written into it, isn't among the input tokens."""
    cached = count_of(get(usage, "cache_read_input_tokens")) or 0
    kept = count_of(get(usage, "cache_creation_input_tokens")) or 0
    fresh = count_of(get(usage, "input_tokens"))
    return TokenCounts(
        prompt=None if fresh is None else fresh + cached + kept,
        completion=get(usage, "output_tokens"),
        cached=cached,
        written=kept,
        reasoning=get(usage, "output_tokens_details", "thinking_tokens"),
    )


def partial() -> "PartialMessage":
    """What the events of a streamed answer are put together in."""
    return PartialMessage()


class PartialMessage:
    """The events of a streamed Message, put together to the body it would have been at once."""

    def __init__(self) -> None:
        self.content = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._body: dict[str, Any] = {}
        self._error: Any = None
        self._is_done = False

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Each with `name` and `arguments` as far as they have come."""
        return [
            {"name": text_of(block.get("name")), "arguments": block["written"]}
            for block in self._blocks.values()
            if block.get("type") == "tool_use"
        ]

    @property
    def is_complete(self) -> bool:
        """True where the server said that this is all."""
        return self._is_done or "stop_reason" in self._body

    def add(self, event: Any) -> None:
        """Take in one event."""
        match get(event, "type"):
            case "message_start":
                message = get(event, "message")
                self._body |= {"model": get(message, "model")}
                self._count(get(message, "usage"))
            case "content_block_start" if isinstance(get(event, "content_block"), dict):
                self._begin(event["content_block"], get(event, "index"))
            case "content_block_delta":
                self._grow(get(event, "index"), get(event, "delta"))
            case "message_delta":
                delta = get(event, "delta")
                if reason := get(delta, "stop_reason"):
                    details = get(delta, "stop_details")
                    self._body |= {"stop_reason": reason, "stop_details": details}
                self._count(get(event, "usage"))
            case "message_stop":
                self._is_done = True
            case _ if get(event, "error"):
                self._error = get(event, "error")

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body of a Message."""
        content = [_whole(self._blocks[index]) for index in sorted(self._blocks)]
        error = {"error": self._error} if self._error else {}
        return {**self._body, "content": content, **error}

    def _count(self, usage: Any) -> None:
        """Later counts are of all so far."""
        if isinstance(usage, dict):
            told = {key: one for key, one in usage.items() if one is not None}
            self._body["usage"] = self._body.get("usage", {}) | told

    def _begin(self, block: dict[str, Any], index: Any) -> None:
        if isinstance(index, int) and len(self._blocks) < MAX_CALLS:
            self._blocks[index] = {**block, "written": ""}
            if block.get("type") == "text":
                self.content = grown(self.content, block.get("text"))

    def _grow(self, index: Any, delta: Any) -> None:
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is None:
            return
        match get(delta, "type"):
            case "text_delta":
                self._add(block, "text", get(delta, "text"))
                self.content = grown(self.content, get(delta, "text"))
            case "input_json_delta":
                self._add(block, "written", get(delta, "partial_json"))
            case "thinking_delta":
                self._add(block, "thinking", get(delta, "thinking"))
            case "signature_delta":
                self._add(block, "signature", get(delta, "signature"))

    @staticmethod
    def _add(block: dict[str, Any], key: str, piece: Any) -> None:
        before = block.get(key)
        block[key] = grown(before if isinstance(before, str) else "", piece)


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block as it would have come at once; its arguments may be cut."""
    whole = {key: value for key, value in block.items() if key != "written"}
    if block.get("type") == "tool_use" and block["written"]:
        whole["input"] = block["written"]
    return whole
