"""Memory that processes have together, whatever they keep in it: a control group of the kernel's.

Limits of a process (`setrlimit`) count neither files in memory (`memfd_create`) nor shared segments
that nobody has mapped, and each process has them anew; a group's count everything. One can be made
below the group that this process is in where that is its own to divide: by cgroup v2 where systemd
delegates it (`Delegate=memory`, `DelegateSubgroup=`), by v1 where this process is root.
"""

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

GROUPS, MINE = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
PREFIX = "skill-"
DELEGATED = "user.delegate"
_BOUNDS = ("memory.max", "memory.limit_in_bytes")
_SWAP = {"memory.swap.max": 0, "memory.memsw.limit_in_bytes": None}
"""None: as much as memory, for there it is the sum of both."""
_EVENTS = ("memory.events", "memory.oom_control")
_KILLED = re.compile(r"^oom_kill ([1-9][0-9]*)$", re.MULTILINE)
_TRIES, _PAUSE = 100, 0.02
"""The kernel ends a namespace's processes a moment after its first."""


@dataclass(frozen=True)
class ControlGroup:
    """A group of one run, below one of ours; its name says which process of ours made it."""

    place: Path

    @classmethod
    def of(cls, most: int) -> Self | None:
        """One whose processes have `most` bytes together; None where none can be made."""
        for parent in divisible():
            group = cls(parent / f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}")
            with suppress(OSError):
                group.place.mkdir()
                if group._bounded(most):
                    return group
                group.place.rmdir()
        return None

    def _bounded(self, most: int) -> bool:
        done = [self._write(name, most) for name in _BOUNDS]
        for name, swap in _SWAP.items():
            self._write(name, most if swap is None else swap)
        return any(done)

    def take(self, process: int) -> None:
        """Have it in here, with all that it starts from now on."""
        self._write("cgroup.procs", process)

    @property
    def exceeded(self) -> bool:
        """True where something in here was ended for want of memory."""
        return any(_KILLED.search(self._read(name)) for name in _EVENTS)

    def _write(self, name: str, value: int) -> bool:
        with suppress(OSError), (self.place / name).open("r+") as file:
            file.write(str(value))
            file.flush()
            return True
        return False

    def _read(self, name: str) -> str:
        with suppress(OSError):
            return (self.place / name).read_text()
        return ""


@asynccontextmanager
async def bounded(most: int) -> AsyncIterator[ControlGroup | None]:
    """A group whose processes have `most` bytes together, until the last of them has ended.

    None where none can be made. All of them are on their way out when this is left.
    """
    group = ControlGroup.of(most)
    try:
        yield group
    finally:
        if group is not None:
            await asyncio.shield(_removed(group.place))


async def _removed(place: Path) -> None:
    for _ in range(_TRIES):
        if _is_gone(place):
            return
        await asyncio.sleep(_PAUSE)


def _is_gone(place: Path) -> bool:
    with suppress(OSError):
        place.rmdir()
        return True
    return False


def divisible() -> Iterator[Path]:
    """The groups below which this process may try to make others."""
    with suppress(OSError):
        for line in MINE.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds == "":
                own = GROUPS / path.lstrip("/")
                yield from (each for each in (own, own.parent) if _divides_memory(each, own))
            elif "memory" in kinds.split(","):
                yield GROUPS / "memory" / path.lstrip("/")


def _divides_memory(group: Path, own: Path) -> bool:
    """True where groups below this one of v2 have bounds of memory, or can be let have them.

    The one above is somebody else's, unless systemd says that it isn't.
    """
    control = group / "cgroup.subtree_control"
    with suppress(OSError):
        if group != own and os.getxattr(group, DELEGATED) != b"1":
            return False
        if "memory" not in control.read_text().split():
            with control.open("r+") as file:
                file.write("+memory")
        return True
    return False
