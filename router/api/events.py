"""What can be followed: a conversation, or what happens to a person, without loss or repeat.

What counts is read from the event log, in its order; what is told live only says when to look. A
row is read and written as events once, however many read it; whoever comes again with the id of
the last event goes on there. Who doesn't read loses nothing but text, and is in nobody's way.
"""

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Iterator,
)
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from router.api import streams
from router.api.limits import BUSY_RETRY
from router.api.streams import Attempts, EventPart, event, parts_of, replies_in
from router.domain.errors import FieldProblem, InvalidInput, TooManyRequests, Unavailable
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ConversationRecord, LogEntry, RecordedTurn
from router.store.conversations import Conversations
from router.store.event_log import EventLog
from router.store.live import Live
from router.telemetry.metrics import REFUSED

MOST_DIGITS = 18
"""As many as any number has that fits into 64 bits with its sign."""
PATTERN = rf"^(?:[0-9]{{1,{MOST_DIGITS}}}(?:\.[0-9]{{1,{MOST_DIGITS}}})?)?$"
"""How a position is written; nothing at all is none."""


@dataclass(frozen=True)
class FeedPosition:
    """At a row of the log, having seen so many of its events: `42.3`, or all of them: `42`."""

    row: int
    seen: int | None = None
    """None: all of them."""

    @classmethod
    def of(cls, text: str) -> Self:
        """The position that an event's `id`, or a transcript item's, names; else `InvalidInput`."""
        row, point, seen = text.partition(".")
        parts = (row, seen) if point else (row,)
        if all(p.isascii() and p.isdigit() and len(p) <= MOST_DIGITS for p in parts):
            return cls(*map(int, parts))
        raise InvalidInput(
            f"{text[:80]!r} is the id of no event; send one that came with an event, or none",
            [FieldProblem("Last-Event-ID", "isn't the id of an event")],
        )

    def __str__(self) -> str:
        return str(self.row) if self.seen is None else f"{self.row}.{self.seen}"

    @property
    def wholly_behind(self) -> int:
        """The last row of which everything was seen."""
        return self.row if self.seen is None else self.row - 1

    def seen_of(self, row: int) -> int | None:
        """How many events of this row were seen; None: all of them."""
        if row > self.row:
            return 0
        return self.seen if row == self.row else None


SHOWN = 200
"""Letters of what was said that a list of conversations can show."""


@dataclass(frozen=True)
class Feed:
    """Rows of the event log, and what is told besides."""

    key: Hashable
    """The same for whatever has the same events."""
    listen: Callable[[], AbstractAsyncContextManager[AsyncIterator[Progress]]]
    """What is told from now on."""
    latest: Callable[[], Awaitable[int]]
    """The number of its last row; 0 where there is none."""
    since: Callable[[int, int], Awaitable[list[LogEntry]]]
    """The rows after this one, oldest first, at most so many."""
    parts: Callable[[LogEntry], Iterator[EventPart]]
    """The events of a row; another time the same ones."""
    passing: Callable[[Progress], EventPart | None]
    """The event of what is told and never recorded; None where it makes none."""
    exists: Callable[[], Awaitable[bool]]
    """True as long as more can come: false of a conversation that was forgotten."""


def conversation_feed(
    live: Live, log: EventLog, conversations: Conversations, record: ConversationRecord
) -> Feed:
    """Everything that happens in a conversation, whoever sent the message."""
    place = (record.tenant, record.id)
    attempts: dict[str, Attempts] = defaultdict(Attempts)

    def parts(row: LogEntry) -> Iterator[EventPart]:
        about = {"message_id": row.message_id} if row.message_id else {}
        if row.kind == "turn":
            # With its turn, what was written for a message is over.
            attempts.pop(row.message_id or "", None)
            yield from parts_of(RecordedTurn.model_validate(row.data).turn)
        elif row.kind != "message":
            yield row.kind, {**row.data, **about}
        elif row.data["role"] == "user":
            yield "message", {"id": str(row.sequence), "at": _at(row), **row.data}
        elif not row.message_id:
            # What a run says by itself. What answers a message is in the row of its turn.
            yield from replies_in(row.data)

    def passing(progress: Progress) -> EventPart | None:
        """Text, and how far tools say they are."""
        about = {"message_id": progress.message_id}
        if progress.type == "text_delta":
            data = attempts[progress.message_id].shown(progress.data)
            return None if data is None else ("text_delta", {**data, **about})
        if "progress" in progress.data:
            return "tool_started", {**progress.data, **about}
        return None

    async def exists() -> bool:
        return await conversations.find(*place) is not None

    return Feed(
        key=("conversation", *place),
        listen=partial(live.listen, *place),
        latest=partial(log.latest, *place),
        since=partial(log.since, *place),
        parts=parts,
        passing=passing,
        exists=exists,
    )


def person_feed(live: Live, log: EventLog, person: Principal, besides: Collection[str]) -> Feed:
    """What happens to a person: approvals, their own runs, and their conversations.

    Runs of the flows `besides` are no news to anybody: they only look something up.
    """
    place = (person.tenant, person.id)

    async def exists() -> bool:
        return True

    def parts(row: LogEntry) -> Iterator[EventPart]:
        """One event, or none; titles are in the person's language."""
        if row.kind == "message":
            about = {"message_id": row.message_id} if row.message_id else {}
            place = {"conversation": row.conversation, "id": str(row.sequence), "at": _at(row)}
            said = {"role": row.data["role"], "text": str(row.data["text"])[:SHOWN]}
            said |= {"author": row.data["author"]} if "author" in row.data else {}
            yield "message", {**place, **said, **about}
        elif row.kind == "approval" or (row.kind == "flow" and row.data["flow"] not in besides):
            title = Localised.model_validate(row.data["title"]).within(person.locale)
            yield row.kind, {"at": _at(row), **row.data, "title": title}
        elif row.kind == "handoff":
            yield row.kind, {"at": _at(row), **row.data}

    return Feed(
        key=("person", *place, person.locale, frozenset(besides)),
        listen=partial(live.listen_for, *place),
        latest=partial(log.latest_news, *place),
        since=partial(log.news, *place),
        parts=parts,
        passing=lambda _: None,
        exists=exists,
    )


def _at(row: LogEntry) -> str:
    return row.at.isoformat().replace("+00:00", "Z")


AT_ONCE = 200
"""Rows that are read at once."""
WAITING = 256
"""What a reader may be behind before it has to read the log itself."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Happened:
    """A row as its events go over the wire; of what is kept nowhere, the row is 0."""

    row: int
    events: tuple[bytes, ...]

    @classmethod
    def of(cls, feed: Feed, row: LogEntry) -> "Happened":
        """The events of the row, each with the position behind it for its id."""
        number = row.sequence or 0
        parts = enumerate(feed.parts(row), start=1)
        return cls(number, tuple(event(*part, f"{number}.{n}") for n, part in parts))

    def beyond(self, at: FeedPosition) -> bytes:
        """What of it somebody hasn't seen who stands there."""
        seen = at.seen_of(self.row) if self.row else 0
        return b"" if seen is None else b"".join(self.events[seen:])


@dataclass(eq=False)
class HubInbox:
    """What one reader hasn't taken yet, from behind the row `begins` on."""

    begins: int
    lost: bool = False
    """True where rows were given up, and are to be read from the log."""
    closed: bool = False
    _waiting: deque[Happened] = field(default_factory=deque)
    _filled: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, happened: Happened) -> None:
        """Add it; never waits."""
        if len(self._waiting) >= WAITING:
            # Give up the oldest text; where there is only what the log has, all of it.
            texts = (at for at, one in enumerate(self._waiting) if not one.row)
            oldest = next(texts, None)
            if oldest is not None:
                del self._waiting[oldest]
            else:
                self._waiting.clear()
                self.lost = True
        self._waiting.append(happened)
        self._filled.set()

    def take(self) -> list[Happened]:
        """All that waits now."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    async def filled(self, seconds: float) -> bool:
        """True once something waits or is over; False where nothing came for so long."""
        if not (self._waiting or self.closed):
            self._filled.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._filled.wait()
            except TimeoutError:
                return False
        return True

    def close(self) -> None:
        """Nothing more will come."""
        self.closed = True
        self._filled.set()


class Channel:
    """The one who reads a feed, for all inboxes."""

    def __init__(self, feed: Feed) -> None:
        self.readers = 0
        self.inboxes: set[HubInbox] = set()
        self._feed = feed
        self._tip = 0
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(), name=f"following {feed.key}")

    @property
    def over(self) -> bool:
        """True where it reads no more."""
        return self._reading.done()

    async def join(self) -> HubInbox:
        """An inbox for all behind the row it `begins` at; `Unavailable` without a database."""
        await asyncio.wait({self._begun})
        self._begun.result()
        inbox = HubInbox(self._tip)
        self.inboxes.add(inbox)
        if self.over:
            inbox.close()
        return inbox

    async def aclose(self) -> None:
        """Read no more."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        try:
            async with self._feed.listen() as told:
                self._tip = await self._feed.latest()
                # It may have been forgotten before anybody listened for that.
                exists = await self._feed.exists()
                self._begun.set_result(None)
                while exists and await self._pass_on(told):
                    await self._read_on()
        except Exception as error:  # noqa: BLE001 - whatever it is, its readers are told
            if not self._begun.done():
                self._begun.set_exception(error)
            else:
                _log.exception("%s can't be followed any further", self._feed.key)
        finally:
            for inbox in self.inboxes:
                inbox.close()

    async def _pass_on(self, told: AsyncIterator[Progress]) -> bool:
        """Hand on what is never recorded, until the log has more, or may have it unheard.

        False where there will never be more, since the conversation was forgotten.
        """
        try:
            async with asyncio.timeout(streams.HEARTBEAT):
                async for progress in told:
                    if progress.type in streams.UNSHOWN:
                        return progress.type == "recorded"
                    if part := self._feed.passing(progress):
                        self._give(Happened(0, (event(*part),)))
        except TimeoutError:
            # What was told while the database was away came to nobody.
            with suppress(Unavailable):
                return await self._feed.exists()
        return True

    async def _read_on(self) -> None:
        try:
            async for happened in kept(self._feed, self._tip):
                self._tip = happened.row
                self._give(happened)
        except Unavailable as error:
            _log.warning("%s is looked at again later: %s", self._feed.key, error)

    def _give(self, happened: Happened) -> None:
        for inbox in self.inboxes:
            inbox.put(happened)


async def kept(feed: Feed, after: int) -> AsyncIterator[Happened]:
    """The rows after this one as the log has them, as far as it goes now."""
    rows: list[LogEntry] | None = None
    while rows is None or len(rows) == AT_ONCE:
        rows = await feed.since(after, AT_ONCE)
        for row in rows:
            happened = Happened.of(feed, row)
            yield happened
            after = happened.row or after


MOST_STREAMS = 100
"""Of one person in a process: each is a connection, of which everybody has the same."""
_TOO_MANY = Localised(
    zh=f"您已打开 {MOST_STREAMS} 个事件流，请先关掉一个",
    en=f"you follow {MOST_STREAMS} streams already; close one of them",
)


class Hub:
    """Everything that is followed in this process."""

    def __init__(self) -> None:
        self._channels: dict[Hashable, Channel] = {}
        self._streams: Counter[tuple[str, str]] = Counter()
        self._closed = False

    async def counted(
        self, reader: tuple[str, str], events: AsyncGenerator[bytes]
    ) -> AsyncGenerator[bytes]:
        """The events, as one more stream of a reader's; `TooManyRequests` beyond `MOST_STREAMS`."""
        if self._streams[reader] >= MOST_STREAMS:
            REFUSED.labels("user_streams").inc()
            raise TooManyRequests(_TOO_MANY, retry_after=BUSY_RETRY)
        self._streams[reader] += 1
        try:
            async with aclosing(events):
                async for one in events:
                    yield one
        finally:
            self._streams -= Counter((reader,))

    @asynccontextmanager
    async def following(self, feed: Feed) -> AsyncIterator[HubInbox]:
        """What happens from now on, while one stays; `Unavailable` without a database."""
        channel = self._channels.get(feed.key)
        if channel is None or channel.over:
            channel = self._channels[feed.key] = Channel(feed)
        channel.readers += 1
        inbox = None
        try:
            inbox = await channel.join()
            if self._closed:
                inbox.close()
            yield inbox
        finally:
            channel.inboxes -= {inbox}
            channel.readers -= 1
            if not channel.readers:
                if self._channels.get(feed.key) is channel:
                    del self._channels[feed.key]
                await channel.aclose()

    def readers(self) -> int:
        """How many there are."""
        return sum(channel.readers for channel in self._channels.values())

    def close(self) -> None:
        """End every stream; each reader can go on elsewhere, or here later."""
        self._closed = True
        for channel in self._channels.values():
            for inbox in channel.inboxes:
                inbox.close()


PING = event("ping", {})


@dataclass(frozen=True)
class Following:
    """A reader of `feed` who has seen everything up to `after`; None: up to now.

    A position that the log hasn't come to yet was never issued by it: a database was restored
    from before. What the reader lost can't be told, so they go on from now.
    """

    hub: Hub
    feed: Feed
    after: FeedPosition | None

    async def events(self) -> AsyncGenerator[bytes]:
        """Everything that happens from there on, until the hub closes; first of all a `ping`.

        Raises `Unavailable` where the database is out of reach from the beginning. Where it
        comes to that later, the stream ends.
        """
        async with self.hub.following(self.feed) as inbox:
            begins = await self._begins(inbox)  # what is written from the ping on is told
            yield PING
            try:
                async for some in self._beyond(begins, inbox):
                    yield some
            except Unavailable as error:
                _log.warning("%s: a reader has to come again: %s", self.feed.key, error)

    async def _begins(self, inbox: HubInbox) -> FeedPosition:
        if self.after is None:
            return FeedPosition(inbox.begins)
        if self.after.row <= inbox.begins:
            return self.after
        # Another process may have told of a row that this one hasn't read yet.
        latest = await self.feed.latest()
        return self.after if self.after.row <= latest else FeedPosition(latest)

    async def _beyond(self, at: FeedPosition, inbox: HubInbox) -> AsyncIterator[bytes]:
        inbox.lost = at.wholly_behind < inbox.begins
        while True:
            if inbox.lost:
                inbox.lost = False
                async for happened in kept(self.feed, at.wholly_behind):
                    some, at = _seen([happened], at)
                    yield some
            some, at = _seen(inbox.take(), at)
            if some:
                yield some
            elif inbox.closed:
                return
            elif not await inbox.filled(streams.HEARTBEAT):
                yield PING


def _seen(happened: list[Happened], at: FeedPosition) -> tuple[bytes, FeedPosition]:
    """What of it is new to somebody who stands there, and where they stand after it."""
    some = b""
    for one in happened:
        some += one.beyond(at)
        if one.row >= at.row:
            at = FeedPosition(one.row)
    return some, at
