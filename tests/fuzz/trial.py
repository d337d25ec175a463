"""What must hold of every input, and the faults that were planted to see it looked for.

- answered: no status from 500 on;
- documented: no exception but what the entrance says it raises, nor one that is only logged;
- going on: the loop never stands still for longer than the entrance may hold it;
- bounded: no input takes hundreds of megabytes;
- whole or not at all: what is refused changes no table but those that say it was refused.
"""

import asyncio
import gc
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from router.domain.errors import RouterError
from tests.fuzz.entrance import Entrance, Outcome, Take

Promise = Literal["answered", "documented", "going on", "bounded", "whole or not at all"]

TRIES = 3
"""Times that a stop is measured before it is one: what is loaded at first isn't the input's."""
NOTED = frozenset({"audit_trail", "idempotency_keys"})
"""Tables that tell of refusals, or of the key that came with one."""
ROOT = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Broken:
    """What doesn't hold of an input."""

    promise: Promise
    said: str
    where: str = ""
    """By which it is told from others of the kind."""

    @property
    def signature(self) -> str:
        """The same of two inputs that show the same fault."""
        return f"{self.promise}|{self.where or self.said}"


class LoopWatch:
    """The longest that any callback held the loop, in processor time of its thread alone.

    A busy machine takes none of that away, nor do threads that the loop waits for.
    """

    def __init__(self) -> None:
        self.longest = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure every callback of every loop meanwhile."""
        run: Callable[[Any], None] = vars(asyncio.Handle)["_run"]

        def measured(handle: Any) -> None:
            began = time.thread_time()
            try:
                run(handle)
            finally:
                self.longest = max(self.longest, time.thread_time() - began)

        setattr(asyncio.Handle, "_run", measured)  # noqa: B010 - mypy takes it for read-only
        try:
            yield
        finally:
            setattr(asyncio.Handle, "_run", run)  # noqa: B010


class _LoggedFaults(logging.Handler):
    """Exceptions that were caught only to be logged, but those that the product foresees."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is not None and not isinstance(error, RouterError):
            self.found.append(error)


@dataclass
class Trial:
    """Tries inputs at an entrance that is open."""

    entrance: Entrance
    take: Take
    watch: LoopWatch = field(default_factory=LoopWatch)
    faults: _LoggedFaults = field(default_factory=_LoggedFaults)
    longest: float = 0.0
    """The longest stop of all."""
    tried: int = 0
    settled: bool = False
    """Whether everything is loaded, so that what memory grows by is the input's."""

    @contextmanager
    def running(self) -> Iterator["Trial"]:
        """Look at logs and loops meanwhile. What is there already is no garbage."""
        gc.freeze()
        logging.getLogger().addHandler(self.faults)
        try:
            with self.watch.watching():
                yield self
        finally:
            logging.getLogger().removeHandler(self.faults)
            gc.unfreeze()

    async def attempt(self, data: bytes) -> list[Broken]:
        """Try it, and say what doesn't hold."""
        self.tried += 1
        broken, stop = await self._once(data)
        for _ in range(TRIES - 1):
            if stop <= self.entrance.stop:
                break
            forget_texts()
            stop = min(stop, (await self._once(data))[1])
        self.longest = max(self.longest, stop)
        if stop > self.entrance.stop:
            said = f"the loop stood still for {stop * 1000:.0f} ms of processor time"
            broken.append(Broken("going on", said, self._kind(data)))
        return broken

    async def _once(self, data: bytes) -> tuple[list[Broken], float]:
        self.watch.longest, self.faults.found = 0.0, []
        before, found = memory_from_now_on(), list[Broken]()
        outcome = Outcome()
        # In a step of its own, which is what is measured.
        trying = asyncio.ensure_future(self.take(data))
        try:
            outcome = await trying
            found += self._of(outcome, data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            found.append(_undocumented(error))
        found += map(_undocumented, self.faults.found)
        # What it took here may be what was loaded at first; what it took in a child is its own.
        grown = memory_used("VmHWM") - before if self.settled else 0
        grown = outcome.memory or grown
        if grown > self.entrance.memory:
            said = f"it took {grown // 2**20} MiB"
            found.append(Broken("bounded", said, self._kind(data)))
        return found, outcome.seconds or self.watch.longest

    def _of(self, outcome: Outcome, data: bytes) -> Iterator[Broken]:
        if outcome.status >= 500 and outcome.status not in self.entrance.foreseen:
            said = f"{outcome.status}: {outcome.said[:200]}"
            yield Broken("answered", said, f"{outcome.status} {self._kind(data)}")
        kept = outcome.written - NOTED
        if outcome.status in {409, 429}:
            # Its turn was refused by a conversation that the request had begun, and that is empty.
            kept -= {"conversations"}
        if outcome.refused and kept:
            said = f"{outcome.status}, and yet {', '.join(sorted(kept))} changed"
            yield Broken("whole or not at all", said, f"{sorted(kept)} {self._kind(data)}")

    def _kind(self, data: bytes) -> str:
        """The input's first line, where that is what is asked for."""
        if self.entrance.form != "request":
            return self.entrance.name
        return data.partition(b"\n")[0][:80].decode("ascii", "replace").partition("?")[0]


def _undocumented(error: BaseException) -> Broken:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith((f"{ROOT}/router", f"{ROOT}/activities"))]
    place = (ours or list(frames))[-1:]
    where = "".join(f"{one.filename.removeprefix(ROOT)}:{one.lineno}" for one in place)
    said = f"{type(error).__module__}.{type(error).__name__}: {error}"[:300]
    return Broken("documented", f"{said} at {where}", f"{type(error).__name__} {where}")


def forget_texts() -> None:
    """Empty what the product keeps of texts that it has seen before: the next try is the first."""
    for name, module in list(sys.modules.items()):
        for kept in vars(module).values() if name.startswith("router.") else ():
            if isinstance(kept, _KEPT) and kept.cache_parameters()["maxsize"] is not None:
                kept.cache_clear()


_KEPT = type(lru_cache(len))
"""What wraps a function whose answers are kept."""


def memory_from_now_on() -> int:
    """What the process has; what it had at most counts anew from here."""
    with Path("/proc/self/clear_refs").open("w", encoding="ascii") as references:
        references.write("5")
    return memory_used("VmRSS")


def memory_used(named: str) -> int:
    """What the kernel says of the process under this name, in bytes."""
    with Path("/proc/self/status").open("rb") as status:
        line = next(line for line in status if line.startswith(named.encode()))
    return int(line.split()[1]) * 1024
