"""The turn of who comes back: of a conversation that no worker has in memory any more.

A worker keeps so many workflows (`ROUTER_CACHED_WORKFLOWS`); one that fell out is replayed from its
history at its next word. Here a worker keeps four, and before each turn that is measured as many
new ones push out all others, as a busy morning does; that the turn's workflow was made anew is
counted, not believed. Turns are measured after so many others:

* small talk in a conversation, and an answer to a flow, for which the conversation and the flow's
  run are replayed; beside them bare workflows of the same shape (`bare.py`) with as many turns;
* with the house's database in a file or in PostgreSQL, and with payloads encrypted or plain. (The
  bare ones are always plain, and Temporal's own state is in a file.)

Between two that are measured others are taken warm, a fifth of the history in all: where a history
is cut off after so many turns, short and long ones come into the figures alike. A turn of a
workflow whose task fails (a replay that takes longer than a task may, say) is sent again for a
minute, as the API does; `inf` is one that got no answer.

    python bench/cold.py [--after 5 50 500] [--samples 20] [--houses sqlite:plain …] [--quick]
"""

import argparse
import asyncio
import base64
import math
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from bare import BareKept, BareSecond, BareTeller, BareToldAndKept, bare_read
from open_loop import Taken
from temporalio import activity
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError
from temporalio.worker import Worker, WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from turns import START, TOO_EARLY, conversation_of, temporal

from router.gateway.retries import once_ready
from router.runtime.composition import Parts, assembled
from router.runtime.worker import build_worker, sandbox
from router.secrecy.codec import data_converter
from router.settings import Settings

ROOT = Path(__file__).parent.parent
CACHED = 4
"""Workflows that a worker keeps: a flow's answer needs two of them at once."""
UNANSWERED = (RPCError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError)
TRIES = 5
"""For one turn that is cold."""
SMALL_TALK, OPENING = "你好", "我要请年假"
HOUSES = ("sqlite:plain", "sqlite:encrypted", "postgresql:plain", "postgresql:encrypted")
"""Where the house's database is, and whether payloads are encrypted."""
QUICK = (("sqlite:plain", "postgresql:encrypted"), 10)

Turn = Callable[[], Awaitable[object]]


class Counting(WorkflowRunner):
    """Runs workflows as another runner does, and counts how many were made."""

    def __init__(self, runner: WorkflowRunner) -> None:
        self._runner = runner
        self.made = 0

    def prepare_workflow(self, defn: Any) -> None:
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        self.made += 1
        return self._runner.create_instance(det)

    def set_worker_level_failure_exception_types(self, types: Any) -> None:
        self._runner.set_worker_level_failure_exception_types(types)


@dataclass
class Kind:
    """Turns of one kind: what takes one, and how many workflows one replays where it is cold."""

    name: str
    turn: Turn
    replayed: int
    runner: Counting
    fill: Turn
    """A turn of a new workflow of the same worker."""
    took: dict[int, Taken] = field(default_factory=dict)
    used: dict[int, list[float]] = field(default_factory=dict)
    """Milliseconds of this process's processor: client, worker, activities and database."""

    async def measured(self, after: int) -> None:
        """One turn that finds none of its workflows in memory.

        One that found something there, as where a run had just continued as new, is no such turn:
        another is taken in its place.
        """
        for _ in range(TRIES):
            await asyncio.gather(*(self.fill() for _ in range(CACHED)))
            if await self._is_cold(after):
                return
        raise SystemExit(f"{self.name}: {TRIES} turns after {after} found workflows in memory")

    async def _is_cold(self, after: int) -> bool:
        made, began, used = self.runner.made, time.perf_counter(), time.process_time()
        latency = math.inf
        with suppress(
            RPCError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
        ):
            await once_ready(self.turn)
            latency = 1000 * (time.perf_counter() - began)
        if self.runner.made < made + self.replayed:
            return False
        self.took.setdefault(after, Taken()).latencies.append(latency)
        self.used.setdefault(after, []).append(1000 * (time.process_time() - used))
        return True


async def taken_after(kinds: Sequence[Kind], after: Sequence[int], samples: int) -> None:
    """Turns of all kinds; measured, one at a time, are those that come after so many others."""

    async def warm(kind: Kind, turns: int) -> None:
        for _ in range(turns):
            await once_ready(kind.turn)

    taken = 0
    for number in after:
        await asyncio.gather(*(warm(kind, number - taken) for kind in kinds))
        apart = number // 5 // samples
        for _ in range(samples):
            for kind in kinds:
                await kind.measured(number)
            await asyncio.gather(*(warm(kind, apart) for kind in kinds))
        taken = number + samples * (1 + apart)


async def ours(client: Client, parts: Parts, runner: Counting) -> list[Kind]:
    """Small talk, and answers to a flow that asks the same again and again."""
    queue = "router"

    async def fill() -> None:
        await (await conversation_of("bob", client, parts, queue))(SMALL_TALK)

    talk = await conversation_of("alice", client, parts, queue)
    asked = await conversation_of("alice", client, parts, queue)
    for opening in (OPENING, START):
        await asked(opening)

    async def answer() -> None:
        answered = await asked(TOO_EARLY)
        if answered.route.by != "slot":
            raise SystemExit(f"not a turn of the flow: {answered}")

    return [
        Kind("small talk", lambda: talk(SMALL_TALK), 1, runner, fill),
        Kind("flow's answer", answer, 2, runner, fill),
    ]


async def bare(client: Client, runner: Counting) -> list[Kind]:
    """The same of bare workflows."""

    async def begun(workflow: str, id_: str) -> WorkflowHandle[Any, Any]:
        return await client.start_workflow(workflow, id=id_, task_queue="bare")

    def turn(handle: WorkflowHandle[Any, Any]) -> Turn:
        return lambda: handle.execute_update("turn", SMALL_TALK, id=uuid4().hex, result_type=str)

    async def fill() -> None:
        await turn(await begun("BareKept", uuid4().hex))()

    id_ = uuid4().hex
    await begun("BareSecond", f"second-{id_}")
    talk, told = await begun("BareKept", uuid4().hex), await begun("BareToldAndKept", id_)
    return [
        Kind("  bare", turn(talk), 1, runner, fill),
        Kind("  bare", turn(told), 2, runner, fill),
    ]


def bare_worker(client: Client, folder: Path, runner: Counting) -> Worker:
    """A worker of the bare workflows; what they keep is in a file."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "CREATE TABLE kept (id TEXT, said TEXT)"):
        connection.execute(statement)

    @activity.defn
    async def bare_keep(word: str) -> str:
        connection.execute("INSERT INTO kept VALUES (?, ?)", (uuid4().hex, word))
        return word

    return Worker(
        client,
        task_queue="bare",
        workflows=[BareKept, BareToldAndKept, BareSecond],
        activities=[bare_keep, bare_read, BareTeller(client).bare_tell],
        workflow_runner=runner,
        max_cached_workflows=CACHED,
    )


@asynccontextmanager
async def database(kind: str) -> AsyncIterator[dict[str, str]]:
    """What the settings say of it."""
    if kind == "sqlite":
        yield {}
        return
    sys.path.insert(0, str(ROOT))
    from tests.postgres import make_database, postgres_server

    with postgres_server() as server:
        yield {"database_url": await make_database(server, f"cold_{uuid4().hex[:8]}")}


async def measured(kept_in: str, codec: str, after: Sequence[int], samples: int) -> list[Kind]:
    """Cold turns of ours and of the bare ones, turn about."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        about = await stack.enter_async_context(database(kept_in))
        key = base64.b64encode(os.urandom(32)).decode()
        keys = {"payload_keys": f"bench:{key}"} if codec == "encrypted" else {}
        settings = Settings.load(data=folder, cached_workflows=CACHED, **about, **keys)
        plain = await stack.enter_async_context(temporal(str(folder)))
        converter = data_converter(settings.payload_keys, only=False)
        client = Client(**{**plain.config(), "data_converter": converter})
        parts = await stack.enter_async_context(assembled(settings))
        runner, floor = Counting(sandbox()), Counting(SandboxedWorkflowRunner())
        await stack.enter_async_context(bare_worker(plain, folder, floor))
        await stack.enter_async_context(build_worker(client, parts, "router", runner=runner))
        mine, theirs = await ours(client, parts, runner), await bare(plain, floor)
        kinds = [kind for both in zip(mine, theirs, strict=True) for kind in both]
        await taken_after(kinds, after, samples)
    return kinds


def lines(kinds: Sequence[Kind], after: Sequence[int]) -> Iterator[str]:
    """A line of each kind, by the turns before: latencies, and processor time of this process."""
    for kind in kinds:
        times = ((kind.took[n].percentile(0.5), kind.took[n].percentile(0.95)) for n in after)
        used = (median(kind.used[n]) for n in after)
        figures = zip(times, used, strict=True)
        shown = (f"{p50:>13.1f}{p95:>8.1f}{cpu:>7.1f}" for (p50, p95), cpu in figures)
        yield f"  {kind.name:17}{''.join(shown)}"


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description="turns that find nothing in a worker's memory")
    options.add_argument("--after", type=int, nargs="+", default=[5, 50, 500])
    options.add_argument("--samples", type=int, default=20)
    options.add_argument("--houses", choices=HOUSES, nargs="+", default=HOUSES)
    options.add_argument("--quick", action="store_true", help="two of the houses, ten samples")
    given = options.parse_args()
    if given.quick:
        given.houses, given.samples = QUICK
    given.after.sort()
    return given


def main() -> None:
    given = _options()
    # The core writes its warnings, of slow replays above all, in between the table's lines.
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))
    print(f"Cold turns after so many others, {given.samples} of each, milliseconds")
    heads = "".join(f"{number:>9} p50{'p95':>8}{'CPU':>7}" for number in given.after)
    print(f"{'':19}{heads}")
    for house in given.houses:
        kept_in, _, codec = house.partition(":")
        kinds = asyncio.run(measured(kept_in, codec, given.after, given.samples))
        print(f"{kept_in}, {codec}")
        for line in lines(kinds, given.after):
            print(line, flush=True)


if __name__ == "__main__":
    main()
