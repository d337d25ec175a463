"""What a scripted model server does with a request: answers, and every fault worth fearing.

A behaviour is a function of the request. Those that answer do it at once or streamed, as
they are asked.

    ModelServer([calls(("get_balance", {"leave_type": "annual"})), fails(503), says("再见")])
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes.http_exchange import Drop, Pause, Piece, Received, Reply, json_reply

Behaviour = Callable[[Received], Reply]
Call = tuple[str, Any]
"""A function's name and its arguments: an object, or the text that is sent for one."""

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
PIECE = 4
"""Characters of text in one event of a stream."""


def says(text: str | None, finish: str = "stop", **message: Any) -> Behaviour:
    """Answers with text; more keys of the message, such as `refusal`, as given."""
    return answers({"role": "assistant", "content": text, **message}, finish)


def calls(*wanted: Call, ids: Sequence[Any] | None = None, finish: str = "tool_calls") -> Behaviour:
    """Answers with calls of functions; `ids` as given, None for a call without one."""
    listed = []
    for position, (name, arguments) in enumerate(wanted):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = {"type": "function", "function": {"name": name, "arguments": written}}
        given = ids[position] if ids is not None else f"call_{position}_of_server"
        listed.append(call if given is None else {"id": given, **call})
    return answers({"role": "assistant", "content": None, "tool_calls": listed}, finish)


def decides(*wanted: Call) -> Behaviour:
    """Answers with calls as JSON in the text, as `response_format` asks for."""
    listed = [{"name": name, "arguments": arguments} for name, arguments in wanted]
    return says(json.dumps({"calls": listed}, ensure_ascii=False))


def answers(message: Any, finish: Any = "stop", usage: Any = USAGE, **body: Any) -> Behaviour:
    """Answers with any message and finish; `usage=None` leaves it out."""

    def behave(received: Received) -> Reply:
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": received.body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            **({} if usage is None else {"usage": usage}),
            **body,
        }
        return streamed(_events(completion)) if received.streams else json_reply(completion)

    return behave


def sends(body: Any, status: int = 200, **headers: str) -> Behaviour:
    """Sends this JSON, whatever was asked."""
    return lambda received: json_reply(body, status, **headers)


def sends_bytes(*pieces: Piece, content_type: str = "text/html", status: int = 200) -> Behaviour:
    """Sends these very pieces, whatever was asked."""
    return lambda received: Reply(pieces, status, {"content-type": content_type})


def counts(behaviour: Behaviour, tokens: float) -> Behaviour:
    """Does what the other behaviour does, at once, and counts so many tokens for the question."""
    usage = USAGE | {"prompt_tokens": round(tokens)}

    def behave(received: Received) -> Reply:
        reply = behaviour(received)
        body = b"".join(piece for piece in reply.pieces if isinstance(piece, bytes))
        return json_reply(json.loads(body) | {"usage": usage}, reply.status)

    return behave


def streams(*events: Any, end: Sequence[Piece] = (b"data: [DONE]\n\n",)) -> Behaviour:
    """Streams these events as they are."""
    return lambda received: streamed(events, end)


def fails(status: int, message: str = "scripted failure", **error: Any) -> Behaviour:
    """Answers with an error in OpenAI's form."""
    return sends({"error": {"message": message, "type": "scripted", **error}}, status)


def rate_limits(retry_after: str | None = None) -> Behaviour:
    """Answers 429, with or without the header `Retry-After`."""
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return sends({"error": {"message": "slow down"}}, 429, **headers)


def hangs(until: asyncio.Event | None = None) -> Behaviour:
    """Takes the request and answers nothing: until the event, where one is given."""
    return lambda received: Reply([until or asyncio.Event()])


def reaches(event: asyncio.Event, then: Behaviour) -> Behaviour:
    """Sets the event when the request is there, then does what the other behaviour does."""

    def behave(received: Received) -> Reply:
        event.set()
        return then(received)

    return behave


def drops(after: Behaviour, pieces: int) -> Behaviour:
    """Resets the connection after so many pieces of what the other behaviour would send."""
    return _instead(after, lambda whole: [*whole[:pieces], Drop()])


def stops(after: Behaviour, pieces: int) -> Behaviour:
    """Ends the answer properly, but after so many pieces: a stream without its `[DONE]`."""
    return _instead(after, lambda whole: whole[:pieces])


def drips(slowly: Behaviour, seconds: float) -> Behaviour:
    """Sends what the other behaviour would byte by byte, with pauses of so many seconds."""
    return _instead(
        slowly,
        lambda whole: [
            piece
            for part in whole
            if isinstance(part, bytes)
            for byte in part
            for piece in (bytes([byte]), Pause(seconds))
        ],
    )


def waits(event: asyncio.Event, before: int, then: Behaviour) -> Behaviour:
    """Waits for the event before one piece of what the other behaviour would send."""
    return _instead(then, lambda whole: [*whole[:before], event, *whole[before:]])


def refuses(*features: str, otherwise: Behaviour) -> Behaviour:
    """A server that knows none of these features of a request: 400 while any is in it.

    `tools`, `strict`, `tool_choice=required` (or `=auto`), `parallel_tool_calls`, `max_tokens`,
    `json_schema`, `json_object`, `limits`, or any key of the body.
    """

    def behave(received: Received) -> Reply:
        for feature in features:
            if _uses(received.body, feature):
                name, _, value = feature.partition("=")
                name = "maxLength" if name == "limits" else name
                said = f"value: '{value}' of {name}" if value else f"parameter: '{name}'"
                error = {"message": f"Unsupported {said}", "param": name}
                return json_reply({"error": error}, 400)
        return otherwise(received)

    return behave


def echoes(received: Received) -> Reply:
    """Says what the last message said: the default of the server as a program."""
    texts = [message.get("content") for message in received.body.get("messages", [])]
    return says(str(texts[-1]) if texts else "…")(received)


def streamed(events: Sequence[Any], end: Sequence[Piece] = (b"data: [DONE]\n\n",)) -> Reply:
    """Server-sent events, each a piece of its own."""
    pieces = [f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events]
    return Reply([*pieces, *end], headers={"content-type": "text/event-stream"})


def delta(finish: Any = None, **content: Any) -> dict[str, Any]:
    """One event of a stream."""
    return {
        "object": "chat.completion.chunk",
        "model": "scripted",
        "choices": [{"index": 0, "delta": content, "finish_reason": finish}],
    }


def _instead(behaviour: Behaviour, change: Callable[[list[Piece]], list[Piece]]) -> Behaviour:
    def behave(received: Received) -> Reply:
        reply = behaviour(received)
        return Reply(change(list(reply.pieces)), reply.status, reply.headers)

    return behave


def _uses(body: dict[str, Any], feature: str) -> bool:
    name, _, value = feature.partition("=")
    if feature in {"json_schema", "json_object"}:
        return (body.get("response_format") or {}).get("type") == feature
    if feature in {"strict", "limits"}:
        said = {"strict": '"strict": true', "limits": '"maxLength"'}[feature]
        return said in json.dumps([body.get("tools"), body.get("response_format")])
    return body.get(name) == value if value else name in body


def _events(completion: dict[str, Any]) -> list[Any]:
    choice = completion["choices"][0]
    message = choice["message"] if isinstance(choice["message"], dict) else {}
    text = message.get("content") or ""
    events = [delta(role="assistant", content="")]
    events += [delta(content=text[at : at + PIECE]) for at in range(0, len(text), PIECE)]
    if message.get("refusal"):
        events.append(delta(refusal=message["refusal"]))
    for index, call in enumerate(message.get("tool_calls") or ()):
        events += _call_events(index, call)
    events.append(delta(finish=choice["finish_reason"]))
    if "usage" in completion:
        events.append({"choices": [], "usage": completion["usage"]})
    return events


def _call_events(index: int, call: dict[str, Any]) -> list[Any]:
    written = call["function"]["arguments"]
    opened = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
    pieces = [written[at : at + PIECE] for at in range(0, len(written), PIECE)]
    return [
        delta(tool_calls=[opened]),
        *(delta(tool_calls=[{"index": index, "function": {"arguments": one}}]) for one in pieces),
    ]
