"""The smallest workflows that keep the contracts the API speaks: real ones, on a real server."""

import asyncio
from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from router.contracts import conversation, flow
    from router.contracts.failures import to_failure
    from router.domain import errors
    from router.domain.locale import Localised
    from router.domain.messages import FlowSummary, Route, TextReply, Turn, Usage
    from router.flow.definition import Wait
    from router.flow.engine.events import Cancelled
    from router.flow.slot_types.slot import Slot
    from router.flow.view import FlowView

REFUSALS = {
    "full": errors.TooManyRequests("six wait already"),
    "busy": errors.Conflict("a turn is running"),
}

WITH_LINE_ENDS = "one\r\ntwo\u2028\u2029\x85three\n\ndata: four"
MUCH = {
    "routes": [Route(kind="tool", by="llm"), Route(kind="flow", by="llm")],
    "replies": [TextReply(text=text) for text in (WITH_LINE_ENDS, "five")],
    "flow": FlowSummary(id="r", name="leave_request", status="collecting", state="details"),
}
"""What a turn of several commands has besides."""


@workflow.defn(name=conversation.WORKFLOW)
class EchoConversation:
    """Says what it was told, mostly.

    `slow` turns wait for a `cancel_turn`, those that say `break` fail after it; `close` ends
    the workflow, `much` gets all that a turn can have.
    """

    @workflow.init
    def __init__(self, start: conversation.ConversationStart) -> None:
        self._start = start
        self._digests: dict[str, str] = {}
        self._turns: dict[str, Turn] = {}
        self._running: list[str] = []
        self._cancelled = False
        self._closed = False
        self._releases = 0

    @workflow.run
    async def run(self, start: conversation.ConversationStart) -> None:
        await workflow.wait_condition(lambda: self._closed)
        await workflow.wait_condition(workflow.all_handlers_finished)

    @workflow.update(name=conversation.SUBMIT)
    async def submit(self, submission: conversation.Submission) -> Turn:
        text = submission.message.text or ",".join(submission.message.files) or "action"
        if left_out := submission.files_left_out.names:
            text += f" without {', '.join(left_out)}"
        if submission.message_id in self._turns:
            return self._turns[submission.message_id]
        self._digests[submission.message_id] = submission.digest
        self._running.append(submission.message_id)
        if text in {"slow", "break"}:
            await workflow.wait_condition(lambda: self._cancelled)
        if text == "held":
            before = self._releases
            await workflow.wait_condition(lambda: self._releases > before)
        self._releases += text == "release"
        if text == "soon":
            await workflow.sleep(timedelta(seconds=1))
        self._running.remove(submission.message_id)
        if text == "break":
            raise to_failure(errors.Conflict("it broke"))
        self._closed = text == "close"
        turn = Turn(
            message_id=submission.message_id,
            turn=len(self._turns) + 1,
            status="cancelled" if text == "slow" else "done",
            route=Route(kind="reply", by="fallback", reason="an echo"),
            replies=[TextReply(text=f"{submission.caller.id}: {text}")],
        )
        if text == "much":
            turn = turn.model_copy(update=MUCH)
        self._turns[submission.message_id] = turn
        return turn

    @submit.validator
    def _may_submit(self, submission: conversation.Submission) -> None:
        digest = self._digests.get(submission.message_id, submission.digest)
        if digest != submission.digest:
            raise to_failure(errors.DuplicateKey("the message id was used for another message"))
        refusal = REFUSALS.get(submission.message.text or "")
        if refusal is not None:
            raise to_failure(refusal)

    @workflow.update(name=conversation.ATTEND)
    async def attend(self, deed: conversation.HandOffDeed) -> conversation.HandOffStanding:
        raise to_failure(errors.Conflict(f"{deed.by.name} hasn't got it"))

    @workflow.signal(name=conversation.CANCEL)
    def cancel_turn(self) -> None:
        self._cancelled = True

    @workflow.signal(name=conversation.FORGET)
    def forget(self) -> None:
        self._closed = True

    @workflow.query(name=conversation.STATUS)
    def status(self) -> conversation.ConversationStatus:
        return conversation.ConversationStatus(
            running=self._running,
            turns=len(self._turns),
            active_flow=None,
            paused_flows=[],
            pending_confirmation=None,
            waiting_calls={"front": "locate"},
            usage=Usage(),
        )


@workflow.defn(name=conversation.WORKFLOW)
class ClosingConversation:
    """Accepts a first update and ends before it is answered, as a continue-as-new may."""

    @workflow.init
    def __init__(self, start: conversation.ConversationStart) -> None:
        self._told = False

    @workflow.run
    async def run(self, start: conversation.ConversationStart) -> None:
        await workflow.wait_condition(lambda: self._told)

    @workflow.update(
        name=conversation.SUBMIT, unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON
    )
    async def submit(self, submission: conversation.Submission) -> Turn:
        self._told = True
        await asyncio.Event().wait()
        raise AssertionError


@workflow.defn(name=flow.WORKFLOW)
class OneApprovalFlow:
    """Waits for one decision, or to be taken back; knows one event, which may come once.

    One that is started `late` comes to its approval half a second after it was begun, and one that
    is started `listening` waits for the event.
    """

    @workflow.init
    def __init__(self, person: str) -> None:
        self._words: set[str] = set()
        self._decided: str | None = None
        self._told: list[str] = []
        self._person, _, self._how = person.partition(" ")
        self._opens = workflow.now() + timedelta(seconds=0.5 if self._how == "late" else 0)

    @workflow.run
    async def run(self, person: str) -> list[str]:
        await workflow.wait_condition(lambda: self._decided in {"approve", "cancelled"})
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._told

    @workflow.update(name=flow.TELL)
    async def tell(self, told: flow.Tell) -> flow.FlowAnswer:
        self._told.append(told.event.type)
        if isinstance(told.event, Cancelled):
            self._decided = self._decided or "cancelled"
        status = {None: "waiting_approval", "reject": "rejected"}.get(self._decided, "cancelled")
        title = Localised(zh="请假", en="Leave")
        run = {"id": "r", "flow": "leave_request", "title": title, "version": 1}
        stands = {"status": status, "state": "manager", "question": f"manager:{len(self._told)}"}
        return flow.FlowAnswer(view=FlowView.model_validate(run | stands))

    @workflow.update(name=flow.AMEND)
    async def amend(self, wanted: flow.AmendmentRequest) -> flow.AmendmentTaken:
        self._told.append(wanted.event.type)
        return flow.AmendmentTaken(status="waiting_approval", state="manager")

    @workflow.update(name=flow.OPERATE)
    async def operate(self, operation: flow.OperatorAction) -> flow.DecisionTaken:
        self._told.append(operation.event.type)
        return flow.DecisionTaken(status="running", state="record")

    @operate.validator
    def _may_operate(self, operation: flow.OperatorAction) -> None:
        if operation.event.type in self._told:
            raise to_failure(errors.Conflict("nothing failed"))

    @workflow.query(name=flow.HEARS)
    def hears(self) -> flow.ExpectedEvents:
        fields = {"boxes": Slot(type="integer"), "note": Slot(type="text", required=False)}
        arrived = Wait(event="arrived", roles=("hr",), fields=fields)
        awaited = "arrived" if self._how == "listening" else None
        return flow.ExpectedEvents(events={"arrived": arrived}, awaited=awaited)

    @workflow.update(name=flow.HAPPEN)
    async def happen(self, told: flow.ExternalEvent) -> flow.DecisionTaken:
        self._words.add(told.event.word)
        return flow.DecisionTaken(status="waiting", state=f"after {told.event.value['boxes']}")

    @happen.validator
    def _may_happen(self, told: flow.ExternalEvent) -> None:
        if self._words - {told.event.word}:
            raise to_failure(errors.Conflict("it was told already"))

    @workflow.update(name=flow.DECIDE)
    async def decide(self, decision: flow.ApprovalDecision) -> flow.DecisionTaken:
        self._decided = decision.event.verdict
        return flow.DecisionTaken(status="running", state="record")

    @decide.validator
    def _may_decide(self, decision: flow.ApprovalDecision) -> None:
        if decision.event.by != self._person:
            raise to_failure(errors.NotFound("not for you"))
        if workflow.now() < self._opens:
            raise to_failure(errors.ApprovalClosed("closed meanwhile"))
        if self._decided is not None:
            raise to_failure(errors.Conflict("decided already"))
        if decision.event.digest != "d1":
            raise to_failure(errors.Conflict("it has changed since"))
