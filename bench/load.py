"""What the desk bears: open-loop load over HTTP, beside the floor that Temporal itself sets.

The processes are real ones, with a dev server whose state is in a file. Arrivals are a Poisson
process, and latencies count from when a turn was due (`open_loop.py`). The load is a mix that no
model decides: of ten turns three answer what a flow asked, two ask where requests stand, five
are small talk. Two floors beside it (`bare_house.py`), over HTTP too: the same mix of bare turns,
where a flow's answer tells a second workflow, a question takes an activity and each turn writes
one row; and nothing but turns that write one row. Windows of all alternate, so that a drifting
machine drifts for all.

* by open conversations: latencies at one fixed rate; `closed`, the turns a second of six people who
  each wait for an answer before they go on; and `sustained`, the highest of rising rates of people
  who don't, whose p99 stays under half a second and at which none is refused. (One conversation
  takes one turn at a time, and refuses a seventh that would wait: little is sustained by it.)
* one conversation's history: its first, middle and last fifty turns;
* processor time a turn by its kind, beside a bare turn of the same shape, of our processes and of
  the Temporal server: what a busy machine leaves comparable.

* `stop` and `>100`: the longest that the event loop of the process stood still meanwhile, at the
  fixed rate, in milliseconds, and how often it did for over a hundred (`stalls.py`).

* overload: people who don't wait come at 0.5 to 3 times the rate of those who do, for a minute
  each, to APIs and workers over PostgreSQL; how many answers a second there are while it lasts
  (goodput), how many were refused early (429), how many failed, and how many tries of activities
  the workers made again.

    python bench/load.py [--quick] [--conversations 1 100 1000 10000] [--seconds 6] [--rate 5]
        [--turns 1000] [--database sqlite|postgresql] [--workers 1 2] [--apis 1]
        [--overload] [--step-seconds 60] [--pairs 1]

`--quick` is a thousand and ten thousand open in eight minutes: no history, and rates at the first
number alone. `--overload` prints the last table alone, of so many `--pairs` of an API and a worker.
"""

import argparse
import asyncio
import importlib.metadata
import itertools
import os
import platform
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import bare_house
from calling import Caller
from houses import MANY_PEOPLE, House, on_postgres, on_sqlite, products_on_postgres
from open_loop import Result, Taken, Turn, capacity, step, sustained, under_load
from stalls import StallMeter, Stalls

CONVERSATIONS = (1, 100, 1000, 10_000)
QUICK = (1000, 10_000)
PEOPLE = ("alice", "bob", "carol", "dave", "erin", "frank", "gina", "olga")
WITH_A_FLOW = 16
"""Conversations in which a flow asks, beside the open ones: each takes a second workflow."""
SMALL_TALK, STATUS, CHAT = "你好", "我的申请到哪一步了", "最近总是睡不好，怎么办"
OPENING, START, TOO_EARLY = "我要请年假", "2027-03-10", "2027-03-09"
MIX = "ftftsftstt"
"""Of ten turns: f answers a flow, s asks for status, t is small talk."""
BOUND = 500.0
"""Milliseconds that a p99 may have where a rate is sustained."""
SHARES = (0.4, 0.6, 0.75, 0.9)
"""Rates that are tried, of what people who wait for their answers get."""
SETTLED = 12.0
"""Seconds after which the product has learnt what there is: it does so once, beside its work."""
OPENED_AT_ONCE = 12
"""Conversations that are begun side by side, before anything is measured."""
COME_AGAIN = 1.0
"""Seconds that people who wait for answers wait after they were refused."""
TRIES = 60
"""Of their first words, for a machine that has other things to do."""
AT_ONCE = 6
"""People, where one conversation has them all: so many of its turns may be open."""
ALTERNATIONS = 3
"""Windows of those who wait, of each in turn: within a minute a machine's pace drifts by a fifth,
which is more than there is between two ratios that matter."""
RENEWED_AFTER = 1500
"""Turns of a bare workflow: Temporal takes 2,000 updates of one."""
WINDOW = 50
OVERLOAD_STEPS = (0.5, 1, 1.5, 2, 3)
"""Rates, of what people who wait for their answers get."""
OVERLOAD_CONVERSATIONS, OVERLOAD_FLOWS = 100, 40
"""So many that no conversation is sent more at once than one takes."""
AGAIN = re.compile(r"^router_activity_retries_total\{[^}]*\} (\S+)$", re.MULTILINE)
SEED = 2027


class Desk:
    """Conversations of the product, and turns in them."""

    def __init__(
        self,
        house: House,
        *others: House,
        flows: int = WITH_A_FLOW,
        people: Sequence[str] = PEOPLE,
    ) -> None:
        self.house = house
        self._with_flows = flows
        ports = itertools.cycle(each.port for each in (house, *others))
        self._callers = [Caller(next(ports), person) for person in people]
        self._plain: list[str] = []
        self._flows: list[str] = []
        self._drawn = random.Random(SEED)
        self.failures: Counter[str] = Counter()
        """What was said to those whose message failed, and how often."""

    async def open_up_to(self, number: int) -> None:
        """So many open conversations, each of which has had a turn."""
        if not self._flows:
            self._flows = [await self._with_a_flow(person) for person in range(self._with_flows)]
        first = itertools.count(len(self._plain))

        async def opener() -> None:
            while (at := next(first)) < number:
                self._plain.append(await self._begin(at, SMALL_TALK))

        await asyncio.gather(*(opener() for _ in range(OPENED_AT_ONCE)))

    async def _with_a_flow(self, person: int) -> str:
        id_ = await self._begin(person, OPENING)
        await self._said(person, id_, START)
        return id_

    async def _begin(self, person: int, text: str) -> str:
        _, made = await self._caller(person).told("/v1/conversations", {})
        id_ = f"{person % len(self._callers)}:{made['id']}"
        for _ in range(TRIES):
            if await self._said(person, id_, text):
                return id_
        raise SystemExit(f"{text!r} wasn't answered")

    async def _said(self, person: int, id_: str, text: str) -> bool:
        status, _ = await self._sent(person, id_, text)
        if status == 429:
            await asyncio.sleep(COME_AGAIN)
        return status == 200

    async def _sent(self, person: int, id_: str, text: str) -> tuple[int, Any]:
        path = f"/v1/conversations/{id_.partition(':')[2]}/messages?wait=120"
        return await self._caller(person).told(path, {"text": text})

    async def result_of_mixed(self, number: int) -> Result:
        """What one message of the mix came to."""
        kind = MIX[number % len(MIX)]
        id_ = self._drawn.choice(self._flows if kind == "f" else self._plain)
        text = {"f": TOO_EARLY, "s": STATUS, "t": SMALL_TALK}[kind]
        status, body = await self._sent(int(id_.partition(":")[0]), id_, text)
        if status == 200 and body["status"] == "done":
            return "answered"
        if status != 429:
            self.failures[f"{status} {body.get('detail', body.get('replies'))}"] += 1
        return "refused" if status == 429 else "failed"

    def _caller(self, person: int) -> Caller:
        return self._callers[person % len(self._callers)]

    async def small_talk(self, _: int) -> bool:
        return await self._in_any(self._plain, SMALL_TALK)

    async def status(self, _: int) -> bool:
        return await self._in_any(self._plain, STATUS)

    async def answer(self, _: int) -> bool:
        return await self._in_any(self._flows, TOO_EARLY)

    async def chat(self, _: int) -> bool:
        """What no rule takes: for a model to answer, where there is one."""
        return await self._in_any(self._plain, CHAT)

    async def mixed(self, number: int) -> bool:
        """One turn of the mix."""
        kinds = {"f": self.answer, "s": self.status, "t": self.small_talk}
        return await kinds[MIX[number % len(MIX)]](number)

    async def _in_any(self, conversations: list[str], text: str) -> bool:
        id_ = self._drawn.choice(conversations)
        return await self._said(int(id_.partition(":")[0]), id_, text)


class Floor:
    """The same of bare workflows."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._caller = Caller(house.port)
        self._ids: list[str] = []
        self._turns: Counter[int] = Counter()
        self._flows: list[str] = []
        self._drawn = random.Random(SEED)

    async def open_up_to(self, number: int) -> None:
        if not self._flows:
            self._flows = [uuid4().hex for _ in range(WITH_A_FLOW)]
            for flow in self._flows:
                await self._caller.post(f"/BareSecond/{flow}", b"")
        first = itertools.count(len(self._ids))

        async def opener() -> None:
            while next(first) < number:
                id_ = uuid4().hex
                await self._said(f"BareKept/turn/{id_}", SMALL_TALK)
                self._ids.append(id_)

        await asyncio.gather(*(opener() for _ in range(OPENED_AT_ONCE)))

    async def kept(self, _: int) -> bool:
        return await self._said(f"BareKept/turn/{self._any()}", SMALL_TALK)

    async def called(self, _: int) -> bool:
        return await self._said(f"BareKept/called/{self._any()}", STATUS)

    async def told(self, _: int) -> bool:
        return await self._said(
            f"BareToldAndKept/turn/{self._drawn.choice(self._flows)}", TOO_EARLY
        )

    async def mixed(self, number: int) -> bool:
        """One turn of the mix, as bare as it gets."""
        kinds = {"f": self.told, "s": self.called, "t": self.kept}
        return await kinds[MIX[number % len(MIX)]](number)

    def _any(self) -> str:
        """One of them; after so many turns a new one comes in its place, as ours continue anew."""
        at = self._drawn.randrange(len(self._ids))
        self._turns[at] += 1
        if self._turns[at] % RENEWED_AFTER == 0:
            self._ids[at] = uuid4().hex
        return self._ids[at]

    async def _said(self, path: str, text: str) -> bool:
        status, _ = await self._caller.post(f"/{path}", text.encode())
        return status == 200


async def by_conversations(desk: Desk, floor: Floor, given: argparse.Namespace) -> None:
    """Print a line of each, and of the ratios, for every number of open conversations."""
    every = (
        ("intent-router", desk.mixed, desk.house),
        ("the same, bare", floor.mixed, floor.house),
        ("one row, bare", floor.kept, floor.house),
    )
    print(
        f"{'open':>7}{'':16}{'p50':>8}{'p90':>8}{'p99':>8}{'p99.9':>8}{'turns':>7}"
        f"{'stop':>8}{'>100':>6}{'closed':>9}{'sustained':>11}{'MiB':>7}"
    )
    for number in given.conversations:
        await asyncio.gather(desk.open_up_to(number), floor.open_up_to(number))
        await _warm(desk, floor)
        taken = [(Taken(), Stalls()) for _ in every]
        for half in range(2):
            for (latencies, stalls), (_, turn, house) in zip(taken, every, strict=True):
                got = await _at_fixed_rate(turn, house, stalls, given, SEED + half)
                latencies.latencies += got.latencies
                latencies.refused += got.refused
        rated = number in given.rated
        rates = await _rates([turn for _, turn, _ in every], given.seconds) if rated else None
        for at, (each, stalls) in enumerate(taken):
            name, _, house = every[at]
            stood = f"{stalls.worst:>8}{stalls.long:>6}"
            told = f"{rates[0][at]:>7.1f}/s{rates[1][at]:>9.1f}/s" if rates else f"{'':20}"
            print(f"{number:>7} {name:15}{_latencies(each)}{stood}{told}{house.memory:>7.0f}")
        for at, name in enumerate(("ratio to the same", "ratio to one row"), start=1):
            if rates:
                closed, open_ = rates
                ratios = f"{_ratio(closed[0], closed[at]):>9}{_ratio(open_[0], open_[at]):>11}"
                print(f"{'':8}{name:68}{ratios}", flush=True)


async def _at_fixed_rate(
    turn: Turn, house: House, stalls: Stalls, given: argparse.Namespace, seed: int
) -> Taken:
    """One window; how the event loop stood still in it is added to `stalls`, where it is known."""
    meter = StallMeter(house.metrics)
    await meter.since_last()
    taken = await under_load(turn, given.rate, given.seconds, seed)
    stalls.add(await meter.since_last())
    return taken


async def _warm(desk: Desk, floor: Floor) -> None:
    for number in range(2 * len(MIX)):
        await desk.mixed(number)
        await floor.mixed(number)


async def _rates(turns: Sequence[Turn], seconds: float) -> tuple[list[float], list[float]]:
    """Turns a second of each: of people who wait, and the most that is sustained.

    The first say where to look for the second, and are found for all before any is looked at.
    """
    windows = [
        [await capacity(turn, seconds, AT_ONCE) for turn in turns] for _ in range(ALTERNATIONS)
    ]
    ceilings = [statistics.mean(of_one) for of_one in zip(*windows, strict=True)]
    kept_up = [
        await sustained(turn, [share * most for share in SHARES], seconds, BOUND, SEED)
        for turn, most in zip(turns, ceilings, strict=True)
    ]
    return ceilings, kept_up


def _latencies(taken: Taken) -> str:
    shares = (taken.percentile(share) for share in (0.5, 0.9, 0.99, 0.999))
    return "".join(f"{value:>8.1f}" for value in shares) + f"{len(taken.latencies):>7}"


def _ratio(ours: float, floor: float) -> str:
    return f"{ours / floor:.2f}" if floor else "-"


async def by_history(desk: Desk, floor: Floor, turns: int) -> None:
    """Print medians of the first, middle and last turns of one conversation of each."""
    talk, bare = Desk(desk.house), Floor(floor.house)
    await talk.open_up_to(1)
    await bare.open_up_to(1)
    rows: tuple[list[float], list[float]] = ([], [])
    for number in range(turns):
        for row, turn in zip(rows, (talk.small_talk, bare.kept), strict=True):
            row.append(await _timed(turn, number))
    print(f"\none conversation of {turns} turns, ms: medians of its first, middle, last {WINDOW}")
    for name, row in zip(("intent-router", "floor"), rows, strict=True):
        middle = (len(row) - WINDOW) // 2
        parts = (row[:WINDOW], row[middle : middle + WINDOW], row[-WINDOW:])
        print(f"{'':8}{name:15}" + "".join(f"{statistics.median(p):>8.1f}" for p in parts))
        print(f"{'':8}{'  the slowest':15}{max(row):>8.1f}", flush=True)


async def _timed(turn: Turn, number: int) -> float:
    began = time.perf_counter()
    if not await turn(number):
        raise SystemExit("a turn was refused, although each waited for the one before it")
    return 1000 * (time.perf_counter() - began)


async def by_kind(desk: Desk, floor: Floor, turns: int) -> None:
    """Print what a turn of each kind costs in processor time, and the latency of one at a time."""
    kinds: list[tuple[str, Turn, House]] = [
        ("small talk", desk.small_talk, desk.house),
        ("  bare", floor.kept, floor.house),
        ("status", desk.status, desk.house),
        ("  bare", floor.called, floor.house),
        ("flow's answer", desk.answer, desk.house),
        ("  bare", floor.told, floor.house),
    ]
    used = [[0.0, 0.0] for _ in kinds]
    took: list[list[float]] = [[] for _ in kinds]
    for _ in range(max(turns // 10, 1)):
        for times, spent, (_, turn, house) in zip(took, used, kinds, strict=True):
            before = house.used()
            times += [await _timed(turn, number) for number in range(10)]
            for part, (now, then) in enumerate(zip(house.used(), before, strict=True)):
                spent[part] += now - then
    print(f"\n{'CPU ms a turn':23}{'ours':>8}{'Temporal':>10}{'sum':>8}{'p50 ms':>9}")
    for times, spent, (name, *_) in zip(took, used, kinds, strict=True):
        mine, temporal = (1000 * part / len(times) for part in spent)
        median = statistics.median(times)
        print(
            f"{'':8}{name:15}{mine:>8.1f}{temporal:>10.1f}{mine + temporal:>8.1f}{median:>9.1f}",
            flush=True,
        )


async def overload(given: argparse.Namespace) -> None:
    """Print the result of each step of load, up to three times what the machine can do."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        houses = products_on_postgres(Path(folder), OVERLOAD_CONVERSATIONS * 4, given.pairs)
        async with houses as pairs:
            desk = Desk(*pairs, flows=OVERLOAD_FLOWS, people=MANY_PEOPLE)
            await desk.open_up_to(OVERLOAD_CONVERSATIONS)
            await asyncio.sleep(SETTLED)
            await capacity(desk.mixed, given.seconds, 2 * AT_ONCE)
            most = await capacity(desk.mixed, 2 * given.seconds, 2 * AT_ONCE)
            print(
                f"\noverload, {given.pairs} API(s) and as many workers over PostgreSQL, "
                f"{given.step_seconds:g} s a step; {2 * AT_ONCE} people who wait get {most:.1f}/s\n"
                f"{'load':>7}{'rate':>9}{'goodput':>10}{'p50 ms':>9}{'p99 ms':>9}"
                f"{'sent':>7}{'answered':>10}{'429':>6}{'failed':>8}{'again':>7}",
                flush=True,
            )
            best = 0.0
            for share in OVERLOAD_STEPS:
                before = await tries_again(pairs[0])
                done = await step(desk.result_of_mixed, share * most, given.step_seconds, SEED)
                again = await tries_again(pairs[0]) - before
                best = max(best, done.goodput)
                counted = [done.results[each] for each in ("answered", "refused", "failed")]
                print(
                    f"{share:>7g}{share * most:>7.1f}/s{done.goodput:>8.1f}/s"
                    f"{done.percentile(0.5):>9.0f}{done.percentile(0.99):>9.0f}"
                    f"{sum(counted):>7}{counted[0]:>10}{counted[1]:>6}{counted[2]:>8}{again:>7}",
                    flush=True,
                )
            for said, number in desk.failures.most_common():
                print(f"{'':8}{number} x {said[:120]}")
            print(f"goodput at the last step: {100 * done.goodput / best:.0f} % of the best")


async def tries_again(house: House) -> int:
    """How many tries of activities workers have made after the first."""
    callers = [Caller(port) for port in house.workers]
    shown = [(await caller.get("/metrics"))[1].decode() for caller in callers]
    return sum(int(float(number)) for text in shown for number in AGAIN.findall(text))


async def measured(given: argparse.Namespace, workers: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cached = 2 * max(given.conversations) + 1000
        house = (
            on_sqlite(Path(folder), cached)
            if given.database == "sqlite"
            else on_postgres(Path(folder), cached, workers, given.apis)
        )
        async with house as (ours, bare):
            desk, floor = Desk(ours), Floor(bare)
            await desk.open_up_to(1)
            await floor.open_up_to(1)
            await asyncio.sleep(SETTLED)
            await _warm(desk, floor)
            await by_kind(desk, floor, given.samples)
            if given.turns:
                await by_history(desk, floor, given.turns)
            print()
            await by_conversations(desk, floor, given)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description="open-loop load beside the floor")
    options.add_argument("--conversations", type=int, nargs="+", default=CONVERSATIONS)
    options.add_argument("--seconds", type=float, default=6.0)
    options.add_argument("--rate", type=float, default=5.0)
    options.add_argument("--turns", type=int, default=1000)
    options.add_argument("--samples", type=int, default=50)
    options.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    options.add_argument("--workers", type=int, nargs="+", default=[1])
    options.add_argument("--apis", type=int, default=1, help="processes of serve; PostgreSQL alone")
    options.add_argument("--overload", action="store_true", help="the last table alone")
    options.add_argument("--step-seconds", type=float, default=60.0, help="of the overload")
    options.add_argument("--pairs", type=int, default=1, help="APIs and workers of the overload")
    options.add_argument("--quick", action="store_true", help="eight minutes")
    given = options.parse_args()
    if given.quick:
        given.conversations = QUICK if given.conversations is CONVERSATIONS else given.conversations
        given.turns, given.samples = 0, 20
    given.rated = given.conversations[: 1 if given.quick else None]
    return given


def _header(given: argparse.Namespace) -> str:
    versions = " ".join(f"{p} {importlib.metadata.version(p)}" for p in ("temporalio", "uvicorn"))
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, {versions}, "
        f"{given.database}; latencies at {given.rate:g} turns a second"
    )


def main() -> None:
    if sys.argv[1:2] == ["--floor"]:
        part, port, temporal, database, cached = sys.argv[2:]
        asyncio.run(bare_house.run(part, int(port), temporal, database, int(cached)))
        return
    given = _options()
    print(_header(given), flush=True)
    for workers in [] if given.overload else given.workers:
        print(f"\n{'one process' if given.database == 'sqlite' else f'{workers} worker(s)'}")
        asyncio.run(measured(given, workers))
    asyncio.run(overload(given))


if __name__ == "__main__":
    main()
