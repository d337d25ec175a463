"""Runs of workflows as Temporal has them: found, ended and forgotten for good."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic

from temporalio.api.common.v1 import WorkflowExecution as ExecutionName
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)

from router.contracts.start_options import REQUESTER, TENANT
from router.domain.errors import Unavailable
from router.domain.locale import Localised
from router.gateway.retries import RPC_TIMEOUT, WorkflowOver, own_errors

_AT_ONCE = 20
"""Workflow ids of one query."""
_ROUNDS = 20
_PAUSE = 0.5
"""Seconds between looks: lists lag a little, and one that is ended may have begun another."""


@dataclass(frozen=True)
class Execution:
    """One run of a workflow; one that continued as new has had several."""

    workflow_id: str
    run_id: str
    open: bool
    began_at: datetime


def begun_by(ids: Collection[str]) -> list[str]:
    """Queries for the workflows of these ids and for all that those began."""
    queries, ordered = [], sorted(ids)
    for start in range(0, len(ordered), _AT_ONCE):
        those = ", ".join(map(_quoted, ordered[start : start + _AT_ONCE]))
        queries += [f"WorkflowId IN ({those})", f"RootWorkflowId IN ({those})"]
    return queries


def of_person(tenant: str, person: str, known: Collection[str]) -> list[str]:
    """Queries for the `known` workflows, what those began, and all that are the person's."""
    theirs = f"{REQUESTER.name} = {_quoted(person)} AND {TENANT.name} = {_quoted(tenant)}"
    return [theirs, *begun_by(known)]


async def workflows_of(client: Client, queries: Sequence[str]) -> list[Execution]:
    """All runs that any of the queries finds, each once; `Unavailable` without the server."""
    found: dict[tuple[str, str], Execution] = {}
    with own_errors():
        for query in queries:
            async for each in client.list_workflows(query):
                found[each.id, each.run_id] = _execution(each)
    return list(found.values())


async def newest(client: Client, workflow: str) -> Execution | None:
    """Return the workflow's newest run, which lists may not have yet; None if there is none.

    A run that continued as new began when the first run of its chain did. Raises `Unavailable` if
    Temporal is out of reach.
    """
    known = await _described(client, workflow)
    if known is None:
        return None
    first_id = known.raw_info.first_run_id or known.run_id
    if first_id == known.run_id:
        return _execution(known)
    first = await _described(client, workflow, first_id)
    began_at = first.start_time if first else datetime.min.replace(tzinfo=UTC)
    return replace(_execution(known), began_at=began_at)


async def _described(
    client: Client, workflow: str, run: str | None = None
) -> WorkflowExecutionDescription | None:
    handle = client.get_workflow_handle(workflow, run_id=run)
    try:
        with own_errors():
            return await handle.describe(rpc_timeout=RPC_TIMEOUT)
    except WorkflowOver:
        return None


def _execution(known: WorkflowExecution) -> Execution:
    is_open = known.status is WorkflowExecutionStatus.RUNNING
    return Execution(known.id, known.run_id, is_open, known.start_time)


async def end(
    client: Client, queries: Sequence[str], word: str, until: datetime | None = None
) -> list[Execution]:
    """Terminate what goes on, as `word` says why; all there was, of what began `until` then.

    Raises:
        Unavailable: Temporal is out of reach, or something never ends.
    """
    for _ in range(_ROUNDS):
        every = await workflows_of(client, queries)
        found = [each for each in every if until is None or each.began_at <= until]
        still = [each for each in found if each.open]
        if not still:
            return found
        for each in still:
            await terminate(client, each.workflow_id, word, each.run_id)
        await asyncio.sleep(_PAUSE)
    first, more = still[0].workflow_id, len(still) - 1
    zh = f"{first} 和另外 {more} 个工作流停不下来，请在 Temporal 的界面里看是什么一直在启动它们"
    en = (
        f"{first} and {more} more workflows don't end: see in Temporal's UI what keeps starting "
        "them, and try again"
    )
    raise Unavailable(Localised(zh=f"{zh}，然后再试一次", en=en))


class StillAtWork(Unavailable):
    """An activity or a child of the workflow isn't over."""


async def wind_up(
    client: Client, workflow: str, signal: str, until: datetime, within: float
) -> None:
    """Send `signal` to a workflow that began `until` then, and wait until it has ended.

    A workflow that doesn't end, and has nothing under way, is left as it is: it is stuck.

    Raises:
        StillAtWork: something is under way after `within` seconds.
        Unavailable: Temporal is out of reach.
    """
    began = await newest(client, workflow)
    if began is None or not began.open or began.began_at > until:
        return
    try:
        with own_errors():
            # Without a run id: if the run has continued as new, its successor gets the signal.
            await client.get_workflow_handle(workflow).signal(signal, rpc_timeout=RPC_TIMEOUT)
    except WorkflowOver:
        return
    try:
        with own_errors():
            async with asyncio.timeout(within):
                await client.get_workflow_handle(workflow, run_id=began.run_id).result()
    except (WorkflowFailureError, WorkflowOver):
        return
    except TimeoutError as error:
        if await _is_at_work(client, workflow):
            raise StillAtWork(f"{workflow} is still at work; try again.") from error


async def until_quiet(client: Client, workflow: str, within: float) -> None:
    """Wait until the workflow has no activity under way. Its children are waited for on their own.

    Raises:
        StillAtWork: something is under way after `within` seconds.
        Unavailable: Temporal is out of reach.
    """
    ends = monotonic() + within
    while (
        known := await _described(client, workflow)
    ) and known.raw_description.pending_activities:
        if monotonic() > ends:
            raise StillAtWork(f"{workflow} is still at work; try again.")
        await asyncio.sleep(_PAUSE)


async def _is_at_work(client: Client, workflow: str) -> bool:
    known = await _described(client, workflow)
    if known is None:
        return False
    described = known.raw_description
    return bool(described.pending_activities or described.pending_children)


async def terminate(client: Client, workflow: str, word: str, run: str | None = None) -> bool:
    """End this one at once, with all that it began; False where it was over already."""
    handle = client.get_workflow_handle(workflow, run_id=run)
    try:
        with own_errors():
            await handle.terminate(reason=word, rpc_timeout=RPC_TIMEOUT)
    except WorkflowOver:
        return False
    return True


async def delete_histories(client: Client, executions: Iterable[Execution]) -> None:
    """Have the server forget them; it does so in its own time, usually within seconds."""
    for each in executions:
        name = ExecutionName(workflow_id=each.workflow_id, run_id=each.run_id)
        request = DeleteWorkflowExecutionRequest(
            namespace=client.namespace, workflow_execution=name
        )
        with suppress(WorkflowOver), own_errors():
            await client.workflow_service.delete_workflow_execution(request, timeout=RPC_TIMEOUT)


def _quoted(value: str) -> str:
    """A string as Temporal's list filters want it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
