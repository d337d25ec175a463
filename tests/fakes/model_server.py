"""A model server without a model: OpenAI's API over real HTTP, its every answer scripted.

    async with ModelServer([rate_limits("2"), says("你好")]) as server:
        ...  # base_url=server.url

Or as a program that echoes, with faults on demand:

    python -m tests.fakes.model_server --port 8900 --refuse tools --refuse json_schema
"""

import argparse
import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from math import sqrt
from typing import Any, Self

from tests.fakes.behaviours import Behaviour, echoes, fails, refuses
from tests.fakes.http_exchange import Received, Reply, hung_up, json_reply, receive, send
from tests.fakes.listening import Listening

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
        super().__init__()
        self._script = script if callable(script) else list(script)
        self._port = port
        self.requests: list[Received] = []
        self.embeddings: Behaviour = embeds
        self.listing: Behaviour = lists
        self.let_go = asyncio.Event()
        """Set when a client has given up before its answer was there."""

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far."""
        return [one.body for one in self.requests if one.path.endswith("/chat/completions")]

    def then(self, *behaviours: Behaviour) -> None:
        """Go on with these behaviours after those that are left."""
        if callable(self._script):
            raise TypeError("the script is one behaviour for every request; give a list instead")
        self._script.extend(behaviours)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # Where the client goes away, or the server is being closed.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (received := await receive(reader)) is not None:
            self.requests.append(received)
            watching = asyncio.create_task(self._watch(reader))
            try:
                if not await send(writer, self._reply(received), self._closing):
                    return
            finally:
                # Two can't read at once: it has to be gone before the next request is read.
                watching.cancel()
                await asyncio.wait({watching})

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        await hung_up(reader)
        self.let_go.set()

    def _reply(self, received: Received) -> Reply:
        match received.method, received.path:
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
