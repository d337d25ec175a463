"""Every tool there is, by name."""

import importlib
import importlib.util
import pkgutil
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType, ModuleType
from typing import Any, Self

from router.domain.errors import DefinitionError, NotDeployed, Problem, Unavailable, nearest
from router.domain.locale import Localised
from router.domain.principals import FLOW_ROLE, Capability, Principal, TenantScoped
from router.tool.context import Provider
from router.tool.hook import Hook, Hooks
from router.tool.tool import Tool

CODE = "code"

ToolOrHook = Tool | Hook
"""What the modules of the project's packages define."""


class Registry(TenantScoped):
    """Tools by name, each of one group: those of the code, of a folder, of a server."""

    def __init__(
        self,
        groups: Mapping[str, dict[str, Tool]] = MappingProxyType({CODE: {}}),
        expected: Mapping[str, str] = MappingProxyType({}),
        withheld: Iterable[Provider[Any]] = (),
    ) -> None:
        """One that begins with these; usually with nothing."""
        self._groups = {group: {**tools} for group, tools in groups.items()}
        self._tools = {name: tool for each in self._groups.values() for name, tool in each.items()}
        self._expected = {**expected}
        self._withheld = {*withheld}
        self.hooks = Hooks()
        """Those that are called around tools and turns, for every tenant alike."""

    def expect(self, group: str, prefix: str) -> None:
        """Know that a group will come whose names begin so; until then they are `Unavailable`."""
        self._expected = {**self._expected, group: prefix}

    def forget(self, group: str) -> None:
        """Let there be no tools of a group, and none to come."""
        if group in self._groups:
            self.replace(group, [])
            self._groups = {name: held for name, held in self._groups.items() if name != group}
        self._expected = {name: each for name, each in self._expected.items() if name != group}

    def add(self, tool: Tool) -> None:
        """Take in a tool of the code; raises `DefinitionError` where another has its name."""
        code = self._groups[CODE]
        if code.get(tool.name) is not tool:
            self.replace(CODE, [*code.values(), tool])

    def swap(self, old: Sequence[ToolOrHook], new: Sequence[ToolOrHook]) -> None:
        """Put new tools and hooks of the code in place of old ones; raises as `replace` does."""
        gone, hooks = {*map(id, old)}, [one for one in old if isinstance(one, Hook)]
        new_hooks = [one for one in new if isinstance(one, Hook)]
        self.hooks.swap(hooks, new_hooks)
        stay = [tool for tool in self._groups[CODE].values() if id(tool) not in gone]
        try:
            self.replace(CODE, [*stay, *(one for one in new if isinstance(one, Tool))])
        except DefinitionError:
            self.hooks.swap(new_hooks, hooks)
            raise

    def replace(self, group: str, tools: Iterable[Tool]) -> None:
        """Let exactly these be the tools of `group`, all at once.

        Raises `DefinitionError` with every name that is taken, and leaves everything as it was.
        """
        taken = {name: tool for name, tool in self._tools.items() if self.group_of(name) != group}
        found: dict[str, Tool] = {}
        problems = []
        for tool in tools:
            other = taken.get(tool.name) or found.setdefault(tool.name, tool)
            if other is not tool:
                taken_by = f"has a name that is taken, in {other.source.file}:{other.source.line}"
                what = f"the tool {tool.name} {taken_by}"
                problems.append(Problem(*tool.source, what, "rename one of the two"))
        if problems:
            raise DefinitionError(problems)
        # New ones in place of the old, never changed: whoever is going through them isn't stopped.
        self._groups = {**self._groups, group: found}
        self._tools = dict(sorted({**taken, **found}.items()))

    def group_of(self, name: str) -> str:
        """The group of the tool of this name; raises `NotDeployed`."""
        tool = self[name]
        return next(group for group, tools in self._groups.items() if tools.get(name) is tool)

    def discover(self, *packages: ModuleType) -> Self:
        """Import every module of the packages and take in the tools and hooks that they define.

        Raises `DefinitionError` for the first that can't be one, or module that can't be imported.
        """
        for package in packages:
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                for value in vars(imported(found.name)).values():
                    if isinstance(value, Tool):
                        self.add(value)
                    elif isinstance(value, Hook) and value not in [*self.hooks]:
                        self.hooks.swap([], [value])
        return self

    def __getitem__(self, name: str) -> Tool:
        """The tool of this name; raises `NotDeployed`, or `Unavailable` where it may yet come."""
        if name not in self._tools:
            for group, prefix in self._expected.items():
                if name.startswith(prefix) and group not in self._groups:
                    zh = f"{name[:80]} 还没有连上，请稍后再试（{group}）"
                    en = f"{name[:80]} isn't there yet: nor is {group}; try again"
                    raise Unavailable(Localised(zh=zh, en=en))
            known = nearest(name, self._tools) or f"there are: {', '.join(self._tools)}"
            raise not_there(name, known)
        return self._tools[name]

    def __iter__(self) -> Iterator[Tool]:
        """Every tool, by name."""
        return iter(self._tools.values())

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    @property
    def names(self) -> frozenset[str]:
        """The names of all tools."""
        return frozenset(self._tools)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """What the names of tools begin with that are still to come."""
        return tuple(self._expected.values())

    def parameters(self) -> dict[str, frozenset[str]]:
        """The names of each tool's parameters; `crm__*` stands for tools known only later."""
        later = {f"{prefix}*": frozenset[str]() for prefix in self._expected.values()}
        return {**later, **{tool.name: tool.argument_names for tool in self}}

    def providers(self) -> frozenset[Provider[Any]]:
        """Everything that some tool or hook needs to have provided."""
        return self.hooks.providers().union(*(tool.providers for tool in self))

    def lacking(self, settings: object) -> dict[Provider[Any], str]:
        """What tools need that these settings don't give, and the setting that would give it."""
        needed = sorted(self.providers(), key=lambda each: each.name)
        return {p: name for p in needed if (name := p.unset(settings))}

    def misfit_hooks(self, settings: object) -> list[str]:
        """What keeps hooks from being called here, a sentence each."""
        return self.hooks.misfits(self.names, self.prefixes, self.lacking(settings))

    def withhold(self, provider: Provider[Any]) -> None:
        """Offer nobody the tools that need this. A flow may name them: they say so if called."""
        self._withheld = {*self._withheld, provider}

    def overlaid(self, tools: Iterable[Tool], group: str, over: Collection[str] = ()) -> Self:
        """These tools as they are now with more as `group`, which stand in for those of `over`.

        A tool may have the name of one of the groups `over`, and then is it. Raises
        `DefinitionError` where its name is another's.
        """
        more = list(tools)
        names = {tool.name for tool in more}
        under = {
            each: {n: t for n, t in held.items() if each not in over or n not in names}
            for each, held in self._groups.items()
        }
        made = type(self)(under, self._expected, self._withheld)
        made.hooks = self.hooks
        made.replace(group, more)
        return made

    def without(self, provider: Provider[Any]) -> Self:
        """These tools as they are now, those withheld too that need this."""
        narrowed = copy(self)
        narrowed.withhold(provider)
        return narrowed

    def offered(self) -> list[Tool]:
        """The tools that somebody may be offered, by name: all but those withheld."""
        return [tool for tool in self if not tool.providers & self._withheld]

    def visible_to(self, person: Principal) -> list[Tool]:
        """The offered tools that this person may call, by name; those of flows alone aren't."""
        return [tool for tool in self.offered() if allows(tool, person)]

    def capabilities(self, person: Principal) -> list[Capability]:
        """Those of them that people are offered, as they are listed and found."""
        return [tool.capability for tool in self.visible_to(person) if tool.options.listed]


def not_there(name: str, remedy: str = "ask an administrator for it") -> NotDeployed:
    """What is said of a tool that isn't there."""
    zh = f"这里没有“{name[:80]}”这个工具了，请联系管理员"
    return NotDeployed(Localised(zh=zh, en=f"there is no tool named {name[:80]!r}; {remedy}"))


def allows(tool: Tool, person: Principal, *, by_flow: bool = False) -> bool:
    """True where `person` may call it, or a flow for them, which alone has a flow's role.

    What their tenant doesn't have nobody may call for them, a flow neither.
    """
    if not person.entitlement.covers("tool", tool.name):
        return False
    held = person.roles - {FLOW_ROLE} | ({FLOW_ROLE} if by_flow else frozenset())
    return not tool.roles or bool(tool.roles & held)


def imported(name: str, load: Callable[[str], ModuleType] = importlib.import_module) -> ModuleType:
    """The module; raises `DefinitionError` at the line of it that keeps it from being imported."""
    try:
        return load(name)
    except DefinitionError:
        raise
    except Exception as error:
        spec = importlib.util.find_spec(name)
        file = (spec and spec.origin) or name
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [1])[-1]
        what = f"it can't be imported ({type(error).__name__}: {getattr(error, 'msg', error)})"
        remedy = "mend that line, or install what it needs"
        raise DefinitionError([Problem(file, line or 1, what, remedy)]) from error
