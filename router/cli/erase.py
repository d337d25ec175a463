"""`intent-router erase`: their workflows end, Temporal forgets them, then the database does."""

import asyncio
import secrets
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import typer
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus

from router.cli.options import DataFolder, noted, settings_in
from router.contracts.start_options import REQUESTER, TENANT
from router.domain.errors import Conflict, Forbidden, NotFound, Unavailable
from router.gateway.retries import RPC_TIMEOUT, WorkflowOver, own_errors
from router.runtime.data_folder import made
from router.runtime.temporal import connect
from router.settings import Settings
from router.store.audit import AuditTrail
from router.store.database import Database
from router.store.retention import Holdings, PersonErasure
from router.store.tables import ROUTER

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
    """All runs of the `known` workflows, of what those began, and of all that are the person's."""
    theirs = f"{REQUESTER.name} = {_quoted(person)} AND {TENANT.name} = {_quoted(tenant)}"
    queries, ordered = [theirs], sorted(known)
    for start in range(0, len(ordered), _AT_ONCE):
        ids = ", ".join(map(_quoted, ordered[start : start + _AT_ONCE]))
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
    """Terminate what goes on, as `word` says why; all there was. `Unavailable`: it never ends."""
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
    """Have the server forget them; it does so in its own time, usually within seconds."""
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


WORD = "erased: an operator had everything of this person deleted"


async def erase_person(
    settings: Settings, tenant: str, person: str, *, confirmed: bool
) -> tuple[str, Holdings, int]:
    """Erase the person; their pseudonym, what there was, and how many executions. May be resumed.

    Raises `NotFound` where nothing is kept of them, `Conflict` where others wait for their word,
    `Forbidden`, with what would go, unless it is confirmed.
    """
    made(settings.data)
    database = Database(settings.database_url)
    try:
        await database.migrate(ROUTER)
        erasing = PersonErasure(database, tenant, person)
        client = await connect(settings)
        there = await erasing.holdings()
        found = await workflows_of(client, tenant, person, there.workflows)
        _check(tenant, person, there, len(found), confirmed=confirmed)
        pseudonym = f"erased-{secrets.token_hex(6)}"
        # By the pseudonym: the trail is no place to find out whose it was.
        await noted(AuditTrail(database), tenant, "person.erase", pseudonym)
        executions = await end(client, tenant, person, there.workflows, WORD)
        # Last the database, which knows what else is theirs: so this can be taken up again.
        await delete_histories(client, executions)
        await erasing.erase(pseudonym)
    finally:
        await database.dispose()
    return pseudonym, there, len(executions)


def _check(tenant: str, person: str, there: Holdings, executions: int, *, confirmed: bool) -> None:
    if not there.counts and not executions:
        raise NotFound(
            f"nothing is kept of {person!r} of tenant {tenant!r}: see how the id is spelt"
        )
    if there.awaited:
        raise Conflict(
            f"requests of others wait for {person}'s decision ({', '.join(there.awaited)}): "
            f"hand them over first, with `intent-router runs reassign --from {person} --to …`"
        )
    if there.on_hold:
        raise Conflict(
            f"a legal hold keeps what is {person}'s ({'; '.join(there.on_hold)}): nothing was "
            "erased; `intent-router legal-hold release` ends it, if it may end"
        )
    if not confirmed:
        raise Forbidden(
            f"this can't be undone: of {person} of tenant {tenant} there would be erased: "
            f"{in_short(there, executions)}; add --yes"
        )


def in_short(there: Holdings, executions: int) -> str:
    """What there is, in a line.

    >>> in_short(Holdings({"files": 2}, [], [], []), 1)
    'files: 2, workflow executions: 1'
    """
    counts = {**there.counts, "workflow executions": executions}
    return ", ".join(f"{what}: {count}" for what, count in counts.items())


def erase(
    user: Annotated[str, typer.Argument(help="A user id; they need not be in the directory.")],
    tenant: Annotated[str, typer.Option(help="The tenant that they are of.")] = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Erase it, not only say what.")] = False,
    data: DataFolder = None,
) -> None:
    """Erase a person: conversations, files, what is under way, histories in Temporal.

    Decisions stay on record under a pseudonym. Take them out of the directory first.
    """
    settings = settings_in(data)
    erasing = erase_person(settings, tenant, user, confirmed=yes)
    pseudonym, holdings, executions = asyncio.run(erasing)
    typer.echo(f"erased: {in_short(holdings, executions)}")
    typer.echo(f"what stays on record is of {pseudonym}")
    if runs := holdings.named:
        typer.echo(
            f"{len(runs)} requests of others go on and know them ({', '.join(runs)}): "
            "erase again once those have ended"
        )
