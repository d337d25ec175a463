"""Progress passed on to readers: within one process, or between several by PostgreSQL's NOTIFY.

Every process that has readers hears everything on one channel and picks out what is for them: a few
hundred short payloads a second cost less than a LISTEN for each reader.
"""

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from uuid import uuid4

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import text

from router.domain.bounded_cache import BoundedCache
from router.domain.errors import Unavailable
from router.domain.progress import Progress
from router.store.database import Database

WAITING = 256
"""What a reader may be behind, in events: over ten seconds of text as fast as it is told."""


class LiveInbox:
    """What one reader hasn't read yet; the oldest text goes first where that becomes too much."""

    def __init__(self) -> None:
        self._waiting: deque[Progress] = deque()
        self._filled = asyncio.Event()

    def put(self, progress: Progress) -> None:
        """Add it; never waits. Who is to look at the log needn't be told twice."""
        if progress.type == "recorded" and self._waiting and self._waiting[-1] == progress:
            return
        if len(self._waiting) >= WAITING:
            texts = (at for at, it in enumerate(self._waiting) if it.type == "text_delta")
            del self._waiting[next(texts, 0)]
        self._waiting.append(progress)
        self._filled.set()

    def __aiter__(self) -> "LiveInbox":
        return self

    async def __anext__(self) -> Progress:
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()


class Readers:
    """The readers of this process, by the conversation or the person whose news they read."""

    def __init__(self) -> None:
        self._inboxes: dict[tuple[str, str, str], list[LiveInbox]] = defaultdict(list)

    def give(self, progress: Progress) -> None:
        """Put it into the inbox of everyone who reads what it is of."""
        read = (progress.tenant, progress.conversation, progress.person)
        for inbox in self._inboxes.get(read, ()):
            inbox.put(progress)

    @contextmanager
    def reading(self, tenant: str, conversation: str = "", person: str = "") -> Iterator[LiveInbox]:
        """An inbox that is filled for as long as one stays, with one of the two."""
        read, inbox = (tenant, conversation, person), LiveInbox()
        self._inboxes[read].append(inbox)
        try:
            yield inbox
        finally:
            self._inboxes[read].remove(inbox)
            if not self._inboxes[read]:
                del self._inboxes[read]


class Live(ABC):
    """Passes on what happens in turns to whoever listens right now, in whichever process.

    A courtesy: neither method ever raises or holds anyone up. What can't be passed on is lost.
    """

    def __init__(self) -> None:
        self._readers = Readers()

    @abstractmethod
    async def tell(self, progress: Progress) -> None:
        """Pass it on, after what the same caller told before."""

    @asynccontextmanager
    async def listen(
        self, tenant: str, conversation: str
    ) -> AsyncIterator[AsyncIterator[Progress]]:
        """Everything told of the conversation while one stays; who is slow loses text."""
        with self._readers.reading(tenant, conversation) as inbox:
            await self._begun()
            yield inbox

    @asynccontextmanager
    async def listen_for(self, tenant: str, person: str) -> AsyncIterator[AsyncIterator[Progress]]:
        """The same of what is told for a person: `recorded`, where there is news."""
        with self._readers.reading(tenant, person=person) as inbox:
            await self._begun()
            yield inbox

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of what listens."""

    @abstractmethod
    async def _begun(self) -> None:
        """Return once what other processes tell is heard as well."""


class InProcessLive(Live):
    """Between the parts of one process, on one event loop."""

    async def tell(self, progress: Progress) -> None:
        """Pass it on at once."""
        self._readers.give(progress)

    async def aclose(self) -> None:
        """Nothing to let go of."""

    async def _begun(self) -> None:
        return


READY_SECONDS = 2.0
"""What a first reader waits for the connection; then it goes on without, for now."""
RETRY_SECONDS = 0.5
CHECK_SECONDS = 30.0
"""How often a silent connection is asked whether it is alive: a firewall drops it unsaid."""
CHECK_TIMEOUT = 5.0
CHANNEL = "router_live"
PAYLOAD_BYTES = 7999
PIECE = 1_900
"""Characters of a piece of a longer payload: of four bytes each at most."""
MOST_PIECES = 64
MOST_BEGUN = 32
"""Payloads whose pieces come at the same time; those of one that told no more are forgotten."""
TELL_SECONDS = 1.0
"""For one event: whoever tells is in the middle of a turn."""

_log = logging.getLogger(__name__)

# A NOTIFY is a transaction that is flushed to the disk like any other. Nobody misses progress
# that a crash of the server took along, so this one needn't be.
_NOTIFY = text("SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel, :said)")


class PostgresLive(Live):
    """Between any number of processes, each with one connection, made again when lost."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._listening: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._pieces = Pieces()
        self._failing = False

    async def tell(self, progress: Progress) -> None:
        """Pass it on to all processes, or log that it is lost."""
        try:
            async with asyncio.timeout(TELL_SECONDS):
                for payload in payloads(progress):
                    await self._notify({"channel": CHANNEL, "said": payload})
        except (Unavailable, TimeoutError) as error:
            if not self._failing:  # the first in a row: text comes twenty times a second
                _log.warning("progress is lost until the database answers again: %r", error)
            self._failing = True
        else:
            self._failing = False

    async def _notify(self, given: dict[str, str]) -> None:
        await self._database.read(lambda connection: connection.execute(_NOTIFY, given))

    async def aclose(self) -> None:
        """Stop listening and close the connection."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
            self._listening = None

    async def _begun(self) -> None:
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen(), name=f"listening on {CHANNEL}")
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except Unavailable as error:
                _log.warning("not listening on %s, trying again: %s", CHANNEL, error)
            finally:
                self._ready.clear()
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        lost = asyncio.Event()
        async with self._database.own_connection() as connection:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, self._hear)
            self._ready.set()
            while not lost.is_set():
                try:
                    async with asyncio.timeout(CHECK_SECONDS):
                        await lost.wait()
                except TimeoutError:
                    await connection.execute("SELECT 1", timeout=CHECK_TIMEOUT)

    def _hear(self, _connection: Any, _process: int, _channel: str, payload: str) -> None:
        whole = self._pieces.joined(payload)
        if whole is None:
            return
        try:
            progress = Progress.model_validate_json(whole)
        except ValidationError:
            # A newer version of this program may tell what this one doesn't know yet.
            _log.warning("progress that can't be read was passed over: %s characters", len(payload))
        else:
            self._readers.give(progress)


def payloads(progress: Progress) -> Iterator[str]:
    """The event as one payload, a text as several, or else in pieces; passed over if too long."""
    try:
        payload = progress.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError as error:
        _log.warning("%s can't be told: %s", progress.type, error)
        return
    if len(payload.encode()) <= PAYLOAD_BYTES:
        yield payload
    elif progress.type == "text_delta":
        said = str(progress.data["text"])
        middle = len(said) // 2
        for part in (said[:middle], said[middle:]):
            data = {**progress.data, "text": part}
            yield from payloads(progress.replace(data=data))
    elif len(payload) <= PIECE * MOST_PIECES:
        parts = [payload[at : at + PIECE] for at in range(0, len(payload), PIECE)]
        id_ = uuid4().hex
        yield from (f"{id_} {at}/{len(parts)} {part}" for at, part in enumerate(parts, 1))
    else:
        _log.warning("%s is too long to be told: %d characters", progress.type, len(payload))


_PIECE = re.compile(r"([0-9a-f]{32}) (\d{1,2})/(\d{1,2}) (.*)", re.DOTALL)


class Pieces:
    """Payloads that come in pieces, each in order, put together again."""

    def __init__(self) -> None:
        self._begun = BoundedCache[str, list[str]](MOST_BEGUN)

    def joined(self, payload: str) -> str | None:
        """The payload, or all of which it is the last piece; None where more of it is to come."""
        piece = _PIECE.fullmatch(payload)
        if piece is None:
            return payload
        id_, number, of, said = piece[1], int(piece[2]), int(piece[3]), piece[4]
        if number == 1:
            self._begun.put(id_, [])
        before = self._begun.get(id_)
        if before is None or len(before) != number - 1:
            return None
        before.append(said)
        if number < of:
            return None
        self._begun.discard(id_)
        return "".join(before)
