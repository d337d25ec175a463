"""A conversation handed to a person: who may take it, how it stands, and what it comes to.

All of it is pure: the conversation's workflow carries an `OngoingHandOff` and changes it by these
methods; a `HandOffRecord` is what lists show of it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, Self

from pydantic import JsonValue

from router.domain.errors import Conflict, NotFound
from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.domain.records import LogEntry, Record
from router.domain.value import Value

HandOffState = Literal["open", "taken", "closed"]
HandOffGoingOn = Literal["open", "taken"]
HandOffCause = Literal["asked", "gave_up"]
"""A person asked for a person; or the desk, a model or a flow gave up."""
HandOffEnd = Literal["returned", "solved", "taken_back", "unanswered"]
"""Who took it gave it back, or said that it is done; the employee came back; nobody answered."""
DeedKind = Literal["take", "reply", "return", "close"]
HandOffEvent = Literal["requested", "taken", "said", "reminded", "closed"]

LONGEST_REASON = 300
"""Characters of why it was handed over: a model may have written it."""
MOST_TOLD = 20
"""People on duty who are told of one hand-off; the others find it in the queue."""
MOST_WORDS = 50
"""Deeds of a hand-off that are remembered, so that one which is sent again does nothing."""
ANSWER_HOURS = 4.0

BACK = "hand_off:back"
"""What the button is worth by which the employee comes back to the desk."""


class HandOffDesk(Value):
    """Who takes what a tenant's people want a person for, and how soon.

    Whoever holds one of the `roles`, or is one of the `people`, may take it. Where nobody has
    answered within `answer_hours` of working time they are reminded; after as much again the
    conversation goes back to the desk.
    """

    roles: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    answer_hours: float = ANSWER_HOURS

    def has(self, person: Principal) -> bool:
        """True where they may take what is handed over.

        >>> desk = HandOffDesk(roles=frozenset({"hr"}))
        >>> desk.has(Principal(id="dave", name="Dave", roles=frozenset({"hr"})))
        True
        """
        return person.id in self.people or bool(self.roles & person.roles)


class NamedPerson(Value):
    """Somebody by id and name: who takes a hand-off, or asked for one."""

    id: str
    name: str

    @classmethod
    def of(cls, person: Principal) -> Self:
        """The person."""
        return cls(id=person.id, name=person.name)


class Duty(Value):
    """Who can take a hand-off now. `opens_at` is when the first could, where nobody can now.

    `due` is until when it is to be answered; None where nobody ever could.
    """

    configured: bool = False
    on_duty: list[NamedPerson] = []
    opens_at: datetime | None = None
    due: datetime | None = None


class HandOffRecord(Record):
    """A hand-off as lists show it; `version` orders what is published of it: the highest wins."""

    id: str
    tenant: str
    conversation: str
    requester: str
    cause: HandOffCause
    reason: str
    """As the employee reads it, or a model wrote it."""
    why: Localised | None = None
    """The same in both languages, where it is the desk's."""
    state: HandOffState
    agent: str | None
    since: datetime
    waiting_since: datetime | None
    """Since when the employee waits for an answer; None where it is their turn."""
    due: datetime | None
    taken_at: datetime | None = None
    closed_at: datetime | None = None
    ending: HandOffEnd | None = None
    version: int

    def reason_in(self, locale: Locale) -> str:
        """Why, for somebody who helps; a model's words are as they are."""
        return self.why.within(locale) if self.why else self.reason


NOBODY_HAS_IT = Localised(
    zh="这个转交已经结束了，没有任何改变。", en="This hand-off is over; nothing was changed."
)
NOT_YOURS = Localised(
    zh="它不在您手上，没有任何改变。", en="It isn't with you; nothing was changed."
)


SAID_ALREADY = Localised(
    zh="您刚说过同样的话，已经送到，没有再说一遍。确实要再说一遍，请带一个新的 Idempotency-Key 再发"
    "一次。",
    en="You have just said the same: it arrived, and wasn't said again. To say it once more, send "
    "it with an Idempotency-Key of its own.",
)


def taken_by(name: str) -> Conflict:
    """That somebody else was quicker."""
    return Conflict(
        Localised(
            zh=f"{name} 已经接手了，没有任何改变。",
            en=f"{name} has taken it already; nothing was changed.",
        )
    )


class OngoingHandOff(Value):
    """A hand-off that isn't over, as its conversation carries it.

    Nobody has it, or `agent` does. At `alarm` something is due: `opens`: somebody comes on duty,
    `waits`: whoever has it, or could, is reminded, `reminded`: it goes back to the desk.
    """

    id: str
    cause: HandOffCause
    reason: str = ""
    why: Localised | None = None
    since: datetime
    agent: NamedPerson | None = None
    taken_at: datetime | None = None
    waiting_since: datetime | None
    told: list[str] = []
    """Whom the queue was last shown to, by id."""
    alarm: datetime
    stage: Literal["opens", "waits", "reminded"] = "waits"
    opens_at: datetime | None = None
    words: list[str] = []
    """What made its last deeds one each, however often they were sent."""
    last_reply: str = ""
    """The digest of what the agent said last, until the employee says something."""
    version: int = 1

    @classmethod
    def begun(
        cls,
        id_: str,
        cause: HandOffCause,
        reason: str,
        duty: Duty,
        now: datetime,
        why: Localised | None = None,
    ) -> Self | None:
        """A hand-off of now; None where there is nobody to whom it could go."""
        if duty.due is None:
            return None
        begun = cls(
            id=id_,
            cause=cause,
            reason=reason[:LONGEST_REASON],
            why=why,
            since=now,
            waiting_since=now,
            alarm=duty.due,
        )
        return begun.shown_to(duty)

    @property
    def _next(self) -> Self:
        """The hand-off with the version that comes after this one's."""
        return self.replace(version=self.version + 1)

    def shown_to(self, duty: Duty) -> Self:
        """Those on duty are told of it; where nobody is, it waits until somebody comes on duty."""
        if not duty.on_duty and duty.opens_at is not None:
            at = duty.opens_at
            return self._next.replace(stage="opens", alarm=at, opens_at=at, told=[])
        told = [one.id for one in duty.on_duty[:MOST_TOLD]]
        return self._next.replace(
            told=told, stage="waits", opens_at=None, alarm=duty.due or self.alarm
        )

    def reminded(self, duty: Duty) -> Self:
        """Who has it, or could take it, is told that somebody waits."""
        told = self.told if self.agent else [one.id for one in duty.on_duty[:MOST_TOLD]]
        return self._next.replace(told=told, stage="reminded", alarm=duty.due or self.alarm)

    def heard(self, duty: Duty, now: datetime) -> Self:
        """The employee has said something more."""
        if self.waiting_since is not None:
            return self._next.replace(last_reply="")
        alarm = duty.due or self.alarm
        return self._next.replace(last_reply="", waiting_since=now, stage="waits", alarm=alarm)

    def taken(self, by: NamedPerson, word: str, duty: Duty, now: datetime) -> Self:
        """`by` has it from now on; `Conflict` where somebody else has. Taken twice it is as it was.

        Of two who take it at once the second is told so.
        """
        if self.agent is not None and self.agent.id != by.id:
            raise taken_by(self.agent.name)
        if self.agent is not None:
            return self
        alarm = duty.due or self.alarm
        return self._next.replace(
            agent=by, taken_at=now, stage="waits", opens_at=None, alarm=alarm, words=[word]
        )

    def answered(self, word: str, duty: Duty, digest: str) -> Self:
        """Whoever has it has said something, which has this digest."""
        words = [*self.words, word][-MOST_WORDS:]
        return self._next.replace(
            stage="waits",
            waiting_since=None,
            alarm=duty.due or self.alarm,
            words=words,
            last_reply=digest,
        )

    def check_with(self, person: str) -> None:
        """Return where this person has it; `Conflict` where somebody else has, or nobody."""
        if self.agent is None or self.agent.id != person:
            raise taken_by(self.agent.name) if self.agent else Conflict(NOT_YOURS)

    def record(self, tenant: str, conversation: str, requester: str) -> HandOffRecord:
        """How it stands, for lists."""
        return HandOffRecord(
            id=self.id,
            tenant=tenant,
            conversation=conversation,
            requester=requester,
            cause=self.cause,
            reason=self.reason,
            why=self.why,
            state="taken" if self.agent else "open",
            agent=self.agent.id if self.agent else None,
            since=self.since,
            waiting_since=self.waiting_since,
            due=self.alarm,
            taken_at=self.taken_at,
            version=self.version,
        )

    def ended(
        self, tenant: str, conversation: str, requester: str, ending: HandOffEnd, now: datetime
    ) -> HandOffRecord:
        """How it stands for lists once it is over."""
        over = self.record(tenant, conversation, requester)
        return over.replace(
            state="closed",
            ending=ending,
            closed_at=now,
            version=over.version + 1,
            waiting_since=None,
            due=None,
        )


def the_one(state: OngoingHandOff | None, id_: str) -> OngoingHandOff:
    """The hand-off of this id that the conversation has; `NotFound`, `Conflict` where it hasn't."""
    if not id_:
        raise NotFound("There is no such hand-off.")
    if state is None or state.id != id_:
        raise Conflict(NOBODY_HAS_IT)
    return state


def entries(
    record: HandOffRecord,
    event: HandOffEvent,
    people: Iterable[str],
    at: datetime,
    message_id: str | None = None,
) -> list[LogEntry]:
    """The rows of what happened to it: the conversation's own, and one for each of these people.

    They hold nobody's words: who may read those looks them up, as long as they are there.
    """
    data: dict[str, JsonValue] = {
        "event": event,
        "hand_off": record.id,
        "state": record.state,
        "cause": record.cause,
        "agent": record.agent,
        "ending": record.ending,
        "requester": record.requester,
    }
    key = f"{record.conversation}:{record.id}:{record.version}:{event}"
    own = LogEntry(key=key, kind="handoff", at=at, conversation=record.conversation, data=data)
    told: dict[str, JsonValue] = {
        **data,
        "conversation": record.conversation,
        "message_id": message_id,
    }
    return [
        *([own] if event != "said" else []),
        *(
            LogEntry(key=f"{key}:{person}", kind="handoff", at=at, recipient=person, data=told)
            for person in dict.fromkeys(people)
        ),
    ]
