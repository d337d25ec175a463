"""Runs whose two halves don't fit: the row that people see, and the workflow that carries it on.

A row of a run that goes on has a workflow that does. It hasn't where somebody ended the workflow
over Temporal's head, or where one of the two databases was restored to another moment.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

from temporalio.api.common.v1 import WorkflowExecution as WorkflowExecutionName
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowQueryFailedError,
)
from temporalio.service import RPCError, RPCStatusCode

from router.contracts.activities import PROJECTION, Projection, Publish
from router.contracts.flow import WORKFLOW
from router.domain.errors import Unavailable
from router.domain.locale import Localised
from router.domain.messages import ENDED, TextReply
from router.domain.records import LOST, UPKEEP, AuditEntry, LogEntry, RunHead, RunRecord
from router.domain.run_history import HistoryEntry, Incident
from router.gateway.retries import RPC_TIMEOUT, own_errors
from router.store.flow_runs import Runs
from router.store.store import Store

QUIET = timedelta(minutes=2)
"""How long nothing has happened to what is compared: Temporal's lists lag, and rows do."""
MOST = 200
"""Misfits that one look is about: more are a matter for `reconcile`."""
PAGE = 200
"""Workflows of one list that are compared at a time."""
AT_ONCE = 10
FEW = 20
"""So many may be lost by themselves; more at once are a restore, or another server's address."""

_RUNNING = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
_GOES_ON = {WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW}

RunMismatch = Literal["lost", "behind", "ahead", "ended"]
"""`lost`: the row goes on, the workflow is gone. `behind`: the workflow is further than the row, or
there is none. `ahead`: the row is further. `ended`: the row has ended, the workflow goes on."""
KINDS: tuple[RunMismatch, ...] = ("lost", "behind", "ahead", "ended")

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Misfit:
    """A run whose halves don't fit; `head` is None where the database doesn't know it."""

    kind: RunMismatch
    tenant: str
    run: str
    workflow_id: str
    why: str
    head: RunHead | None = None
    reason: str = ""
    """Why the workflow ended, as Temporal recorded it. It is for operators alone: one of them may
    have written it."""

    def __str__(self) -> str:
        whose = f", of {self.head.requester}" if self.head else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.kind}: run {self.run} ({self.workflow_id}{whose}): {self.why}{reason}"


REMEDY = (
    "`intent-router reconcile` says what would be done about it, and does it with --yes "
    "(docs/operations.md)"
)


async def misfits(client: Client, runs: Runs, queue: str, most: int = MOST) -> list[Misfit]:
    """What a cheap look finds, until it is so many; `queue` is the house's.

    Raises `RPCError` where Temporal can't be asked: nothing is lost then.
    """
    found = list[Misfit]()
    async for page in every_misfit(client, runs, queue):
        found += page
        if len(found) >= most:
            break
    return found


async def every_misfit(client: Client, runs: Runs, queue: str) -> AsyncIterator[list[Misfit]]:
    """The same without an end, some hundred runs looked at at a time: of all but ids are kept.

    What has happened within `QUIET` isn't compared, and each is asked once more before it counts.
    """
    old, listed = datetime.now(UTC) - QUIET, set[str]()
    async for batch in batches(client.list_workflows(_RUNNING)):
        listed |= {each.id for each in batch}
        yield await _unexpected(client, runs, queue, batch, old)
    async for heads in runs.going_on():
        # That it was found lost is no word from its workflow.
        silent = [head for head in heads if head.updated_at < old or head.held]
        absent = [head for head in silent if head.workflow_id not in listed]
        found = await at_once(absent, lambda head: _without_workflow(client, runs, head))
        yield [misfit for misfit in found if misfit is not None]


async def batches(every: AsyncIterator[In]) -> AsyncIterator[list[In]]:
    """All of them, in lists of some hundred."""
    batch = list[In]()
    async for each in every:
        batch.append(each)
        if len(batch) == PAGE:
            yield batch
            batch = []
    if batch:
        yield batch


async def at_once(each: Sequence[In], ask: Callable[[In], Awaitable[Out]]) -> list[Out]:
    """The answers, in order, of which a few are awaited at once."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(of: In) -> Out:
        async with room:
            return await ask(of)

    return await asyncio.gather(*map(one, each))


async def status_of(client: Client, workflow_id: str) -> WorkflowExecutionStatus | None:
    """The workflow's status; None where Temporal doesn't know it."""
    try:
        handle = client.get_workflow_handle(workflow_id)
        return (await handle.describe(rpc_timeout=RPC_TIMEOUT)).status
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise


async def _without_workflow(client: Client, runs: Runs, head: RunHead) -> Misfit | None:
    status = await status_of(client, head.workflow_id)
    if status in _GOES_ON or await runs.standings([(head.tenant, head.id)]) != [head]:
        return None
    if status is WorkflowExecutionStatus.COMPLETED:
        return _misfit("behind", head, f"is {head.status}, and its workflow has completed")
    if status is None:
        return _misfit("lost", head, "its workflow isn't in Temporal")
    found = _misfit("lost", head, f"its workflow was {status.name.lower()}")
    return replace(found, reason=await _reason_of_end(client, head.workflow_id))


async def _reason_of_end(client: Client, workflow_id: str) -> str:
    """Return the reason in the last event of a workflow's history; "" if it gives none."""
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecutionName(workflow_id=workflow_id),
        maximum_page_size=1,
    )
    service = client.workflow_service
    found = await service.get_workflow_execution_history_reverse(request, timeout=RPC_TIMEOUT)
    (last,) = found.history.events[:1] or (HistoryEvent(),)
    terminated = last.workflow_execution_terminated_event_attributes.reason
    return terminated or last.workflow_execution_failed_event_attributes.failure.message


async def _found_again(runs: Runs, head: RunHead) -> Misfit | None:
    row = await runs.find(head.tenant, head.id)
    if row is None or not row.is_lost:
        return None
    return _misfit("behind", head, "was found without a workflow, and has one")


async def _unexpected(
    client: Client, runs: Runs, queue: str, listed: Sequence[WorkflowExecution], old: datetime
) -> list[Misfit]:
    """Of workflows that go on, those that by the database shouldn't, or that it took for lost."""
    by_place = {place_of(each.id): each for each in listed}
    heads = {(head.tenant, head.id): head for head in await runs.standings(list(by_place))}

    async def look(place: tuple[str, str]) -> Misfit | None:
        each, head = by_place[place], heads.get(place)
        if head is None:
            strange = each.task_queue == queue and each.start_time < old
            return unknown(each.id, "isn't in the database") if strange else None
        if head.status not in ENDED:
            return await _found_again(runs, head) if head.held else None
        if head.updated_at > old or await status_of(client, each.id) not in _GOES_ON:
            return None
        return _misfit("ended", head, f"is {head.status}, and goes on in Temporal")

    return [misfit for misfit in await at_once([*by_place], look) if misfit is not None]


def place_of(workflow_id: str) -> tuple[str, str]:
    """A run's tenant and public id.

    >>> place_of("leave_request/default/7h2k")
    ('default', '7h2k')
    """
    _, _, rest = workflow_id.partition("/")
    tenant, _, run = rest.rpartition("/")
    return tenant, run


def unknown(workflow_id: str, why: str) -> Misfit:
    """A workflow of which the database has no row."""
    tenant, run = place_of(workflow_id)
    return Misfit("behind", tenant, run, workflow_id, why)


def _misfit(kind: RunMismatch, head: RunHead, why: str) -> Misfit:
    return Misfit(kind, head.tenant, head.id, head.workflow_id, why, head)


async def projection_of(client: Client, workflow_id: str) -> Projection:
    """What the run would publish now, also of one that has ended; it takes a worker to say.

    Raises `Unavailable` where none answers, or one of a release that knows no such question.
    """
    try:
        with own_errors():
            told: Projection = await client.get_workflow_handle(workflow_id).query(
                PROJECTION, result_type=Projection, rpc_timeout=RPC_TIMEOUT
            )
    except WorkflowQueryFailedError as error:
        raise Unavailable(f"its worker can't say where it stands: {error}") from error
    return told


def compared(row: RunRecord, told: RunRecord) -> RunMismatch | None:
    """How a row that goes on stands to what its workflow told; None where they fit."""
    if row.events > told.events:
        return "ahead"
    shown = [(each.status, each.state, len(each.history)) for each in (row, told)]
    return "behind" if shown[0] != shown[1] else None


async def publish(runs: Runs, told: Publish, *, anew: bool = False) -> int | None:
    """Have lists show a run as its workflow told; with `anew` whatever they showed before.

    The number of what is shown instead is given back, as `Runs.publish` does.
    """
    if told.run.remedy is not None and told.definition is not None:
        await runs.keep_definition(told.run.remedy.definition, told.definition)
    note, over = told.withdrawal_note, told.run.status in ENDED
    # Whoever sees that a withdrawal has come to its end sees it at what was withdrawn as well.
    if note is not None and over:
        await runs.note_withdrawal(note)
    ahead = await runs.publish(told.run, told.approvals, told.entries, anew=anew)
    if note is not None and not over:
        await runs.note_withdrawal(note)
    return ahead


def lost(run: RunRecord, why: str, at: datetime) -> RunRecord | None:
    """The run as it waits for an operator; None where there is nothing to note."""
    if run.status in ENDED or run.is_lost:
        return None
    entry = HistoryEntry(at=at, state=run.state, event=LOST, comment=why)
    held = run.replace(incident=Incident(kind="lost", at=at, detail=why))
    return _with_line(held, "waiting", entry)


def closed(run: RunRecord, why: str, by: str, at: datetime) -> RunRecord | None:
    """The run as it ends for good, without its workflow; None where it has."""
    if run.status in ENDED:
        return None
    line = HistoryEntry(at=at, state=run.state, event="failed", by=by, comment=why)
    if not run.is_lost:
        noted = HistoryEntry(at=at, state=run.state, event=LOST, comment=why)
        run = run.replace(history=[*run.history, noted])
    return _with_line(run.replace(incident=None), "failed", line)


def _with_line(
    run: RunRecord, status: Literal["waiting", "failed"], line: HistoryEntry
) -> RunRecord:
    return run.replace(status=status, history=[*run.history, line], updated_at=line.at)


def _broken_off(title: Localised) -> Localised:
    return Localised(
        zh=f"{title.zh}中断了，现在没法接着办，也没有人在审批。这不是你的问题，管理员能看到；"
        "请等管理员处理，先不要重新提交。",
        en=f"{title.en}: this was cut off and can't go on; nobody is asked to decide on it. It is "
        "nothing that you did, and the administrators see it. Wait for them before you ask anew.",
    )


def _closed(title: Localised) -> Localised:
    return Localised(
        zh=f"{title.zh}中断以后没能恢复，管理员已经把它结束了，没有办成。还需要的话，请重新提交。",
        en=f"{title.en}: this was cut off and couldn't be taken up again; an administrator has "
        "ended it as failed. Ask anew if you still need it.",
    )


async def note_lost(store: Store, misfit: Misfit) -> bool:
    """Note that the run is lost, and tell its requester and approvers, once; True this once."""
    at, row = datetime.now(UTC), await store.runs.find(misfit.tenant, misfit.run)
    if row is None or lost(row, misfit.why, at) is None:
        return False
    about = {"subject": row.id, "whose": row.requester, "detail": misfit.why}
    deed = {"id": f"lost-{row.id}-{row.events}", "tenant": row.tenant, "at": at, "who": UPKEEP}
    await store.trail.note(AuditEntry(act="run.lost", **deed, **about))
    told = await _told(store, row, LOST, _broken_off(row.title), at)
    return await store.runs.revise(
        *(row.tenant, row.id, f"{row.events}:{LOST}"), lambda now: lost(now, misfit.why, at), told
    )


async def close(store: Store, misfit: Misfit, by: str) -> bool:
    """End a lost run as failed, and tell its requester and approvers; False where it has ended."""
    at, row = datetime.now(UTC), await store.runs.find(misfit.tenant, misfit.run)
    if row is None:
        return False
    told = await _told(store, row, "closed", _closed(row.title), at)
    key = f"{row.events}:closed"
    return await store.runs.revise(
        *(row.tenant, row.id, key), lambda now: closed(now, misfit.why, by, at), told
    )


async def _told(
    store: Store, run: RunRecord, key: str, said: Localised, at: datetime
) -> list[LogEntry]:
    """What the requester reads of a whole run in the conversation in which they began it."""
    if run.conversation is None or run.is_branch:
        return []
    known = await store.conversations.find(run.tenant, run.conversation)
    if known is None:
        return []
    reply = TextReply(text=said.within(known.locale))
    return [
        LogEntry(
            key=f"{run.id}:{run.events}:{key}",
            kind="message",
            at=at,
            conversation=known.id,
            recipient=known.owner,
            data={
                "role": "assistant",
                "text": reply.text,
                "replies": [reply.model_dump(mode="json", exclude_none=True)],
            },
        )
    ]


def counts(found: Iterable[Misfit]) -> Mapping[RunMismatch, int]:
    """How many there are of each kind, also where there are none."""
    kinds = [misfit.kind for misfit in found]
    return {kind: kinds.count(kind) for kind in KINDS}
