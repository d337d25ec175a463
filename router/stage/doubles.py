"""The real tools, watched: what they are called with is noted, and they fail where told to."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from router.domain.errors import (
    ArgumentsToolError,
    PermanentToolError,
    ToolError,
    TransientToolError,
    UnknownOutcome,
)
from router.domain.texts import Localised
from router.story.judging import Called
from router.story.steps import Failing
from router.tool.context import ToolContext
from router.tool.dependencies import Dependencies, Provider
from router.tool.implementation import Arguments, Implementation
from router.tool.registry import Registry
from router.tool.tool import Tool

_ERRORS: dict[Failing, Callable[[Localised], ToolError]] = {
    "permanent": PermanentToolError,
    "arguments": ArgumentsToolError,
    "unknown": UnknownOutcome,
    "transient": TransientToolError,
}


@dataclass
class Book:
    """What happened to tools in one story, and which of them fail from now on."""

    failing: dict[str, Failing] = field(default_factory=dict)
    _calls: dict[str, Called] = field(default_factory=dict)

    @property
    def calls(self) -> list[Called]:
        """In the order in which they were made; one that was tried again is there once."""
        return list(self._calls.values())

    @property
    def hopeless(self) -> list[str]:
        """Tools that are tried again and again, as long as they fail."""
        return [tool for tool, how in self.failing.items() if how == "transient"]

    def note(self, tool: str, arguments: Arguments, key: str) -> None:
        """Note a try of a call. Those of a write share its key; reads have none."""
        known = key or f"{len(self._calls)}"
        self._calls.setdefault(f"{tool}:{known}", Called(tool, dict(arguments)))


Books = defaultdict[str, Book]
"""By tenant: each story has one."""


@dataclass(frozen=True)
class Watched:
    """What stands behind a tool, with a book kept of it: a `router.tool.Implementation`."""

    tool: str
    behind: Implementation
    books: Books

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The tool's own."""
        return self.behind.parameters

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """The tool's own."""
        return self.behind.providers

    def problems(self, arguments: Arguments) -> list[str]:
        """What the tool has against them."""
        return self.behind.problems(arguments)

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """The tool's own result, or the error that its story wants."""
        book = self.books[context.caller.tenant]
        book.note(self.tool, arguments, context.key)
        how = book.failing.get(self.tool, "no")
        if how != "no":
            raise _ERRORS[how](_failed(self.tool))
        return await self.behind.call(arguments, context, dependencies)


def watch(registry: Registry, books: Books) -> None:
    """Have all tools of the registry watched, under their own names."""
    groups: dict[str, list[Tool]] = defaultdict(list)
    for tool in registry:
        double = replace(tool, implementation=Watched(tool.name, tool.implementation, books))
        groups[registry.group_of(tool.name)].append(double)
    for group, tools in groups.items():
        registry.replace(group, tools)


def _failed(tool: str) -> Localised:
    return Localised(zh=f"{tool} 在这个故事里失败", en=f"{tool} fails in this story")
