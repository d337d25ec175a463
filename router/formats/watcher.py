"""Files that people edit while the program runs: what changes counts within seconds.

A file that can't be used any more is complained of once, and what was made of it stays as it was;
what is made of the others changes. Looking is a few calls of `stat`, and done when asked for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from router.domain.errors import RouterError
from router.isolation.upkeep_threads import run_upkeep

SECONDS = 2.0
"""Between two looks."""

Stamp = tuple[tuple[str, int, int, int], ...]
Item = TypeVar("Item")
Found = TypeVar("Found")


def stamp_of(files: Iterable[Path]) -> Stamp:
    """What tells one state of files from another, also where one is replaced; those there are."""
    found = []
    for path in sorted(set(files)):
        try:
            state = path.stat()
        except OSError:
            continue
        found.append((str(path), state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)


async def changes(
    look: Callable[[], Found | None], seconds: float = SECONDS
) -> AsyncIterator[Found]:
    """What each look finds that isn't None, for ever; a look is made in a thread, so often."""
    while True:
        await asyncio.sleep(seconds)
        found = await run_upkeep(look)
        if found is not None:
            yield found


@dataclass(frozen=True)
class _Seen(Generic[Item]):
    stamp: Stamp | None
    """None where the next look is to read it whatever its state."""
    item: Item | None
    complaint: str = ""
    """Why it can't be used any more; empty where it can."""


class Watcher(Generic[Item]):
    """What is made of each of some paths, made anew where a file has changed.

    A path may stand for several files: those that `files` names, given what was last made of it.
    """

    def __init__(
        self,
        paths: Callable[[], Iterable[Path]],
        read: Callable[[Path], Item],
        complain: Callable[[Path, Item | None, Exception], None],
        files: Callable[[Path, Item | None], Iterable[Path]] = lambda path, _: [path],
    ) -> None:
        """`complain` is told of a path that can't be read, with what stays as it was, if any."""
        self._paths = paths
        self._read = read
        self._complain = complain
        self._files = files
        self._seen: dict[Path, _Seen[Item]] = {}

    def begin(self, read_all: Callable[[], Mapping[Path, Item]]) -> None:
        """Read everything for the first time, with what is wrong raised."""
        stamps = {path: stamp_of(self._files(path, None)) for path in self._paths()}
        self._seen = {
            path: _Seen(self._stamp_read(path, None, item, stamps.get(path)), item)
            for path, item in read_all().items()
        }

    @property
    def items(self) -> list[Item]:
        """What there is, in the order of the paths."""
        return [seen.item for seen in self._seen.values() if seen.item is not None]

    @property
    def unsound(self) -> list[Path]:
        """The paths that can't be used as they are now."""
        return [path for path, seen in self._seen.items() if seen.complaint]

    def reload(self) -> list[Item] | None:
        """What there is now, with what has changed read anew; None where nothing has.

        A folder that can't be listed, as by a process that may open nothing more, hasn't changed.
        """
        try:
            stamps = {path: stamp_of(self._files(path, self._last(path))) for path in self._paths()}
        except OSError:
            return None
        if stamps == {path: seen.stamp for path, seen in self._seen.items()}:
            return None
        self._seen = {path: self._looked(path, stamp) for path, stamp in stamps.items()}
        return self.items

    def retry(self) -> None:
        """Have the next look read again what couldn't be used: what it needs may be there now."""
        self._seen = {
            path: replace(seen, stamp=None) if seen.complaint else seen
            for path, seen in self._seen.items()
        }

    def forget(self) -> None:
        """Have the next look take everything for changed: what was found couldn't be taken up."""
        self._seen = {path: replace(seen, stamp=None) for path, seen in self._seen.items()}

    def _last(self, path: Path) -> Item | None:
        return self._seen[path].item if path in self._seen else None

    def _looked(self, path: Path, stamp: Stamp) -> _Seen[Item]:
        before, last = self._seen.get(path), self._last(path)
        if before is not None and before.stamp == stamp:
            return before
        try:
            item = self._read(path)
        except (RouterError, OSError) as error:
            # Read again unchanged, for what it needs might have come: it was said already.
            if before is None or before.stamp is not None or before.complaint != str(error):
                self._complain(path, last, error)
            return _Seen(stamp, last, complaint=str(error))
        return _Seen(self._stamp_read(path, last, item, stamp), item)

    def _stamp_read(
        self, path: Path, before: Item | None, item: Item, stamp: Stamp | None
    ) -> Stamp | None:
        """The state that it was read in; where it turned out to have other files, as they are."""
        files = self._files(path, item)
        return stamp if set(files) == set(self._files(path, before)) else stamp_of(files)
