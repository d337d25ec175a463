"""Work on what people send, done in child processes that the API outlives.

What an author writes (a flow, its stories, a file to import) is read, checked, compared and drawn
there: it may take as much memory and time as its author likes to make it take. One job of a person
runs at a time, tenants take turns, and a job ends when its client leaves.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from fastapi import HTTPException, Request

from router.domain.locale import Localised
from router.domain.principals import Principal
from router.flow.definition import State
from router.flow.language.functions import LOOKUPS, Lookup, declare
from router.flow.registration import find_added_kinds, find_added_types, register_kinds
from router.flow.slot_types.slot import SlotType
from router.isolation.fair_queue import FairQueue, QueueLimits
from router.isolation.limits import MIB, ProcessLimits
from router.isolation.runner import IsolatedRunner

MODULES = ("router.api.flow_reading",)
"""What the process imports before the first job: the functions of the core's jobs."""
LIMITS = ProcessLimits(memory_bytes=256 * MIB, cpu_seconds=10, wall_seconds=30.0)
QUEUE_LIMITS = QueueLimits(processes=2, waiting_per_person=5, waiting_per_tenant=40)
P = ParamSpec("P")
T = TypeVar("T")


class IsolatedWork:
    """Runs jobs of people in child processes.

    Create it once all lookups, slot types and kinds of states are registered.
    """

    def __init__(self, limits: ProcessLimits = LIMITS) -> None:
        self._limits = limits
        registered = (tuple(LOOKUPS.values()), find_added_types(), find_added_kinds())
        prepare = partial(prepare_process, *registered)
        self.runner = IsolatedRunner(*MODULES, prepare=prepare)
        self._queue = FairQueue(QUEUE_LIMITS, _FULL)

    def preload(self, module: str) -> None:
        """Import a module with functions of jobs before the first job."""
        self.runner.preload(module)

    async def run(
        self, person: Principal, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the function's result; raises `QueueFull`, and as `IsolatedRunner.run`."""
        async with self._queue.turn(person.tenant, person.id):
            return await self.runner.run(self._limits, function, *args, **kwargs)

    async def close(self) -> None:
        """End all jobs."""
        await self.runner.close()


def prepare_process(
    lookups: Iterable[Lookup], types: Iterable[type[SlotType]], kinds: Iterable[type[State]]
) -> None:
    """Let the flow files read in this process use these lookups, slot types and kinds of states."""
    for lookup in lookups:
        declare(lookup)
    register_kinds(types, kinds)


async def run_while_client_stays(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, which is cancelled as soon as the request's client leaves."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_client_leaves(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(400, "The client left before this was done.")
        return working.result()
    finally:
        for each in (working, leaving):
            each.cancel()
        await asyncio.wait({working, leaving})


async def _client_leaves(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


_FULL = Localised(
    zh="您或同事还有好几份内容在处理，请过几秒再试。",
    en="Several texts of yours or your colleagues' are still being worked on: try again in a few "
    "seconds.",
)
