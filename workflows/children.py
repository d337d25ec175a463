"""Runs that a run starts: other flows, and branches of its own, as child workflows.

A child has an id, a conversation and approvals like any run. It isn't closed with its parent:
what it did would stay done with nobody knowing. It is told to stop by signal, undoes what it
did, and hands over to its parent what can still be undone when it has ended.
"""

import asyncio

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import (
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)

from router.contracts.flow import (
    AGREED,
    STOP,
    WORKFLOW,
    DecisionTaken,
    FlowEnded,
    FlowStart,
    workflow_id,
)
from router.contracts.search_attributes import of_run
from router.contracts.timeouts import TASK_TIMEOUT
from router.domain.texts import Localised
from router.flow.batching import branch_of
from router.flow.events import Agreed, Began, Failed, Finished
from router.flow.model import FlowDefinition
from router.flow.run import Errand, Run

LARGEST = 128 * 1024
"""Bytes of JSON that a run hands over: beyond that only how it ended, and what can be undone."""
HANDED_OVER = {"status", "slots", "results", "done", "agreements"}
BRANCH_KNOWS = ("slots", "derived", "closed", "skipped", "results", "files", "agreements")

GONE = Localised(
    zh="{flow} 没能办下去，管理员可以查到原因",
    en="{flow} broke off; the administrators can see why",
)
UNKNOWN_FLOW = Localised(zh="没有 {flow} 这个流程", en="there is no flow {flow}")

Child = workflow.ChildWorkflowHandle[object, FlowEnded]


class Children:
    """The runs that one run has started and waits for."""

    def __init__(self, start: FlowStart) -> None:
        self._parent = start
        self._begun: dict[str, asyncio.Future[Child]] = {}

    async def outcome(
        self, errand: Errand, definition: FlowDefinition, run: Run
    ) -> Finished | Failed:
        """Start the run that the errand is, and wait for its end unless it is detached."""
        start = self._start_of(errand, definition, run)
        if start is None:
            return _failed(errand, UNKNOWN_FLOW, run)
        begun = self._begun[errand.id] = asyncio.Future()
        try:
            child = await _begin(errand, start)
            begun.set_result(child)
            if errand.detached:
                return Finished(errand=errand.id, status="running")
            ended = await child
        except (ChildWorkflowError, WorkflowAlreadyStartedError):
            begun.cancel()
            return _failed(errand, GONE, run)
        return Finished(errand=errand.id, **ended.model_dump(include=HANDED_OVER))

    async def stop(self, errand: Errand) -> None:
        """Tell the run to cancel itself."""
        await self._signal(errand, STOP, None)

    async def tell_agreed(self, errand: Errand) -> None:
        """Tell a branch what was agreed to in others."""
        await self._signal(errand, AGREED, Agreed(agreements=list(errand.agreed)))

    async def _signal(self, errand: Errand, signal: str, given: Agreed | None) -> None:
        """Tell the run something; one that has ended by now needs no telling."""
        try:
            child = await asyncio.shield(self._begun[errand.id])
            await child.signal(signal, given)
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.info("%s %s ended before %r", errand.name, errand.key, signal)

    def _start_of(self, errand: Errand, definition: FlowDefinition, run: Run) -> FlowStart | None:
        own = branch_of(definition, run.state, errand.branch) if errand.branch else None
        begun = own or self._parent.flows.get(errand.name)
        if begun is None:
            return None
        return self._parent.model_copy(
            update={
                "definition": begun,
                "form": False,
                "locale": run.locale,
                "run": _run_of(errand, run),
                "created_at": None,
                "opening": Began(by=run.requester.id, slots={} if own else errand.arguments),
            }
        )


def _run_of(errand: Errand, parent: Run) -> Run:
    """The run before it has begun: a branch knows what its parent knows."""
    known = BRANCH_KNOWS if errand.branch else ()
    return Run(
        id=errand.key,
        requester=parent.requester,
        conversation=parent.conversation,
        locale=parent.locale,
        parent=None if errand.detached else workflow.info().workflow_id,
        goes_back=parent.goes_back,
        **{name: getattr(parent, name) for name in known},
    )


async def _begin(errand: Errand, start: FlowStart) -> Child:
    flow, requester = start.definition.flow, start.requester
    return await workflow.start_child_workflow(
        WORKFLOW,
        start,
        id=workflow_id(flow, requester.tenant, errand.key),
        result_type=FlowEnded,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        search_attributes=of_run(flow, requester, start.conversation),
        task_timeout=TASK_TIMEOUT,
        static_summary=f"{start.definition.title.en} of {requester.id}"
        + (f": {errand.branch}" if errand.branch else ""),
    )


def _failed(errand: Errand, say: Localised, run: Run) -> Failed:
    return Failed(errand=errand.id, error=say.within(run.locale).format(flow=errand.name))


def handed_over(definition: FlowDefinition, run: Run) -> DecisionTaken:
    """The result of a run that has ended; for the run that waits for it, with all that it needs."""
    if run.parent is None:
        return DecisionTaken(status=run.status, state=run.state)
    undos = {name: state.undo or "" for name, state in definition.states.items()}
    done = [d.model_copy(update={"undo": d.undo or undos.get(d.state, "")}) for d in run.done]
    ended = FlowEnded(
        status=run.status,
        state=run.state,
        slots=run.slots,
        results=run.results,
        done=done,
        agreements=run.agreements,
    )
    if len(ended.model_dump_json().encode()) <= LARGEST:
        return ended
    return ended.model_copy(update={"slots": {}, "results": {}})
