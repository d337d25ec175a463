"""`intent-router reconcile`: the runs of the database beside those of Temporal, and made to fit.

Nothing is written without `--yes`. What an effect in another system is worth, a person decides:
those that nobody can vouch for any more are listed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated

import typer
from temporalio.client import Client

from router.cli.options import (
    DataFolder,
    echo_aligned,
    noted,
    settings_in,
    shell_account,
    with_store,
)
from router.contracts.activities import Projection
from router.contracts.flow import WORKFLOW
from router.domain.errors import Forbidden, RouterError, Unavailable
from router.domain.records import RunHead, RunRecord
from router.gateway.builds import is_polled
from router.gateway.generations import agree, halves
from router.gateway.lost_runs import (
    Kind,
    Misfit,
    at_once,
    close,
    compared,
    misfits,
    place_of,
    projection_of,
    publish,
    unknown,
)
from router.gateway.retries import RPC_TIMEOUT, WorkflowOver, own_errors
from router.runtime.temporal import check_namespace, connect
from router.runtime.upkeep import at_work
from router.runtime.worker import build_workers
from router.settings import Settings
from router.store.store import Store

REMEDIES: dict[Kind, str] = {
    "lost": "end it as failed, and tell its people",
    "behind": "publish it anew as its workflow says",
    "ahead": "set it back to where its workflow is, which asks again",
    "ended": "end its workflow; the run stays as it is",
}
"""What is done about each, the first kinds last: a workflow that shouldn't go on does nothing more
meanwhile."""
_ORDER: tuple[Kind, ...] = ("ended", "behind", "ahead", "lost")
PUBLISHED_WITHIN = 1.0
"""Seconds, where the database is well."""
_SILENT: frozenset[Kind] = frozenset({"ended", "lost"})
"""What is put right without a word from the run."""
_NO_WORKER = "no worker polls {}: runs that go on weren't asked where they stand"
_EVERYTHING = 10**9
_COMPLETED = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Completed'"


@dataclass
class Case:
    """A run that doesn't fit, and what a person has to look at themselves."""

    misfit: Misfit
    told: Projection | None = None
    look_at: list[str] = field(default_factory=list)
    failed: str = ""
    """Why nothing could be done about it."""

    def row(self) -> dict[str, object]:
        """As `--json` prints it."""
        misfit = self.misfit
        return {
            "kind": misfit.kind,
            "tenant": misfit.tenant,
            "flow_run": misfit.run,
            "workflow_id": misfit.workflow_id,
            "why": misfit.why,
            "remedy": REMEDIES[misfit.kind],
            "look_at": self.look_at,
            "failed": self.failed or None,
        }


async def examined(
    client: Client, store: Store, queue: str, tenant: str | None, *, asking: bool
) -> list[Case]:
    """Every run that doesn't fit, those to be dealt with first before the others.

    Without `asking` no run is asked where it stands, which takes a worker. Raises `Unavailable`
    where Temporal doesn't answer: nothing is guessed.
    """
    with own_errors():
        found = await misfits(client, store.runs, queue, _EVERYTHING)
        found += await _forgotten(client, store, queue)
    known = {misfit.workflow_id for misfit in found}
    heads = await store.runs.standings() if asking else []
    going_on = [head for head in heads if head.workflow_id not in known]
    cases = [Case(misfit) for misfit in found]
    cases += [c for c in await at_once(going_on, lambda h: _compared(client, store, h)) if c]
    wanted = [case for case in cases if tenant in {None, case.misfit.tenant}]
    await at_once(wanted, lambda case: _completed(client, store, case, asking=asking))
    return sorted(wanted, key=lambda case: _ORDER.index(case.misfit.kind))


async def _forgotten(client: Client, store: Store, queue: str) -> list[Misfit]:
    """Runs that have completed in Temporal, and that the database has no row of."""
    listed = client.list_workflows(_COMPLETED)
    ids = {place_of(each.id): each.id async for each in listed if each.task_queue == queue}
    there = {(head.tenant, head.id) for head in await store.runs.standings(list(ids))}
    return [
        unknown(id_, "isn't in the database, and has completed")
        for place, id_ in ids.items()
        if place not in there
    ]


async def _compared(client: Client, store: Store, head: RunHead) -> Case | None:
    try:
        told = await projection_of(client, head.workflow_id)
    except WorkflowOver:
        return None
    except RouterError as error:
        here = Misfit("behind", head.tenant, head.id, head.workflow_id, "isn't known", head)
        return Case(here, failed=str(error))
    there = told.published.run
    kind = await _kind(store, head, there)
    if kind is None:
        return None
    why = f"is {head.status} in {head.state}, in Temporal {there.status} in {there.state}"
    return Case(Misfit(kind, head.tenant, head.id, head.workflow_id, why, head), told)


async def _kind(store: Store, head: RunHead, there: RunRecord) -> Kind | None:
    row = await store.runs.find(head.tenant, head.id)
    kind = compared(row, there) if row else None
    if kind == "behind":
        # It may have been asked between a step of its and the publication of that.
        await asyncio.sleep(PUBLISHED_WITHIN)
        row = await store.runs.find(head.tenant, head.id)
    return kind if row and row.events == head.events else None


async def _completed(client: Client, store: Store, case: Case, *, asking: bool) -> None:
    """The case with what its run says of itself, and with what somebody has to look at."""
    misfit = case.misfit
    if misfit.kind in _SILENT:
        effects = await store.ledger.of_run(misfit.workflow_id)
        case.look_at = [f"{each.tool} ({each.key}) is {each.status}" for each in effects]
        return
    if asking and case.told is None and not case.failed:
        try:
            case.told = await projection_of(client, misfit.workflow_id)
        except RouterError as error:
            case.failed = str(error)
    for done in case.told.done if case.told else ():
        if await store.ledger.find(done.key) is None:
            case.look_at.append(f"{done.tool} ({done.key}) was done, and the database lost it")


async def put_right(client: Client, store: Store, cases: Sequence[Case]) -> None:
    """Do about each what its kind asks for; what fails says so in its case."""
    for case in cases:
        misfit = case.misfit
        if case.failed or (case.told is None and misfit.kind not in _SILENT):
            continue
        detail = f"{misfit.kind}: {misfit.why}"
        await noted(store.trail, misfit.tenant, "run.reconcile", misfit.run, detail)
        try:
            await _put_right(client, store, case)
        except RouterError as error:
            case.failed = str(error)


async def _put_right(client: Client, store: Store, case: Case) -> None:
    misfit = case.misfit
    if misfit.kind == "lost":
        await close(store, misfit, shell_account())
    elif misfit.kind == "ended":
        handle = client.get_workflow_handle(misfit.workflow_id)
        reason = f"reconciled: the run {misfit.why}"
        with suppress(WorkflowOver), own_errors():
            await handle.terminate(reason=reason, rpc_timeout=RPC_TIMEOUT)
    elif case.told is not None:
        await publish(store.runs, case.told.published, anew=misfit.kind == "ahead")


@asynccontextmanager
async def _worker(client: Client, settings: Settings) -> AsyncIterator[None]:
    """A worker within this process: those of the house don't start while the halves are apart."""
    async with at_work(settings) as parts, AsyncExitStack() as polling:
        for worker in build_workers(client, parts).values():
            await polling.enter_async_context(worker)
        yield


async def reconciled(settings: Settings, tenant: str | None, *, confirmed: bool) -> list[Case]:
    """What was found, and where it is confirmed, put right."""

    async def work(store: Store) -> list[Case]:
        client = await connect(settings)
        await check_namespace(client)
        queue = settings.task_queue
        with own_errors():
            answered = await is_polled(client, queue)
            apart = (await halves(client, store.houses, queue)).trouble
        if apart:
            typer.echo(apart, err=True)
        cases = await examined(client, store, queue, tenant, asking=answered)
        if not confirmed:
            if not answered:
                typer.echo(f"{_NO_WORKER.format(queue)}; --yes starts one for that", err=True)
            return cases
        await put_right(client, store, cases)
        if not answered:
            async with _worker(client, settings):
                more = await examined(client, store, queue, tenant, asking=True)
                await put_right(client, store, more)
            cases = [case for case in cases if case.misfit.kind in _SILENT] + more
        if tenant is None and not any(case.failed for case in cases):
            await agree(client, store.houses, queue)
        return cases

    return await with_store(settings, work)


def reconcile(
    tenant: Annotated[str | None, typer.Option(help="Of this tenant alone.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Put it right, not only say what.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
    data: DataFolder = None,
) -> None:
    """Compare runs with their workflows, and put right what doesn't fit.

    After a restore, or where `doctor` names lost runs. Where no worker is there it is one itself.
    """
    cases = asyncio.run(reconciled(settings_in(data), tenant, confirmed=yes))
    if as_json:
        rows = [case.row() for case in cases]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    else:
        _print(cases)
    failed = [case for case in cases if case.failed]
    if failed:
        raise Unavailable(f"{len(failed)} of {len(cases)} runs are as they were; try again")
    if cases and not yes:
        raise Forbidden(f"{len(cases)} runs don't fit, and nothing was done about it: add --yes")


def _print(cases: Sequence[Case]) -> None:
    if not cases:
        typer.echo("the database and Temporal agree on every run")
        return
    echo_aligned(
        [
            (c.misfit.kind, c.misfit.workflow_id, c.misfit.why, c.failed or REMEDIES[c.misfit.kind])
            for c in cases
        ]
    )
    seen = [f"{case.misfit.run}: {what}" for case in cases for what in case.look_at]
    if seen:
        typer.echo("\nlook at these yourself, for nothing here undoes or repeats them:")
        typer.echo("\n".join(f"  {each}" for each in seen))
