"""Posts on chat platforms what the log says, in its order, and remembers how far each one has it.

What a conversation says is in the log before anybody is told, so an answer is posted however this
process fares: by whichever process comes to it, from the position that the last one kept. Between
a post and keeping the position a process may die; then it is posted again under the same key.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from router.api.dependencies import Services
from router.api.params import derived_id
from router.channels.approvals import card_of
from router.channels.base import Outbound, Post, Statement, Undeliverable
from router.domain.errors import RouterError, TooManyRequests, Unavailable
from router.domain.locale import Locale
from router.domain.messages import Reply
from router.domain.records import ApprovalRecord, LogEntry, Mailbox, RecordedTurn

EVERY = 1.0
"""Seconds between looks, where nothing says that there is something."""
LEASE = timedelta(seconds=60)
"""For which a mailbox is one process's alone: more than a round of posts ever takes."""
AGAIN = timedelta(seconds=5)
"""After a platform was out of reach."""
AT_ONCE = 50
ASKING = frozenset({"asked", "reminded", "nudged", "escalated", "delegated", "added"})
"""Reasons for which a decision is wanted."""

log = logging.getLogger(__name__)


class _News(BaseModel):
    """What a run said by itself."""

    replies: list[Reply] = []


class Outbox:
    """Brings what is new to each platform, one post at a time within a mailbox."""

    def __init__(self, services: Services, platforms: Mapping[str, Outbound]) -> None:
        self._services = services
        self._platforms = platforms
        self._nudged = asyncio.Event()

    def nudge(self) -> None:
        """There is something new: don't wait for the next look."""
        self._nudged.set()

    async def run(self) -> None:
        """Post until cancelled."""
        while True:
            try:
                await self._introduced()
                break
            except RouterError as error:
                log.warning("approvers aren't told on chat platforms yet: %s", error)
                await asyncio.sleep(EVERY)
        while True:
            self._nudged.clear()
            try:
                await self.round()
            except RouterError as error:
                log.warning("nothing can be posted right now: %s", error)
            except Exception:  # an outbox that stops would be a silence that nobody explains
                log.exception("nothing was posted")
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._nudged.wait()

    async def _introduced(self) -> None:
        """Everyone with an account gets their approvals there, from the first time on."""
        for name in self._platforms:
            for person, account in self._services.directory.accounts(name):
                await self._services.store.mailboxes.open(
                    Mailbox(
                        tenant=person.tenant,
                        face=name,
                        kind="person",
                        subject=person.id,
                        place={"account": account},
                        due=datetime.now(UTC),
                    )
                )

    async def round(self) -> None:
        """Post what is new now, wherever nobody else is at it."""
        now = datetime.now(UTC)
        boxes = self._services.store.mailboxes
        claimed = await boxes.claim(self._platforms.keys(), now, now + LEASE, AT_ONCE)
        ends = await asyncio.gather(*map(self._delivered, claimed), return_exceptions=True)
        for mailbox, end in zip(claimed, ends, strict=True):
            if isinstance(end, Exception):  # one that can't be read mustn't keep others waiting
                log.error("%s %s isn't posted", mailbox.face, mailbox.subject, exc_info=end)

    async def _delivered(self, mailbox: Mailbox) -> None:
        at, due = mailbox.position, datetime.now(UTC)
        boxes = self._services.store.mailboxes
        try:
            for row in await boxes.unread(mailbox, AT_ONCE):
                await self._post(mailbox, row)
                at = row.sequence or at
                await boxes.advance(mailbox, at, datetime.now(UTC) + LEASE)
            due = datetime.now(UTC)
        except TooManyRequests as error:
            due = datetime.now(UTC) + timedelta(seconds=error.retry_after)
        except Unavailable as error:
            log.warning("%s: %s; it is tried again", mailbox.face, error)
            due = datetime.now(UTC) + AGAIN
        await boxes.advance(mailbox, at, due)

    async def _post(self, mailbox: Mailbox, row: LogEntry) -> None:
        """Post what the row says, if anything; what the platform won't have is passed over."""
        post = await self._post_of(mailbox, row)
        if post is None:
            return
        key = derived_id("post", mailbox.face, mailbox.kind, mailbox.subject, str(row.sequence))
        try:
            await self._platforms[mailbox.face].post(mailbox.place, post, key)
        except Undeliverable as error:
            log.warning("%s won't have row %s: %s", mailbox.face, row.sequence, error)

    async def _post_of(self, mailbox: Mailbox, row: LogEntry) -> Post | None:
        if mailbox.kind == "person":
            return await self._wanted(mailbox, row)
        record = await self._services.store.conversations.find(mailbox.tenant, mailbox.subject)
        return said_in(row, mailbox.subject, record.locale) if record else None

    async def _wanted(self, mailbox: Mailbox, row: LogEntry) -> Post | None:
        person = await self._services.directory.find(mailbox.tenant, mailbox.subject)
        if person is None or row.data.get("reason") not in ASKING:
            return None
        record = await self._awaited(mailbox, str(row.data.get("flow_run")))
        return None if record is None else await card_of(self._services, person, record)

    async def _awaited(self, mailbox: Mailbox, run: str) -> ApprovalRecord | None:
        awaited = await self._services.store.runs.awaited(mailbox.tenant, [run])
        return next((one for one in awaited if one.person == mailbox.subject), None)


def said_in(row: LogEntry, conversation: str, locale: Locale) -> Statement | None:
    """What the desk says in a row of the log: an answer, or news; None where it says nothing."""
    if row.kind == "turn":
        replies = RecordedTurn.model_validate(row.data).turn.replies
        return Statement(replies, conversation, locale) if replies else None
    if row.kind == "message" and row.data["role"] != "user" and not row.message_id:
        news = _News.model_validate(row.data)
        return Statement(news.replies, conversation, locale) if news.replies else None
    return None
