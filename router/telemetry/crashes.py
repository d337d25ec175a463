"""What was under way when a process died: left where the next one finds it, and counted there.

A process notes each try of an activity in a file that is mapped into its memory. That takes no
call of the system, and outlives the process however it ends. Whoever starts next in the same data
folder reads the files of those that are gone, and counts for each work how many of them died while
it was under way:

    once    it runs as ever
    twice   it is set aside where the process broke (SIGSEGV, SIGABRT …) and nothing else that
            was under way had seen a death before. Otherwise, where it was killed from outside
            (memory, a rollout, a hand) or several are suspected, it runs beside no other suspect
    thrice  it is set aside, unless it has to share the suspicion even then

So a try that fails, takes too long, or finds its database away is never counted, nor is one that
an orderly end has cut short. Each data folder counts for itself: where workers share none, work
may end one process of each before it is set aside.
"""

import asyncio
import faulthandler
import fcntl
import json
import logging
import mmap
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import time
from typing import NamedTuple

from router.domain.errors import SetAside
from router.domain.locale import Localised
from router.telemetry.metrics import DEATHS

FOLDER = "under-way"
"""In the data folder."""
TALLY = "tally.json"
SUSPECTED, CONDEMNED = 2, 3
"""Deaths: after so many work runs apart, or not at all."""
KEPT = 7 * 86_400.0
"""Seconds for which a death is remembered: longer than anything is tried again by itself."""
SLOT, SLOTS = 256, 512
"""Bytes for one work, and how many may be under way; what comes on top of them isn't noted."""
SIZE = SLOT * SLOTS

_log = logging.getLogger(__name__)


class ActivityWork(NamedTuple):
    """One activity, whatever try of it: the same again for the next."""

    run: str
    """Of the workflow, as Temporal knows it."""
    id: str
    activity: str
    workflow: str

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.run}/{self.id}"


@dataclass(frozen=True)
class Suspicion:
    """What is known of work that was under way when processes died."""

    activity: str
    workflow: str
    deaths: int = 0
    is_set_aside: bool = False
    last: float = 0.0
    """When the last death was found, in seconds since 1970."""


class DeathTally:
    """The suspicions of a data folder, which several processes read and one at a time writes."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / TALLY
        self._version = (0, 0)
        self._known: dict[str, Suspicion] = {}

    def of(self, work: ActivityWork) -> Suspicion | None:
        """What is known of it by now; None for what was never near a death."""
        try:
            now = self._file.stat()
        except FileNotFoundError:
            return None
        if (now.st_ino, now.st_mtime_ns) != self._version:
            self._known, self._version = self._read(), (now.st_ino, now.st_mtime_ns)
        return self._known.get(work.key) if self._known else None

    def count(self, suspects: list[ActivityWork], *, broke: bool) -> None:
        """Count one death, and set aside what is to blame for it."""
        for work in suspects:
            known = self._known.get(work.key, Suspicion(work.activity, work.workflow))
            self._known[work.key] = replace(known, deaths=known.deaths + 1, last=time())
        again = [work.key for work in suspects if self._known[work.key].deaths >= SUSPECTED]
        if len(again) == 1:
            to_blame = self._known[again[0]]
            if broke or to_blame.deaths >= CONDEMNED:
                self._known[again[0]] = replace(to_blame, is_set_aside=True)
                _log.error(
                    "%s of %s is set aside: %d processes died while it was under way",
                    *(to_blame.activity, to_blame.workflow, to_blame.deaths),
                )

    def load(self) -> None:
        """Read what was counted, but for what is too old to matter."""
        since = time() - KEPT
        self._known = {key: one for key, one in self._read().items() if one.last >= since}

    def save(self) -> None:
        """Have all others see it, whole or not at all."""
        written = self._file.with_suffix(".new")
        written.write_text(json.dumps({key: asdict(one) for key, one in self._known.items()}))
        written.replace(self._file)

    def _read(self) -> dict[str, Suspicion]:
        try:
            kept = json.loads(self._file.read_text())
            return {key: Suspicion(**one) for key, one in kept.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            _log.warning("%s can't be read (%s); deaths are counted anew", self._file, error)
            return {}


class ActivityRegister:
    """What this process has under way. One event loop's."""

    def __init__(self, tally: DeathTally, slots: mmap.mmap) -> None:
        self._tally = tally
        self._slots = slots
        self._free = list(range(0, SIZE, SLOT))
        self._apart = asyncio.Lock()

    def trying(self, work: ActivityWork) -> AbstractAsyncContextManager[None]:
        """Enter it while the work is tried: so it is noted. Raises `SetAside`."""
        known = self._tally.of(work)
        if known is None:
            return self._under_way(work, nullcontext())
        if known.is_set_aside:
            raise _refusal(known)
        suspected = known.deaths >= SUSPECTED
        return self._under_way(work, self._apart if suspected else nullcontext())

    @asynccontextmanager
    async def _under_way(
        self, work: ActivityWork, among: AbstractAsyncContextManager[None]
    ) -> AsyncIterator[None]:
        async with among:
            place = self._noted(work)
            try:
                yield
            finally:
                self._forget(place)

    def _noted(self, work: ActivityWork) -> int | None:
        if not self._free:
            return None
        place = self._free.pop()
        written = "\n".join(work).encode()[: SLOT - 1]
        self._slots[place : place + len(written) + 1] = written + b"\0"
        return place

    def _forget(self, place: int | None) -> None:
        if place is not None:
            self._slots[place] = 0
            self._free.append(place)


def _refusal(known: Suspicion) -> SetAside:
    zh = f"办这一步时程序已经意外退出 {known.deaths} 次，所以搁置了，不再自动重试；管理员能看到"
    en = (
        f"processes died of this step {known.deaths} times, so it is set aside and not tried "
        "again by itself; the administrators can see that"
    )
    return SetAside(Localised(zh=zh, en=en))


@contextmanager
def registered(data: Path) -> Iterator[ActivityRegister | None]:
    """Count the deaths of those who were here before, and note what is under way from now on.

    None where the data folder can't be written: then nothing is counted.
    """
    folder = data / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tally = DeathTally(folder)
        with _alone(folder):
            _count(folder, tally)
            file, path = _opened(folder)
    except OSError as error:
        _log.warning("work that ends processes can't be told: %s: %s", folder, error.strerror)
        yield None
        return
    before = faulthandler.is_enabled()
    # What it writes of a fault follows the slots, and is by what one is told from a kill.
    faulthandler.enable(file, all_threads=False)
    try:
        # Never closed: what is cancelled last may still write to it.
        yield ActivityRegister(tally, mmap.mmap(file, SIZE))
    finally:
        faulthandler.enable() if before else faulthandler.disable()
        path.unlink(missing_ok=True)
        os.close(file)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _opened(folder: Path) -> tuple[int, Path]:
    """A new file, held by this process for as long as that lives."""
    path = folder / f"{os.getpid()}-{time():.6f}.register"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    os.posix_fallocate(file, 0, SIZE)  # lest a full disk ends the process that writes to memory
    os.lseek(file, SIZE, os.SEEK_SET)
    return file, path


def _count(folder: Path, tally: DeathTally) -> None:
    tally.load()
    for path in sorted(folder.glob("*.register")):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its process lives
            slots, said = file.read(SIZE), file.read().decode(errors="replace").strip()
            suspects = [work for at in range(0, SIZE, SLOT) if (work := _work(slots, at))]
            DEATHS.labels("broke" if said else "killed").inc()
            _log.warning(
                "a process died with %d activities under way: %s",
                *(len(suspects), said or "it was killed"),
            )
            tally.count(suspects, broke=bool(said))
            path.unlink()
    tally.save()


def _work(slots: bytes, at: int) -> ActivityWork | None:
    written = slots[at : at + SLOT].partition(b"\0")[0].decode(errors="replace")
    parts = written.split("\n", 3)
    return ActivityWork(*parts) if len(parts) == len(ActivityWork._fields) else None
