"""A model server without a model: OpenAI's API over real HTTP, its every answer scripted.

A behaviour is a function of the request. Those that answer do it at once or streamed, as they
are asked. A `PlanningModel` answers by what it is asked, as steps of a plan run side by side.

    async with ModelServer([rate_limits("2"), calls(("get_balance", {})), says("你好")]) as server:
        ...  # base_url=server.url

Or as a program that echoes, with faults on demand:

    python -m tests.fakes.model_server --port 8900 --refuse tools --refuse json_schema
"""

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from math import sqrt
from typing import Any

from router.routing.paper_question import PREFIX
from tests.fakes import web_server
from tests.fakes.web_server import Drop, Listening, Pause, Piece, Received, Reply, json_reply

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
        reply = behaviour(replace(received, body={**received.body, "stream": False}))
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
    if message.get("reasoning_content"):
        events.append(delta(reasoning_content=message["reasoning_content"]))
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


_STEP = re.compile(r"<step>\n(.*)\n</step>")


class PlanningModel:
    """Each list in its order; `others` are the router's questions, and those of a loop."""

    def __init__(self) -> None:
        self.plans: list[Behaviour] = []
        self.reflections: list[Behaviour] = []
        self.others: list[Behaviour] = []
        self.steps: defaultdict[str, list[Behaviour]] = defaultdict(list)
        self.asked: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)

    def __call__(self, received: Received) -> Reply:
        """The next behaviour for a question of this kind."""
        kind, script = self._script(received.body)
        self.asked[kind].append(received.body)
        return (script.pop(0) if script else spent)(received)

    def _script(self, body: dict[str, Any]) -> tuple[str, list[Behaviour]]:
        told = "\n".join(str(message.get("content")) for message in body["messages"])
        if step := _STEP.search(told):
            return step[1], self.steps[step[1]]
        offered = _offered(body)
        if "plan" in offered:
            return "plan", self.plans
        if "accept" in offered:
            return "reflect", self.reflections
        return "other", self.others


def _offered(body: dict[str, Any]) -> set[str]:
    if "tools" in body:
        return {tool["function"]["name"] for tool in body["tools"]}
    schema = body["response_format"]["json_schema"]["schema"]
    either = schema["properties"]["calls"]["items"]["anyOf"]
    return {one["properties"]["name"]["enum"][0] for one in either}


def drawn(*steps: tuple[str, ...], as_json: bool = False) -> Behaviour:
    """A plan of steps, each its id, its task, and the ids of those that it depends on."""
    listed = [{"id": id_, "task": task, "depends_on": on} for id_, task, *on in steps]
    call = ("plan", {"steps": listed})
    return decides(call) if as_json else calls(call)


DIMENSIONS = 64
MODEL = "scripted"

spent = fails(418, "the script has no behaviour left")
"""418: no error of a server that anyone would retry or fall back from in silence."""


class ModelServer(Listening):
    """Listens on loopback while it is entered.

    The script is either behaviours, one for each chat request in order, or one behaviour
    for all of them. `requests` has everything that was received, faults included.
    """

    def __init__(self, script: Sequence[Behaviour] | Behaviour = (), port: int = 0) -> None:
        super().__init__(port)
        self._script = script if callable(script) else list(script)
        self.requests: list[Received] = []
        self.embeddings: Behaviour = embeds
        self.listing: Behaviour = lists
        self.reading: Behaviour = says("")
        """For questions outside of turns, which want no answer; they are no part of the script."""
        self.papers: Behaviour = says("")
        """For questions about what is on papers, asked beside turns; no part of it either."""
        self.let_go = asyncio.Event()
        """Set when a client has given up before its answer was there."""

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"{self.origin}/v1"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far."""
        beside = (_only_reads, _is_about_a_paper)
        return [body for body in self._asked if not any(kind(body) for kind in beside)]

    @property
    def readings(self) -> list[dict[str, Any]]:
        """The bodies of those that were only to be read."""
        return [body for body in self._asked if _only_reads(body)]

    @property
    def looks(self) -> list[dict[str, Any]]:
        """The bodies of those that were about a paper."""
        return [body for body in self._asked if _is_about_a_paper(body)]

    @property
    def _asked(self) -> list[dict[str, Any]]:
        return [one.body for one in self.requests if one.path.endswith("/chat/completions")]

    def then(self, *behaviours: Behaviour) -> None:
        """Go on with these behaviours after those that are left."""
        if callable(self._script):
            raise TypeError("the script is one behaviour for every request; give a list instead")
        self._script.extend(behaviours)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (got := await web_server.got_from(reader)) is not None:
            body = json.loads(got.body) if got.body else {}
            received = Received(got.method, got.target, got.headers, body)
            self.requests.append(received)
            watching = asyncio.create_task(self._watch(reader))
            try:
                if not await web_server.send(writer, self._reply(received), self._closing):
                    return
            finally:
                # Two can't read at once: it has to be gone before the next request is read.
                watching.cancel()
                await asyncio.wait({watching})

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        await reader.read(1)  # comes back when the client has gone away
        self.let_go.set()

    def _reply(self, received: Received) -> Reply:
        match received.method, received.path:
            case "POST", "/v1/chat/completions" if _only_reads(received.body):
                return self.reading(received)
            case "POST", "/v1/chat/completions" if _is_about_a_paper(received.body):
                return self.papers(received)
            case "POST", "/v1/chat/completions":
                return self._next()(received)
            case "POST", "/v1/embeddings":
                return self.embeddings(received)
            case "GET", "/v1/models":
                return self.listing(received)
            case _:
                return fails(404, f"nothing is at {received.path}")(received)

    def _next(self) -> Behaviour:
        if callable(self._script):
            return self._script
        return self._script.pop(0) if self._script else spent


def _only_reads(body: dict[str, Any]) -> bool:
    return 1 in {body.get("max_tokens"), body.get("max_completion_tokens")}


def _is_about_a_paper(body: dict[str, Any]) -> bool:
    return f'"{PREFIX}' in json.dumps([body.get("tools"), body.get("response_format")])


def lists(_: Received) -> Reply:
    """The one model there is."""
    listed = [{"id": MODEL, "object": "model", "created": 1, "owned_by": "tests"}]
    return json_reply({"object": "list", "data": listed})


def embeds(received: Received) -> Reply:
    """Embeds texts, or one: the same text always gives the same vector, similar ones near ones."""
    asked = received.body["input"]
    texts = [asked] if isinstance(asked, str) else asked
    data = [
        {"object": "embedding", "index": index, "embedding": hashed(text)}
        for index, text in enumerate(texts)
    ]
    return json_reply({"object": "list", "data": data, "model": received.body["model"]})


def hashed(text: str) -> list[float]:
    """A text's vector: its characters' pairs and words, hashed into a few dimensions."""
    vector = [0.0] * DIMENSIONS
    folded = text.lower()
    for part in [folded[at : at + 2] for at in range(len(folded))] + re.findall(r"\w+", folded):
        digest = blake2b(part.encode(), digest_size=4).digest()
        vector[digest[0] % DIMENSIONS] += 1.0 if digest[1] % 2 else -1.0
    length = sqrt(sum(entry * entry for entry in vector)) or 1.0
    return [entry / length for entry in vector]


async def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="a scripted OpenAI-compatible server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--refuse", action="append", default=[], help="a feature to refuse")
    options = parser.parse_args()
    script = refuses(*options.refuse, otherwise=echoes)
    async with ModelServer(script, options.port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
