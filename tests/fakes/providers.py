"""What the providers' servers say, each in the shapes of its own protocol, as they were recorded.

An answer is scripted once, as `Said`, and told by a `Dialect`, whole or streamed, over real HTTP:

    async with ProviderServer(ANTHROPIC, [ANTHROPIC.says(Said("你好"))]) as server:
        ...  # base_url=server.url
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.model_server import MODEL, PIECE, Behaviour, Call, ModelServer, fails, lists
from tests.fakes.web_server import Received, Reply, json_reply


@dataclass(frozen=True)
class Tokens:
    """What an answer took; `cached` and `written` are of the prompt, `reasoning` of the completion.

    Gemini tells nothing of what is written.
    """

    prompt: int = 100
    completion: int = 10
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Said:
    """An answer, in nobody's format. Of `thoughts` there is one before each call, or before all."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thoughts: tuple[str, ...] = ()
    refusal: str = ""
    cut: bool = False
    filtered: bool = False
    tokens: Tokens | None = Tokens()

    def arguments(self, place: int) -> str:
        """Of one call, as text; what is text already may be anything."""
        given = self.calls[place][1]
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def pieces(text: str) -> Iterator[str]:
    """The text as it is streamed."""
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def sealed(thought: str) -> str:
    """A thought as nobody else can read it."""
    return b64encode(f"sealed: {thought}".encode()).decode()


class Dialect:
    """How one provider writes what it says."""

    name: str
    path: str
    """What its requests are posted to, or a part of that."""
    root = ""
    """What of that belongs to the base URL."""
    key: tuple[str, str]
    """The header that has the key, and what stands before the key in it."""
    listing: str

    def whole(self, said: Said, model: str) -> Any:
        """The body of the answer."""
        raise NotImplementedError

    def events(self, said: Said, model: str) -> Iterator[Any]:
        """The events of the answer, where it is streamed."""
        raise NotImplementedError

    def streams(self, received: Received) -> bool:
        """Whether it was asked to stream."""
        return received.streams

    def says(self, said: Said) -> Behaviour:
        """Answers with this."""

        def behave(received: Received) -> Reply:
            model = str(received.body.get("model", MODEL))
            if self.streams(received):
                return self.streamed(list(self.events(said, model)))
            return json_reply(self.whole(said, model))

        return behave

    def streamed(self, events: Sequence[Any]) -> Reply:
        """Server-sent events, each a piece of its own."""
        told = (f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
        return Reply(
            [each.encode() for each in told], headers={"content-type": "text/event-stream"}
        )

    def error(self, status: int, message: str, **more: Any) -> Any:
        """The body of an error."""
        return {"error": {"message": message, "type": more.get("kind", "scripted")}}

    def fails(self, status: int, message: str = "scripted failure", **more: Any) -> Behaviour:
        """Answers with an error; `headers` as given."""
        headers = more.pop("headers", {})
        return lambda _: json_reply(self.error(status, message, **more), status, **headers)

    def refuses(self, part: str, message: str, otherwise: Behaviour) -> Behaviour:
        """400 while this stands in a request."""

        def behave(received: Received) -> Reply:
            is_there = part in json.dumps(received.body, ensure_ascii=False)
            return (self.fails(400, message) if is_there else otherwise)(received)

        return behave


class ChatCompletions(Dialect):
    name, path, root = "chat_completions", "/v1/chat/completions", "/v1"
    key, listing = ("authorization", "Bearer "), "/v1/models"

    def whole(self, said: Said, model: str) -> Any:
        calls = [
            {
                "id": f"call_{place}",
                "type": "function",
                "function": {"name": name, "arguments": said.arguments(place)},
            }
            for place, (name, _) in enumerate(said.calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
        message |= {"tool_calls": calls} if calls else {}
        message |= {"refusal": said.refusal} if said.refusal else {}
        message |= {"reasoning_content": "".join(said.thoughts)} if said.thoughts else {}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": self._finish(said)}],
            **self._usage(said),
        }

    def events(self, said: Said, model: str) -> Iterator[Any]:
        def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return {"object": "chat.completion.chunk", "model": model, "choices": [choice]}

        yield chunk(role="assistant", content="")
        for thought in said.thoughts:
            yield from (chunk(reasoning_content=piece) for piece in pieces(thought))
        yield from (chunk(content=piece) for piece in pieces(said.text))
        yield from (chunk(refusal=piece) for piece in pieces(said.refusal))
        for place, (name, _) in enumerate(said.calls):
            function = {"name": name, "arguments": ""}
            yield chunk(tool_calls=[{"index": place, "id": f"call_{place}", "function": function}])
            for piece in pieces(said.arguments(place)):
                yield chunk(tool_calls=[{"index": place, "function": {"arguments": piece}}])
        yield chunk(finish=self._finish(said))
        yield {"choices": [], **self._usage(said)}

    def _finish(self, said: Said) -> str:
        if said.cut or said.filtered:
            return "length" if said.cut else "content_filter"
        return "tool_calls" if said.calls else "stop"

    def _usage(self, said: Said) -> dict[str, Any]:
        if (tokens := said.tokens) is None:
            return {}
        usage = {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.prompt + tokens.completion,
            "prompt_tokens_details": self._of_cache(tokens),
            "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
        }
        return {"usage": usage}

    def _of_cache(self, tokens: Tokens) -> dict[str, int]:
        told = {"cached_tokens": tokens.cached}
        return told | ({"cache_write_tokens": tokens.written} if tokens.written else {})


class Responses(Dialect):
    name, path, root = "responses", "/v1/responses", "/v1"
    key, listing = ("authorization", "Bearer "), "/v1/models"

    def whole(self, said: Said, model: str) -> Any:
        status = "incomplete" if said.cut or said.filtered else "completed"
        reason = "max_output_tokens" if said.cut else "content_filter"
        return {
            "id": "resp_1",
            "object": "response",
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            "model": model,
            "output": list(self._items(said)),
            "store": False,
            **self._usage(said),
        }

    def events(self, said: Said, model: str) -> Iterator[Any]:
        begun = {**self.whole(Said(tokens=None), model), "status": "in_progress"}
        yield {"type": "response.created", "sequence_number": 0, "response": begun}
        yield {"type": "response.in_progress", "sequence_number": 1, "response": begun}
        for place, item in enumerate(self._items(said)):
            yield from self._item_events(item, place)
        last = self.whole(said, model)
        yield {"type": f"response.{last['status']}", "response": last}

    def error(self, status: int, message: str, **more: Any) -> Any:
        kind = {"type": more.get("kind", "invalid_request_error"), "code": more.get("code")}
        return {"error": {"message": message, "param": None, **kind}}

    def _items(self, said: Said) -> Iterator[dict[str, Any]]:
        thoughts = list(said.thoughts)
        for place in range(max(1, len(said.calls))):
            if thoughts:
                thought = thoughts.pop(0)
                yield {
                    "id": f"rs_{place}",
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": thought}],
                    "encrypted_content": sealed(thought),
                    "status": "completed",
                }
            if place == 0 and (said.text or said.refusal):
                yield self._message(said)
            if place < len(said.calls):
                yield {
                    "id": f"fc_{place}",
                    "type": "function_call",
                    "status": "completed",
                    "call_id": f"call_of_responses_{place}",
                    "name": said.calls[place][0],
                    "arguments": said.arguments(place),
                }

    def _message(self, said: Said) -> dict[str, Any]:
        text = {"type": "output_text", "text": said.text, "annotations": []}
        part = {"type": "refusal", "refusal": said.refusal} if said.refusal else text
        about = {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed"}
        return {**about, "content": [part]}

    def _item_events(self, item: dict[str, Any], place: int) -> Iterator[Any]:
        at = {"output_index": place, "item_id": item["id"]}
        begun = {**item, "status": "in_progress"}
        begun |= {"content": []} if "content" in item else {}
        begun |= {"arguments": ""} if "arguments" in item else {}
        begun |= {"encrypted_content": "not yet"} if "encrypted_content" in item else {}
        yield {"type": "response.output_item.added", "output_index": place, "item": begun}
        for part in item.get("content", ()):
            kind = "output_text" if "text" in part else "refusal"
            yield {"type": "response.content_part.added", **at, "part": {"type": kind}}
            for piece in pieces(part.get("text") or part.get("refusal")):
                yield {"type": f"response.{kind}.delta", **at, "delta": piece}
            yield {"type": f"response.{kind}.done", **at}
        for piece in pieces(item.get("arguments", "")):
            yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}

    def _usage(self, said: Said) -> dict[str, Any]:
        if (tokens := said.tokens) is None:
            return {"usage": None}
        usage = {
            "input_tokens": tokens.prompt,
            "input_tokens_details": {
                "cached_tokens": tokens.cached,
                "cache_write_tokens": tokens.written,
            },
            "output_tokens": tokens.completion,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
            "total_tokens": tokens.prompt + tokens.completion,
        }
        return {"usage": usage}


class Anthropic(Dialect):
    name, path = "anthropic", "/v1/messages"
    key, listing = ("authorization", "Bearer "), "/v1/models"

    def whole(self, said: Said, model: str) -> Any:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [self._parsed(block) for block in self._blocks(said)],
            "stop_sequence": None,
            **self._stop(said),
            **self._usage(said),
        }

    def events(self, said: Said, model: str) -> Iterator[Any]:
        usage = self._usage(said)
        begun = {**self.whole(Said(tokens=None), model), **usage, "stop_reason": None}
        if usage:
            begun["usage"] = {**usage["usage"], "output_tokens": 1}
        yield {"type": "message_start", "message": begun}
        yield {"type": "ping"}
        for place, block in enumerate(self._blocks(said)):
            yield from self._block_events(block, place)
        counted: dict[str, Any] = {}
        if said.tokens:
            counted = {"usage": {"output_tokens": said.tokens.completion}}
        if said.tokens and said.tokens.reasoning:
            details = {"thinking_tokens": said.tokens.reasoning}
            counted["usage"]["output_tokens_details"] = details
        yield {"type": "message_delta", "delta": {**self._stop(said)}, **counted}
        yield {"type": "message_stop"}

    def streamed(self, events: Sequence[Any]) -> Reply:
        told = (
            f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
            for event in events
        )
        return Reply(
            [each.encode() for each in told], headers={"content-type": "text/event-stream"}
        )

    def error(self, status: int, message: str, **more: Any) -> Any:
        kind = more.get("kind", "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}

    def _blocks(self, said: Said) -> Iterator[dict[str, Any]]:
        thoughts = list(said.thoughts)
        for place in range(max(1, len(said.calls))):
            if thoughts:
                thought = thoughts.pop(0)
                yield {"type": "thinking", "thinking": thought, "signature": sealed(thought)}
            if place == 0 and said.text:
                yield {"type": "text", "text": said.text}
            if place < len(said.calls):
                about = {"id": f"toolu_{place}", "name": said.calls[place][0]}
                yield {"type": "tool_use", **about, "input": said.arguments(place)}

    def _parsed(self, block: dict[str, Any]) -> dict[str, Any]:
        if block["type"] != "tool_use":
            return block
        try:
            return {**block, "input": json.loads(block["input"])}
        except ValueError:
            return block

    def _block_events(self, block: dict[str, Any], place: int) -> Iterator[Any]:
        keys = {"thinking": "thinking", "text": "text", "tool_use": "input"}
        kinds = {"thinking": "thinking_delta", "text": "text_delta", "tool_use": "input_json_delta"}
        key, kind = keys[block["type"]], kinds[block["type"]]
        empty = {"thinking": "", "signature": "", "text": "", "input": {}}
        begun = {name: empty.get(name, value) for name, value in block.items()}
        yield {"type": "content_block_start", "index": place, "content_block": begun}
        named = "partial_json" if key == "input" else key
        deltas = [{"type": kind, named: piece} for piece in pieces(block[key])]
        if "signature" in block:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}

    def _stop(self, said: Said) -> dict[str, Any]:
        details = {"type": "refusal", "category": None, "explanation": said.refusal}
        if said.refusal or said.filtered:
            return {"stop_reason": "refusal", "stop_details": details if said.refusal else None}
        reason = "max_tokens" if said.cut else "tool_use" if said.calls else "end_turn"
        return {"stop_reason": reason, "stop_details": None}

    def _usage(self, said: Said) -> dict[str, Any]:
        if (tokens := said.tokens) is None:
            return {}
        usage: dict[str, Any] = {
            "input_tokens": tokens.prompt - tokens.cached - tokens.written,
            "cache_creation_input_tokens": tokens.written,
            "cache_read_input_tokens": tokens.cached,
            "output_tokens": tokens.completion,
        }
        if tokens.reasoning:
            usage["output_tokens_details"] = {"thinking_tokens": tokens.reasoning}
        return {"usage": usage}


class Gemini(Dialect):
    name, path = "gemini", "/v1beta/models/"
    key, listing = ("x-goog-api-key", ""), "/v1beta/models"

    def streams(self, received: Received) -> bool:
        return ":streamGenerateContent" in received.path

    def whole(self, said: Said, model: str) -> Any:
        return self._response(list(self._parts(said)), said, model, ended=True)

    def events(self, said: Said, model: str) -> Iterator[Any]:
        for part in self._parts(said):
            if set(part) == {"text"}:
                for piece in pieces(part["text"]):
                    yield self._response([{"text": piece}], said, model)
            else:
                yield self._response([part], said, model)
        yield self._response([{"text": ""}], said, model, ended=True)

    def error(self, status: int, message: str, **more: Any) -> Any:
        kind = more.get("kind", "INVALID_ARGUMENT")
        details = more.get("details", [])
        about = {"code": status, "message": message, "status": kind, "details": details}
        return {"error": about}

    def _parts(self, said: Said) -> Iterator[dict[str, Any]]:
        thoughts = list(said.thoughts)
        for place in range(max(1, len(said.calls))):
            seal = {}
            if thoughts:
                thought = thoughts.pop(0)
                yield {"text": thought, "thought": True}
                seal = {"thoughtSignature": sealed(thought)}
            if place == 0 and said.text:
                yield {"text": said.text}
            if place < len(said.calls):
                call = {"name": said.calls[place][0], "id": f"g{place}"}
                yield {"functionCall": {**call, "args": self._arguments(said, place)}, **seal}

    def _arguments(self, said: Said, place: int) -> Any:
        try:
            return json.loads(said.arguments(place))
        except ValueError:
            return {}

    def _response(
        self, parts: list[Any], said: Said, model: str, *, ended: bool = False
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"modelVersion": MODEL, "responseId": "r"}
        if said.refusal:
            return body | {"promptFeedback": {"blockReason": "SAFETY"}} | self._usage(said)
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if ended:
            reason = "MAX_TOKENS" if said.cut else "SAFETY" if said.filtered else "STOP"
            candidate["finishReason"] = reason
        return {"candidates": [candidate], **self._usage(said), **body}

    def _usage(self, said: Said) -> dict[str, Any]:
        if (tokens := said.tokens) is None:
            return {}
        usage = {
            "promptTokenCount": tokens.prompt,
            "candidatesTokenCount": tokens.completion - tokens.reasoning,
            "totalTokenCount": tokens.prompt + tokens.completion,
        }
        # What is nothing is left out.
        usage |= {"cachedContentTokenCount": tokens.cached} if tokens.cached else {}
        usage |= {"thoughtsTokenCount": tokens.reasoning} if tokens.reasoning else {}
        return {"usageMetadata": usage}


CHAT, RESPONSES, ANTHROPIC, GEMINI = ChatCompletions(), Responses(), Anthropic(), Gemini()
DIALECTS: tuple[Dialect, ...] = (CHAT, RESPONSES, ANTHROPIC, GEMINI)


class ProviderServer(ModelServer):
    """A provider's server, which listens on loopback while it is entered."""

    def __init__(self, dialect: Dialect, script: Sequence[Behaviour] | Behaviour = ()) -> None:
        super().__init__(script)
        self.dialect = dialect

    @property
    def url(self) -> str:
        return self.origin + self.dialect.root

    @property
    def chats(self) -> list[dict[str, Any]]:
        return [one.body for one in self.requests if one.method == "POST"]

    def _reply(self, received: Received) -> Reply:
        if received.method == "POST" and self.dialect.path in received.path:
            return self._next()(received)
        if received.method == "GET" and received.path == self.dialect.listing:
            return lists(received)
        return fails(404, f"nothing is at {received.path}")(received)
