"""Every tool there is, by name."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Self

from router.domain.capabilities import Capability
from router.domain.errors import DefinitionError, NotFound, Problem
from router.domain.principals import FLOW_ROLE, Principal
from router.tool.dependencies import Provider
from router.tool.tool import Tool


class Registry:
    """Tools by name.

    >>> import activities.tools
    >>> registry = Registry().discover(activities.tools)
    >>> registry["get_leave_balance"].permission
    'read'
    """

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> None:
        """Take in a tool; raises `DefinitionError` where another has its name."""
        other = self._tools.setdefault(tool.name, tool)
        if other is not tool:
            taken = f"has a name that is taken, in {other.source.file}:{other.source.line}"
            what = f"the tool {tool.name} {taken}"
            raise DefinitionError([Problem(*tool.source, what, "rename one of the two")])

    def discover(self, package: ModuleType) -> Self:
        """Import every module of `package` and take in the tools that they define.

        A tool that one module imports from another is taken in once. Raises `DefinitionError`
        for the first tool that can't be one.
        """
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                if isinstance(value, Tool):
                    self.add(value)
        return self

    def __getitem__(self, name: str) -> Tool:
        """The tool of this name; raises `NotFound`."""
        if name not in self._tools:
            known = ", ".join(sorted(self._tools)) or "none"
            raise NotFound(f"there is no tool named {name[:80]!r}; there are: {known}")
        return self._tools[name]

    def __iter__(self) -> Iterator[Tool]:
        """Every tool, by name."""
        return iter(sorted(self._tools.values(), key=lambda tool: tool.name))

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def parameters(self) -> dict[str, frozenset[str]]:
        """The names of each tool's parameters: what a flow file may put into a call."""
        return {tool.name: tool.argument_names for tool in self}

    def providers(self) -> frozenset[Provider[Any]]:
        """Everything that some tool needs to have provided."""
        return frozenset(p for tool in self for p in tool.implementation.providers)

    def visible_to(self, person: Principal) -> list[Tool]:
        """The tools that this person may call, by name; those of flows alone aren't."""
        return [tool for tool in self if allows(tool, person)]

    def capabilities(self, person: Principal) -> list[Capability]:
        """The same, as they are listed and found."""
        return [tool.capability for tool in self.visible_to(person)]


def allows(tool: Tool, person: Principal, *, by_flow: bool = False) -> bool:
    """True where `person` may call `tool`, themselves or through a flow that runs for them.

    The role of a flow counts only for a flow: a directory that gives it to a person
    changes nothing.
    """
    held = person.roles - {FLOW_ROLE} | ({FLOW_ROLE} if by_flow else frozenset())
    return not tool.roles or bool(tool.roles & held)
