"""Tools of declaration files, as a source of tools that follows its files."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from router.domain.errors import (
    DefinitionError,
    MisconfiguredError,
    Problem,
)
from router.extensions.http.declarations import HttpImplementation, LoadedTools, load_http_tools
from router.extensions.http.settings import HttpSettings
from router.formats.watcher import SECONDS, Stamp, Watcher, changes, stamp_of
from router.formats.yaml_document import Place
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.runtime.definitions import load_packages
from router.settings import Settings
from router.tool.example_place import ExamplePlace
from router.tool.kinds import ToolSource
from router.tool.registry import Registry
from router.tool.tool import Tool

GROUP = "http"

_log = logging.getLogger("router.tools")


class WatchedTools:
    """Keeps the tools of a folder in a registry; what can't be used is logged, nothing else."""

    def __init__(self, place: Path, load: Callable[[], LoadedTools], registry: Registry) -> None:
        self._place = place
        self._load = load
        self._registry = registry
        self._watcher = Watcher(
            lambda: [place],
            self._taken_up,
            lambda _, __, error: self._complain(error),
            self._files,
        )
        self._said: dict[Problem, Stamp] = {}

    @property
    def absent(self) -> dict[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return {file: each for one in self._watcher.items for file, each in one.absent.items()}

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

    def _complain(self, error: Exception) -> None:
        """Say what is wrong, but for what was said of files that haven't changed since."""
        found = list(error.problems) if isinstance(error, DefinitionError) else []
        now = {problem: stamp_of([Path(problem.file)]) for problem in found}
        new = [problem for problem in found if self._said.get(problem) != now[problem]]
        self._said = now
        if new or not found:
            said = DefinitionError(new) if new else error
            _log.error("the tools stay as they were: %s", said)

    def _files(self, place: Path, loaded: LoadedTools | None) -> list[Path]:
        listed = list(place.glob("*.json")) if place.is_dir() else [place]
        return [*listed, *(loaded.files if loaded else ())]


def tool_folders(package: Path) -> tuple[Path, ...]:
    """Return the folders of a package that files of declared tools are found in."""
    return package / GROUP, package / "tools" / GROUP


class DeclarationSource(ToolSource):
    """The files of the settings' folder, or those that lie beside the project's own tools."""

    name = "declarations"

    def __init__(
        self, settings: Settings, registry: Registry, packages: Sequence[ModuleType]
    ) -> None:
        super().__init__(settings, registry, packages)
        self.watched: WatchedTools | None = None
        folders = (Path(package.__path__[0]) for package in packages)
        there = (place for folder in folders for place in tool_folders(folder) if place.is_dir())
        own = settings.section(HttpSettings)
        place = own.tools or next(there, None)
        if place is not None:
            sender = Sender(OutboundGuard(own.allow))
            load = partial(load_http_tools, place, settings.tool_variables, sender)
            self.watched = WatchedTools(place, load, registry)

    def load(self) -> None:
        """Load them. Raises `MisconfiguredError` with every problem: no process starts then."""
        try:
            if self.watched is not None:
                self.watched.load()
        except DefinitionError as error:
            raise MisconfiguredError(str(error)) from error

    @property
    def absent(self) -> Mapping[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return self.watched.absent if self.watched else {}

    def changes(self, *, editing: bool = False) -> AsyncIterator[object]:
        """Each change of a file that could be taken up; it never ends."""
        return self.watched.changes() if self.watched else super().changes(editing=editing)

    def find_examples(self, tool: Tool) -> ExamplePlace | None:
        """Return the place of the examples in a tool's file; an OpenAPI document has none."""
        path, made = Path(tool.source.file), tool.implementation
        if not isinstance(made, HttpImplementation) or made.kind != "http":
            return None

        def read() -> Sequence[str]:
            tools = load_declared_tools(self.settings).tools
            return next((each.examples for each in tools if each.name == tool.name), ())

        return ExamplePlace(path, partial(_place_of_examples, tool.name), read)


def _place_of_examples(name: str, data: Any) -> Place:
    if not isinstance(data, list):
        return ("examples",)
    names = [each.get("name") for each in data if isinstance(each, dict)]
    return (names.index(name), "examples")


def load_declared_tools(settings: Settings) -> LoadedTools:
    """Return the tools that the files of the settings' folder declare, by themselves."""
    watched = DeclarationSource(settings, Registry(), load_packages(settings)).watched
    return watched.load() if watched else LoadedTools()
