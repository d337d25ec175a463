"""Skills that follow their folders: what is edited counts within seconds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple

from router.domain.errors import DefinitionError
from router.skill.folder import entries
from router.skill.loader import Found, Loaded, folders_in, instructions_in, load_all, read_skill

SECONDS = 2.0

Stamp = tuple[tuple[str, int, int, int], ...]
_log = logging.getLogger("router.skills")


class _Seen(NamedTuple):
    """A folder's state, and the last skill that could be made of it."""

    stamp: Stamp
    found: Found | None


class WatchedSkills:
    """The skills of a folder, which looks for changes when asked to.

    A skill that can't be used any more is logged once, and stays as it was; the others change.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._seen: dict[Path, _Seen] = {}

    def load(self) -> Loaded:
        """Load them; raises `DefinitionError` with every problem of every one."""
        stamps = self._stamps()
        loaded = load_all(stamps)
        by_folder = {one.file.parent: one for one in loaded.found}
        self._seen = {f: _Seen(stamp, by_folder[f]) for f, stamp in stamps.items()}
        _name_flaws(loaded.found)
        return loaded

    def reload(self) -> Loaded | None:
        """Those there are now, with what has changed read anew; None where nothing has."""
        stamps = self._stamps()
        if stamps == {folder: seen.stamp for folder, seen in self._seen.items()}:
            return None
        self._seen = {folder: self._looked(folder, stamp) for folder, stamp in stamps.items()}
        found = [seen.found for seen in self._seen.values() if seen.found is not None]
        _log.info("there are %s skills in %s now", len(found), self._place)
        return Loaded(found)

    def forget(self) -> None:
        """Have the next look take everything for changed: what was found couldn't be taken up."""
        self._seen = {f: _Seen((), seen.found) for f, seen in self._seen.items()}

    async def changes(self, seconds: float = SECONDS) -> AsyncIterator[Loaded]:
        """Yield what there is after each change, for ever; looks so often."""
        while True:
            await asyncio.sleep(seconds)
            loaded = await asyncio.to_thread(self.reload)
            if loaded is not None:
                yield loaded

    def _looked(self, folder: Path, stamp: Stamp) -> _Seen:
        before = self._seen.get(folder)
        if before is not None and before.stamp == stamp:
            return before
        try:
            found = read_skill(folder)
        except (DefinitionError, OSError) as error:
            state = "stays as it was" if before and before.found else "isn't used"
            _log.error("the skill in %s %s: %s", folder, state, error)
            return _Seen(stamp, before.found if before else None)
        _name_flaws([found])
        return _Seen(stamp, found)

    def _stamps(self) -> dict[Path, Stamp]:
        """Before anything is read: what is written meanwhile is then seen at the next look."""
        return {folder: _stamp_of(folder) for folder in folders_in(self._place)}


def _stamp_of(folder: Path) -> Stamp:
    """What tells one state of a folder from another; a file that has just gone is left out."""
    found = []
    for path in [instructions_in(folder), *entries(folder)]:
        try:
            state = path.stat()
        except OSError:
            continue
        found.append((str(path), state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)


def _name_flaws(found: Iterable[Found]) -> None:
    for flaw in (flaw for one in found for flaw in one.flaws):
        _log.warning("%s", flaw)
