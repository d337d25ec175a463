"""`intent-router reconcile`: the database beside Temporal, and beside itself, and made to fit.

Nothing is written without `--yes`. What an effect in another system is worth, a person decides:
those that nobody can vouch for any more are listed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from temporalio.client import Client

from router.cli.comparisons import COMPARISONS, Case, ComparedStores, StoreComparison
from router.cli.options import DataFolder, echo_aligned, noted, settings_in, with_store
from router.domain.errors import Forbidden, RouterError, Unavailable
from router.gateway.builds import is_polled
from router.gateway.generations import agree, halves
from router.gateway.retries import own_errors
from router.runtime.temporal import check_namespace, connect
from router.runtime.upkeep import at_work
from router.runtime.worker import build_workers
from router.settings import Settings
from router.store.store import Store

_NO_WORKER = "no worker polls {}: runs that go on weren't asked where they stand"

Tell = Callable[[Sequence[Case]], None]
"""What hears of a few hundred cases at most at a time, once something was done about each."""


@dataclass
class CaseCounts:
    """How much was found, of that mended, not to be mended right now, and for a person alone."""

    found: int = 0
    failed: int = 0
    to_decide: int = 0

    def count(self, cases: Sequence[Case]) -> None:
        """Count these too."""
        self.found += len(cases)
        self.failed += sum(bool(case.failed) for case in cases)
        self.to_decide += sum(case.mend is None for case in cases)


async def examined(
    house: ComparedStores, comparisons: Sequence[StoreComparison], tell: Tell, *, confirmed: bool
) -> CaseCounts:
    """Everything compared, page by page; where it is confirmed, mended before it is told.

    Raises `Unavailable` where Temporal doesn't answer: nothing is guessed.
    """
    counts = CaseCounts()
    for each in comparisons:
        async for page in each.find(house):
            cases = [case for case in page if house.tenant in {None, case.tenant}]
            if confirmed:
                await put_right(house.store, cases)
            counts.count(cases)
            tell(cases)
    return counts


async def put_right(store: Store, cases: Sequence[Case]) -> None:
    """Do about each what its kind asks for; what fails says so in its case."""
    for case in cases:
        if case.failed or case.mend is None:
            continue
        detail = "; ".join([f"{case.kind}: {case.why}", *case.look_at])
        await noted(store.trail, case.tenant, "run.reconcile", case.subject, detail)
        try:
            await case.mend()
        except RouterError as error:
            case.failed = str(error)


@asynccontextmanager
async def _worker(client: Client, settings: Settings) -> AsyncIterator[None]:
    """A worker within this process: those of the house don't start while the halves are apart."""
    async with at_work(settings) as parts, AsyncExitStack() as polling:
        for worker in build_workers(client, parts).values():
            await polling.enter_async_context(worker)
        yield


async def reconciled(
    settings: Settings, tenant: str | None, tell: Tell, *, confirmed: bool
) -> CaseCounts:
    """How much differs, and where it is confirmed, what came of putting it right."""

    async def work(store: Store) -> CaseCounts:
        client = await connect(settings)
        await check_namespace(client)
        queue = settings.task_queue
        with own_errors():
            answered = await is_polled(client, queue)
            apart = (await halves(client, store.houses, queue)).trouble
        if apart:
            typer.echo(apart, err=True)
        house = ComparedStores(client, store, queue, tenant, asking=answered)
        if answered or not confirmed:
            counts = await examined(house, COMPARISONS, tell, confirmed=confirmed)
        else:
            counts = await _without_worker(house, settings, tell)
        if not answered and not confirmed:
            typer.echo(f"{_NO_WORKER.format(queue)}; --yes starts one for that", err=True)
        if confirmed and tenant is None and not counts.failed:
            await agree(client, store.houses, queue)
        return counts

    return await with_store(settings, work)


async def _without_worker(house: ComparedStores, settings: Settings, tell: Tell) -> CaseCounts:
    """A worker starts once what mustn't go on has been ended."""
    first = [each for each in COMPARISONS if not each.asks]
    counts = await examined(house, first, tell, confirmed=True)
    async with _worker(house.client, settings):
        others = [each for each in COMPARISONS if each.asks]
        more = await examined(replace(house, asking=True), others, tell, confirmed=True)
    return CaseCounts(
        *(getattr(counts, n) + getattr(more, n) for n in ("found", "failed", "to_decide"))
    )


def reconcile(
    tenant: Annotated[str | None, typer.Option(help="Of this tenant alone.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Put it right, not only say what.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
    data: DataFolder = None,
) -> None:
    """Compare the database with Temporal, and put right what doesn't fit.

    After a restore, or where `doctor` names lost runs. Where no worker is there it is one itself.
    """
    array = JsonArray() if as_json else None
    counts = asyncio.run(reconciled(settings_in(data), tenant, array or _print, confirmed=yes))
    if array is not None:
        array.close()
    elif not counts.found:
        typer.echo("the database and Temporal agree on everything")
    if counts.failed:
        raise Unavailable(f"{counts.failed} of {counts.found} are as they were; try again")
    if counts.found and not yes:
        raise Forbidden(f"{counts.found} don't fit, and nothing was done about it: add --yes")
    if counts.to_decide:
        raise Forbidden(f"{counts.to_decide} of {counts.found} are for a person to mend")


class JsonArray:
    """Prints an array as its rows come."""

    def __init__(self) -> None:
        self._before = "["

    def __call__(self, cases: Sequence[Case]) -> None:
        """Print the rows of these."""
        for case in cases:
            typer.echo(f"{self._before}\n  {json.dumps(case.row(), ensure_ascii=False)}", nl=False)
            self._before = ","

    def close(self) -> None:
        """Print its end."""
        typer.echo("[]" if self._before == "[" else "\n]")


def _print(cases: Sequence[Case]) -> None:
    if cases:
        echo_aligned(
            [(c.kind, c.workflow_id or c.subject, c.why, c.failed or c.remedy) for c in cases]
        )
    seen = [f"{case.subject}: {what}" for case in cases for what in case.look_at]
    if seen:
        typer.echo("\nlook at these yourself, for nothing here undoes or repeats them:")
        typer.echo("\n".join([*(f"  {each}" for each in seen), ""]))
