"""Words to a running flow from outside its conversation: taken back, hurried, decided.

The one way to it, for requests and for tools alike.
"""

import asyncio
from typing import TypeVar

from pydantic import BaseModel
from temporalio.client import Client, WorkflowQueryFailedError

from router.contracts.flow import (
    DECIDE,
    DEFINITION,
    HAPPEN,
    HEARS,
    OPERATE,
    TELL,
    VIEW,
    Decision,
    DecisionTaken,
    FlowAnswer,
    Hears,
    Operation,
    Outside,
    Tell,
)
from router.contracts.reaching import RPC_TIMEOUT, WorkflowOver, persistently, speaking_ours
from router.domain.errors import Conflict, NotFound, RouterError, Unavailable
from router.domain.messages import ASKING, FlowStatus
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord, RunRecord
from router.flow.events import Arrived, Cancelled, Decided, Nudged, Reassigned, Retried
from router.flow.model import FlowDefinition, Wait
from router.flow.view import FlowView

PATIENCE = 10.0
"""Seconds; a run answers within three, or says that it is still at work."""

Out = TypeVar("Out", bound=BaseModel)


class RunStanding(BaseModel):
    """Where a run stands after a word to it."""

    id: str
    status: FlowStatus
    state: str


async def tell(
    temporal: Client, run: RunRecord, caller: Principal, event: Cancelled | Nudged, word: str
) -> RunStanding:
    """Tell a run something; `word` makes the update one, however often it is sent.

    Raises:
        Conflict: the run is over.
        Unavailable: Temporal or its worker is out of reach.
    """
    told = Tell(event=event, locale=caller.locale, aside=True)
    answer = await _update(temporal, run.workflow_id, TELL, told, FlowAnswer, word)
    return RunStanding(id=run.id, status=answer.view.status, state=answer.view.state)


async def as_it_stands(temporal: Client, run: RunRecord) -> RunRecord:
    """The run with what was told to it since it was last published.

    While it is being filled in, its slots are known to its workflow alone. Where that can't
    be asked, the record has to do.
    """
    if run.status not in ASKING:
        return run
    handle = temporal.get_workflow_handle(run.workflow_id)
    try:
        with speaking_ours():
            view: FlowView = await handle.query(VIEW, result_type=FlowView, rpc_timeout=RPC_TIMEOUT)
    except RouterError:
        return run
    return run.model_copy(update={"slots": view.slots, "state": view.state, "status": view.status})


async def definition_of(temporal: Client, run: RunRecord) -> FlowDefinition | None:
    """The definition that the run began with; None where its workflow can't be asked for it."""
    handle = temporal.get_workflow_handle(run.workflow_id)
    try:
        with speaking_ours():
            known: FlowDefinition = await handle.query(
                DEFINITION, result_type=FlowDefinition, rpc_timeout=RPC_TIMEOUT
            )
    except (RouterError, WorkflowQueryFailedError):
        return None
    return known


async def decide(
    temporal: Client, approval: ApprovalRecord, event: Decided, word: str
) -> RunStanding:
    """Tell a run an approver's decision.

    Raises:
        Conflict: it was decided already, has changed, or the run is over.
        Unavailable: Temporal or its worker is out of reach.
    """
    decision = Decision(event=event)
    taken = await _update(temporal, approval.workflow_id, DECIDE, decision, DecisionTaken, word)
    return RunStanding(id=approval.run, status=taken.status, state=taken.state)


async def operate(
    temporal: Client, run: RunRecord, event: Retried | Reassigned, word: str
) -> RunStanding:
    """Tell a run what an operator wants of it.

    Raises:
        Conflict: nothing of the kind can be done to it now, or it is over.
        Unavailable: Temporal or its worker is out of reach.
    """
    told = Operation(event=event)
    taken = await _update(temporal, run.workflow_id, OPERATE, told, DecisionTaken, word)
    return RunStanding(id=run.id, status=taken.status, state=taken.state)


async def heard_by(temporal: Client, run: RunRecord) -> Hears:
    """The outside events that the run's flow knows; none where its workflow is forgotten.

    Raises `Unavailable` where Temporal or its worker is out of reach.
    """
    handle = temporal.get_workflow_handle(run.workflow_id)
    try:
        with speaking_ours():
            hears: Hears = await handle.query(HEARS, result_type=Hears, rpc_timeout=RPC_TIMEOUT)
    except WorkflowOver:
        return Hears()
    return hears


async def event_known(temporal: Client, run: RunRecord, caller: Principal, name: str) -> Wait:
    """What the run's flow says of an outside event that the caller may tell.

    Raises:
        NotFound: the flow knows no such event, or not from the caller.
        Unavailable: Temporal or its worker is out of reach.
    """
    known = (await heard_by(temporal, run)).events.get(name)
    if known is None or not caller.roles & set(known.roles):
        raise NotFound("There is no such flow run, or it waits for no such event of yours.")
    return known


async def happen(
    temporal: Client, run: RunRecord, caller: Principal, event: Arrived
) -> RunStanding:
    """Tell a run what happened outside; `event.word` makes it one, however often it is sent.

    Raises:
        NotFound: its flow knows no such event, or not from the caller.
        InvalidInput: what the event brings isn't what the flow wants.
        Conflict: it was told already and isn't needed yet, or the run is over.
        Unavailable: Temporal or its worker is out of reach.
    """
    told = Outside(event=event, roles=caller.roles)
    taken = await _update(temporal, run.workflow_id, HAPPEN, told, DecisionTaken, event.word)
    return RunStanding(id=run.id, status=taken.status, state=taken.state)


async def _update(
    temporal: Client, workflow_id: str, update: str, told: BaseModel, answers: type[Out], word: str
) -> Out:
    handle = temporal.get_workflow_handle(workflow_id)

    async def attempt() -> Out:
        answer: Out = await handle.execute_update(
            update, told, id=word, result_type=answers, rpc_timeout=RPC_TIMEOUT
        )
        return answer

    try:
        async with asyncio.timeout(PATIENCE):
            return await persistently(attempt)
    except WorkflowOver as error:
        raise Conflict("The run is over; nothing can be done to it any more.") from error
    except TimeoutError as error:
        raise Unavailable("The run didn't answer in time; try again.") from error
