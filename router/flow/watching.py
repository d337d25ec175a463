"""Flows that follow their files: what is edited serves the next run, within seconds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from router.domain.errors import DefinitionError
from router.flow.catalog import Catalog
from router.flow.loader import FlowFile, Tools, read_all, read_flow

SECONDS = 2.0

Stamp = tuple[int, int, int]
_log = logging.getLogger("router.flows")


class _Seen(NamedTuple):
    """A file's state, and the last flow that could be made of it.

    `stamp` is None where the next look is to read it whatever its state.
    """

    stamp: Stamp | None
    file: FlowFile | None
    is_sound: bool


class WatchedFlows:
    """The flows of a folder, which looks for changes when asked to.

    A file that can't be used any more is logged once, and its flow stays as it was; others change.
    """

    def __init__(self, place: Path, tools: Callable[[], Tools]) -> None:
        """`tools` gives those that flows may call at that moment."""
        self._place = place
        self._tools = tools
        self._seen: dict[Path, _Seen] = {}

    def load(self) -> Catalog:
        """Load them; raises `DefinitionError` with every problem of every file."""
        stamps = self._stamps()
        files = {file.path: file for file in read_all([self._place], self._tools())}
        self._seen = {path: _Seen(stamps.get(path), file, True) for path, file in files.items()}
        return Catalog(file.definition for file in files.values())

    def reload(self) -> list[FlowFile] | None:
        """Those there are now, with what has changed read anew; None where nothing has.

        A folder that has gone whole is being put back, or its disk is: its flows stay.
        """
        if not self._place.exists():
            return None
        stamps = self._stamps()
        if stamps == {path: seen.stamp for path, seen in self._seen.items()}:
            return None
        self._seen = {path: self._looked(path, stamp) for path, stamp in stamps.items()}
        return [seen.file for seen in self._seen.values() if seen.file is not None]

    def retry(self) -> None:
        """Have the next look read again what couldn't be used: its tools may be there now."""
        self._seen = {p: s if s.is_sound else s._replace(stamp=None) for p, s in self._seen.items()}

    def forget(self) -> None:
        """Have the next look take everything for changed: what was found couldn't be taken up."""
        self._seen = {path: seen._replace(stamp=None) for path, seen in self._seen.items()}

    async def changes(self, seconds: float = SECONDS) -> AsyncIterator[list[FlowFile]]:
        """Yield what there is after each change, for ever; looks so often."""
        while True:
            await asyncio.sleep(seconds)
            files = await asyncio.to_thread(self.reload)
            if files is not None:
                yield files

    def _looked(self, path: Path, stamp: Stamp) -> _Seen:
        before = self._seen.get(path)
        if before is not None and before.stamp == stamp:
            return before
        last = before.file if before else None
        try:
            return _Seen(stamp, read_flow(path, self._tools()), True)
        except DefinitionError as error:
            state = "stays as it was" if last else "isn't used"
            _log.error("the flow in %s %s: %s", path, state, error)
            return _Seen(stamp, last, False)

    def _stamps(self) -> dict[Path, Stamp]:
        """Before anything is read: what is written meanwhile is then seen at the next look."""
        found = {}
        place = self._place
        for path in sorted(place.glob("*.yaml")) if place.is_dir() else [place]:
            try:
                state = path.stat()
            except OSError:
                continue
            found[path] = (state.st_mtime_ns, state.st_size, state.st_ino)
        return found
