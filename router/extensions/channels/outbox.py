"""What chat platforms are posted, in the log's order, and what a press on a posted card comes to.

A press decides once, and only on what the card shows. What a conversation says is in the log
before anybody is told, so an answer is posted by whichever process comes to it, from the position
that the last one kept; where one died after a post, again and under the same key.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from router.api.approvals import find_decision, settle
from router.api.dependencies import Services
from router.api.files import files_named
from router.api.params import derived_id, said_text
from router.domain.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    RouterError,
    TooManyRequests,
    Unavailable,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import Reply, as_plain_text, replies_of
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord, LogEntry, Mailbox, RecordedTurn
from router.extensions.channels import cards, hand_offs
from router.extensions.channels.base import (
    LONGEST_COMMENT,
    CardDecision,
    ChatPlace,
    DecisionRequest,
    GivenFile,
    NotAdmitted,
    Outbound,
    Post,
    ReadingOutbound,
    Statement,
    Undeliverable,
)
from router.extensions.channels.deferral import (
    AT_ONCE,
    Deferral,
    card_of,
    in_time,
    pause_after,
    place_now,
    wanted,
)
from router.extensions.notifications.store import LEASE, Notifications
from router.flow.engine.events import Decided
from router.telemetry.metrics import UNPOSTED


@dataclass(frozen=True)
class DecisionOutcome:
    """What a press came to, for whoever pressed. `card` is how theirs looks from now on, if known.

    `text` is in their language. One that `failed` came to nothing yet: they may press again. One
    that is `wordless` neither, for it doesn't say what is to be changed.
    """

    text: str
    card: DecisionRequest | None = None
    failed: bool = False
    wordless: bool = False


async def decided(
    services: Services, person: Principal, decision: CardDecision, comment: str, word: str
) -> DecisionOutcome:
    """Decide, and say what became of it; of a second press, what became of the first one.

    Nothing is returned without a `comment`: whoever is to change something has to know what.
    `word` makes a press one, however often it is delivered. Raises `Unconfirmed` where it isn't
    known in time whether the decision was counted.
    """
    record = await services.store.runs.find_approval(person.tenant, decision.approval)
    if record is None or record.person != person.id:
        return DecisionOutcome(cards.NOT_YOURS.within(person.locale))
    remark = comment.strip() or None
    if not _may_be_said(remark, decision):
        if record.verdict is not None:
            return await _outcome(services, person, record, _already(record.verdict))
        return DecisionOutcome(cards.WORD_NEEDED.within(person.locale), wordless=True)
    event = Decided(
        by=person.id,
        name=person.name,
        approval=record.id,
        verdict=decision.verdict,
        comment=remark,
        digest=decision.digest,
    )
    try:
        # Whatever the row says: a run that a dying server made forget it has to be told again.
        await settle(services, record, event, word)
    except (Conflict, NotFound) as error:
        return await _too_late(services, person, decision, error)
    known = record.verdict == decision.verdict and record.decided_at is not None
    said = _already(decision.verdict) if known else cards.DONE[decision.verdict]
    return await _outcome(services, person, record, said)


def _may_be_said(remark: str | None, decision: CardDecision) -> bool:
    if remark is None:
        return decision.verdict != "return"
    try:
        return len(said_text(remark, "comment")) <= LONGEST_COMMENT
    except InvalidInput:
        return False


async def _too_late(
    services: Services, person: Principal, decision: CardDecision, error: RouterError
) -> DecisionOutcome:
    record = await services.store.runs.find_approval(person.tenant, decision.approval)
    if record is None:
        return DecisionOutcome(cards.NOT_YOURS.within(person.locale))
    if record.digest != decision.digest:
        return await _outcome(services, person, record, cards.CHANGED)
    if record.verdict is None and record.active:
        return DecisionOutcome(error.said.within(person.locale))
    return await _outcome(services, person, record, await _what_happened(services, record))


async def standing_of(services: Services, record: ApprovalRecord, digest: str) -> Localised | None:
    """What became of what was shown by this digest; None where the decision is still awaited."""
    if record.verdict is not None:
        return _already(record.verdict)
    if record.digest != digest:
        return cards.CHANGED
    return None if record.active else await _what_happened(services, record)


async def _what_happened(services: Services, record: ApprovalRecord) -> Localised:
    if record.verdict is not None:
        return _already(record.verdict)
    made = await find_decision(services, record)
    return _already(*made) if made else cards.CLOSED


async def _outcome(
    services: Services, person: Principal, record: ApprovalRecord, said: Localised
) -> DecisionOutcome:
    text = said.within(person.locale)
    return DecisionOutcome(text, await card_of(services, person, record, text))


def _already(verdict: str, by: str = "") -> Localised:
    if verdict == "changed":
        return cards.BY_REQUESTER
    done, whose = cards.DONE.get(verdict, Localised(zh=verdict, en=verdict)), f" ({by})" * bool(by)
    return Localised(
        zh=cards.ALREADY.zh.format(verdict=f"{done.zh}{whose}"),
        en=cards.ALREADY.en.format(verdict=f"{done.en}{whose}"),
    )


EVERY = 1.0
"""Seconds between looks, where nothing says that there is something."""
COUNTED_EVERY = timedelta(seconds=15)
_NEVER = datetime.min.replace(tzinfo=UTC)
REMINDING = frozenset({"reminded", "nudged"})
"""Reasons for which one is wanted that was asked for before: those wait for a person's hours."""
ASKING = frozenset({"asked", "escalated", "delegated", "added"}) | REMINDING
"""Reasons for which a decision is wanted."""

log = logging.getLogger(__name__)


@dataclass
class Outbox:
    """Brings what is new to each platform, one post at a time within a mailbox.

    Each platform has a task of its own, so that one that is slow or away keeps none waiting.
    """

    _services: Services
    _platforms: Mapping[str, Outbound]
    _nudged: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _counted: dict[str, datetime] = field(default_factory=dict)
    _deferral: Deferral = field(init=False)

    def __post_init__(self) -> None:
        self._deferral = Deferral(self._services, self._platforms)

    def nudge(self) -> None:
        """There is something new: don't wait for the next look."""
        for name in self._platforms:
            self._nudged[name].set()

    async def run(self) -> None:
        """Post until cancelled."""
        await asyncio.gather(*map(self._run, self._platforms))

    async def _run(self, platform: str) -> None:
        nudged, is_introduced = self._nudged[platform], False
        while True:
            nudged.clear()
            if not is_introduced:
                is_introduced = await self._went_well(platform, self._introduced(platform))
            if is_introduced:
                await self._went_well(platform, self.round(platform))
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await nudged.wait()

    async def _went_well(self, platform: str, work: Coroutine[Any, Any, None]) -> bool:
        """True where it did; what went wrong is in the log."""
        try:
            await work
        except RouterError as error:
            log.warning("nothing can be posted on %s right now: %s", platform, error)
            return False
        except Exception:  # an outbox that stops would be a silence that nobody explains
            log.exception("nothing was posted on %s", platform)
            return False
        return True

    async def _introduced(self, platform: str) -> None:
        """Everyone with an account gets their approvals there, from the first time on."""
        for person, account in self._services.directory.accounts(platform):
            mailbox = Mailbox(
                tenant=person.tenant,
                platform=platform,
                kind="person",
                subject=person.id,
                place={"account": account},
                due=datetime.now(UTC),
            )
            await self._services.store.mailboxes.open(mailbox)

    async def round(self, platform: str) -> None:
        """Post there what is new, and what was held back and is due, where nobody else is at it."""
        clock, boxes = self._services.store.clock, self._services.store.mailboxes
        await clock.keep()
        now = clock()
        await self._count(platform, now)
        await self._deferral.round(platform, now)
        now = clock()
        claimed = await boxes.claim([platform], now, now + LEASE, AT_ONCE)
        ends = await asyncio.gather(*map(self._delivered, claimed), return_exceptions=True)
        for mailbox, end in zip(claimed, ends, strict=True):
            if isinstance(end, RouterError):  # as where the database is away: its lease ends
                log.warning("%s %s isn't posted yet: %s", mailbox.platform, mailbox.subject, end)
            elif isinstance(end, Exception):  # one that can't be read mustn't keep others waiting
                log.error("%s %s isn't posted", mailbox.platform, mailbox.subject, exc_info=end)

    async def _count(self, platform: str, now: datetime) -> None:
        """Tell from time to time how long something has waited to be posted there."""
        if now - self._counted.get(platform, _NEVER) < COUNTED_EVERY:
            return
        self._counted[platform] = now
        oldest = await self._services.store.mailboxes.oldest([platform])
        waited = (now - oldest.get(platform, now)).total_seconds()
        UNPOSTED.labels(platform).set(max(0.0, waited))

    async def _delivered(self, mailbox: Mailbox) -> None:
        clock, boxes = self._services.store.clock, self._services.store.mailboxes
        at, due, held = mailbox.position, clock(), mailbox
        try:
            rows = await boxes.unread(mailbox, AT_ONCE)
            for row in rows:
                async with in_time(mailbox.platform):
                    await self._post(mailbox, row)
                at = row.sequence or at
                still = await boxes.advance(held, at, clock() + LEASE)
                if still is None:
                    log.warning("%s %s is another's by now", mailbox.platform, mailbox.subject)
                    return
                held = still
            if len(rows) < AT_ONCE:
                # What it was told of may have expired since, or been erased.
                at = max(at, mailbox.news)
            due = clock()
        except (TooManyRequests, NotAdmitted, Unavailable) as error:
            due = clock() + pause_after(error, mailbox.platform)
        await boxes.advance(held, at, due)

    async def _post(self, mailbox: Mailbox, row: LogEntry) -> None:
        post: Post | None = None
        reader = mailbox.subject
        if mailbox.kind == "person":
            post = await self._for_person(mailbox, row)
        elif record := await self._services.store.conversations.find(
            mailbox.tenant, mailbox.subject
        ):
            post, reader = said_in(row, mailbox.subject, record.locale), record.owner
        if post is None:
            return
        place = self._place(mailbox, reader)
        if place is None:
            log.warning(
                "%s: row %s isn't posted: the directory no longer says that %s has this account",
                *(mailbox.platform, row.sequence, reader),
            )
            return
        key = derived_id("post", mailbox.platform, mailbox.kind, mailbox.subject, str(row.sequence))
        try:
            await self._platforms[mailbox.platform].post(place, post, key)
            if isinstance(post, Statement):
                await self._give(mailbox, place, reader, post, key)
        except Undeliverable as error:
            log.warning("%s won't have row %s: %s", mailbox.platform, row.sequence, error)

    async def _give(
        self, mailbox: Mailbox, place: ChatPlace, reader: str, said: Statement, key: str
    ) -> None:
        """Post the files that were said to be there, which nobody can fetch from a chat."""
        services, text = self._services, as_plain_text(said.replies, said.locale)
        for file in await files_named(services, mailbox.tenant, reader, text):
            content = await services.store.files.content(mailbox.tenant, file.id)
            if content:
                given = GivenFile(file.name, file.type, content, file.id)
                name = derived_id(key, file.id)
                await self._platforms[mailbox.platform].give(place, given, name)

    def _place(self, mailbox: Mailbox, reader: str) -> ChatPlace | None:
        return place_now(self._services.directory, mailbox, reader)

    def _reads(self, platform: str) -> bool:
        """True of one where people read, and answer nothing."""
        return isinstance(self._platforms.get(platform), ReadingOutbound)

    async def _for_person(self, mailbox: Mailbox, row: LogEntry) -> Post | None:
        """What a person is told of the row here and now; None: nothing, or later."""
        services, tenant = self._services, mailbox.tenant
        person = await services.directory.find(tenant, mailbox.subject)
        if person is None or not _is_told(row, reads=self._reads(mailbox.platform)):
            return None
        choice = await Notifications(services.store.database).choice(tenant, person.id)
        # A platform may be behind: by what is chosen since, each could leave a row to the other.
        wishes, then = choice.preferences, choice.at(row.at)
        if row.kind == "handoff":
            chats = tuple(one for one in then.channels if not self._reads(one))
            asked = then.replace(channels=chats)
            here = self._deferral.is_chosen(person, asked, mailbox.platform)
            return await hand_offs.statement(services, person, row) if here else None
        if row.kind == "message":
            return said_in(row, row.conversation or "", person.locale) if wishes.news else None
        if not self._deferral.is_chosen(person, then, mailbox.platform):
            return None
        run = str(row.data.get("flow_run"))
        reminds = row.data.get("reason") in REMINDING
        if reminds or wishes.requests_wait:
            opens = await self._deferral.opens(person, wishes, services.store.clock())
            if opens is not None:
                number = row.sequence or 0
                await self._deferral.defer(mailbox, run, number, opens, reminds=reminds)
                return None
        return await wanted(services, person, run, reminds=reminds)


def _is_told(row: LogEntry, *, reads: bool) -> bool:
    """Whether people are told of such a row, where they only `read` or answer, whatever they wish.

    Where nobody can answer, who helps would only be told every word of somebody's; what they say
    is heard where it was asked for.
    """
    if row.kind == "handoff":
        return not reads
    if row.kind == "message":
        return reads and not row.data.get("author") and row.conversation is not None
    return row.data.get("reason") in ASKING


def said_in(row: LogEntry, conversation: str, locale: Locale) -> Statement | None:
    """What the desk says in a row of the log: an answer, or news; None where it says nothing."""
    replies: list[Reply] = []
    if row.kind == "turn":
        replies = RecordedTurn.model_validate(row.data).turn.replies
    elif row.kind == "message" and row.data["role"] != "user" and not row.message_id:
        replies = replies_of(row.data)
    return Statement(replies, conversation, locale) if replies else None
