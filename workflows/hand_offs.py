"""A conversation with a person, within its workflow: handed over, attended, and given back.

What is decided here changes nothing by itself: a `Step` says how the hand-off stands after it, what
is said in the conversation, and who hears that something happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from router.contracts import activities
from router.contracts.conversation import ConversationStart, HandOffDeed
from router.contracts.conversation_state import HandOffNews, KnownHandOffs
from router.domain import hand_offs
from router.domain.errors import Conflict
from router.domain.hand_offs import (
    BACK,
    Duty,
    HandOffCause,
    HandOffEnd,
    HandOffEvent,
    HandOffRecord,
    NamedPerson,
    OngoingHandOff,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ChoicesReply,
    Option,
    Reply,
    TextReply,
    digest_of,
    offer_question,
)
from router.domain.visible_text import quote_person
from workflows import notices
from workflows.activity import fresh_id, perform

RUNG_AGAIN = timedelta(hours=1)
"""After what was due about a hand-off couldn't be done."""


@dataclass(frozen=True)
class Step:
    """The result of a deed, or of an alarm; without an `event` nothing happened."""

    state: KnownHandOffs
    record: HandOffRecord
    event: HandOffEvent | None = None
    people: Sequence[str] = ()
    """Who hears of it."""
    replies: list[Reply] = field(default_factory=list)
    """What is said in the conversation, by the `author` or by the desk."""
    author: NamedPerson | None = None
    word: str = ""


async def on_duty(tenant: str, requester: str, agent: NamedPerson | None = None) -> Duty:
    """Who can take what this person wants somebody for; with an `agent`, when they could."""
    asked = activities.AskDuty(tenant=tenant, requester=requester, now=workflow.now(), agent=agent)
    return await perform(activities.WHO_IS_ON_DUTY, asked)


async def begun(
    tenant: str,
    requester: str,
    cause: HandOffCause,
    reason: str,
    why: Localised | None,
) -> tuple[OngoingHandOff | None, Duty]:
    """A hand-off of now, and who is on duty; None where nobody ever takes any."""
    duty = await on_duty(tenant, requester)
    return OngoingHandOff.begun(fresh_id(), cause, reason, duty, workflow.now(), why), duty


def announced(hand_off: OngoingHandOff, duty: Duty, locale: Locale) -> Reply:
    """What the employee is told of it, with the button by which they come back."""
    if hand_off.opens_at is not None:
        said = notices.nobody_on_duty(hand_off.opens_at)
    else:
        said = notices.handed_to(len(duty.on_duty))
    options = [Option(label=notices.BACK_TO_DESK.within(locale), value=BACK)]
    question = offer_question(options)
    return ChoicesReply(text=said.within(locale), options=options, question=question)


def still_waiting(hand_off: OngoingHandOff) -> Localised | None:
    """What the employee is told who says more before anybody has taken it."""
    if hand_off.agent is not None:
        return None
    if hand_off.opens_at is not None:
        return notices.nobody_on_duty(hand_off.opens_at)
    return notices.IN_QUEUE


def end(state: KnownHandOffs, over: HandOffRecord, closing: str = "") -> KnownHandOffs:
    """Return the state with the conversation back at the assistant, after these closing words."""
    digest = digest_of(closing) if closing else ""
    return state.replace(ongoing=None, last_record=over, last_closing=digest)


class HandOffs:
    """Deeds of those who take hand-offs, and alarms, in one conversation."""

    def __init__(self, start: ConversationStart) -> None:
        self._start = start
        owes = start.state is not None and start.state.hand_offs.unpublished
        self.due: datetime | None = workflow.now() if owes else None
        """When what is owed to those outside is tried again; None where nothing is."""

    async def attended(self, state: KnownHandOffs, deed: HandOffDeed, locale: Locale) -> Step:
        """What the deed comes to; one that is sent again comes to nothing more.

        Raises `Conflict` where somebody else has it, it is over, or the same was just said and no
        key tells whether it is to be said again.
        """
        last = state.last_record
        if state.ongoing is None and last is not None and last.id == deed.hand_off:
            mine = last.agent == deed.by.id or deed.any_agent
            if deed.kind in {"return", "close"} and mine and last.ending != "taken_back":
                if deed.text and digest_of(deed.text) != state.last_closing:
                    raise Conflict(hand_offs.NOBODY_HAS_IT)
                return Step(state, last)
        hand_off = hand_offs.the_one(state.ongoing, deed.hand_off)
        if deed.word in hand_off.words:
            return Step(state, self._record(hand_off))
        if deed.kind == "take":
            return await self._taken(state, hand_off, deed, locale)
        if not deed.any_agent:
            hand_off.check_with(deed.by.id)
        if deed.kind == "reply":
            digest = digest_of(deed.text)
            if not deed.has_key and digest == hand_off.last_reply:
                raise Conflict(hand_offs.SAID_ALREADY)
            duty = await self._duty(hand_off)
            after = hand_off.answered(deed.word, duty, digest)
            said: list[Reply] = [TextReply(text=deed.text)]
            return self._step(state, after, "said", (), said, deed)
        return self._given_back(state, hand_off, deed, locale)

    async def _taken(
        self,
        state: KnownHandOffs,
        hand_off: OngoingHandOff,
        deed: HandOffDeed,
        locale: Locale,
    ) -> Step:
        duty = await on_duty(self._start.tenant, self._start.owner, deed.by)
        after = hand_off.taken(deed.by, deed.word, duty, workflow.now())
        if after is hand_off:
            return Step(state, self._record(hand_off))
        said: list[Reply] = [TextReply(text=notices.taken_over(deed.by.name).within(locale))]
        people = [*hand_off.told, deed.by.id]
        return self._step(state, after, "taken", people, said)

    def _given_back(
        self,
        state: KnownHandOffs,
        hand_off: OngoingHandOff,
        deed: HandOffDeed,
        locale: Locale,
    ) -> Step:
        solved = deed.kind == "close"
        record = self._over(hand_off, "solved" if solved else "returned")
        name = hand_off.agent.name if hand_off.agent else deed.by.name
        said = notices.solved_by(name) if solved else notices.returned_by(name)
        own: list[Reply] = [TextReply(text=quote_person(name, deed.text))] if deed.text else []
        replies = [*own, TextReply(text=said.within(locale))]
        return Step(end(state, record, deed.text), record, "closed", _whose(hand_off), replies)

    async def rung(self, state: KnownHandOffs, hand_off: OngoingHandOff, locale: Locale) -> Step:
        """What is due: somebody has come on duty, is reminded, or it goes back to the desk."""
        if hand_off.stage == "opens":
            after = hand_off.shown_to(await self._duty(hand_off))
            return self._step(state, after, "requested", after.told)
        if hand_off.stage == "waits" and hand_off.waiting_since is not None:
            after = hand_off.reminded(await self._duty(hand_off))
            said: list[Reply] = [TextReply(text=notices.REMINDED.within(locale))]
            return self._step(state, after, "reminded", _whose(after), said)
        waited = hand_off.waiting_since is not None
        record = self._over(hand_off, "unanswered" if waited else "returned")
        told = notices.UNANSWERED if waited else notices.SILENT
        replies: list[Reply] = [TextReply(text=told.within(locale))]
        return Step(end(state, record), record, "closed", _whose(hand_off), replies)

    def _step(
        self,
        state: KnownHandOffs,
        after: OngoingHandOff,
        event: HandOffEvent,
        people: Sequence[str],
        replies: Sequence[Reply] = (),
        by: HandOffDeed | None = None,
    ) -> Step:
        author, word = (by.by, by.word) if by else (None, "")
        changed = state.replace(ongoing=after)
        return Step(changed, self._record(after), event, people, [*replies], author, word)

    def _over(self, hand_off: OngoingHandOff, ending: HandOffEnd) -> HandOffRecord:
        start, now = self._start, workflow.now()
        return hand_off.ended(start.tenant, start.conversation, start.owner, ending, now)

    def _record(self, hand_off: OngoingHandOff) -> HandOffRecord:
        start = self._start
        return hand_off.record(start.tenant, start.conversation, start.owner)

    async def _duty(self, hand_off: OngoingHandOff) -> Duty:
        return await on_duty(self._start.tenant, self._start.owner, hand_off.agent)

    async def publish(
        self, record: HandOffRecord, event: HandOffEvent, people: Sequence[str]
    ) -> None:
        """Have lists show how it stands, and these people hear of it."""
        await _publish(_news(record, event, people))

    async def publish_turn(
        self, before: KnownHandOffs, after: KnownHandOffs, message_id: str
    ) -> KnownHandOffs:
        """Publish what a turn has made of the hand-off, if anything; return what is left to do.

        What can't be made known fails no turn: that is on record, and its message taken in.
        """
        was, now, news = before.ongoing, after.ongoing, None
        if was is None and now is not None:
            news = _news(self._record(now), "requested", now.told, message_id)
        elif was is not None and now is not None and was != now:
            people = [now.agent.id] if now.agent else []
            news = _news(self._record(now), "said", people, message_id)
        elif was is not None and now is None and after.last_record is not None:
            news = _news(after.last_record, "closed", _whose(was), message_id)
        if news is None:
            return after
        return await self.settle(after.replace(unpublished=(*after.unpublished, news)))

    async def settle(self, state: KnownHandOffs) -> KnownHandOffs:
        """Publish what isn't yet, in order; what can't be is tried again in an hour."""
        left = list(state.unpublished)
        try:
            while left:
                await _publish(left[0])
                del left[0]
        except ActivityError:
            workflow.logger.exception("hand-off %s isn't made known yet", left[0].record.id)
            self.due = workflow.now() + RUNG_AGAIN
        else:
            self.due = None
        return state.replace(unpublished=tuple(left))


def _news(
    record: HandOffRecord, event: HandOffEvent, people: Sequence[str], message_id: str | None = None
) -> HandOffNews:
    told = tuple(people)
    return HandOffNews(
        record=record, event=event, people=told, at=workflow.now(), message_id=message_id
    )


async def _publish(news: HandOffNews) -> None:
    record, event = news.record, news.event
    rows = hand_offs.entries(record, event, news.people, news.at, news.message_id)
    given = activities.PublishHandOff(record=record, entries=rows)
    await perform(activities.PUBLISH_HAND_OFF, given, summary=f"{event}: {record.state}")


def _whose(hand_off: OngoingHandOff) -> list[str]:
    """Who has it, or could take it."""
    return [hand_off.agent.id] if hand_off.agent else hand_off.told
