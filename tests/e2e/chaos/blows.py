"""When which fault comes over what, how long it lasts, and how long until all is well again.

All is well once each API begins a conversation and has it answered with what a tool read, and no
task has waited for a worker for a second.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from statistics import median

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.e2e.chaos.checker import Finding
from tests.e2e.chaos.faults import FAULTS, Fault
from tests.e2e.chaos.house import House
from tests.e2e.chaos.people import SURE, Witness
from tests.e2e.storm.requests import until

FIRST, LAST = 0.02, 0.95
"""The shares of all conversations that are over at the first blow, and at the last."""
SHORTEST = 0.1
"""Of the longest time for which something lasts: a pause always lasts that long."""
WELL_WITHIN = 300.0
"""Seconds; what takes longer is wrong."""
WAITED = 1.0
"""Seconds for which a task may wait for a worker where nobody is behind."""


@dataclass
class Blow:
    """One fault, when so many conversations are over."""

    fault: Fault
    target: str
    due: float
    seconds: float = 0.0
    began: float = 0.0
    mended: float = 0.0
    """When mending began."""
    well: float | None = None

    @property
    def name(self) -> str:
        """The fault and what it comes over."""
        return f"{self.fault.name} {self.target}"

    @property
    def took(self) -> float | None:
        """Seconds until all was well again; None where it never was."""
        return None if self.well is None else self.well - self.mended

    async def strike(self, house: House, draws: random.Random) -> None:
        """Have it happen, and return when it is mended; what broke of it may take longer."""
        self.began = time.monotonic()
        async with self.fault.over(house, self.target, draws):
            await asyncio.sleep(self.seconds)
            self.mended = time.monotonic()


def possible(house: House, only: Sequence[str] = ()) -> dict[str, list[str]]:
    """What each fault can come over in this house; nothing where it can't happen here."""
    chosen = only or [*FAULTS]
    return {name: [*FAULTS[name].targets(house)] for name in chosen}


def drawn(
    targets: dict[str, list[str]], count: int, over: int, longest: float, draws: random.Random
) -> list[Blow]:
    """So many blows at random moments until `over` conversations are; each fault as often.

    What a fault can come over has its turn before any has a second one.
    """
    there = {name: cycle(draws.sample(each, len(each))) for name, each in targets.items() if each}
    names = [name for name, _ in zip(cycle(draws.sample([*there], len(there))), range(count))]
    draws.shuffle(names)
    moments = sorted(draws.uniform(FIRST, LAST) * over for _ in names)
    blows = []
    for name, due in zip(names, moments, strict=True):
        fault = FAULTS[name]
        share = 1.0 if name == "pause" else draws.uniform(SHORTEST, 1.0)
        seconds = longest * share if fault.lasts else 0.0
        if fault.seconds is not None:
            seconds = min(fault.seconds, longest)
        blows.append(Blow(fault, next(there[name]), due, seconds))
    return blows


@dataclass
class Rage:
    """All blows, one after another, each once all is well again after the one before."""

    house: House
    blows: list[Blow]
    probes: Sequence[Witness]
    """By each API."""
    say: Callable[[str], None]
    findings: list[Finding] = field(default_factory=list)
    struck: int = 0

    @property
    def due(self) -> float:
        """How many conversations are over when the next one comes."""
        return self.blows[self.struck].due if self.struck < len(self.blows) else float("inf")

    async def run(self, over: Callable[[], int], draws: random.Random) -> None:
        """Strike each as soon as it is due; `over` conversations are."""
        for number, blow in enumerate(self.blows, start=1):
            while over() < blow.due:  # noqa: ASYNC110 - many things make it more
                await asyncio.sleep(0.1)
            so_far = f"{number}/{len(self.blows)} {blow.name}"
            self.say(f"{so_far} for {blow.seconds:.0f} s, {over()} conversations over")
            await blow.strike(self.house, draws)
            try:
                await self._well()
            except AssertionError as error:
                self.findings.append(Finding("wrong", f"not well after {blow.name}: {error}"))
            else:
                blow.well = time.monotonic()
                self.say(f"{so_far}: well again after {blow.took:.1f} s")
            self.struck += 1

    async def _well(self) -> None:
        await asyncio.gather(*map(_tried, self.probes))
        client = await Client.connect(self.house.temporal, lazy=True)

        async def nobody_waits() -> bool | None:
            try:
                return await _waited(client) < WAITED or None
            except RPCError:
                return None

        await until("no task to wait for a worker", nobody_waits, WELL_WITHIN)


async def _tried(probe: Witness) -> None:
    """Have a conversation begun and answered with what a tool read, however often it is asked."""

    async def ask() -> bool | None:
        opened = await probe.post(PROBE, "/v1/conversations", {"locale": "zh"})
        path = f"/v1/conversations/{opened.json()['id']}/messages?wait=2"
        turn = (await probe.post(PROBE, path, {"text": SURE["zh"]})).json()
        return any(call["status"] == "done" for call in turn["tool_calls"]) or None

    await until("a conversation to be answered", ask, WELL_WITHIN)


PROBE = "olga"
QUEUE = "router"
KINDS = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)


async def _waited(client: Client) -> float:
    """Seconds for which the oldest task has waited for a worker."""
    ages = []
    for kind in KINDS:
        request = DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=QUEUE),
            task_queue_type=kind,
            report_stats=True,
        )
        stats = (await client.workflow_service.describe_task_queue(request)).stats
        age = stats.approximate_backlog_age.ToTimedelta().total_seconds()
        ages.append(age if stats.approximate_backlog_count else 0.0)
    return max(ages)


@dataclass(frozen=True)
class Presence:
    """Somebody was there from when to when; `names` are those by which findings name them."""

    names: tuple[str, ...]
    began: float
    ended: float

    def is_meant(self, finding: Finding) -> bool:
        """True where the finding is about them."""
        return any(name and name in finding.what for name in self.names)

    def saw(self, blow: Blow) -> bool:
        """True where they were there at the blow, or before all was well after it."""
        over = blow.well or float("inf")
        return self.began <= over and blow.began <= self.ended


HEADS = ("fault", "times", "lost", "doubled", "wrong", "orphans", "well again after", "worst")


def table(
    blows: Sequence[Blow], findings: Sequence[Finding], presences: Iterable[Presence]
) -> list[str]:
    """A line for each fault: a finding is of each fault that somebody was there at who it is of."""
    people = [*presences]
    meant = [(each, [one for one in people if one.is_meant(each)]) for each in findings]
    lines = [_line(HEADS)]
    for name in sorted({blow.fault.name for blow in blows}):
        mine = [blow for blow in blows if blow.fault.name == name]
        kinds = Counter(
            finding.kind
            for finding, ones in meant
            if any(one.saw(blow) for one in ones for blow in mine) or _named(finding, mine)
        )
        told = [kinds[kind] for kind in ("lost", "doubled", "wrong", "orphan")]
        lines.append(_line([name, len(mine), *told, *_times(mine)]))
    return lines


def _named(finding: Finding, blows: Iterable[Blow]) -> bool:
    return any(f"not well after {blow.name}:" in finding.what for blow in blows)


def _times(blows: Sequence[Blow]) -> Iterator[str]:
    """The median, and the worst with what the fault came over."""
    took = sorted((blow.took, blow.target) for blow in blows if blow.took is not None)
    never = " or never" if len(took) < len(blows) else ""
    if not took:
        yield from ("never", "never")
        return
    seconds, target = took[-1]
    yield f"{median(each for each, _ in took):.1f} s"
    yield f"{seconds:.1f} s, {target}{never}"


def _line(cells: Iterable[object]) -> str:
    first, *counts, middle, last = cells
    return f"{first!s:16}{''.join(f'{each!s:>9}' for each in counts)}{middle!s:>18}  {last}"
