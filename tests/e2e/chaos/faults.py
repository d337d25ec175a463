"""What can happen to a house, each by its name: a block during which it is so.

async with FAULTS["pause"].over(house, "worker", draws):
    await asyncio.sleep(60)

On leaving all is mended; what broke of it may take longer to be well again.
"""

import random
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import dataclass

import asyncpg  # type: ignore[import-untyped]
from temporalio.api.workflow.v1 import VersioningOverride
from temporalio.api.workflowservice.v1 import UpdateWorkflowExecutionOptionsRequest
from temporalio.client import Client

from tests.clocks import moved
from tests.e2e.chaos.house import DEFECT_FILE, DEPLOYMENT, HASTY, House, answers
from tests.e2e.chaos.machine import Kept
from tests.e2e.chaos.wire import Weather, Wire
from tests.e2e.storm.requests import until

Over = Callable[[House, str, random.Random], AbstractAsyncContextManager[None]]
Targets = Callable[[House], Iterable[str]]


@dataclass(frozen=True)
class Fault:
    """One way in which things go wrong."""

    name: str
    targets: Targets
    """What of a house it can come over; nothing where it can't happen there."""
    over: Over
    lasts: bool = True
    """False where it is over as soon as it has happened."""
    seconds: float | None = None
    """How long it lasts, unless everything is to be shorter; None is for any time."""


FAULTS: dict[str, Fault] = {}


def fault(
    targets: Targets, *, lasts: bool = True, seconds: float | None = None
) -> Callable[[Over], Over]:
    """Make this one of those that chaos draws from, by the function's name."""

    def taken(over: Over) -> Over:
        name = over.__name__.replace("_", " ")
        FAULTS[name] = Fault(name, targets, over, lasts, seconds)
        return over

    return taken


def processes(house: House) -> Iterable[str]:
    return house.processes


def ours(house: House) -> Iterable[str]:
    """Our own processes."""
    return house.processes.keys() & {"api", "worker", "dev"}


def wires(house: House) -> Iterable[str]:
    return house.wires


def inner_wires(house: House) -> Iterable[str]:
    """Between any two of the house's parts, and between it and people."""
    return (name for name in house.wires if not name.startswith("house-"))


async def back(house: House, killed: Kept) -> None:
    """Return once somebody does its work again."""
    await killed.serves()
    if killed.name == "temporal":
        await answers(int(house.temporal.split(":")[1]))


@fault(processes, lasts=False)
@asynccontextmanager
async def kill(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """`kill -9`; somebody starts it again."""
    yield
    unlucky = draws.choice(house.processes[target])
    unlucky.kill()
    await back(house, unlucky)


@fault(processes)
@asynccontextmanager
async def pause(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """It stands still, and goes on as if nothing had been: what it was about to do it does then."""
    frozen = draws.choice(house.processes[target])
    frozen.freeze()
    try:
        yield
    finally:
        frozen.thaw()


@contextmanager
def _some(house: House, target: str, draws: random.Random) -> Iterator[list[Wire]]:
    """All wires of a kind, or one of them; they are mended in the end."""
    chosen = house.wires[target]
    if draws.random() < 0.5:
        chosen = [draws.choice(chosen)]
    try:
        yield chosen
    finally:
        for wire in chosen:
            wire.mend()


@fault(inner_wires)
@asynccontextmanager
async def partition(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Nothing comes through, in both directions or in one, and nobody is told.

    In the end what was under way arrives late, or the connections turn out to be gone.
    """
    there, here = draws.choice([(True, True), (True, True), (True, False), (False, True)])
    with _some(house, target, draws) as chosen:
        for wire in chosen:
            wire.stall(there=there, back=here)
        yield
        if draws.random() < 0.5:
            for wire in chosen:
                wire.reset()


@fault(wires)
@asynccontextmanager
async def cut(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Every connection is reset, and so is every new one."""
    with _some(house, target, draws) as chosen:
        for wire in chosen:
            wire.cut()
        yield


@fault(wires)
@asynccontextmanager
async def slow(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Everything takes a fifth of a second to a whole one more, each way."""
    with _some(house, target, draws) as chosen:
        for wire in chosen:
            wire.worsen(Weather(delay=draws.uniform(0.2, 1.0)))
        yield


@fault(wires)
@asynccontextmanager
async def lossy(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """A fifth of everything has to be sent again, and some connections end."""
    with _some(house, target, draws) as chosen:
        for wire in chosen:
            wire.worsen(Weather(delay=0.02, lost=0.2, resets=0.01, draws=draws))
        yield


@fault(lambda house: house.disks)
@asynccontextmanager
async def full_disk(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Not one byte more fits on the disk that a process has its data on."""
    disk = house.disks[target]
    with ExitStack() as stack:
        for one in house.processes[target]:
            stack.enter_context(one.excused())
        disk.fill()
        try:
            yield
        finally:
            disk.clear()
        for one in house.processes[target]:
            await back(house, one)


def _database(house: House) -> Iterable[str]:
    return ("database",) if house.dialect == "postgresql" else ()


@fault(_database, seconds=30.0)
@asynccontextmanager
async def failover(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """The primary dies, and for half a minute nobody answers; then there is a new one.

    It has all that was committed, as a synchronous standby has.
    """
    (primary,) = house.processes[target]
    with primary.down():
        yield
    await back(house, primary)


@asynccontextmanager
async def _administrator(house: House) -> AsyncIterator[asyncpg.Connection]:
    settings = {"default_transaction_read_only": "off"}
    connection = await asyncpg.connect(house.database, server_settings=settings)
    try:
        yield connection
    finally:
        await connection.close(timeout=10)


READ_ONLY = "default_transaction_read_only"


@fault(_database)
@asynccontextmanager
async def read_only(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """The database answers, and takes no writes, as a standby does after a failover."""
    async with _administrator(house) as administrator:
        await administrator.execute(f"ALTER SYSTEM SET {READ_ONLY} = on")
        await administrator.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            await administrator.execute(f"ALTER SYSTEM RESET {READ_ONLY}")
            await administrator.execute("SELECT pg_reload_conf()")


@fault(_database)
@asynccontextmanager
async def no_connections(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Somebody else has taken every connection of the database's, the house's own besides."""
    async with AsyncExitStack() as stack:
        administrator = await stack.enter_async_context(_administrator(house))
        others = f"datname = 'chaos' AND application_name <> '{TAKER}'"
        await _take_all(house, stack)
        await administrator.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others} "
            "AND pid <> pg_backend_pid()"
        )
        await _take_all(house, stack)
        yield


TAKER = "taker"


async def _take_all(house: House, stack: AsyncExitStack) -> None:
    while True:
        try:
            taken = await asyncpg.connect(
                house.database, server_settings={"application_name": TAKER}
            )
        except asyncpg.TooManyConnectionsError:
            return
        stack.callback(taken.terminate)


@fault(lambda house: ("dev",) if house.dialect == "sqlite" else ())
@asynccontextmanager
async def locked(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Another program writes to the file and doesn't end: nobody else can."""
    with closing(sqlite3.connect(house.file, timeout=0.1, isolation_level=None)) as another:

        async def begin() -> bool | None:
            with suppress(sqlite3.OperationalError):  # somebody of the house is at it
                another.execute("BEGIN IMMEDIATE")
                return True
            return None

        await until("the file to be free for a moment", begin)
        try:
            yield
        finally:
            another.execute("ROLLBACK")


SPARE = 4


@fault(ours)
@asynccontextmanager
async def no_descriptors(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """A process may open next to nothing more, no file and no connection."""
    with draws.choice(house.processes[target]).short_of_descriptors(draws.randrange(SPARE)):
        yield


DAY = 1.0


# On SQLite all of it is one machine, and has one clock.
@fault(lambda house: () if house.dialect == "sqlite" else ours(house))
@asynccontextmanager
async def clock(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """A process lives a day ahead of all others, or behind them."""
    one = draws.choice(house.processes[target])
    right = one.command
    words = right[right.index(HASTY) + 1 :]
    await one.changes([sys.executable, *moved(draws.choice((-DAY, DAY)), HASTY), *words])
    try:
        yield
    finally:
        await one.changes(right)


@fault(lambda house: house.processes.keys() & {"worker", "dev"})
@asynccontextmanager
async def defect(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """A deployment has a defect: the background tasks of runs end by an exception."""
    del draws
    file = house.processes[target][0].log.with_name(DEFECT_FILE)
    file.touch()
    try:
        yield
    finally:
        file.unlink()


@fault(lambda house: ("worker",) if "worker" in house.processes else ())
@asynccontextmanager
async def half_new(house: House, target: str, draws: random.Random) -> AsyncIterator[None]:
    """Half the workers are of a new build, where new runs begin; then that goes on, or back."""
    before, new = house.build, f"{int(house.build.split('.')[0]) + 1}.0"
    workers = house.processes[target]
    half = len(workers) // 2
    await _are(workers[:half], new)
    await house.made_current(new)
    yield
    stays, goes = (new, before) if draws.random() < 0.5 else (before, new)
    await house.made_current(stays)
    await _go_on(house, goes)
    await _are(workers[half:] if stays == new else workers[:half], stays)
    workers.reverse()  # the next time it is the others' turn


async def _are(workers: Iterable[Kept], build: str) -> None:
    for one in workers:
        await one.changes(environment={"ROUTER_WORKER_VERSION": build})


async def _go_on(house: House, build: str) -> None:
    """Have what began on this build go on with any other, as docs/operations.md says."""
    client, done = await Client.connect(house.temporal), set[str]()
    moves = VersioningOverride(auto_upgrade=True)
    of_it = f"TemporalWorkerDeploymentVersion = '{DEPLOYMENT}:{build}'"

    async def ask() -> bool | None:
        found = client.list_workflows(f"{of_it} AND ExecutionStatus = 'Running'")
        left = [one async for one in found if one.run_id not in done]
        for one in left:
            request = UpdateWorkflowExecutionOptionsRequest(namespace=client.namespace)
            request.workflow_execution.workflow_id = one.id
            request.workflow_execution.run_id = one.run_id
            request.workflow_execution_options.versioning_override.CopyFrom(moves)
            request.update_mask.paths.append("versioning_override")
            await client.workflow_service.update_workflow_execution_options(request)
            done.add(one.run_id)
        return not left or None

    await until(f"nothing to stay on build {build}", ask)
