"""Where a capability is declared, with its examples: which file, and how they go into it.

Each kind of file is a class: it puts sentences into the file's text, and reads with the loader of
the house what the file then says.
"""

from collections.abc import Mapping, Sequence
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
from router.skill.loader import FoundSkill, read_skill
from router.tool.example_place import ExamplePlace
from router.tool.implementation import FunctionImplementation
from router.tool.kinds import ToolSources
from router.tool.kinds.functions import tools_anew
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
class PlaceSource:
    """A JSON file that declares a tool, as the source of the tool knows it."""

    place: ExamplePlace

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    def changed(self, text: str, sentences: Sequence[str]) -> str:
        """Its text with more of the tool's examples."""
        return add_list_items(text, self.place.find(strict_json(text, unique=False)), sentences)

    def examples(self) -> Sequence[str]:
        """What the tool has by now."""
        return self.place.read()


@dataclass(frozen=True)
class ExampleSources:
    """Where everything that is used here is declared."""

    flows: Path
    """The folder of flow files, or the one file."""
    skills: Sequence[FoundSkill]
    tools: ToolSources

    def of(self, capability: Capability) -> ExampleSource:
        """Its file; raises `Unwritable` where that kind of file has no place for examples."""
        if capability.kind == "flow":
            path = self.flows / f"{capability.name}.yaml" if self.flows.is_dir() else self.flows
            return FlowSource(path, self._vocabulary)
        if capability.kind == "skill":
            return SkillSource(self._files_of_skills[capability.name])
        return self._of_tool(self.tools.registry[capability.name])

    def _of_tool(self, tool: Tool) -> ExampleSource:
        path, implementation = Path(tool.source.file), tool.implementation
        if isinstance(implementation, FunctionImplementation):
            return ModuleSource(path, implementation.function.__module__, tool.name)
        if place := self.tools.find_examples(tool):
            return PlaceSource(place)
        raise Unwritable(
            f"{tool.name} ({implementation.kind}) is declared in no file that could have examples: "
            "declare it as an HTTP tool to give it some (docs/tools.md)"
        )

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.of(self.tools.registry.parameters())

    @cached_property
    def _files_of_skills(self) -> Mapping[str, Path]:
        return {one.skill.name: one.file for one in self.skills}


def check_added(source: ExampleSource, before: Sequence[str], sentences: Sequence[str]) -> None:
    """Raise `InvalidInput` unless the file now loads, and has what it had and these behind it."""
    now = list(source.examples())
    if now != [*before, *sentences]:
        raise InvalidInput(f"it has {len(now)} examples then, not {len(before) + len(sentences)}")
