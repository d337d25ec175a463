"""A flow's text looked at while somebody writes it: what is wrong and where, and its picture."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue, WithJsonSchema

from router.domain.configuration_documents import LONGEST_NAME
from router.domain.errors import FaultyValue, Problem, RouterError
from router.domain.locale import Locale, Localised
from router.drawing.flowchart import EXITS, Graph, graph_of, named
from router.drawing.svg import can_be_drawn, svg_of
from router.extensions.authoring.drafts import LARGEST_STORIES, LARGEST_TEXT
from router.extensions.authoring.worded_checks import currency_in, worded
from router.flow.catalog import behaviour
from router.flow.definition import FlowDefinition
from router.flow.loader import FlowFile, UnmadeFlow, Vocabulary, looked_at, sub_flow_faults
from router.flow.slot_types.slot import Slot, label_of
from router.flow.validation.phrases import said_in
from router.formats.yaml_document import Place, YamlDocument
from router.understanding.triggers.patterns import rivalries

MOST_TOLD = 200
"""Problems, and remarks, of one examination: nobody mends more at a sitting."""
MOST_TRIED = 200
"""Examples of a flow that are tried against the others as one types."""


def _bounded(most: int) -> AfterValidator:
    def check(text: str) -> str:
        if "\0" in text:
            raise ValueError("it has the character U+0000, which no database keeps")
        if (size := len(text.encode())) > most:
            raise FaultyValue(f"it has {size} bytes", f"{most} are the most")
        return text

    return AfterValidator(check)


def _schema(most: int) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "maxLength": most, "pattern": "^[^\\x00]*$"})


FlowFileText = Annotated[str, _bounded(LARGEST_TEXT), _schema(LARGEST_TEXT)]
"""What would stand in a flow file, to the byte."""
StoryFileText = Annotated[str, _bounded(LARGEST_STORIES), _schema(LARGEST_STORIES)]
"""What would stand in a file of stories, to the byte; empty for none."""
DraftName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9]*(?:_+[a-z0-9]+)*$", max_length=LONGEST_NAME)
]
"""What a flow may be called."""


class PlacedProblem(BaseModel):
    """Something to be said of a place in the file."""

    place: list[str | int]
    """Keys and numbers from the outside in; of what isn't there the place where it should be."""
    line: int
    what: str
    remedy: str


class GraphNode(BaseModel):
    """A state."""

    id: str
    """Its name in the file, which the picture has as `data-state`."""
    kind: str
    label: str
    """What people call it, else its name."""
    detail: str
    """What it does."""
    end: str | None
    """How the flow ends there, as the file has it."""


class GraphEdge(BaseModel):
    """A way from one state to another. The picture has `source way target` as `data-edge`."""

    source: str
    target: str
    way: str
    """The key of the state by which it is left, or `parallel`."""
    label: str
    """When it is taken, in words where the file has any."""
    place: list[str | int]
    """Where the name of the target stands."""


class FlowGraph(BaseModel):
    """The states and the ways between them, in the order of the file."""

    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []


class CheckInWords(BaseModel):
    """A check of a slot whose expression is one that words are known for."""

    place: list[str | int]
    """Of the expression."""
    check: str
    """Its name in the vocabulary."""
    values: dict[str, int | float | str]
    """Its parameters."""
    words: str
    """The whole of it, slots by what they are called."""


class Examination(BaseModel):
    """What is to be said of a flow's text."""

    problems: list[PlacedProblem]
    """What keeps it from being used."""
    remarks: list[PlacedProblem]
    """What might be better."""
    data: dict[str, JsonValue] | None
    """What the file says; null where it can't be read, or is no mapping."""
    checks: list[CheckInWords]
    """The checks of its slots that can be said in words; of others there is the expression."""
    graph: FlowGraph
    picture: str | None
    """SVG; null where there is nothing to draw, or more than can be looked at."""


@dataclass(frozen=True)
class Surroundings:
    """What a tenant's flow stands among."""

    flows: Mapping[str, FlowDefinition] = field(default_factory=dict)
    """All that the tenant has, the one that is looked at among them perhaps."""
    known: Vocabulary = field(default_factory=Vocabulary)
    roles: frozenset[str] | None = None
    """Those that somebody holds; None where that isn't known."""


def examination_of(flow: str, text: str, around: Surroundings, locale: Locale) -> Examination:
    """What is to be said of the text, whatever it is; its author decides how long it takes.

    `flow` is what the flow is to be called.
    """
    file = looked_at(Path(f"{flow}.yaml"), text, around.known)
    data = _data_of(file.document)
    if isinstance(file, UnmadeFlow):
        return Examination(
            problems=[_placed(problem, data, locale) for problem in file.problems[:MOST_TOLD]],
            remarks=[],
            data=data,
            checks=[],
            graph=FlowGraph(),
            picture=None,
        )
    beside = [*_beside(file, around)]
    problems = [*file.problems, *(problem for kind, problem in beside if kind == "problem")]
    remarks = [*_remarks(file, around), *(problem for kind, problem in beside if kind == "remark")]
    graph = graph_of(file.definition, locale)
    return Examination(
        problems=[_placed(problem, data, locale) for problem in problems[:MOST_TOLD]],
        remarks=[_placed(problem, data, locale) for problem in remarks[:MOST_TOLD]],
        data=data,
        checks=list(_checks(file.definition, locale)),
        graph=_graph(file, graph, locale),
        picture=svg_of(graph) if can_be_drawn(graph) else None,
    )


def unexamined(why: RouterError, locale: Locale) -> Examination:
    """Return the examination of a text that couldn't be examined: that is its one problem."""
    zh, en = "没能检查这份流程", "this text wasn't examined"
    what = Localised(zh=zh, en=en).within(locale)
    problem = PlacedProblem(place=[], line=1, what=what, remedy=why.said.within(locale))
    return Examination(
        problems=[problem], remarks=[], data=None, checks=[], graph=FlowGraph(), picture=None
    )


def _placed(problem: Problem, data: Any, locale: Locale) -> PlacedProblem:
    return PlacedProblem(
        place=_written(data, problem.place),
        line=problem.line,
        what=said_in(locale, problem.what),
        remedy=said_in(locale, problem.remedy),
    )


def _written(data: Any, place: Place) -> list[str | int]:
    """The place as it is in the file, where `by: …` may stand for a list of one."""
    found: list[str | int] = []
    for part in place:
        if isinstance(part, int) and not isinstance(data, list):
            break
        found.append(part)
        data = _below(data, part)
    return found


def _below(data: Any, part: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    within = isinstance(data, list) and isinstance(part, int) and part < len(data)
    return data[part] if within else None


def _data_of(document: YamlDocument | None) -> dict[str, JsonValue] | None:
    data = document.data if document is not None else None
    return data if isinstance(data, dict) else None


JudgedProblem = tuple[Literal["problem", "remark"], Problem]


def _beside(file: FlowFile, around: Surroundings) -> Iterator[JudgedProblem]:
    """What is to be said of it beside the tenant's other flows."""
    flow = file.definition
    merged = {**around.flows, flow.flow: flow}
    for place, fault in sub_flow_faults(flow, merged):
        yield "problem", file.problem(place, *fault)
    # Patterns that aren't sound can't be tried, nor those of a flow that bears another's name.
    is_named = flow.flow == file.path.stem
    if not file.has_sound_triggers or not is_named or len(flow.triggers.examples) > MOST_TRIED:
        return
    for rivalry in rivalries(merged.values()):
        if flow.flow in {rivalry.flow, rivalry.by}:
            place, what, remedy = rivalry.told(merged[rivalry.flow])
            # Of another's example it is the patterns here that are at fault.
            here = place if rivalry.flow == flow.flow else ("triggers", "patterns")
            is_wrong = rivalry.kind == "taken"
            yield "problem" if is_wrong else "remark", file.problem(here, what, remedy)


def _remarks(file: FlowFile, around: Surroundings) -> Iterator[Problem]:
    yield from file.remarks(around.roles)
    flow, before = file.definition, around.flows.get(file.path.stem)
    if before is not None and not file.problems and _needs_a_version(flow, before):
        what = f"it does something else than the version {before.version} that is in use"
        remedy = f"write version: {before.version + 1}; runs under way keep theirs"
        yield file.problem(("version",), what, remedy)


def _checks(flow: FlowDefinition, locale: Locale) -> Iterator[CheckInWords]:
    labels = {name: f"“{label_of(name, slot).within(locale)}”" for name, slot in flow.slots.items()}
    for name, slot in flow.slots.items():
        yield from _checks_of(("slots", name), slot, f"slots.{name}", locale, labels)


def _checks_of(
    place: Place, slot: Slot, value: str, locale: Locale, labels: Mapping[str, str]
) -> Iterator[CheckInWords]:
    currency = currency_in((each.that for each in slot.check), value)
    for key, checks in (("check", slot.check), ("warn", slot.warn)):
        for number, check in enumerate(checks):
            for known, given in islice(worded(check.that, value, slot.type), 1):
                shown = {
                    name: labels.get(str(each), each) if kind == "slot" else each
                    for name, kind in known.parameters.items()
                    for each in [given[name]]
                }
                yield CheckInWords(
                    place=[*place, key, number, "that"],
                    check=known.name,
                    values=given,
                    words=known.words(shown, currency).within(locale),
                )
    inner = slot.of if slot.of is not None else slot
    within = (*place, "of", "fields") if slot.of is not None else (*place, "fields")
    for name, field_ in inner.fields.items():
        yield from _checks_of((*within, name), field_, f"item.{name}", locale, labels)


def _needs_a_version(flow: FlowDefinition, before: FlowDefinition) -> bool:
    return flow.version <= before.version and behaviour(flow) != behaviour(before)


def _graph(file: FlowFile, drawn: Graph, locale: Locale) -> FlowGraph:
    states = file.definition.states
    nodes = [
        GraphNode(
            id=node.name,
            kind=node.kind,
            label=(words.within(locale) if (words := states[node.name].name) else node.name),
            detail="\n".join([*node.lines, *node.timers]),
            end=node.end,
        )
        for node in drawn.nodes
    ]
    return FlowGraph(nodes=nodes, edges=list(_edges(file, locale)))


def _edges(file: FlowFile, locale: Locale) -> Iterator[GraphEdge]:
    for name, state in file.definition.states.items():
        here: Place = ("states", name)
        for way, branches in state.exits().items():
            is_short = isinstance(_at(file.document.data, (*here, way)), str)
            for number, branch in enumerate(branches):
                condition = branch.name.within(locale) if branch.name else branch.condition or ""
                event = named(EXITS, way, locale)
                yield GraphEdge(
                    source=name,
                    target=branch.to,
                    way=way,
                    label=("：" if locale == "zh" else ": ").join(filter(None, [event, condition])),
                    place=[*here, way] if is_short else [*here, way, number, "to"],
                )
        for number, target in enumerate(state.batch.branches if state.batch else ()):
            yield GraphEdge(
                source=name,
                target=target,
                way="parallel",
                label="",
                place=[*here, "parallel", number],
            )


def _at(data: Any, place: Place) -> Any:
    for part in place:
        data = _below(data, part)
    return data
