"""The kinds of tools: a module each, found by its name.

A kind is added as a module of this package that has a `SOURCE`, a class derived from `ToolSource`:
it puts tools into the registry, each with what stands behind it (`router.tool.implementation`).
"""

import asyncio
import importlib
import pkgutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import ModuleType

from router.settings import Settings
from router.tool.registry import Registry


class ToolSource:
    """Where the tools of one kind come from, in one process. A kind overrides what it has."""

    def __init__(
        self, settings: Settings, registry: Registry, packages: Sequence[ModuleType]
    ) -> None:
        """`packages` are those of the project that tools stand in."""
        self.settings = settings
        self.registry = registry
        self.packages = packages

    def load(self) -> None:
        """Put into the registry what there is, and have it expect the rest; `DefinitionError`."""

    @property
    def absent(self) -> Mapping[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return {}

    async def look(self, within: float) -> Mapping[str, str]:  # noqa: ARG002 - nothing to wait for
        """Ask once for what isn't here; by name, why what isn't there isn't."""
        return {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the tools up while within."""
        yield

    async def changes(self, *, editing: bool = False) -> AsyncIterator[object]:  # noqa: ARG002
        """Each change of the tools while they are kept up; it never ends.

        Code is read anew only while its author is `editing` it, in their own process.
        """
        await asyncio.Event().wait()
        yield None


class ToolSources:
    """Those of every kind, for one registry."""

    def __init__(self, settings: Settings, packages: Sequence[ModuleType]) -> None:
        self.registry = Registry()
        names = sorted(found.name for found in pkgutil.iter_modules(__path__))
        kinds = (importlib.import_module(f"{__name__}.{name}") for name in names)
        self.each: list[ToolSource] = [
            kind.SOURCE(settings, self.registry, packages) for kind in kinds
        ]

    def load(self) -> None:
        """Load every kind's; raises `DefinitionError`."""
        for source in self.each:
            source.load()

    @property
    def absent(self) -> dict[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return {file: lacks for source in self.each for file, lacks in source.absent.items()}

    async def look(self, within: float) -> dict[str, str]:
        """Ask every kind once for what isn't here; by name, why what isn't there isn't."""
        looks = await asyncio.gather(*(source.look(within) for source in self.each))
        return {name: why for look in looks for name, why in look.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep every kind's tools up while within."""
        async with AsyncExitStack() as stack:
            for source in self.each:
                await stack.enter_async_context(source.running())
            yield
