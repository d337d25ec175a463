"""`intent-router reconcile`: the database beside Temporal, and beside itself, and made to fit.

Nothing is written without `--yes`. What an effect in another system is worth, a person decides:
those that nobody can vouch for any more are listed. Each kind of difference has a comparison, which
looks at a few hundred rows or workflows at a time. What is under way isn't taken for a difference:
what happened within two minutes isn't compared, or asked about twice.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer
from temporalio.client import Client

from router.cli.options import (
    DataFolderOption,
    echo_aligned,
    noted,
    settings_in,
    shell_account,
    with_store,
)
from router.contracts.activities import Projection
from router.contracts.flow import WORKFLOW
from router.domain.errors import Forbidden, RouterError, Unavailable
from router.domain.messages import ENDED, digest_of
from router.domain.records import AuditFilter, RunHead, RunRecord
from router.flow.engine.run_parts.recovery import Done
from router.gateway import lost_runs
from router.gateway.builds import is_polled
from router.gateway.failing_workflows import ProblemsNotReported, find_failing_workflows
from router.gateway.generations import agree, halves
from router.gateway.lost_conversations import LostConversation, lost_conversations, recover
from router.gateway.lost_runs import (
    Misfit,
    RunMismatch,
    at_once,
    batches,
    close,
    compared,
    every_misfit,
    place_of,
    projection_of,
    publish,
    status_of,
    unknown,
)
from router.gateway.retries import RPC_TIMEOUT, WorkflowOver, own_errors
from router.runtime.temporal import check_namespace, connect
from router.runtime.upkeep import at_work
from router.runtime.worker import build_workers
from router.settings import Settings
from router.store.consistency import EffectLine, StoppedMailbox, StrayApproval
from router.store.store import Store

REMEDIES = {
    "ended": "end its workflow; the run stays as it is",
    "lost": "end it as failed, and tell its people",
    "behind": "publish it anew as its workflow says",
    "ahead": "set it back to where its workflow is, which asks again",
    "approval": "ask nobody for it any more",
    "unledgered": "note in the effects ledger that it was done",
    "unowned": "note that it was listed; its line stays, so that it isn't sent again",
    "conversation": "have it go on by what its workflow knew, else by its last snapshot",
    "mailbox": "have it go on with what it hasn't posted",
    "unposted": "mend that platform, or set it again: the log of `serve` says what is wrong",
    "undelivered": "look at `intent-router webhooks list`",
    "failing": "deploy the version from before or a mended one; it then continues by itself",
}
"""What is done about each kind, or for the last three what a person does."""
PUBLISHED_WITHIN = 1.0
"""Seconds, where the database is well."""
_COMPLETED = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Completed'"


@dataclass
class Case:
    """Something that doesn't fit; what mends it, and what a person has to look at themselves."""

    kind: str
    tenant: str
    subject: str
    """The id of a run, an approval, a conversation or a mailbox, or the key of a write."""
    why: str
    workflow_id: str = ""
    told: Projection | None = None
    look_at: list[str] = field(default_factory=list)
    failed: str = ""
    """Why nothing could be done about it."""
    mend: Callable[[], Awaitable[object]] | None = None
    """None: a person decides."""

    @property
    def remedy(self) -> str:
        """What is done about it."""
        return REMEDIES[self.kind]

    def row(self) -> dict[str, object]:
        """As `--json` prints it."""
        named = ("kind", "tenant", "subject", "workflow_id", "why", "remedy", "look_at")
        of_run = self.kind in {"ended", "lost", "behind", "ahead"}
        return {
            **{name: getattr(self, name) for name in named},
            "flow_run": self.subject if of_run else None,
            "decide": self.mend is None,
            "failed": self.failed or None,
        }


@dataclass(frozen=True)
class ComparedStores:
    """What is compared: both stores. `asking`: a worker is there that says where a run stands."""

    client: Client
    store: Store
    queue: str
    tenant: str | None = None
    asking: bool = True


Find = Callable[[ComparedStores], AsyncIterator[list[Case]]]


@dataclass(frozen=True)
class StoreComparison:
    """One look at everything; `asks` is true of what takes a worker to find, or to mend."""

    find: Find
    asks: bool


COMPARISONS: list[StoreComparison] = []
"""In their order: a workflow that shouldn't go on does nothing more while the others are mended."""


def comparison(*, asks: bool) -> Callable[[Find], Find]:
    """Have the function be one of those that `reconcile` makes."""

    def taken(find: Find) -> Find:
        COMPARISONS.append(StoreComparison(find, asks))
        return find

    return taken


@comparison(asks=False)
async def ended_or_lost(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Runs that have ended and go on in Temporal, and such as have no workflow any more."""
    with own_errors():
        async for page in every_misfit(house.client, house.store.runs, house.queue):
            cases = [_of_run(house, each) for each in page if each.kind in {"ended", "lost"}]
            for case in cases:
                effects = await house.store.ledger.of_run(case.workflow_id)
                case.look_at = [f"{each.tool} ({each.key}) is {each.status}" for each in effects]
            yield cases


@comparison(asks=False)
async def stray_approvals(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """What people are asked for in runs that have ended, or that aren't there."""

    def case(stray: StrayApproval) -> Case:
        run = f"its run is {stray.status}" if stray.status else "its run isn't there"
        mend = partial(house.store.consistency.close_approval, stray.tenant, stray.id)
        why = f"waits for {stray.person}, and {run}"
        return Case("approval", stray.tenant, stray.id, why, stray.workflow_id, mend=mend)

    async for page in house.store.consistency.stray_approvals():
        yield [*map(case, page)]


@comparison(asks=False)
async def stopped_mailboxes(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Mailboxes of chat platforms in which news would never be posted."""

    def case(box: StoppedMailbox) -> Case:
        ahead = box.position > box.newest
        why = f"is at {box.position} of {box.newest}" if ahead else "hasn't heard of what is new"
        subject = f"{box.platform}/{box.kind}/{box.subject}"
        mend = partial(house.store.consistency.set_mailbox, box)
        return Case("mailbox", box.tenant, subject, why, mend=mend)

    async for page in house.store.consistency.stopped_mailboxes():
        yield [*map(case, page)]


@comparison(asks=True)
async def behind(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Runs whose workflow is further than their row, or that have none."""
    with own_errors():
        async for page in every_misfit(house.client, house.store.runs, house.queue):
            cases = [_of_run(house, each) for each in page if each.kind == "behind"]
            yield await _completed(house, cases)
        async for listed in batches(house.client.list_workflows(_COMPLETED)):
            ids = {place_of(each.id): each.id for each in listed if each.task_queue == house.queue}
            heads = await house.store.runs.standings(list(ids))
            there = {(head.tenant, head.id) for head in heads}
            why = "isn't in the database, and has completed"
            lost = [unknown(id_, why) for place, id_ in ids.items() if place not in there]
            yield await _completed(house, [_of_run(house, each) for each in lost])


@comparison(asks=True)
async def asked_one_by_one(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Runs that go on in both, each asked where it stands, and which writes it made."""
    if not house.asking:
        return
    async for heads in house.store.runs.going_on():
        found = await at_once(heads, lambda head: _compared(house, head))
        yield [case for case in found if case is not None]


@comparison(asks=True)
async def cut_off_conversations(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Conversations in which something was said that nobody knows any more."""

    def case(lost: LostConversation) -> Case:
        known = lost.known
        mend = partial(recover, house.client, house.store, lost)
        return Case(
            *("conversation", known.tenant, known.id, lost.why, lost.workflow_id), mend=mend
        )

    with own_errors():
        async for page in lost_conversations(house.client, house.store):
            yield [*map(case, page)]


@comparison(asks=True)
async def unowned_effects(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Writes that were sent out for runs that neither half knows: what they did, stays.

    After everything else, by which runs come back that Temporal alone knew.
    """
    flows, old = await house.store.flow_versions.flows(), datetime.now(UTC) - lost_runs.QUIET
    async for page in house.store.consistency.effects():
        lines: dict[tuple[str, str], list[EffectLine]] = {}
        for line in page:
            workflow_id = line.key.partition(":")[0]
            if workflow_id.partition("/")[0] in flows and line.begun_at < old:
                lines.setdefault(place_of(workflow_id), []).append(line)
        known = {(head.tenant, head.id) for head in await house.store.runs.standings(list(lines))}
        strange = [line for place in lines.keys() - known for line in lines[place]]
        found = await at_once(strange, lambda line: _unowned(house, line))
        yield [case for case in found if case is not None]


@comparison(asks=False)
async def not_told(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """What chat platforms and other systems haven't taken: that is mended where they are."""
    now = datetime.now(UTC)
    for platform, since in (await house.store.mailboxes.oldest()).items():
        if since < now - lost_runs.QUIET:
            why = f"something has waited since {since:%Y-%m-%d %H:%M} UTC to be posted"
            yield [Case("unposted", house.tenant or "", platform, why)]
    for backlog in await house.store.webhooks.backlog():
        if backlog.dead:
            why = f"{backlog.dead} events were given up"
            yield [Case("undelivered", house.tenant or "", backlog.url, why)]


@comparison(asks=False)
async def failing_workflows(house: ComparedStores) -> AsyncIterator[list[Case]]:
    """Workflows that stand still because their task fails again and again."""
    try:
        with own_errors():
            found = await find_failing_workflows(house.client, house.queue)
    except ProblemsNotReported as unknown:
        typer.echo(f"which workflows' tasks fail {unknown}", err=True)
        return
    yield [
        Case(
            kind="failing",
            tenant=each.tenant,
            subject=each.workflow_id,
            why=each.describe_failure(),
            workflow_id=each.workflow_id,
        )
        for each in found.listed
    ]
    if found.unlisted:
        typer.echo(f"the tasks of {found.unlisted} more workflows fail", err=True)


def _of_run(house: ComparedStores, misfit: Misfit, told: Projection | None = None) -> Case:
    case = Case(misfit.kind, misfit.tenant, misfit.run, misfit.why, misfit.workflow_id, told)
    case.mend = partial(_mended, house, case, misfit)
    return case


async def _mended(house: ComparedStores, case: Case, misfit: Misfit) -> None:
    if misfit.kind == "lost":
        await close(house.store, misfit, shell_account())
    elif misfit.kind == "ended":
        handle = house.client.get_workflow_handle(misfit.workflow_id)
        reason = f"reconciled: the run {misfit.why}"
        with suppress(WorkflowOver), own_errors():
            await handle.terminate(reason=reason, rpc_timeout=RPC_TIMEOUT)
    elif case.told is not None:
        told = case.told.published
        await publish(house.store.runs, told, anew=misfit.kind == "ahead")
        for done in case.told.done:
            await _noted_as_done(house, told.run, done)


async def _completed(house: ComparedStores, cases: Sequence[Case]) -> list[Case]:
    """The cases with what each run says of itself, and with what somebody has to look at."""

    async def complete(case: Case) -> Case:
        if house.asking and case.told is None:
            try:
                case.told = await projection_of(house.client, case.workflow_id)
            except RouterError as error:
                case.failed = str(error)
        for done in case.told.done if case.told else ():
            if await house.store.ledger.find(done.key) is None:
                case.look_at.append(f"{done.tool} ({done.key}) was done, and the database lost it")
        return case

    return await at_once(cases, complete)


async def _compared(house: ComparedStores, head: RunHead) -> Case | None:
    try:
        told = await projection_of(house.client, head.workflow_id)
    except WorkflowOver:
        return None
    except RouterError as error:
        here = Misfit("behind", head.tenant, head.id, head.workflow_id, "isn't known", head)
        case = _of_run(house, here)
        case.failed = str(error)
        return case
    there = told.published.run
    if there.status in ENDED:
        return None  # `behind` has it by now, or it is about to be published
    kind, why = await _difference(house, head, told)
    if kind is None:
        return await _unledgered(house, there, told)
    misfit = Misfit(kind, head.tenant, head.id, head.workflow_id, why, head)
    (case,) = await _completed(house, [_of_run(house, misfit, told)])
    return case


async def _difference(
    house: ComparedStores, head: RunHead, told: Projection
) -> tuple[RunMismatch | None, str]:
    """How the row stands to what its workflow told, and in which words."""
    there = told.published.run
    kind, asked = await _standing(house, head, told)
    if kind is not None:
        # It may have been asked between a step of its and the publication of that.
        await asyncio.sleep(PUBLISHED_WITHIN)
        kind, asked = await _standing(house, head, told)
    if asked:
        return kind, "asks for other decisions in Temporal"
    return kind, f"is {head.status} in {head.state}, in Temporal {there.status} in {there.state}"


async def _standing(
    house: ComparedStores, head: RunHead, told: Projection
) -> tuple[RunMismatch | None, bool]:
    """The kind of the difference, and whether approvals alone are other ones."""
    runs = house.store.runs
    row = await runs.find(head.tenant, head.id)
    if row is None or row.events != head.events or row.is_lost:
        return None, False
    kind = compared(row, told.published.run)
    if kind is not None:
        return kind, False
    awaited = {each.id for each in await runs.awaited(head.tenant, [head.id])}
    there = {a.id for a in told.published.approvals if a.active and a.verdict is None}
    return ("behind", True) if awaited != there else (None, False)


async def _unledgered(house: ComparedStores, run: RunRecord, told: Projection) -> Case | None:
    """The run's writes that the ledger has no line of; None where it has all."""
    ledger = house.store.ledger
    lost = [done for done in told.done if await ledger.find(done.key) is None]
    if not lost:
        return None

    async def mend() -> None:
        for done in lost:
            await _noted_as_done(house, run, done)

    named = [f"{done.tool} ({done.key}) was done, and the database lost it" for done in lost]
    why = "made writes that the effects ledger has no line of"
    return Case(*("unledgered", run.tenant, run.id, why, run.workflow_id), look_at=named, mend=mend)


async def _noted_as_done(house: ComparedStores, run: RunRecord, done: Done) -> None:
    what = digest_of([done.tool, done.arguments, run.tenant, run.requester, None])
    await house.store.ledger.note_done(done.key, done.tool, what)


async def _unowned(house: ComparedStores, line: EffectLine) -> Case | None:
    workflow_id = line.key.partition(":")[0]
    tenant, _ = place_of(workflow_id)
    about = AuditFilter(act="run.reconcile", subject=line.key)
    listed, _ = await house.store.trail.listed(tenant, about, None, 1)
    if listed:
        return None
    with own_errors():
        if await status_of(house.client, workflow_id) is not None:
            return None

    async def nothing() -> None:
        """That it was listed stands in the audit trail by now."""

    why = f"{line.tool} is {line.status}, of a run that neither half knows"
    look_at = [f"{line.tool} ({line.key}) is {line.status}"]
    return Case("unowned", tenant, line.key, why, workflow_id, look_at=look_at, mend=nothing)


_NO_WORKER = "no worker polls {}: runs that go on weren't asked where they stand"

ReportCases = Callable[[Sequence[Case]], None]
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
    house: ComparedStores,
    comparisons: Sequence[StoreComparison],
    tell: ReportCases,
    *,
    confirmed: bool,
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
    settings: Settings, tenant: str | None, tell: ReportCases, *, confirmed: bool
) -> CaseCounts:
    """How much differs, and where it is confirmed, what came of putting it right."""

    async def work(store: Store) -> CaseCounts:
        client = await connect(settings)
        await check_namespace(client)
        queue = settings.task_queue
        with own_errors():
            await store.clock.keep()
            answered = await is_polled(client, queue, store.clock())
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


async def _without_worker(
    house: ComparedStores, settings: Settings, tell: ReportCases
) -> CaseCounts:
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
    data: DataFolderOption = None,
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
    if counts.found > counts.to_decide and not yes:
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
