"""Tools that are functions of the project's packages, made by `router.tool.tool.tool`, and hooks.

While their author edits them they follow their modules: a new one is imported, a changed one is run
again, and after it the modules of tools that import it. Where others import it that declare no
tools, such as lookups, it stays as it was, for those would go on with what it was.
"""

import ast
import importlib
import importlib.util
import logging
import pkgutil
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from graphlib import CycleError, TopologicalSorter
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from router.domain.errors import MisconfiguredError
from router.formats.watcher import SECONDS, Watcher, changes
from router.settings import Settings
from router.tool.hook import Hook
from router.tool.kinds import ToolSource
from router.tool.registry import Registry, ToolOrHook, imported
from router.tool.tool import Tool

_log = logging.getLogger("router.tools")


class FunctionSource(ToolSource):
    """Every module of the packages is imported; the tools and hooks it defines are taken in."""

    name = "functions"

    def __init__(
        self, settings: Settings, registry: Registry, packages: Sequence[ModuleType]
    ) -> None:
        super().__init__(settings, registry, packages)
        self.watched = WatchedModules(registry, packages)

    def load(self) -> None:
        """Import them; raises `DefinitionError` for the first module or tool that can't be one."""
        self.watched.load()

    async def changes(self, *, editing: bool = False) -> AsyncIterator[object]:
        """Each change of a module that could be taken up, while its author is `editing`."""
        following = self.watched.changes() if editing else super().changes()
        async for change in following:
            for provider in self.registry.lacking(self.settings):
                self.registry.withhold(provider)
            yield change


class WatchedModules:
    """Keeps the tools and hooks of packages in a registry as their modules have them by now."""

    def __init__(self, registry: Registry, packages: Sequence[ModuleType]) -> None:
        self._registry = registry
        self._packages = packages
        self._names: dict[Path, str] = {}
        self._loaded: dict[Path, str] = {}
        self._declared: dict[Path, list[ToolOrHook]] = {}
        self._watcher = Watcher(self._paths, self._taken_up, _complain)

    def load(self) -> None:
        """Import every module; raises `DefinitionError` as `Registry.discover` does."""
        self._watcher.begin(self._all)

    def reload(self) -> bool:
        """Look for modules that are new, changed or gone; True where the tools are new ones."""
        before = self._declared.copy()
        if self._watcher.reload() is None:
            return False
        for path in self._declared.keys() - self._names.keys():
            self._registry.swap(self._declared.pop(path), [])
            sys.modules.pop(self._loaded.pop(path), None)
        return {*map(id, before.values())} != {*map(id, self._declared.values())}

    def changes(self, seconds: float = SECONDS) -> AsyncIterator[bool]:
        """True after each change, for ever; looks so often."""
        return changes(lambda: self.reload() or None, seconds)

    def _paths(self) -> list[Path]:
        self._names = dict(_modules(self._packages))
        return [*self._names]

    def _all(self) -> dict[Path, list[ToolOrHook]]:
        self._registry.discover(*self._packages)
        self._loaded = self._names.copy()
        self._declared = {
            path: _declared_in(sys.modules[name]) for path, name in self._names.items()
        }
        return self._declared

    def _taken_up(self, path: Path) -> list[ToolOrHook]:
        name = self._names[path]
        if path in self._declared:
            return self._run_again(name, path)
        # A finder remembers what a folder had in it.
        importlib.invalidate_caches()
        sys.modules.pop(name, None)
        found = _declared_in(imported(name))
        self._registry.swap([], found)
        self._loaded[path], self._declared[path] = name, found
        return found

    def _run_again(self, name: str, path: Path) -> list[ToolOrHook]:
        """Run the module as its file is now, and those that import it.

        All of them stay as they were if one can't be run, or its tools can't be used.
        """
        paths = {each: place for place, each in self._loaded.items()}
        order = _order_to_run(name, path, paths.keys())
        with _undone_on_failure(order):
            found = {paths[each]: _declared_in(imported(each, _executed)) for each in order}
            before = [each for place in found for each in self._declared[place]]
            self._registry.swap(before, [each for declared in found.values() for each in declared])
        self._declared |= found
        return found[path]


def _modules(packages: Sequence[ModuleType]) -> Iterator[tuple[Path, str]]:
    """The modules of packages; raises `OSError` where a folder of theirs can't be listed.

    `pkgutil` takes such a folder for an empty one, and all its tools would be gone.
    """
    for package in packages:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            spec = found.module_finder.find_spec(found.name, None)
            if spec is None or spec.origin is None:
                continue
            _listed(spec.submodule_search_locations or ())
            yield Path(spec.origin), found.name
        _listed(package.__path__)


def _listed(folders: Iterable[str]) -> None:
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError):  # one that isn't there has none
            next(Path(folder).iterdir(), None)


def _declared_in(module: ModuleType) -> list[ToolOrHook]:
    return [value for value in vars(module).values() if isinstance(value, Tool | Hook)]


def tools_anew(name: str) -> list[Tool]:
    """The tools of a module as its file is now, for a look: nobody else gets them.

    Raises `DefinitionError` where it can't be imported any more.
    """
    before = sys.modules.get(name)
    try:
        found = _declared_in(imported(name, _executed))
        return [value for value in found if isinstance(value, Tool)]
    finally:
        if before is None:
            sys.modules.pop(name, None)
        else:
            _put(name, before)


def _order_to_run(name: str, path: Path, known: Collection[str]) -> list[str]:
    """Return a module that has changed, and after it those of tools that import it.

    Raises:
        MisconfiguredError: One of them can't be run again.
    """
    importers: dict[str, set[str]] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in importers:
            importers[each] = {*_importers(each)}
            waiting += importers[each]
    fixed = [each for each in sorted(importers) if not _can_run_again(each, importers, known)]
    if fixed == [name]:
        raise MisconfiguredError(f"{path} has changed, and is read at a start alone: restart dev")
    if fixed:
        raise MisconfiguredError(
            f"{path} has changed, and {', '.join(fixed)} imported it as it was: restart dev"
        )
    imports = {each: {n for n in importers if each in importers[n]} for each in importers}
    try:
        return [*TopologicalSorter(imports).static_order()]
    except CycleError:
        round_ = ", ".join(sorted(importers))
        raise MisconfiguredError(
            f"{path} has changed, and {round_} import each other: restart dev"
        ) from None


def _can_run_again(name: str, importers: Mapping[str, set[str]], known: Collection[str]) -> bool:
    """True for a module of tools or hooks, and for one that is there for such modules alone."""
    module = sys.modules[name]
    is_package = hasattr(module, "__path__")
    return name in known and not is_package and bool(importers[name] or _declared_in(module))


@contextmanager
def _undone_on_failure(names: Iterable[str]) -> Iterator[None]:
    """Put back the modules of these names where the block fails."""
    before = {name: sys.modules[name] for name in names}
    try:
        yield
    except BaseException:
        for name, module in before.items():
            _put(name, module)
        raise


def _put(name: str, module: ModuleType) -> None:
    """Have a module be imported by its name, from its package too."""
    sys.modules[name] = module
    package, _, leaf = name.rpartition(".")
    if package in sys.modules:
        setattr(sys.modules[package], leaf, module)


def _executed(name: str) -> ModuleType:
    """The module from its source: what is compiled may be of the same second, and older."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec) if spec else ModuleType(name)
    loader, origin = _source_of(spec)
    _put(name, module)
    exec(loader.source_to_code(loader.get_data(origin), origin), vars(module))  # noqa: S102 - import
    return module


def _source_of(spec: ModuleSpec | None) -> tuple[SourceLoader, str]:
    if spec is None or spec.origin is None or not isinstance(spec.loader, SourceLoader):
        raise ImportError("its source isn't there")
    return spec.loader, spec.origin


def _importers(name: str) -> list[str]:
    """The modules beside it in the project that import this one."""
    root, leaf = f"{name.partition('.')[0]}.", name.rpartition(".")[2]
    found = []
    for other, module in sorted(sys.modules.copy().items()):
        file = Path(getattr(module, "__file__", None) or "")
        if other.startswith(root) and other != name and file.is_file():
            text = file.read_text("utf-8")
            package = other if hasattr(module, "__path__") else other.rpartition(".")[0]
            if leaf in text and name in _imports(ast.parse(text), package):
                found.append(other)
    return found


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the names of all modules that a module of the package may import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            parts = [*(above if node.level else []), *([node.module] if node.module else [])]
            yield ".".join(parts)
            yield from (".".join([*parts, each.name]) for each in node.names)


def _complain(path: Path, last: list[ToolOrHook] | None, error: Exception) -> None:
    state = "aren't used" if last is None else "stay as they were"
    _log.error("the tools of %s %s: %s", path, state, error)


SOURCE = FunctionSource
