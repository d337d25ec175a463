"""One reading of the log for everybody in this process who follows the same.

A row is read and written as events once, however many read it. Each reader has an inbox; one who
doesn't empty it loses nothing but text, for the rows are in the log, and is in nobody's way.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from router.api import under_way
from router.api.feeds import Feed
from router.api.position import Position
from router.api.streaming import event
from router.domain.errors import Unavailable
from router.domain.progress import Progress
from router.domain.records import LogEntry

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

    def beyond(self, at: Position) -> bytes:
        """What of it somebody hasn't seen who stands there."""
        seen = at.seen_of(self.row) if self.row else 0
        return b"" if seen is None else b"".join(self.events[seen:])


class Inbox:
    """What one reader hasn't taken yet, from behind the row `begins` on."""

    def __init__(self, begins: int = 0) -> None:
        self.begins = begins
        self.lost = False
        """True where rows were given up, and are to be read from the log."""
        self.closed = False
        self._waiting: deque[Happened] = deque()
        self._filled = asyncio.Event()

    def put(self, happened: Happened) -> None:
        """Add it; never waits."""
        if len(self._waiting) >= WAITING:
            self._make_room()
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

    def _make_room(self) -> None:
        """Give up the oldest text; where there is only what the log has, all of it."""
        texts = (at for at, one in enumerate(self._waiting) if not one.row)
        oldest = next(texts, None)
        if oldest is not None:
            del self._waiting[oldest]
        else:
            self._waiting.clear()
            self.lost = True


class Channel:
    """The one who reads a feed, for all inboxes."""

    def __init__(self, feed: Feed) -> None:
        self.readers = 0
        self.inboxes: set[Inbox] = set()
        self._feed = feed
        self._tip = 0
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(), name=f"following {feed.key}")

    @property
    def over(self) -> bool:
        """True where it reads no more."""
        return self._reading.done()

    async def join(self) -> Inbox:
        """An inbox for everything behind the row that it `begins` at.

        Raises:
            Unavailable: the database is out of reach.
        """
        await asyncio.wait({self._begun})
        self._begun.result()
        inbox = Inbox(self._tip)
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
                self._begun.set_result(None)
                while True:
                    await self._pass_on(told)
                    await self._read_on()
        except Exception as error:  # noqa: BLE001 - whatever it is, its readers are told
            if not self._begun.done():
                self._begun.set_exception(error)
            else:
                _log.exception("%s can't be followed any further", self._feed.key)
        finally:
            for inbox in self.inboxes:
                inbox.close()

    async def _pass_on(self, told: AsyncIterator[Progress]) -> None:
        """Hand on what is never recorded, until the log has more, or may have it unheard."""
        with suppress(TimeoutError):
            async with asyncio.timeout(under_way.HEARTBEAT):
                async for progress in told:
                    if progress.type == "recorded":
                        return
                    if part := self._feed.passing(progress):
                        self._give(Happened(0, (event(*part),)))

    async def _read_on(self) -> None:
        while True:
            try:
                rows = await self._feed.since(self._tip, AT_ONCE)
            except Unavailable as error:
                _log.warning("%s is looked at again later: %s", self._feed.key, error)
                return
            for row in rows:
                happened = Happened.of(self._feed, row)
                self._tip = happened.row
                self._give(happened)
            if len(rows) < AT_ONCE:
                return

    def _give(self, happened: Happened) -> None:
        for inbox in self.inboxes:
            inbox.put(happened)


class Hub:
    """Everything that is followed in this process."""

    def __init__(self) -> None:
        self._channels: dict[Hashable, Channel] = {}
        self._closed = False

    @asynccontextmanager
    async def following(self, feed: Feed) -> AsyncIterator[Inbox]:
        """What happens in the feed from now on, for as long as one stays.

        Raises:
            Unavailable: the database is out of reach.
        """
        channel = self._channel(feed)
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

    def _channel(self, feed: Feed) -> Channel:
        channel = self._channels.get(feed.key)
        if channel is None or channel.over:
            channel = self._channels[feed.key] = Channel(feed)
        return channel
