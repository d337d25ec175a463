"""Google's Gemini, by its `generateContent`.

What the system says stands apart, a call is a part of what the model says, and on such parts hang
the signatures of what it thought, which go back where they were. Calls that another model made
have none, and say so in a way that Gemini takes.
"""

from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import Any
from urllib.parse import quote

import httpx2

from router.llm.answers import (
    MAX_CALLS,
    MAX_PARTS,
    ParsedAnswer,
    TokenCounts,
    answer_of,
    count_of,
    dicts,
    finish_of,
    first,
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
    AnswerProblem,
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

PROVIDER = "gcp.gemini"
VERSION = "v1beta"
NO_SIGNATURE = "skip_thought_signature_validator"
"""Google's own word for a call that came from elsewhere."""
UNSPOKEN = "…"
"""Stands where nothing was said: contents without a part are refused."""


def connect(base_url: str, api_key: str | None, carrier: httpx2.AsyncClient) -> HttpServer:
    """Return the server, to be posted to."""
    return HttpServer(carrier, _root(base_url), _headers(api_key))


def listing(base_url: str, api_key: str | None) -> ModelListing:
    """Return where the server lists its models."""
    return ModelListing(f"{_root(base_url)}/models", _headers(api_key))


def _headers(api_key: str | None) -> dict[str, str]:
    return {"x-goog-api-key": api_key} if api_key else {}


def _root(base_url: str) -> str:
    """Return the address with its version, with which it may end already."""
    root = base_url.rstrip("/")
    return root if root.endswith(("/v1", "/v1beta", "/v1alpha")) else f"{root}/{VERSION}"


def sending(model: str, request: ChatRequest, refused: RefusedFeatures, stream: bool) -> Sending:
    """The body of a request to a server that refuses these features."""
    writer = BodyWriter(request, refused)
    messages = writer.messages
    system = [m.text for m in messages if isinstance(m, SystemMessage)]
    if system:
        writer.body["systemInstruction"] = {"parts": [{"text": "\n\n".join(system)}]}
    writer.body["contents"] = _contents(messages, writer)
    config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if request.temperature is not None and writer.may("temperature"):
        config["temperature"] = request.temperature
    if request.effort is not None and writer.may("effort"):
        config["thinkingConfig"] = {"thinkingLevel": request.effort}
    if writer.how == "functions":
        _offer(writer)
    elif writer.how in {"json_schema", "json_object"}:
        writer.may("json_schema" if writer.how == "json_schema" else "json_object")
        config["responseMimeType"] = "application/json"
        if writer.how == "json_schema":
            config["responseJsonSchema"] = writer.decision
    writer.body["generationConfig"] = config
    sent = writer.sending()
    return Sending(sent.body | {"model": model, "stream": stream}, sent.how, sent.features)


def _offer(writer: BodyWriter) -> None:
    """Offer the functions as the server takes them."""
    writer.may("tools")
    declared = [_function(one) for one in writer.request.functions]
    writer.body["tools"] = [{"functionDeclarations": declared}]
    if choice := writer.choice:
        mode = "ANY" if choice == "required" else "AUTO"
        writer.body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}


def _function(function: Function) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description}
    return {**described, "parametersJsonSchema": portable(function.parameters)}


def _contents(messages: list[ChatMessage], writer: BodyWriter) -> list[dict[str, Any]]:
    """What was said, by turns: results come before words, and a person begins."""
    said = [message for message in messages if not isinstance(message, SystemMessage)]
    turns: list[dict[str, Any]] = []
    for is_model, group in groupby(said, lambda one: isinstance(one, AssistantMessage)):
        parts = [part for message in group for part in _parts(message, writer)]
        if not is_model:
            parts.sort(key=lambda part: "functionResponse" not in part)
        role = "model" if is_model else "user"
        turns.append({"role": role, "parts": parts or [{"text": UNSPOKEN}]})
    if not turns or turns[0]["role"] == "model":
        turns.insert(0, {"role": "user", "parts": [{"text": UNSPOKEN}]})
    return turns


def _parts(message: ChatMessage, writer: BodyWriter) -> list[dict[str, Any]]:
    match message:
        case UserMessage():
            seen = message.pictures if writer.sees else ()
            text = (message.text if seen else message.unseeing) or UNSPOKEN
            pictures = [{"mimeType": one.media_type, "data": base64_of(one)} for one in seen]
            return [{"text": text}, *({"inlineData": each} for each in pictures)]
        case ToolMessage():
            result = {"name": message.name, "response": {"result": message.text}}
            return [{"functionResponse": result | {"id": message.call_id}}]
        case AssistantMessage():
            return _answered(message, writer)
    return []


def _answered(message: AssistantMessage, writer: BodyWriter) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if message.text:
        parts.append({"text": message.text} | _signed(message, writer, ""))
    for place, call in enumerate(message.calls):
        part: dict[str, Any] = {
            "functionCall": {"id": call.id, "name": call.name, "args": call.arguments}
        }
        part |= _signed(message, writer, call.id)
        # The first of several at once is the one that has to have one.
        is_bare = place == 0 and "thoughtSignature" not in part
        if is_bare and writer.may("given_signatures"):
            part["thoughtSignature"] = NO_SIGNATURE
        parts.append(part)
    return parts


def _signed(message: AssistantMessage, writer: BodyWriter, call: str) -> dict[str, Any]:
    kept = writer.kept(message, call)
    return dict(kept[0]) if kept else {}


def post(
    server: HttpServer, sent: Sending, headers: dict[str, str]
) -> AbstractAsyncContextManager[ServerAnswer]:
    """Post a question, whose answer is read within the block; raises as `HttpServer.send`."""
    body = {key: value for key, value in sent.body.items() if key not in {"model", "stream"}}
    named = sent.body["model"]
    model = named if named.startswith(("models/", "tunedModels/")) else f"models/{named}"
    method = "streamGenerateContent?alt=sse" if sent.body.get("stream") else "generateContent"
    url = f"{server.base_url}/{quote(model)}:{method}"
    return server.send(server.request(url, body, headers))


_FINISHES: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "calls",
    "UNEXPECTED_TOOL_CALL": "calls",
    "TOO_MANY_TOOL_CALLS": "calls",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
        "filtered",
    ),
}
_MALFORMED = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"}


def read(body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1) -> ChatAnswer:
    """The answer in the body of a response to this request, which was asked `how`."""
    candidate = first(get(body, "candidates"))
    reason = get(candidate, "finishReason")
    blocked = get(body, "promptFeedback", "blockReason")
    found = ParsedAnswer(
        finish="filtered" if blocked else finish_of(reason, _FINISHES),
        tokens=_counted(get(body, "usageMetadata")),
        model=get(body, "modelVersion"),
        missing="" if candidate or blocked else "the answer holds no candidates",
    )
    for part in dicts(get(candidate, "content", "parts")):
        _take(part, found)
    found.text = text_of(found.text)
    if found.calls and found.finish == "stop":
        found.finish = "calls"
    if isinstance(reason, str) and reason in _MALFORMED and not found.calls:
        why = text_of(get(candidate, "finishMessage"))[:200]
        text = f"the call can't be read: {why or reason}"
        found.problems = (AnswerProblem(kind="unreadable", text=text),)
    return answer_of(found, request, how, model, attempts)


def _take(part: dict[str, Any], found: ParsedAnswer) -> None:
    """Take one part in."""
    call, signature = part.get("functionCall"), part.get("thoughtSignature")
    before = ""
    if part.get("thought") is True:
        found.thinking = grown(found.thinking, part.get("text"))
        return
    if isinstance(call, dict):
        if len(found.calls) >= MAX_CALLS:
            return
        before = text_of(call.get("id")) or f"call_{len(found.calls) + 1}"
        found.calls.append(RawCall(call.get("name"), call.get("args"), before))
    found.text = grown(found.text, part.get("text"))
    if isinstance(signature, str):
        piece = ReasoningPiece(content={"thoughtSignature": signature}, before=before)
        found.reasoning.append(piece)


def _counted(usage: Any) -> TokenCounts:
    """Thoughts aren't among the tokens of the candidates."""
    completion = count_of(get(usage, "candidatesTokenCount"))
    thoughts = count_of(get(usage, "thoughtsTokenCount"))
    told = [each for each in (completion, thoughts) if each is not None]
    return TokenCounts(
        prompt=get(usage, "promptTokenCount"),
        # A count that is nothing is left out.
        completion=sum(told) if told or usage else None,
        cached=get(usage, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


def partial() -> "PartialContent":
    """What the events of a streamed answer are put together in."""
    return PartialContent()


class PartialContent:
    """The events of a streamed answer, each a response of its own, as one."""

    def __init__(self) -> None:
        self.content = ""
        self.calls: list[dict[str, Any]] = []
        """Each with `name` and `arguments`, which come whole."""
        self._parts: list[dict[str, Any]] = []
        self._candidate: dict[str, Any] = {}
        self._rest: dict[str, Any] = {}

    @property
    def is_complete(self) -> bool:
        """True where the server said that this is all."""
        return "finishReason" in self._candidate or "promptFeedback" in self._rest

    def add(self, event: Any) -> None:
        """Take in one event."""
        for key in ("usageMetadata", "modelVersion", "promptFeedback", "error"):
            if given := get(event, key):
                self._rest[key] = given
        candidate = first(get(event, "candidates"))
        for key in ("finishReason", "finishMessage"):
            if given := get(candidate, key):
                self._candidate[key] = given
        for part in dicts(get(candidate, "content", "parts")):
            self._add_part(part)

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body of a response."""
        if not self._parts and not self._candidate:
            return self._rest
        return {
            **self._rest,
            "candidates": [{**self._candidate, "content": {"parts": self._parts}}],
        }

    def _add_part(self, part: dict[str, Any]) -> None:
        if part.get("thought") is not True:
            self.content = grown(self.content, part.get("text"))
        if isinstance(call := part.get("functionCall"), dict):
            self.calls.append({"name": text_of(call.get("name")), "arguments": call.get("args")})
        if len(self._parts) < MAX_PARTS:
            self._parts.append(part)
        elif isinstance(part.get("text"), str) and part.get("thought") is not True:
            # Of many small ones the words count, and they may come by the letter.
            self._parts[-1] = {"text": grown(str(self._parts[-1].get("text") or ""), part["text"])}
