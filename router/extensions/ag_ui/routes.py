"""A run, and the endpoint of the Agent User Interaction Protocol 1.0, in which a run is a turn.

What a run stopped to ask is an interrupt, whose id says by itself which question it is: it can be
answered at any process, after any restart, and nothing is kept for it.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ag_ui import core
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import JsonValue

from router.api import approvals, errors
from router.api.conversations import standing, thread, thread_id
from router.api.dependencies import Given, OpenTurns, Person, Services
from router.api.errors import problems
from router.api.files import FILES, FileView, files_named
from router.api.markdown import markdown
from router.api.params import StrictRoute, derived_id, events
from router.api.routes.messages import check_result
from router.api.runs import schema_of_form, schema_of_options
from router.api.streams import (
    LINE_ENDS,
    Accepted,
    EventStream,
    MessageInProgress,
    Silence,
    TurnFailed,
    TurnUpdate,
)
from router.api.turns import Turns
from router.contracts.conversation import ConversationStatus, FilesLeftOut, Submission
from router.domain.errors import Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ChoicesReply,
    ConfirmReply,
    FlowSummary,
    FormReply,
    Turn,
    Usage,
    as_plain_text,
    question_in,
    unsaid,
)
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ApprovalRecord, ChangedField, ConversationRecord
from router.domain.visible_text import isolated, labelled, one_line
from router.extensions.ag_ui.events import TurnEvents, whole
from router.extensions.ag_ui.input import PlannedDecision, RunInput, RunPlan, planned
from router.flow.engine.run_parts.approvals import Verdict
from router.routing.front_end_tools import FrontEndTool

NAMESPACE = "intent-router"
APPROVAL = f"{NAMESPACE}:approval"
CHANGED_SINCE = Localised(zh="和上次相比改了：", en="Changed since you were asked before:")

AgUiQuestion = ChoicesReply | ConfirmReply | FormReply

_APPROVED: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}
_DECISION: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["approve", "reject", "return", "delegate", "add"]},
        "comment": {"type": "string", "maxLength": 2000},
        "to": {"type": "string", "description": "A user id; with delegate and add."},
        "position": {"enum": ["before", "after"]},
    },
    "required": ["decision"],
    "additionalProperties": False,
}


def of_question(question: AgUiQuestion) -> core.Interrupt:
    """The question, with what an answer looks like."""
    schema: dict[str, Any]
    lines = [question.text]
    match question:
        case ConfirmReply():
            schema = _APPROVED
            lines += [f"- {labelled(*field)}" for field in unsaid(question).items()]
        case FormReply():
            schema = schema_of_form(question.fields)
        case ChoicesReply():
            values = {"value": schema_of_options(question.options)}
            schema = {"type": "object", "properties": values, "required": ["value"]}
    return core.Interrupt(
        id=f"{question.type}/{question.question}",
        reason="confirmation" if isinstance(question, ConfirmReply) else "input_required",
        message=markdown("\n".join(lines)),
        response_schema=schema,
        metadata={NAMESPACE: question.model_dump(mode="json", exclude={"text", "question"})},
    )


def of_approval(
    record: ApprovalRecord, locale: Locale, changes: Sequence[ChangedField] = ()
) -> core.Interrupt:
    """The decision that its person is asked for; its id is bound to exactly what is shown.

    Where it was changed since they were asked, `changes` are what is different.
    """
    summary = record.summary_in(locale)
    title = one_line(record.title.within(locale))
    lines = [isolated(title), *(f"- {labelled(*field)}" for field in summary.items())]
    if changes:
        lines += [CHANGED_SINCE.within(locale)]
        lines += [f"- {labelled(each.label, each.worded)}" for each in changes]
    about = {"id": record.id, "flow_run": record.run, "flow": record.flow}
    shown: dict[str, Any] = {
        "type": "approval",
        **about,
        "requester": record.requester,
        "summary": summary,
    }
    if changes:
        shown["changes"] = [change.model_dump() for change in changes]
    return core.Interrupt(
        id=f"approval/{record.id}/{record.digest}",
        reason=APPROVAL,
        message=markdown("\n".join(lines)),
        response_schema=_DECISION,
        expires_at=record.due.isoformat() if record.due else None,
        metadata={NAMESPACE: shown},
    )


def ended(
    thread: str, run: str, turns: Sequence[Turn], interrupts: Sequence[core.Interrupt]
) -> core.RunFinishedEvent | core.RunErrorEvent:
    """The end of a run; its result is its last turn. A turn that failed has said so in words."""
    last, spent = turns[-1] if turns else None, sum((turn.usage for turn in turns), Usage())
    usage = core.TokenUsage(
        input_tokens=spent.prompt_tokens,
        output_tokens=spent.completion_tokens,
        total_tokens=spent.tokens,
    )
    cost = [usage] if spent.llm_calls else None
    ended = partial(core.RunFinishedEvent, thread_id=thread, run_id=run, usage=cost)
    if last is not None and last.status == "failed":
        words = "\n\n".join(reply.text for reply in last.replies)
        return core.RunErrorEvent(message=words, code="turn-failed", usage=cost)
    if last is not None and last.status == "cancelled":
        return ended(outcome=core.RunFinishedCancelledOutcome())
    if interrupts:
        outcome: Any = core.RunFinishedInterruptOutcome(interrupts=list(interrupts))
    else:
        waiting = [c.id for c in last.tool_calls if c.status == "waiting"] if last else []
        outcome = core.RunFinishedSuccessOutcome(pending_tool_call_ids=waiting or None)
    result = last.shown() if last else None
    return ended(outcome=outcome, result=result)


async def broken_off(request: Request, error: Exception) -> core.RunErrorEvent:
    """The end of a run that could not go on; `code` is the last word of its problem's type."""
    answer = await errors.answer_to(request, error)
    problem = json.loads(bytes(answer.body))
    return core.RunErrorEvent(
        message=problem["detail"],
        code=problem["type"].rpartition(":")[2],
        metadata={"intent-router": problem},
    )


AgUiState = dict[str, JsonValue]


def state_of(
    standing: ConversationStatus, locale: Locale, touched: FlowSummary | None = None
) -> AgUiState:
    """The state; a flow that the run `touched` is shown in it even if it ended by that."""
    flow, skill = touched or standing.active_flow, standing.active_skill
    shown: AgUiState = {
        "flow": flow.model_dump(mode="json") if flow else None,
        "paused_flows": [paused.model_dump(mode="json") for paused in standing.paused_flows],
        "skill": None,
    }
    if skill:
        title = skill.title.within(locale)
        shown["skill"] = {"name": skill.name, "title": title, "asking": skill.asking}
    return shown


def patch(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    """The RFC 6902 operations from one JSON value to the other: objects key by key, else whole."""
    if before == after and type(before) is type(after):
        return []
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [{"op": "replace", "path": path, "value": after}]
    operations: list[dict[str, Any]] = []
    for key in before.keys() | after.keys():
        place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in after:
            operations.append({"op": "remove", "path": place})
        elif key not in before:
            operations.append({"op": "add", "path": place, "value": after[key]})
        else:
            operations += patch(before[key], after[key], place)
    return sorted(operations, key=lambda operation: str(operation["path"]))


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
class AguiRun:
    """One run on its way, and what its front end hears of it meanwhile."""

    request: Request
    services: Services
    turns: Turns
    caller: Principal
    record: ConversationRecord
    input: RunInput
    plan: RunPlan
    before: ConversationStatus
    tools: list[FrontEndTool] = field(default_factory=list)
    _begun: bool = False
    _made: list[Turn] = field(default_factory=list)
    _history: list[core.Message] = field(default_factory=list)
    _thrown_away: bool = False

    async def events(self) -> AsyncGenerator[bytes]:
        """What the front end hears; before the run certainly begins, raises as `Turns.submit`."""
        encoder = EventEncoder()

        def encoded(event: core.BaseEvent) -> bytes:
            return encoder.encode(event).translate(LINE_ENDS).encode()

        try:
            async with aclosing(self._happening()) as happening:
                async for one in happening:
                    yield _SILENCE if isinstance(one, Silence) else encoded(one)
        except Exception as error:
            if not self._begun:
                raise
            yield encoded(await broken_off(self.request, error))

    async def _happening(self) -> AsyncGenerator[core.BaseEvent | Silence]:
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

    def _beginning(self) -> Iterator[core.BaseEvent]:
        if self._begun:
            return
        self._begun = True
        yield core.RunStartedEvent(
            thread_id=self.input.thread_id,
            run_id=self.input.run_id,
            parent_run_id=self.input.parent_run_id,
            protocol_version=core.PROTOCOL_VERSION,
        )
        yield core.StateSnapshotEvent(snapshot=state_of(self.before, self.record.locale))
        yield from self.plan.remarks()

    async def _decided(self, decision: PlannedDecision) -> list[core.BaseEvent]:
        record, body = decision.approval, decision.body
        stands = await approvals.decide(self.services, self.caller, record, body, decision.key)
        locale = self.caller.locale
        text = f"{_DECIDED[body.decision].within(locale)}: {record.title.within(locale)}"
        id_ = f"{self.input.message_id}.{record.id}"
        self._history.append(core.AssistantMessage(id=id_, content=markdown(text)))
        value = {"id": record.id, "decision": body.decision, "flow_run": stands.model_dump()}
        return [core.CustomEvent(name="approval", value=value), *whole(id_, text)]

    async def _turn(self, number: int) -> AsyncGenerator[core.BaseEvent | Silence]:
        message_id, message = self.input.message_id, self.plan.messages[number]
        if number + 1 < len(self.plan.messages):
            message_id = derived_id("ag-ui part", message_id, str(number))
        telling = TurnEvents(message_id, self.record.locale, self.plan.answered_calls)
        submission = Submission(
            message_id=message_id,
            message=message,
            file_names=self.plan.names,
            files_left_out=self.plan.left_out if message.files else FilesLeftOut(),
            brings_left=True,
            caller=self.caller,
            seconds=self.services.settings.llm_turn_seconds,
            tools=self.tools,
        )
        way = MessageInProgress(self.services.store.live, self.turns, self.record, submission)
        async with aclosing(way.happenings()) as happenings:
            async for happening in happenings:
                for event in self._events_of(happening, telling):
                    yield event
        self._history += telling.history
        self._thrown_away |= telling.texts.thrown_away

    def _events_of(
        self, happening: TurnUpdate, telling: TurnEvents
    ) -> Iterator[core.BaseEvent | Silence]:
        match happening:
            case Accepted():
                yield from self._beginning()
            case Silence():
                yield happening
            case Progress():
                yield from telling.progress(happening)
            case Turn():
                self._made.append(happening)
                yield from telling.turn(happening)
            case TurnFailed(error):
                raise error

    async def _ending(self) -> list[core.BaseEvent]:
        record, after = self.record, self.before
        with suppress(Unavailable):
            after = await standing(self.services, record.tenant, record.id)
        events: list[core.BaseEvent] = []
        if self._thrown_away:
            events.append(
                core.MessagesSnapshotEvent(messages=[*self.input.messages, *self._history])
            )
        touched = self._made[-1].flow if self._made else None
        before = state_of(self.before, record.locale)
        if operations := patch(before, state_of(after, record.locale, touched)):
            events.append(core.StateDeltaEvent.model_validate({"delta": operations}))
        events += await self._given()
        interrupts, warnings = await self._interrupts(after)
        events += [core.CustomEvent(name="warning", value=warning) for warning in warnings]
        end = ended(self.input.thread_id, self.input.run_id, self._made, interrupts)
        return [*events, end]

    async def _given(self) -> list[core.BaseEvent]:
        """The files that the turns say can be fetched."""
        said = "\n".join(as_plain_text(t.replies, self.record.locale) for t in self._made)
        found = await files_named(self.services, self.caller.tenant, self.caller.id, said)
        shown = (FileView.model_validate(file).model_dump(mode="json") for file in found)
        return [
            core.CustomEvent(name="file_given", value={**each, "url": f"{FILES}/{each['id']}"})
            for each in shown
        ]

    async def _interrupts(
        self, stands: ConversationStatus
    ) -> tuple[list[core.Interrupt], list[str]]:
        """Return the question that was asked last, or else what waits for the person's decision.

        A question in words alone has no interrupt; it is answered by the next message. Approvals
        beyond `MOST_APPROVALS` are told of in a warning.
        """
        last = self._made[-1].replies if self._made else [stands.asked] if stands.asked else []
        if question := question_in(last):
            return [of_question(question)], []
        if not self.input.wants_approvals:
            return [], []
        tenant, person, kept = self.caller.tenant, self.caller.id, self.services.store.runs
        waiting, following = await kept.waiting_for(tenant, person, None, MOST_APPROVALS)
        warnings = []
        if following is not None:
            more = await kept.count_waiting(tenant, person) - len(waiting)
            warnings.append(f"{more} more approvals wait; they follow as these are decided")
        decided = {decision.approval.id for decision in self.plan.decisions}
        done_with = decided | self.plan.left_alone
        left, locale = [r for r in waiting if r.id not in done_with], self.caller.locale
        runs = [record.run for record in left]
        before = await self.services.store.runs.shown_before(self.caller.tenant, runs)
        shown = [
            of_approval(r, locale, r.changes_since(before.get(r.run, r), locale)) for r in left
        ]
        return shown, warnings


PATH = "/ag-ui"
CHANNEL = "ag-ui"
MAX_BODY = 1024 * 1024
"""Bytes of an input: it carries a chat's whole history each time, and small pictures."""

router = APIRouter(tags=["ag-ui"], route_class=StrictRoute)

_EVENTS: dict[str, Any] = {
    "content": events("`data` is one of AG-UI's events, as JSON."),
    "description": "AG-UI's events, from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`.",
}
_RESPONSES = {200: _EVENTS, **problems(400, 403, 404, 409, 413, 415, 429)}


@router.post(PATH, response_class=Response, responses=_RESPONSES)
async def run(
    request: Request, services: Given, caller: Person, turns: OpenTurns, body: RunInput
) -> Response:
    """Run the desk for a thread: say something, answer interrupts, or look how things stand.

    The same `runId` again is the same answer. What is refused before the run begins is a
    problem with its status; afterwards it is a `RUN_ERROR`.
    """
    before = await standing(services, caller.tenant, thread_id(caller, CHANNEL, body.thread_id))
    tools = body.front_end(services.offered.of(caller.tenant).names)
    plan = await planned(services, caller, body)
    record = await thread(services.store.conversations, caller, CHANNEL, body.thread_id)
    for message in plan.messages:
        await check_result(services, message, record)
    begun = AguiRun(request, services, turns, caller, record, body, plan, before, tools)
    return await EventStream.begun(begun.events())
