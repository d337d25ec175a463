"""The sources of tools: a class for each kind, of the core or of an extension.

The core's stand in the modules of this package, each of which has a `SOURCE`. Extensions add more
through `Extension.tool_sources`. Both are registered by `ToolSources.add`. A source puts tools into
the registry, each with what stands behind it (`router.tool.implementation`).
"""

import asyncio
import importlib
import logging
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from types import ModuleType
from typing import Any, ClassVar

from router.domain.extension_names import EXTENSION_NAME_RULE, is_extension_name
from router.extension import Extension, ExtensionConflict, run_bounded
from router.settings import Settings
from router.tool.example_place import ExamplePlace
from router.tool.registry import Registry
from router.tool.stand_ins import make_stand_in
from router.tool.tool import Tool

STOP_WITHIN_S = 10.0
"""How long a source may take to stop."""
FIRST_FETCH_WITHIN_S = 5.0
"""How long a process waits for the first tools of a source that fetches them."""
FETCH_WITHIN_S = 30.0
"""How long one fetch may take later."""

_log = logging.getLogger("router.tools")


class ToolSource:
    """Where the tools of one kind come from, in one process. Override what your kind needs.

    A source whose tools are known at once publishes them in `load`. One that has to ask another
    system declares a `prefix` and publishes from within `running`; `PolledToolSource` does that.
    """

    name: ClassVar[str]
    """Unique among all sources: up to 40 lower-case letters, digits and `_`."""
    prefix: ClassVar[str] = ""
    """What the names of all its tools begin with, such as `catalog__`, if they come only while the
    source is running. Flows and stories may name such a tool before it is there."""
    variables: Collection[str] = ()
    """The variables of the settings that say where its tools are. Those of an extension's settings
    are added to them. A command that lists tools asks no source that only a `.env` names."""

    def __init__(
        self, settings: Settings, registry: Registry, packages: Sequence[ModuleType]
    ) -> None:
        """`packages` are those of the project that tools stand in."""
        self.settings = settings
        self.registry = registry
        self.packages = packages
        self._published = asyncio.Event()

    @property
    def group(self) -> str:
        """The group of its tools in the registry, as messages name it."""
        return f"the source of tools {self.name}"

    def load(self) -> None:
        """Publish the tools that are known at once. Ask no other system here.

        Raises:
            MisconfiguredError: The operator has to correct something, such as a file that the
                settings name. No process starts, and the message says what to do.
            RouterError: The source can't be used; its extension is left out.
        """
        if self.prefix:
            self.registry.expect(self.group, self.prefix)

    def publish(self, tools: Iterable[Tool]) -> None:
        """Let exactly these be the tools of this source. Call it in the event loop.

        Raises:
            ValueError: One is no tool, or its name lacks the prefix.
            DefinitionError: Another source has a tool of the same name. All stays as it was.
        """
        published = list(tools)
        for tool in published:
            if not isinstance(tool, Tool):
                raise ValueError(  # noqa: TRY004 - who catches it tells why, whatever it is
                    f"{self.group} gave {tool!r:.80}, which is no tool: make it with `make_tool`"
                )
            if not tool.name.startswith(self.prefix):
                raise ValueError(
                    f"{self.group} gave the tool {tool.name}: begin its name with {self.prefix}"
                )
        self.registry.replace(self.group, published)
        self._published.set()

    def withdraw(self) -> None:
        """Let there be no tools of this source, and none to come."""
        self.registry.forget(self.group)

    @property
    def absent(self) -> Mapping[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return {}

    async def look(self, within: float) -> Mapping[str, str]:  # noqa: ARG002 - nothing to wait for
        """Publish the tools as they are now, once, for a command that lists them.

        Args:
            within: How many seconds it may take.

        Returns:
            By the name of a system that can't be reached, such as "the MCP server crm", the reason.
        """
        return {}

    def find_examples(self, tool: Tool) -> ExamplePlace | None:  # noqa: ARG002 - for others
        """Return where examples can be added to a tool of this source; `None` if nowhere.

        Args:
            tool: A tool, of this source or of another one.
        """
        return None

    def stand_ins(self, called: Iterable[str]) -> Mapping[str, list[Tool]]:
        """Return tools for stories, which reach no system, in place of those not published yet.

        Args:
            called: The names of tools that flows and stories name and that aren't there.

        Returns:
            Tools by their group in the registry.
        """
        names = [name for name in called if self.prefix and name.startswith(self.prefix)]
        return {self.group: [make_stand_in(name, self.name) for name in names]} if names else {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the tools up until the block is left, which is when the process stops."""
        yield

    async def changes(self, *, editing: bool = False) -> AsyncIterator[object]:  # noqa: ARG002
        """Yield after tools were published, without end.

        Args:
            editing: Whether this is the process of an author, who edits code.
        """
        while True:
            await self._published.wait()
            self._published.clear()
            yield None


class PolledToolSource(ToolSource, ABC):
    """A source that fetches its tools when the process starts, and again while it runs.

    It has a `prefix`. If a fetch fails, the tools stay as they were, and the log says why.
    """

    interval_s: ClassVar[float] = 30.0
    """Seconds between two fetches."""
    _failure = ""
    _declared: Sequence[Mapping[str, Any]] | None = None

    @abstractmethod
    async def fetch_tools(self) -> Sequence[Tool]:
        """Return all tools that there are now. Any exception means that they can't be had."""

    async def look(self, within: float) -> Mapping[str, str]:
        """Fetch the tools once."""
        await self._fetch(within)
        return {self.group: self._failure} if self._failure else {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Fetch the tools now, and after each interval."""
        await self._fetch(FIRST_FETCH_WITHIN_S)
        polling = asyncio.create_task(self._poll(), name=self.group)
        try:
            yield
        finally:
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self.interval_s)
            await self._fetch(FETCH_WITHIN_S)

    async def _fetch(self, within: float) -> None:
        failure = ""
        try:
            async with asyncio.timeout(within):
                fetched = list(await self.fetch_tools())
            self._publish_changed(fetched)
        except TimeoutError:
            failure = f"it gave no tools within {within:g} s"
        except Exception as error:  # noqa: BLE001 - it may be anybody's code
            failure = _describe(error)
        if failure and failure != self._failure:
            _log.error("%s isn't there, and its tools stay as they were: %s", self.group, failure)
        self._failure = failure

    def _publish_changed(self, fetched: Sequence[Tool]) -> None:
        """Publish the tools. What learns of changes is woken only if their declarations differ."""
        was_waiting = self._published.is_set()
        self.publish(fetched)
        declared = [_declaration(tool) for tool in fetched]
        if declared == self._declared and not was_waiting:
            self._published.clear()
        self._declared = declared


class ToolSources:
    """The sources of all kinds, for one registry."""

    def __init__(self, settings: Settings, packages: Sequence[ModuleType] = ()) -> None:
        self.registry = Registry()
        self.each: list[ToolSource] = []
        self._settings = settings
        self._packages = packages

    def load(self) -> None:
        """Add the sources of the core; raises `DefinitionError`."""
        self.add(core_kinds())

    def add_extension(self, extension: Extension) -> None:
        """Add the sources of an extension, all of them or none; raises as `add`."""
        section = extension.settings()
        self.add(extension.tool_sources(), section.variables() if section else ())

    def add(self, kinds: Iterable[type[ToolSource]], variables: Collection[str] = ()) -> None:
        """Register kinds of tools and load them, all of them or none.

        Args:
            kinds: The classes of the sources.
            variables: The variables of the settings that are all these sources' own.

        Raises:
            ExtensionConflict: A kind has the name or the prefix of another one, or can't be one.
            RouterError: A source can't be loaded.
        """
        added: list[ToolSource] = []
        core = core_kinds()
        for kind in kinds:
            others = [each for each in core if each is not kind]
            _check_kind(kind, [*others, *map(type, (*self.each, *added))])
            added.append(kind(self._settings, self.registry, self._packages))
        try:
            for source in added:
                source.variables = {*source.variables, *variables}
                source.load()
        except Exception:
            for source in added:
                source.withdraw()
            raise
        self.each += added

    @property
    def absent(self) -> dict[str, str]:
        """By file, the variable that isn't set and without which there is nothing of it."""
        return {file: lacks for source in self.each for file, lacks in source.absent.items()}

    def named_in(self, variables: Collection[str]) -> dict[str, str]:
        """Return the groups of the sources that some of these variables say the place of.

        Returns:
            By group, one of the variables.
        """
        asking = (each for each in self.each if type(each).look is not ToolSource.look)
        named = {each.group: sorted({*each.variables} & {*variables}) for each in asking}
        return {group: found[0] for group, found in named.items() if found}

    async def look(self, within: float, but_for: Collection[str] = ()) -> dict[str, str]:
        """Have every source publish its tools once, but for some groups.

        Returns:
            By the name of a system that isn't there, the reason.
        """
        asked = [source for source in self.each if source.group not in but_for]
        looks = await asyncio.gather(*(_look(source, within) for source in asked))
        return {name: why for look in looks for name, why in look.items()}

    def find_examples(self, tool: Tool) -> ExamplePlace | None:
        """Return where examples can be added to a tool; `None` if nowhere."""
        found = (source.find_examples(tool) for source in self.each)
        return next((place for place in found if place is not None), None)

    def stand_ins(self, called: Iterable[str]) -> dict[str, list[Tool]]:
        """Return stand-ins for those of the `called` tools that some source will have."""
        names = sorted(set(called))
        return {g: tools for each in self.each for g, tools in each.stand_ins(names).items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep every source's tools up until the block is left.

        A source that can't start is logged and has no tools; the process goes on.
        """
        async with AsyncExitStack() as stack:
            for source in self.each:
                try:
                    bounded = run_bounded(source.running(), source.group, stop_s=STOP_WITHIN_S)
                    await stack.enter_async_context(bounded)
                except Exception as error:  # noqa: BLE001 - it may be anybody's code
                    said = (source.group, _describe(error))
                    _log.exception("%s can't start, and has no tools: %s", *said)
                    source.withdraw()
            yield


def core_kinds() -> list[type[ToolSource]]:
    """Return the kinds of the core: the `SOURCE` of each module of this package."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}").SOURCE for name in names]


def _check_kind(kind: object, others: Iterable[type[ToolSource]]) -> None:
    """Raise `ExtensionConflict` unless this is a kind that can stand next to the others."""
    if not isinstance(kind, type) or not issubclass(kind, ToolSource):
        raise ExtensionConflict(
            f"its source of tools {kind!r:.80} is no subclass of ToolSource: derive it from that"
        )
    name, prefix = getattr(kind, "name", None), kind.prefix
    if not is_extension_name(name):
        raise ExtensionConflict(
            f"its source of tools {kind.__name__} has the name {name!r}: give it one of "
            f"{EXTENSION_NAME_RULE}"
        )
    needs_prefix = issubclass(kind, PolledToolSource)
    if (prefix or needs_prefix) and not _is_prefix(prefix):
        raise ExtensionConflict(
            f"its source of tools {name} has the prefix {prefix!r:.80}: write it like {name}__"
        )
    for other in others:
        if name == other.name:
            raise ExtensionConflict(
                f"there is a source of tools {name!r} already; give its own another name"
            )
        both = (prefix, other.prefix)
        if all(both) and (both[0].startswith(both[1]) or both[1].startswith(both[0])):
            raise ExtensionConflict(
                f"its source of tools {name} has the prefix {prefix!r}, which can't be told from "
                f"{other.prefix!r} of {other.name}: choose another"
            )


def _is_prefix(prefix: object) -> bool:
    is_text = isinstance(prefix, str) and prefix.endswith("__")
    return is_text and is_extension_name(str(prefix).removesuffix("__"))


def _declaration(tool: Tool) -> Mapping[str, Any]:
    """Return what people and models are told of a tool, to be compared with another one's."""
    told = [each.name for each in fields(Tool) if each.name not in _UNTOLD]
    return {**{name: getattr(tool, name) for name in told}, "parameters": tool.parameters}


_UNTOLD = frozenset({"implementation", "source", "check"})


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


async def _look(source: ToolSource, within: float) -> Mapping[str, str]:
    try:
        async with asyncio.timeout(2 * within):  # it keeps to `within` itself, or it hangs
            return await source.look(within)
    except TimeoutError:
        return {source.group: f"it doesn't answer within {2 * within:g} s"}
    except Exception as error:  # noqa: BLE001 - it may be anybody's code
        return {source.group: _describe(error)}
