"""How often and how long the event loop of a process stood still, as its metrics say.

Printing nothing, it is no benchmark by itself.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass, field

from calling import Caller

BUCKET = re.compile(r'^router_loop_stall_seconds_bucket\{le="([^"]+)"\} (\S+)$', re.MULTILINE)
LONG = 0.1
"""Seconds: a stall that somebody notices."""


@dataclass(frozen=True)
class Stalls:
    """Those of some stretches, by the least bound of the histogram that they are under."""

    by_bound: Counter[float] = field(default_factory=Counter)
    """Bounds in seconds."""

    def add(self, more: "Stalls") -> None:
        """Count those of another stretch too."""
        self.by_bound.update(more.by_bound)

    @property
    def long(self) -> int:
        """How many were over a tenth of a second."""
        return sum(number for bound, number in self.by_bound.items() if bound > LONG)

    @property
    def worst(self) -> str:
        """Milliseconds that the longest took at most; a dash where none was over 50."""
        bounds = [bound for bound, number in self.by_bound.items() if number > 0]
        if not bounds:
            return "-"
        return "over 5000" if math.isinf(max(bounds)) else f"<{1000 * max(bounds):.0f}"


class StallMeter:
    """Reads the metrics of one process at `/metrics` of this port."""

    def __init__(self, port: int) -> None:
        self._caller = Caller(port)
        self._before: Counter[float] = Counter()

    async def since_last(self) -> Stalls:
        """Those since this was last asked."""
        now = await self._counted()
        new = Stalls(now - self._before)
        self._before = now
        return new

    async def _counted(self) -> Counter[float]:
        _, body = await self._caller.get("/metrics")
        below, counted = 0, Counter[float]()
        for bound, up_to in BUCKET.findall(body.decode()):
            counted[float(bound)] = int(float(up_to)) - below
            below = int(float(up_to))
        return counted
