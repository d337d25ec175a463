"""What a person is told later: reminders that wait until their hours open, and daily digests.

A reminder isn't posted while its reader is left alone, on any platform: it is put down, once for
each request, and comes as the hours open if the decision is still awaited by then. A digest is
due once a day. Whichever process comes to one posts it, and none of them twice.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from router.api.dependencies import Services
from router.api.params import derived_id
from router.domain.errors import RouterError, TooManyRequests, Unavailable
from router.domain.principals import PeopleDirectory, Principal
from router.domain.records import ApprovalRecord, Mailbox
from router.extensions.channels.base import (
    ChatPlace,
    DecisionRequest,
    Digest,
    NotAdmitted,
    Outbound,
    ReadingOutbound,
    Undeliverable,
)
from router.extensions.notifications.preferences import (
    NotificationPreferences,
    beginning,
    local_day,
    opens,
    plan_digest,
)
from router.extensions.notifications.store import (
    LEASE,
    ChosenPreferences,
    DeferredPost,
    Notifications,
)

IN_TIME = LEASE * 0.75
"""For which one post may take, waiting for its turn included: what takes longer is left, lest
somebody else whose lease it is by then posts it too."""
AGAIN = timedelta(seconds=5)
"""After a platform was out of reach."""
SELDOM = timedelta(seconds=30)
"""After one didn't take us: that wants a person."""
AT_ONCE = 50
MOST_IN_DIGEST = 50
"""What waits beyond these is counted, and seen at the desk."""
_DAY = timedelta(days=1)

log = logging.getLogger(__name__)


def pause_after(error: RouterError, platform: str) -> timedelta:
    """How long to wait after this before posting there again; the log says why."""
    if isinstance(error, TooManyRequests):
        return timedelta(seconds=min(error.retry_after, _DAY.total_seconds()))
    if isinstance(error, NotAdmitted):
        log.error("%s: %s; what is to be posted waits", platform, error)
        return SELDOM
    log.warning("%s: %s; it is tried again", platform, error)
    return AGAIN


@asynccontextmanager
async def in_time(platform: str) -> AsyncIterator[None]:
    """Bound what is posted in the block; raises `Unavailable` where it takes too long."""
    try:
        async with asyncio.timeout(IN_TIME.total_seconds()):
            yield
    except TimeoutError:
        seconds = f"{IN_TIME.total_seconds():g}"
        raise Unavailable(f"{platform} didn't take a post within {seconds} s") from None


def place_now(directory: PeopleDirectory, mailbox: Mailbox, reader: str) -> ChatPlace | None:
    """Where the reader reads what is for them alone; None where no account is theirs now.

    Ask before every post: an account is unlinked, moved and deleted while posts are owed.
    """
    platform, account = mailbox.platform, mailbox.place.get("account", "")
    whose = directory.by_account(platform, account)
    if whose is not None and (whose.tenant, whose.id) == (mailbox.tenant, reader):
        return mailbox.place
    if mailbox.kind == "conversation":  # the channel was that account's, or shared with it
        return None
    moved = directory.accounts_of(mailbox.tenant, reader).get(platform)
    return None if moved is None else {"account": moved}


async def card_of(
    services: Services, person: Principal, record: ApprovalRecord, outcome: str = ""
) -> DecisionRequest:
    """The approver's card, in their language."""
    requester = await services.directory.find(record.tenant, record.requester)
    name = requester.name if requester else record.requester
    before = await services.store.runs.shown_before(record.tenant, [record.run])
    changes = record.changes_since(before.get(record.run, record), person.locale)
    return DecisionRequest(record, name, person.locale, outcome, [] if outcome else changes)


async def wanted(
    services: Services, person: Principal, run: str, *, reminds: bool
) -> DecisionRequest | None:
    """What the run asks of the person; None where it asks nothing of them any more."""
    for record in await services.store.runs.awaited(person.tenant, [run]):
        if record.person == person.id:
            return replace(await card_of(services, person, record), reminds=reminds)
    return None


@dataclass(frozen=True)
class Deferral:
    """Says when people may be written to, and posts what has waited for that."""

    services: Services
    platforms: Mapping[str, Outbound]

    def is_chosen(self, person: Principal, wishes: NotificationPreferences, platform: str) -> bool:
        """True where approvals come to the person on this platform.

        Of what they chose only that counts where they can be reached: a choice that leaves no way
        to ask somebody would be a request that nobody hears of.
        """
        theirs = self.services.directory.accounts_of(person.tenant, person.id)
        chosen = {one for one in wishes.channels if one in theirs and one in self.platforms}
        return not chosen or platform in chosen

    async def opens(
        self, person: Principal, wishes: NotificationPreferences, at: datetime
    ) -> datetime | None:
        """When the person may be written to, where that isn't at once."""
        found = opens(wishes, person, at, await self.days(person, wishes, at))
        return found if found > at else None

    async def days(
        self, person: Principal, wishes: NotificationPreferences, at: datetime
    ) -> Sequence[date]:
        """The next two days on which the person may be written to."""
        today = local_day(person, at)
        if wishes.days_off:
            return [today, today + _DAY]
        first = await self._worked(person, today)
        return [first, await self._worked(person, first + _DAY)]

    async def _worked(self, person: Principal, day: date) -> date:
        found = await self.services.working_from(person, beginning(person, day))
        return local_day(person, found)

    async def defer(
        self, mailbox: Mailbox, run: str, number: int, due: datetime, *, reminds: bool
    ) -> None:
        """Put down what a run asks, or reminds of, to come then."""
        post = DeferredPost(
            reminds=reminds,
            tenant=mailbox.tenant,
            person=mailbox.subject,
            platform=mailbox.platform,
            run=run,
            number=number,
            due=due,
        )
        await Notifications(self.services.store.database).defer(post)

    async def round(self, platform: str, now: datetime) -> None:
        """Post what is due there, wherever nobody else is at it."""
        kept = Notifications(self.services.store.database)
        claimed = await kept.claim([platform], now, AT_ONCE)
        ends = await asyncio.gather(
            *(self._post(post, now) for post in claimed), return_exceptions=True
        )
        for post, end in zip(claimed, ends, strict=True):
            if isinstance(end, Exception):  # it is claimed again after its lease
                log.error(
                    "%s: what %s waits for isn't posted", post.platform, post.person, exc_info=end
                )

    async def _post(self, post: DeferredPost, now: datetime) -> None:
        try:
            async with in_time(post.platform):
                await (self._digest if post.is_digest else self._reminder)(post, now)
        except (TooManyRequests, NotAdmitted, Unavailable) as error:
            pause = pause_after(error, post.platform)
            store = self.services.store
            await Notifications(store.database).again(post, store.clock() + pause)

    async def _reminder(self, post: DeferredPost, now: datetime) -> None:
        kept = Notifications(self.services.store.database)
        person = await self.services.directory.find(post.tenant, post.person)
        if person is not None:
            choice = await kept.choice(post.tenant, post.person)
            wishes = choice.preferences
            later = await self.opens(person, wishes, now)
            if later is not None:
                await kept.again(post, later, under=wishes)
                return
            if not self.is_chosen(person, wishes, post.platform):
                for platform in self._chosen_since(person, choice):
                    await kept.defer(post.replace(platform=platform, due=now))
                await kept.done(post, under=wishes)
                return
            await self._remind(person, post)
        await kept.done(post)

    def _chosen_since(self, person: Principal, choice: ChosenPreferences) -> list[str]:
        """Where what was held back comes now: nobody held it back there."""
        theirs = self.services.directory.accounts_of(person.tenant, person.id)
        return [
            platform
            for platform in self.platforms
            if platform in theirs
            and self.is_chosen(person, choice.preferences, platform)
            and not self.is_chosen(person, choice.before, platform)
        ]

    async def _remind(self, person: Principal, post: DeferredPost) -> None:
        request = await wanted(self.services, person, post.run, reminds=post.reminds)
        place = self._place(post)
        if request is None or place is None:
            return
        key = derived_id("post", post.platform, "person", post.person, str(post.number))
        try:
            await self.platforms[post.platform].post(place, request, key)
        except Undeliverable as error:
            log.warning("%s won't have a reminder: %s", post.platform, error)

    def _place(self, post: DeferredPost) -> ChatPlace | None:
        mailbox = Mailbox(
            tenant=post.tenant,
            platform=post.platform,
            kind="person",
            subject=post.person,
            place={},
            due=post.due,
        )
        return place_now(self.services.directory, mailbox, post.person)

    async def _digest(self, post: DeferredPost, now: datetime) -> None:
        kept = Notifications(self.services.store.database)
        person = await self.services.directory.find(post.tenant, post.person)
        wishes = await kept.chosen(post.tenant, post.person)
        if person is None:
            await kept.done(post)
            return
        last = date.fromordinal(post.number) if post.number else None
        plan = plan_digest(wishes, person, last, now, await self.days(person, wishes, now))
        if plan is None:
            await kept.done(post, under=wishes)
            return
        if plan.sends:
            await self._send_digest(person, post, plan.last)
        await kept.again(post, plan.due, plan.last.toordinal(), under=wishes)

    async def _send_digest(self, person: Principal, post: DeferredPost, day: date) -> None:
        """Post what waits; where nothing does there is nothing to read."""
        outbound, place = self.platforms[post.platform], self._place(post)
        if place is None or not isinstance(outbound, ReadingOutbound):
            return
        runs = self.services.store.runs
        found, _ = await runs.waiting_for(person.tenant, person.id, None, MOST_IN_DIGEST)
        if not found:
            return
        count = await runs.count_waiting(person.tenant, person.id)
        cards = [await card_of(self.services, person, record) for record in found]
        digest = Digest(cards, max(0, count - len(found)), day, person.locale)
        key = derived_id("digest", post.platform, person.tenant, person.id, day.isoformat())
        try:
            await outbound.post_digest(place, digest, key)
        except Undeliverable as error:
            log.warning("%s won't have a digest: %s", post.platform, error)
