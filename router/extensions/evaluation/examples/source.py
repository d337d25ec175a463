"""Where a capability is declared, with its examples: which file, and how they go into it.

Each kind of file is a class: it puts sentences into the file's text, and reads with the loader of
the house what the file then says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from router.domain.errors import InvalidInput
from router.domain.principals import Capability
from router.extensions.evaluation.examples.python_text import PythonText
from router.extensions.evaluation.examples.text_edit import (
    Unwritable,
    add_list_items,
    add_skill_examples,
)
from router.flow.loader import Vocabulary, read_flow
from router.formats.strict_json import strict_json
from router.formats.yaml_document import Place
from router.skill.loader import FoundSkill, read_skill
from router.tool.implementation import FunctionImplementation
from router.tool.kinds.functions import tools_anew
from router.tool.mcp.file import ServerEntry
from router.tool.mcp.tools import ServerTool
from router.tool.registry import Registry
from router.tool.tool import Tool

_EXAMPLES = "examples"


class ExampleSource(Protocol):
    """A file that declares a capability."""

    @property
    def path(self) -> Path:
        """The file."""

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with these at the end of its examples; raises `Unwritable`."""

    def examples(self) -> Sequence[str]:
        """What the file has by now; raises `RouterError` where it can't be loaded."""


@dataclass(frozen=True)
class FlowSource:
    """A flow's file; what it calls is checked against what is `known` that it may name."""

    path: Path
    known: Vocabulary = field(default_factory=Vocabulary)

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with more of `triggers.examples`."""
        return add_list_items(text, ("triggers", _EXAMPLES), sentences)

    def examples(self) -> Sequence[str]:
        """What the flow has by now."""
        return read_flow(self.path, self.known).definition.triggers.examples


@dataclass(frozen=True)
class SkillSource:
    """A skill's `SKILL.md`."""

    path: Path

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with more lines of `router.examples`."""
        return add_skill_examples(text, sentences)

    def examples(self) -> Sequence[str]:
        """What the skill has by now."""
        return read_skill(self.path.parent).skill.examples


@dataclass(frozen=True)
class ModuleSource:
    """The Python `module` that a function is in, which is the tool of that `name`."""

    path: Path
    module: str
    name: str

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with more of `@tool(examples=[…])`."""
        return PythonText.read(text).with_examples(self.name, sentences)

    def examples(self) -> Sequence[str]:
        """What the tool has by now."""
        return next((t.examples for t in tools_anew(self.module) if t.name == self.name), ())


@dataclass(frozen=True)
class DeclarationFile:
    """A JSON file that declares the tool of an endpoint, or several; `load` reads its folder."""

    path: Path
    name: str
    load: Callable[[], Sequence[Tool]]

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with more of the tool's `examples`."""
        data = strict_json(text, unique=False)
        place: Place = (_EXAMPLES,)
        if isinstance(data, list):
            names = [each.get("name") for each in data if isinstance(each, dict)]
            place = (names.index(self.name), _EXAMPLES)
        return add_list_items(text, place, sentences)

    def examples(self) -> Sequence[str]:
        """What the tool has by now."""
        return next((tool.examples for tool in self.load() if tool.name == self.name), ())


@dataclass(frozen=True)
class ServerFile:
    """The JSON file of MCP servers, which says more of the `tool` of a `server`."""

    path: Path
    server: str
    tool: str
    load: Callable[[], Mapping[str, ServerEntry]]

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with more of `tools.<tool>.examples`."""
        data = strict_json(text, unique=False)
        around = ("mcpServers",) if isinstance(data, dict) and "mcpServers" in data else ()
        place = (*around, self.server, "tools", self.tool, _EXAMPLES)
        return add_list_items(text, place, sentences)

    def examples(self) -> Sequence[str]:
        """What the file says of the tool by now."""
        return self.load()[self.server].entry(self.tool).examples


@dataclass(frozen=True)
class ExampleSources:
    """Where everything that is used here is declared."""

    flows: Path
    """The folder of flow files, or the one file."""
    skills: Sequence[FoundSkill]
    registry: Registry
    declared: Callable[[], Sequence[Tool]]
    """Loads the tools of JSON files."""
    servers: Callable[[], Mapping[str, ServerEntry]]
    """Loads the file of MCP servers."""

    def of(self, capability: Capability) -> ExampleSource:
        """Its file; raises `Unwritable` where that kind of file has no place for examples."""
        if capability.kind == "flow":
            path = self.flows / f"{capability.name}.yaml" if self.flows.is_dir() else self.flows
            return FlowSource(path, self._vocabulary)
        if capability.kind == "skill":
            return SkillSource(self._files_of_skills[capability.name])
        return self._of_tool(self.registry[capability.name])

    def _of_tool(self, tool: Tool) -> ExampleSource:
        path, implementation = Path(tool.source.file), tool.implementation
        if isinstance(implementation, ServerTool):
            return ServerFile(path, implementation.server, implementation.called, self.servers)
        if isinstance(implementation, FunctionImplementation):
            return ModuleSource(path, implementation.function.__module__, tool.name)
        if implementation.kind == "http":
            return DeclarationFile(path, tool.name, self.declared)
        if implementation.kind != "openapi":
            raise Unwritable(
                f"{tool.name} is declared in no file that could have examples: its examples come "
                f"from where it comes from ({implementation.kind})"
            )
        raise Unwritable(
            f"{tool.name} is an operation that {path} selects from an OpenAPI document, and that "
            "format has no examples: declare it as an HTTP tool to give it some (docs/tools.md)"
        )

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.registry.parameters())

    @cached_property
    def _files_of_skills(self) -> Mapping[str, Path]:
        return {one.skill.name: one.file for one in self.skills}


def check_added(source: ExampleSource, before: Sequence[str], sentences: Sequence[str]) -> None:
    """Raise `InvalidInput` unless the file now loads, and has what it had and these behind it."""
    now = list(source.examples())
    if now != [*before, *sentences]:
        raise InvalidInput(f"it has {len(now)} examples then, not {len(before) + len(sentences)}")
