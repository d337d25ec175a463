"""When Python looks for garbage, so that nobody waits for it however much a process keeps.

A worker keeps every open conversation in memory, some two hundred objects each that the collector
follows. Left to itself it looks at all of them again whenever they have grown by a quarter, and
nothing else runs meanwhile: 200 ms with a thousand open, two seconds with ten thousand (measured).
Three things change that.

* **What stays is set aside.** After a full collection that leaves `GROWN` objects or more they are
  frozen: the next one doesn't look at them. So none looks at more than has come since, which takes
  tens of milliseconds, and a process at rest, which gains nothing, freezes nothing.
* **Workflows are taken apart when they leave the cache** (`router.runtime.worker`): nothing they
  had points back, so that counting references frees it, frozen or not.
* **All of it is looked through rarely**: where more stands frozen than can be explained, as soon
  as the process has nothing to do, and in any case where it is twice as much.
"""

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import REGISTRY, Collector

from router.telemetry.loop_stalls import measure_stalls

_log = logging.getLogger(__name__)

THRESHOLDS = (2_000, 5, 5)
"""A full collection after 50,000 objects more than were freed, where Python has 70,000 and waits
for a quarter besides: that many take 30 ms."""
GROWN = 25_000
"""Objects that have to be left over: what is under way is frozen with the rest, and if it comes to
point at itself stays until all is looked through, so this isn't done at every turn."""
UNEXPLAINED = 1_000_000
"""Frozen objects beyond those that there is a reason for, some 100 MiB."""
EACH = 600
"""Objects that an open workflow may have without any question; a conversation has 200."""
EVERY = 5.0
IDLE = 0.05
"""Seconds between looks, and the share of one processor below which nobody is waiting."""


class CollectionPolicy(Collector):
    """The collector of this process, from when it has loaded what it keeps.

    Args:
        kept: how many workflows are open here, each of which explains `EACH` objects.

    Example:
        >>> policy = CollectionPolicy(kept=lambda: 0)
        >>> policy.begin(); policy.end()
    """

    def __init__(self, kept: Callable[[], int] = lambda: 0) -> None:
        self._kept = kept
        self._before = gc.get_threshold()
        self._began = 0.0
        self._seconds = {0: 0.0, 1: 0.0, 2: 0.0}
        self._frozen = self._workflows = 0
        self._used = time.process_time()

    def begin(self) -> None:
        """Freeze what there is, and follow the policy from now on."""
        self._look_through()
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self._noted)
        REGISTRY.register(self)

    def end(self) -> None:
        """Leave the collector as Python has it.

        What is frozen stays so: a process that ends would look through all of it once more.
        """
        REGISTRY.unregister(self)
        gc.callbacks.remove(self._noted)
        gc.set_threshold(*self._before)

    def collect(self) -> Iterable[CounterMetricFamily]:
        """How long collections of each generation have taken; nothing else ran meanwhile."""
        family = CounterMetricFamily(
            "router_garbage_collection_seconds",
            "Seconds that collecting garbage took, in which nothing else runs.",
            labels=("generation",),
        )
        for generation, seconds in self._seconds.items():
            family.add_metric((str(generation),), seconds)
        yield family

    @property
    def unexplained(self) -> int:
        """Frozen objects beyond those of the last look, and of workflows that came since."""
        come = max(self._kept() - self._workflows, 0)
        return gc.get_freeze_count() - self._frozen - EACH * come

    async def follow(self) -> None:
        """Look through everything where that is due, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            self.look(idle=self._busy() < IDLE)

    def look(self, *, idle: bool) -> bool:
        """Whether all was looked through: as soon as there is too much, or once it can wait."""
        due = self.unexplained > (UNEXPLAINED if idle else 2 * UNEXPLAINED)
        if due:
            self._look_through()
        return due

    def _look_through(self) -> None:
        gc.unfreeze()
        began, found = time.perf_counter(), gc.collect()
        gc.freeze()
        # Of nothing: Python waits for a quarter of what it last found to stay, which was all.
        gc.collect()
        took = time.perf_counter() - began
        self._frozen, self._workflows = gc.get_freeze_count(), self._kept()
        _log.info("of all objects %d were garbage, %d stay: %.2f s", found, self._frozen, took)

    def _busy(self) -> float:
        before, self._used = self._used, time.process_time()
        return (self._used - before) / EVERY

    def _noted(self, phase: str, about: Mapping[str, Any]) -> None:
        # Called wherever Python happens to be, so that this takes no lock and writes no line.
        generation = about["generation"]
        if phase == "start":
            self._began = time.perf_counter()
            return
        self._seconds[generation] += time.perf_counter() - self._began
        if generation == len(self._seconds) - 1 and len(gc.get_objects(generation)) >= GROWN:
            gc.freeze()


@asynccontextmanager
async def steady(kept: Callable[[], int] = lambda: 0) -> AsyncIterator[None]:
    """Have nothing stop the event loop for long while within, and measure what does.

    Enter it when all is loaded; `kept` counts the workflows that this process keeps in memory.
    """
    policy = CollectionPolicy(kept)
    policy.begin()
    tasks = [asyncio.create_task(policy.follow()), asyncio.create_task(measure_stalls())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(ended, asyncio.CancelledError):
                _log.error("what watches over the event loop had ended", exc_info=ended)
        policy.end()
