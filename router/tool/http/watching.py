"""Declared tools that follow their files: what is edited counts within seconds."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from router.domain.errors import RouterError
from router.tool.http.loading import Loaded
from router.tool.registry import Registry

GROUP = "http"
"""The registry's group of declared tools."""
SECONDS = 2.0

Stamp = tuple[tuple[str, int, int], ...]
_log = logging.getLogger("router.tools")


class WatchedTools:
    """Keeps the tools of a folder in a registry, and looks for changes when asked to.

    A change that can't be used is logged once, and everything stays as it was.
    """

    def __init__(self, place: Path, load: Callable[[], Loaded], registry: Registry) -> None:
        self._place = place
        self._load = load
        self._registry = registry
        self._files: list[Path] = []
        self._seen: Stamp = ()
        self.absent: dict[str, str] = {}
        """By file, the variable that isn't set and without which there is nothing of it."""

    def load(self) -> Loaded:
        """Load them; raises what `load_http_tools` and `Registry.replace` raise."""
        self._seen = self._stamp()
        loaded = self._load()
        self._registry.replace(GROUP, loaded.tools)
        self.absent = loaded.absent
        for file, variable in loaded.absent.items():
            _log.info("no tool of %s is there: %s isn't set", file, variable)
        if set(loaded.files) - set(self._files):
            self._files = loaded.files
            self._seen = self._stamp()
        return loaded

    def reload(self) -> bool:
        """Load them again where a file has changed; True where the tools are new ones."""
        if self._stamp() == self._seen:
            return False
        try:
            loaded = self.load()
        except (RouterError, OSError) as error:
            _log.error("the tools stay as they were: %s", error)
            return False
        _log.info("there are %s tools in %s now", len(loaded.tools), self._place)
        return True

    async def changes(self, seconds: float = SECONDS) -> AsyncIterator[None]:
        """Yield after each change, for ever; looks so often."""
        while True:
            await asyncio.sleep(seconds)
            if await asyncio.to_thread(self.reload):
                yield

    def _stamp(self) -> Stamp:
        return _stamp_of({*self._listed(), *self._files})

    def _listed(self) -> Iterable[Path]:
        return self._place.glob("*.json") if self._place.is_dir() else [self._place]


def _stamp_of(files: Iterable[Path]) -> Stamp:
    """What tells one state of files from another; a file that isn't there is left out."""
    found = []
    for path in sorted(files):
        try:
            state = path.stat()
        except OSError:
            continue
        found.append((str(path), state.st_mtime_ns, state.st_size))
    return tuple(found)
