"""Tools that JSON files declare: of an HTTP endpoint, or an OpenAPI document's operations.

They follow their files: what is edited counts within seconds.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

from router.documents.watcher import SECONDS, Watcher, changes
from router.settings import Settings
from router.tool.http.client import OutboundGuard, Sender
from router.tool.http.loader import LoadedTools, load_http_tools
from router.tool.kinds import ToolSource
from router.tool.registry import Registry

GROUP = "http"
"""The registry's group of declared tools."""

_log = logging.getLogger("router.tools")


class WatchedTools:
    """Keeps the tools of a folder in a registry, and looks for changes when asked to.

    A change that can't be used is logged once, and everything stays as it was.
    """

    def __init__(self, place: Path, load: Callable[[], LoadedTools], registry: Registry) -> None:
        self._place = place
        self._load = load
        self._registry = registry
        self._watcher = Watcher(lambda: [place], self._taken_up, _complain, self._files)

    @property
    def absent(self) -> dict[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return {
            file: lacks for loaded in self._watcher.items for file, lacks in loaded.absent.items()
        }

    def load(self) -> LoadedTools:
        """Load them; raises what `load_http_tools` and `Registry.replace` raise."""
        self._watcher.begin(lambda: {self._place: self._taken_up(self._place)})
        return self._watcher.items[0]

    def reload(self) -> bool:
        """Load them again where a file has changed; True where the tools are new ones."""
        before = self._watcher.items
        loaded = self._watcher.reload()
        if not loaded or loaded[0] is before[0]:
            return False
        _log.info("there are %s tools in %s now", len(loaded[0].tools), self._place)
        return True

    def changes(self, seconds: float = SECONDS) -> AsyncIterator[bool]:
        """True after each change, for ever; looks so often."""
        return changes(lambda: self.reload() or None, seconds)

    def _taken_up(self, _: Path) -> LoadedTools:
        loaded = self._load()
        self._registry.replace(GROUP, loaded.tools)
        for file, variable in loaded.absent.items():
            _log.info("no tool of %s is there: %s isn't set", file, variable)
        return loaded

    def _files(self, place: Path, loaded: LoadedTools | None) -> list[Path]:
        listed = list(place.glob("*.json")) if place.is_dir() else [place]
        return [*listed, *(loaded.files if loaded else ())]


def _complain(_: Path, __: LoadedTools | None, error: Exception) -> None:
    _log.error("the tools stay as they were: %s", error)


class DeclarationSource(ToolSource):
    """The files of the settings' folder, or those that lie beside the project's own tools."""

    def __init__(
        self, settings: Settings, registry: Registry, packages: Sequence[ModuleType]
    ) -> None:
        super().__init__(settings, registry, packages)
        self.watched: WatchedTools | None = None
        places = (Path(package.__path__[0]) / GROUP for package in packages)
        there = (place for place in places if place.is_dir())
        place = settings.http_tools or next(there, None)
        if place is not None:
            sender = Sender(OutboundGuard(settings.http_allow))
            load = partial(load_http_tools, place, settings.tool_variables, sender)
            self.watched = WatchedTools(place, load, registry)

    def load(self) -> None:
        """Load them; raises `MisconfiguredError` where there is no such folder."""
        if self.watched is not None:
            self.watched.load()

    @property
    def absent(self) -> Mapping[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return self.watched.absent if self.watched else {}

    def changes(self) -> AsyncIterator[object]:
        """Each change of a file that could be taken up; it never ends."""
        return self.watched.changes() if self.watched else super().changes()


SOURCE = DeclarationSource
