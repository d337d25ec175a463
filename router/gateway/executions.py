"""Doing away with workflows: what goes on is ended, and histories are deleted from the server."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus

from router.contracts.start_options import REQUESTER, TENANT
from router.domain.errors import Unavailable
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


async def workflows_of(
    client: Client, tenant: str, person: str, known: Collection[str]
) -> list[Execution]:
    """All runs of the `known` workflows, of what those began, and of all that are the person's.

    Raises:
        RouterError: Temporal is out of reach.
    """
    theirs = f"{REQUESTER.name} = {_quoted(person)} AND {TENANT.name} = {_quoted(tenant)}"
    queries = [theirs]
    for some in _batches(sorted(known)):
        ids = ", ".join(map(_quoted, some))
        queries += [f"WorkflowId IN ({ids})", f"RootWorkflowId IN ({ids})"]
    found: dict[tuple[str, str], Execution] = {}
    with own_errors():
        for query in queries:
            async for each in client.list_workflows(query):
                is_open = each.status is WorkflowExecutionStatus.RUNNING
                found[each.id, each.run_id] = Execution(each.id, each.run_id, is_open)
    return list(found.values())


async def end(
    client: Client, tenant: str, person: str, known: Collection[str], word: str
) -> list[Execution]:
    """Terminate what goes on, with `word` for those who look into why; all that there has been.

    Raises:
        Unavailable: Temporal is out of reach, or something always goes on.
    """
    for _ in range(_ROUNDS):
        found = await workflows_of(client, tenant, person, known)
        still = [each for each in found if each.open]
        if not still:
            return found
        for each in still:
            handle = client.get_workflow_handle(each.workflow_id, run_id=each.run_id)
            with suppress(WorkflowOver), own_errors():
                await handle.terminate(reason=word, rpc_timeout=RPC_TIMEOUT)
        await asyncio.sleep(_PAUSE)
    raise Unavailable(
        f"{still[0].workflow_id} and {len(still) - 1} more workflows don't end: nothing was "
        "erased; see in Temporal's UI what keeps starting them, and try again"
    )


async def delete_histories(client: Client, executions: Iterable[Execution]) -> None:
    """Have the server forget them; it does so in its own time, usually within seconds.

    Raises:
        Unavailable: Temporal is out of reach.
    """
    for each in executions:
        execution = WorkflowExecution(workflow_id=each.workflow_id, run_id=each.run_id)
        request = DeleteWorkflowExecutionRequest(
            namespace=client.namespace, workflow_execution=execution
        )
        with suppress(WorkflowOver), own_errors():
            await client.workflow_service.delete_workflow_execution(request, timeout=RPC_TIMEOUT)


def _quoted(value: str) -> str:
    """A string as Temporal's list filters want it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]
