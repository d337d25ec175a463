"""One reader of a feed, for as long as they read: nothing lost or repeated.

What counts is read from the event log, in its order; what is told live only says when to look.
So a reader who comes again with the id of the last event goes on exactly there, whichever
process answers.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from router.api import hub, under_way
from router.api.feeds import Feed
from router.api.hub import Happened, Hub, Inbox
from router.api.position import Position
from router.api.streaming import event
from router.domain.errors import Unavailable

PING = event("ping", {})

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Following:
    """A reader of `feed` who has seen everything up to `after`; None: up to now.

    A position that the log hasn't come to yet was never issued by it: a database was restored
    from before. What the reader lost can't be told, so they go on from now.
    """

    hub: Hub
    feed: Feed
    after: Position | None

    async def events(self) -> AsyncGenerator[bytes]:
        """Everything that happens from there on, until the hub closes; first of all a `ping`.

        Raises `Unavailable` where the database is out of reach from the beginning. Where it
        comes to that later, the stream ends.
        """
        async with self.hub.following(self.feed) as inbox:
            yield PING
            try:
                async for some in self._beyond(await self._begins(inbox), inbox):
                    yield some
            except Unavailable as error:
                _log.warning("%s: a reader has to come again: %s", self.feed.key, error)

    async def _begins(self, inbox: Inbox) -> Position:
        if self.after is None:
            return Position(inbox.begins)
        if self.after.row <= inbox.begins:
            return self.after
        # Another process may have told of a row that this one hasn't read yet.
        latest = await self.feed.latest()
        return self.after if self.after.row <= latest else Position(latest)

    async def _beyond(self, at: Position, inbox: Inbox) -> AsyncIterator[bytes]:
        inbox.lost = at.wholly_behind < inbox.begins
        while True:
            if inbox.lost:
                inbox.lost = False
                async for happened in self._kept(at.wholly_behind):
                    some, at = _seen([happened], at)
                    yield some
            some, at = _seen(inbox.take(), at)
            if some:
                yield some
            elif inbox.closed:
                return
            elif not await inbox.filled(under_way.HEARTBEAT):
                yield PING

    async def _kept(self, after: int) -> AsyncIterator[Happened]:
        """The rows after this one as the log has them, as far as it goes now."""
        while True:
            rows = await self.feed.since(after, hub.AT_ONCE)
            for row in rows:
                yield Happened.of(self.feed, row)
                after = row.sequence or after
            if len(rows) < hub.AT_ONCE:
                return


def _seen(happened: list[Happened], at: Position) -> tuple[bytes, Position]:
    """What of it is new to somebody who stands there, and where they stand after it."""
    some = b""
    for one in happened:
        some += one.beyond(at)
        if one.row >= at.row:
            at = Position(one.row)
    return some, at
