"""Work on long texts, off the event loop and in turns of people.

Reading a message costs a few microseconds a character. That is nothing for what people write, but a
message may have 8,000 characters, and everybody else would wait for each of them. So a long text is
read in a thread, one at a time: tenants take turns, and so do the people of each.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from router.domain.locale import Localised
from router.isolation.fair_queue import FairQueue, QueueLimits

LONG_TEXT_CHARS = 300
"""Longer texts are worked on in the thread."""
P = ParamSpec("P")
T = TypeVar("T")

_THREAD = ThreadPoolExecutor(1, thread_name_prefix="long-texts")
_QUEUE = FairQueue(
    # What waits is bounded by how many requests and turns a person may have, and by their budgets.
    QueueLimits(waiting_per_person=2_000, waiting_per_tenant=20_000, wait_seconds=None),
    Localised(
        zh="您还有很多长消息没有读完，请稍后再试。",
        en="Many long texts of yours are still being read: try again in a moment.",
    ),
)


@dataclass
class TextWork:
    """Works on texts of one person.

    Attributes:
        seconds: The processor time that it has taken so far.
    """

    tenant: str
    person: str
    seconds: float = 0.0

    async def run(
        self, text: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the function's result: made at once for a short text, else when it is its turn."""
        call = partial(self._timed, partial(function, *args, **kwargs))
        if len(text) <= LONG_TEXT_CHARS:
            return call()
        async with _QUEUE.turn(self.tenant, self.person):
            return await asyncio.get_running_loop().run_in_executor(_THREAD, call)

    def _timed(self, call: Callable[[], T]) -> T:
        began = time.thread_time()
        try:
            return call()
        finally:
            self.seconds += time.thread_time() - began


async def run_on_text(text: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the function's result, computed off the event loop if the text is long."""
    call = partial(function, *args, **kwargs)
    if len(text) <= LONG_TEXT_CHARS:
        return call()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, call)
