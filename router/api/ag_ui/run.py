"""A run: decisions and turns, told in AG-UI's events while they happen."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    RunStartedEvent,
    StateSnapshotEvent,
)
from ag_ui.encoder import EventEncoder
from fastapi import Request
from fastapi.responses import Response
from pydantic import JsonValue

from router.api import approving
from router.api.ag_ui.ending import broken_off, ended
from router.api.ag_ui.interrupts import asked_in, of_approval
from router.api.ag_ui.plan import Decision, Plan
from router.api.ag_ui.run_input import RunInput
from router.api.ag_ui.state import delta, state_of
from router.api.ag_ui.telling import Telling
from router.api.ag_ui.texts import whole
from router.api.deps import Services
from router.api.identifiers import derived_id
from router.api.standing import standing
from router.api.streaming import LINE_ENDS, EventStream
from router.api.turns import Turns
from router.api.under_way import Failed, Happening, Silence, TakenIn, UnderWay
from router.contracts.conversation import ConversationStatus, Submission
from router.domain.errors import Unavailable
from router.domain.messages import FlowSummary, Turn
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ConversationRecord
from router.domain.texts import Localised
from router.flow.run import Verdict

MOST_APPROVALS = 20
"""Approvals that one run waits for, the newest; the others come after them."""

_SILENCE = b": ping\n\n"
"""A comment, which no event comes of."""

_DECIDED: dict[Verdict, Localised] = {
    "approve": Localised(zh="已同意", en="Approved"),
    "reject": Localised(zh="已拒绝", en="Rejected"),
    "return": Localised(zh="已退回修改", en="Returned for changes"),
    "delegate": Localised(zh="已转交", en="Passed on"),
    "add": Localised(zh="已加签", en="Approver added"),
}


@dataclass
class Run:
    """One run on its way, and what its front end hears of it meanwhile."""

    request: Request
    services: Services
    turns: Turns
    caller: Principal
    record: ConversationRecord
    input: RunInput
    plan: Plan
    before: ConversationStatus
    _begun: bool = False
    _made: list[Turn] = field(default_factory=list)
    _history: list[Message] = field(default_factory=list)
    _thrown_away: bool = False

    async def response(self) -> Response:
        """The answer, which begins once it is certain that the run does.

        Raises what `Turns.submit` raises, where that comes out before: no run was begun then.
        """
        events = self._encoded()
        return EventStream(events, await anext(events))

    async def _encoded(self) -> AsyncGenerator[bytes]:
        encoder = EventEncoder()
        async with aclosing(self._told()) as told:
            async for one in told:
                if isinstance(one, Silence):
                    yield _SILENCE
                else:
                    yield encoder.encode(one).translate(LINE_ENDS).encode()

    async def _told(self) -> AsyncGenerator[BaseEvent | Silence]:
        """All events of the run; an error is one of them once it has begun."""
        try:
            async with aclosing(self._happening()) as happening:
                async for one in happening:
                    yield one
        except Exception as error:
            if not self._begun:
                raise
            yield await broken_off(self.request, error)

    async def _happening(self) -> AsyncGenerator[BaseEvent | Silence]:
        """All of it; the run begins once the first thing in it was taken in, if anything is."""
        for decision in self.plan.decisions:
            made = await self._decided(decision)
            for event in [*self._beginning(), *made]:
                yield event
        for number in range(len(self.plan.messages)):
            async with aclosing(self._turn(number)) as turn:
                async for one in turn:
                    yield one
        for event in [*self._beginning(), *await self._ending()]:
            yield event

    def _beginning(self) -> Iterator[BaseEvent]:
        if self._begun:
            return
        self._begun = True
        yield RunStartedEvent(
            thread_id=self.input.thread_id,
            run_id=self.input.run_id,
            parent_run_id=self.input.parent_run_id,
            protocol_version=PROTOCOL_VERSION,
        )
        yield StateSnapshotEvent(snapshot=self._state(self.before))
        yield from self.plan.remarks()

    async def _decided(self, decision: Decision) -> list[BaseEvent]:
        record, body = decision.approval, decision.body
        stands = await approving.decide(self.services, self.caller, record, body, decision.key)
        locale = self.caller.locale
        text = f"{_DECIDED[body.decision].within(locale)}: {record.title.within(locale)}"
        id_ = f"{self.input.message_id}.{record.id}"
        self._history.append(AssistantMessage(id=id_, content=text))
        value = {"id": record.id, "decision": body.decision, "flow_run": stands.model_dump()}
        return [CustomEvent(name="approval", value=value), *whole(id_, text)]

    async def _turn(self, number: int) -> AsyncGenerator[BaseEvent | Silence]:
        """One of the run's turns; the last one has the run's own id."""
        message_id = self.input.message_id
        if number + 1 < len(self.plan.messages):
            message_id = derived_id("ag-ui part", message_id, str(number))
        telling = Telling(message_id, self.record.locale, self.plan.answered_calls)
        submission = Submission(
            message_id=message_id,
            message=self.plan.messages[number],
            caller=self.caller,
            seconds=self.services.settings.llm_turn_seconds,
        )
        way = UnderWay(self.services.store.live, self.turns, self.record, submission)
        async with aclosing(way.happenings()) as happenings:
            async for happening in happenings:
                for event in self._events_of(happening, telling):
                    yield event
        self._history += telling.history
        self._thrown_away |= telling.texts.thrown_away

    def _events_of(self, happening: Happening, telling: Telling) -> Iterator[BaseEvent | Silence]:
        match happening:
            case TakenIn():
                yield from self._beginning()
            case Silence():
                yield happening
            case Progress():
                yield from telling.progress(happening)
            case Turn():
                self._made.append(happening)
                yield from telling.turn(happening)
            case Failed(error):
                raise error

    async def _ending(self) -> list[BaseEvent]:
        """What came of it all: the history where it was shown wrong, the state, the outcome."""
        after = await self._stands()
        events: list[BaseEvent] = []
        if self._thrown_away:
            events.append(MessagesSnapshotEvent(messages=[*self.input.messages, *self._history]))
        touched = self._made[-1].flow if self._made else None
        events += delta(self._state(self.before), self._state(after, touched))
        interrupts = await self._interrupts(after)
        end = ended(self.input.thread_id, self.input.run_id, self._made, interrupts)
        return [*events, end]

    async def _stands(self) -> ConversationStatus:
        """How the conversation stands now; what a turn came to is sent even if none can say."""
        store, record = self.services.store, self.record
        try:
            return await standing(
                self.services.temporal, store.conversations, record.tenant, record.id
            )
        except Unavailable:
            return self.before

    def _state(
        self, stands: ConversationStatus, touched: FlowSummary | None = None
    ) -> dict[str, JsonValue]:
        return state_of(stands, self.record.locale, touched)

    async def _interrupts(self, stands: ConversationStatus) -> list[Interrupt]:
        """The question that is open; where there is none, what waits for the caller's decision."""
        last = self._made[-1].replies if self._made else [stands.asked] if stands.asked else []
        asked = asked_in(last)
        if asked or not self.input.wants_approvals:
            return asked
        waiting, _ = await self.services.store.runs.waiting_for(
            self.caller.tenant, self.caller.id, None, MOST_APPROVALS
        )
        decided = {decision.approval.id for decision in self.plan.decisions}
        done_with = decided | self.plan.left_alone
        return [of_approval(r, self.caller.locale) for r in waiting if r.id not in done_with]
