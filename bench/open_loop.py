"""Load as the world makes it: requests come when they come, whether or not others were answered.

A loop that sends the next request when the last one was answered asks less of a slow server than
of a fast one, and so never sees its worst moments (*coordinated omission*). Here arrivals are a
Poisson process, drawn beforehand, and a latency counts from the moment that was drawn: what a
request waits because the one before it is late, is its own.
"""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

Turn = Callable[[int], Awaitable[bool]]
"""Take the turn of this number; False where it was refused."""
Result = Literal["answered", "refused", "failed"]
"""What a request came to: refused with 429, and with the time to come again, or failed."""


@dataclass
class Taken:
    """What came of a stretch of load."""

    latencies: list[float] = field(default_factory=list)
    """Milliseconds from the intended arrival, of those that were answered."""
    refused: int = 0

    def percentile(self, share: float) -> float:
        """The nearest rank: of too few values to tell, the highest. Infinite where none."""
        if not self.latencies:
            return math.inf
        rank = math.ceil(share * len(self.latencies))
        return sorted(self.latencies)[max(rank, 1) - 1]


@dataclass
class Step:
    """What came of one step of rising load."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    """Milliseconds from the intended arrival, of those that were answered."""
    in_time: int = 0
    """How many answers came before the step was over."""
    results: Counter[Result] = field(default_factory=Counter)

    @property
    def goodput(self) -> float:
        """Answers a second while the load lasted."""
        return self.in_time / self.seconds

    def percentile(self, share: float) -> float:
        """The nearest rank of the latencies."""
        return Taken(self.latencies).percentile(share)


async def step(
    send: Callable[[int], Awaitable[Result]], rate: float, seconds: float, seed: int
) -> Step:
    """Send requests at `rate` a second for so long, and wait until each has its result."""
    done, began = Step(seconds), time.perf_counter()

    async def one(number: int, due: float) -> None:
        result = await send(number)
        now = time.perf_counter()
        done.results[result] += 1
        if result == "answered":
            done.latencies.append(1000 * (now - due))
            done.in_time += now - began <= seconds

    async with asyncio.TaskGroup() as group:
        for number, at in enumerate(arrivals(rate, seconds, seed)):
            await asyncio.sleep(max(0.0, began + at - time.perf_counter()))
            group.create_task(one(number, began + at))
    return done


def arrivals(rate: float, seconds: float, seed: int) -> list[float]:
    """When requests come, in seconds from the beginning.

    >>> arrivals(2, 60, seed=1) == arrivals(2, 60, seed=1)
    True
    """
    drawn, at, times = random.Random(seed), 0.0, []
    while (at := at + drawn.expovariate(rate)) < seconds:
        times.append(at)
    return times


async def under_load(turn: Turn, rate: float, seconds: float, seed: int) -> Taken:
    """Take turns at `rate` a second for so long, and wait for all of them."""
    taken, began = Taken(), time.perf_counter()

    async def one(number: int, due: float) -> None:
        if await turn(number):
            taken.latencies.append(1000 * (time.perf_counter() - due))
        else:
            taken.refused += 1

    async with asyncio.TaskGroup() as group:
        for number, at in enumerate(arrivals(rate, seconds, seed)):
            await asyncio.sleep(max(0.0, began + at - time.perf_counter()))
            group.create_task(one(number, began + at))
    return taken


async def capacity(turn: Turn, seconds: float, at_once: int) -> float:
    """Turns a second of so many people, each of whom waits for an answer: where to look."""
    began, numbers = time.perf_counter(), iter(range(10**9))

    async def person() -> int:
        taken = 0
        while time.perf_counter() - began < seconds:
            taken += await turn(next(numbers))
        return taken

    taken = await asyncio.gather(*(person() for _ in range(at_once)))
    return sum(taken) / (time.perf_counter() - began)


async def sustained(
    turn: Turn, rates: list[float], seconds: float, bound: float, seed: int
) -> float:
    """The highest of rising rates with a p99 under `bound` ms, nothing refused; 0 where none."""
    best = 0.0
    for rate in rates:
        taken = await under_load(turn, rate, seconds, seed)
        if taken.refused or taken.percentile(0.99) > bound:
            break
        best = rate
    return best
