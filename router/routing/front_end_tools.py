"""Tools that come with a message: its front end makes their calls, and nobody else knows them.

They are a stranger's words until they are read: bounded, plain, with schemas that say everything by
themselves, and under names that mean nothing else here. What one finds is a stranger's too; what it
is called with goes to the person's own front end, which has shown them all that they were told.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from pydantic import ConfigDict, JsonValue

from router.domain.errors import FaultyValue, FieldProblem, InvalidInput
from router.domain.source_lines import SourceLine
from router.domain.value import Value
from router.domain.visible_text import visible
from router.formats.schema_check import PatternBudget
from router.routing.response_schema import ResponseSchema
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema, SchemaImplementation
from router.tool.tool import RESERVED, Tool, ToolOptions, titled

MOST_TOOLS = 32
"""Of one message."""
LONGEST_DESCRIPTION = 1_024
LONGEST = 32 * 1024
"""Characters of all of them as JSON: a model is told them with every question."""
MAX_SENT_CHARS = 2 * LONGEST
"""Of the parameters of all tools as they are sent, with definitions and comments."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NO_ARGUMENTS: Mapping[str, JsonValue] = {"type": "object", "properties": {}}
KIND = "front_end"


@dataclass(frozen=True)
class FrontEndImplementation(SchemaImplementation):
    """What isn't here at all: the arguments are checked, and the call is the front end's."""

    kind = KIND

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """Nobody can; raises `TypeError`."""
        del arguments, context, dependencies
        raise TypeError("the front end makes this call")


class FrontEndTool(Value):
    """One tool that came with a message, as `read` leaves it: sound by itself.

    >>> FrontEndTool(name="show_map", description="Shows a map.").tool.options.client
    True
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str = ""
    parameters: dict[str, JsonValue] = dict(NO_ARGUMENTS)

    @cached_property
    def tool(self) -> Tool:
        """The tool, as the house would have it: it is read, by the front end, and nobody's form."""
        implementation = FrontEndImplementation(ArgumentSchema(self.parameters, is_read=True))
        return Tool(
            name=self.name,
            title=titled(self.name),
            description=self.description,
            examples=(),
            permission="read",
            roles=frozenset(),
            confirm=False,
            idempotent=True,
            timeout=timedelta(),
            retries=0,
            implementation=implementation,
            source=SourceLine("the front end", 0),
            options=ToolOptions(client=True),
        )


@dataclass(frozen=True)
class SentTool:
    """A tool as it was sent, and in which fields: `InvalidInput` names those that are at fault."""

    where: str
    name: JsonValue
    description: JsonValue = None
    parameters: JsonValue = None

    def problems(self, taken: Collection[str]) -> Iterator[FieldProblem]:
        """What is wrong with its name and words, and what would be right."""
        name, about = self.name, self.description
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            why = f"{name!r:.80} is no name; use up to 64 letters, digits, `_` and `-`"
            yield FieldProblem(f"{self.where}.name", why)
        elif alike(name) in taken:
            why = f"{name!r} means something else here already; give yours another name"
            yield FieldProblem(f"{self.where}.name", why)
        if about is not None and not isinstance(about, str):
            yield FieldProblem(f"{self.where}.description", "isn't text")
        elif len(about or "") > LONGEST_DESCRIPTION:
            why = f"it has {len(about or '')} characters; at most {LONGEST_DESCRIPTION} are allowed"
            yield FieldProblem(f"{self.where}.description", why)

    def schema(self, budget: PatternBudget) -> dict[str, JsonValue]:
        """That of its arguments, without references; raises `ValueError` where it can't be used."""
        given = self.parameters
        if given is None or given == {}:
            return dict(NO_ARGUMENTS)
        if isinstance(given, dict) and "type" not in given:
            given = {"type": "object", **given}
        schema = ResponseSchema.read(given, budget).schema
        if any(_CONTROL.search(text) for text in _texts(schema)):
            raise FaultyValue("it has control characters", "only tab and newline are allowed")
        return schema


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _texts(inner)
    for inner in value if isinstance(value, list | dict) else ():
        yield from _texts(inner)


def alike(name: str) -> str:
    """The same for names that a reader, or a model, takes for one another."""
    return name.casefold().replace("-", "_")


def read(
    sent: Sequence[SentTool], house: Iterable[str], where: str = "tools"
) -> list[FrontEndTool]:
    """The tools that came in the field `where`, where none is called as something of the `house`.

    Raises `InvalidInput` with its problems: then none of them is offered to anybody. Where there
    are many, or much was sent, tools after the first of them aren't looked at.
    """
    if len(sent) > MOST_TOOLS:
        raise InvalidInput.at(where, f"there are {len(sent)} tools; send at most {MOST_TOOLS}")
    length = sum(len(json.dumps(one.parameters, ensure_ascii=False)) for one in sent)
    if length > MAX_SENT_CHARS:
        why = f"their parameters have {length} characters in all; send at most {MAX_SENT_CHARS}"
        raise InvalidInput.at(where, why)
    taken = {alike(name) for name in (*house, *RESERVED)}
    problems: list[FieldProblem] = []
    found: list[FrontEndTool] = []
    budget = PatternBudget()
    for one in sent:
        wrong = list(one.problems(taken))
        try:
            schema = one.schema(budget)
        except ValueError as error:
            wrong.append(FieldProblem(f"{one.where}.parameters", str(error)))
        if wrong:
            problems += wrong
            if len(problems) >= MAX_PROBLEMS:
                break
            continue
        about = visible(_CONTROL.sub("", str(one.description or "")))
        found.append(FrontEndTool(name=str(one.name), description=about, parameters=schema))
        taken.add(alike(str(one.name)))
    length = sum(len(tool.model_dump_json()) for tool in found)
    if length > LONGEST:
        problems.append(FieldProblem(where, f"{length} characters in all; send at most {LONGEST}"))
    if problems:
        said = "; ".join(f"{each.field}: {each.detail}" for each in problems[:MOST_SHOWN])
        raise InvalidInput(f"{said}.", problems)
    return found


MAX_PROBLEMS = 20
MOST_SHOWN = 5
"""Faults that the sentence names; all are in the list."""
