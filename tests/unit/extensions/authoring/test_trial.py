"""What tools answer in a trial, and a story that is written down from one."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, JsonValue, PlainSerializer, TypeAdapter

import flows
from router.domain.errors import ArgumentsToolError, InvalidInput
from router.extensions.authoring.trials.manuscript import PlayedStory, appended, piece
from router.extensions.authoring.trials.protocol import (
    PlayedCall,
    PlayedStep,
    PlayedTelling,
    PlayedTrial,
    TrialPlay,
    TrialStage,
    TrialStanding,
    TrialTool,
    made_up,
    stand_in,
)
from router.flow.definition import FlowDefinition
from router.flow.gallery import Gallery
from router.flow.language.expressions import evaluate, members_read, slots_read
from router.flow.loader import load_flow
from router.formats.yaml_document import read_yaml
from router.story.loader import read_stories
from router.tool.tool import Tool, tool
from tests.table import each_row
from tests.unit.story.test_story import BADGE, KNOWN

Written = Annotated[Decimal, PlainSerializer(str, return_type=str)]


class Badge(BaseModel):
    """A badge."""

    number: str
    colour: str | None
    doors: list[int]


def badge_tool() -> Tool:
    async def make_badge(name: Annotated[str, Field(description="Whose.")]) -> Badge:
        """Make a badge."""
        raise ArgumentsToolError(f"{name} is really given one")

    return tool(permission="write", roles=["flow"], timeout="2m")(make_badge)


@each_row(
    ("schema", "value"),
    [
        ({"type": "string"}, "example"),
        ({"type": "string", "format": "date"}, "2026-11-18"),
        ({"type": "string", "pattern": r"^\d+$"}, "10"),
        ({"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}, "10"),
        ({"type": "string", "pattern": "^(?=x)"}, "example"),
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, "CNY"),
        ({"type": "string", "enum": ["red", "blue"]}, "red"),
        ({"type": "string", "examples": ["R-7"]}, "R-7"),
        ({"const": 7}, 7),
        ({"type": "integer", "maximum": 3}, 3),
        ({"type": "number", "minimum": 20}, 20),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "integer"]}, 10),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "example"),
        ({"type": "array", "items": {"type": "integer"}}, [10]),
        ({"type": "array"}, []),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 10}),
        ({"properties": {"amount": {}, "currency": {}}}, {"amount": "10.00", "currency": "CNY"}),
        ({"allOf": [{"properties": {"a": {"const": 1}}}, {"type": "object"}]}, {"a": 1}),
        ({"$ref": "#/$defs/it", "$defs": {"it": {"const": "x"}}}, "x"),
        ({"$ref": "#/$defs/gone"}, None),
        ({}, None),
    ],
)
def test_an_answer_is_made_up_that_the_schema_admits(
    schema: dict[str, Any], value: JsonValue
) -> None:
    assert made_up(schema) == value


def test_a_schema_without_an_end_has_an_answer_with_one() -> None:
    endless = {"properties": {"next": {"$ref": "#"}}}
    assert made_up(endless) is not None


def test_of_a_tool_that_says_nothing_of_its_results_flows_are_asked() -> None:
    states = BADGE.model_dump(mode="json", by_alias=True)["states"]
    states["make"] |= {"save": "made"}
    states["tell_yes"]["say"] = {"zh": "{{ results.made.badge.number }}", "en": "Done"}
    flow = BADGE.model_validate(BADGE.model_dump(mode="json", by_alias=True) | {"states": states})
    said = TrialTool.of(badge_tool()).model_copy(update={"described": False})
    stage = TrialStage(flows=(flow,), people=(), tools=(said,))
    assert stage.answers() == {"make_badge": {"badge": {"number": "example"}}}


def test_what_a_tool_says_of_its_results_is_fitted_though_its_schema_says_less() -> None:
    class Priced(BaseModel):
        price: Written
        of: date

    async def price_badge() -> Priced:
        """Price a badge."""
        raise ArgumentsToolError("it is really priced")

    said = TrialTool.of(tool(permission="read")(price_badge))
    assert TypeAdapter(Priced).json_schema(mode="serialization")["properties"]["price"] == {
        "title": "Price",
        "type": "string",
    }
    assert said.answer == {"price": "10", "of": "2026-11-18"}


HOUSE = Path(flows.__file__).parent
FLOWS = [*(one.path for one in Gallery()), *sorted(HOUSE.glob("*.yaml"))]


@pytest.mark.slow
@each_row("path", FLOWS, ids=lambda path: path.stem)
def test_no_condition_breaks_over_what_is_made_up(path: Path) -> None:
    flow = load_flow(path)
    names = {name for state in flow.states.values() for name in state.tools.values()}
    said = TrialTool.of(badge_tool()).model_copy(update={"described": False})
    tools = tuple(said.model_copy(update={"name": name}) for name in names)
    answers = TrialStage(flows=(flow,), people=(), tools=tools).answers()
    results: dict[str, JsonValue] = {}
    for state in flow.states.values():
        for name in state.tools.values() if state.saves else ():
            results.setdefault(str(state.saves), answers[name])
    slots: dict[str, JsonValue] = {name: SLOTS.get(slot.type) for name, slot in flow.slots.items()}
    for source in conditions(flow):
        read = members_read(source, "results")
        if read and read <= results.keys() and all(slots[n] for n in slots_read(source)):
            scope: dict[str, JsonValue] = {
                "results": results,
                "slots": slots,
                "now": "2026-11-18T10:00:00+08:00",
            }
            assert isinstance(evaluate(source, scope, {}), bool), source


SLOTS: dict[str, JsonValue] = {
    "money": {"amount": "900.00", "currency": "CNY"},
    "number": 3.0,
    "integer": 3,
    "date": "2026-11-30",
    "text": "x",
    "choice": "x",
}


def conditions(flow: FlowDefinition) -> Iterator[str]:
    for state in flow.states.values():
        for branches in state.exits().values():
            yield from (branch.condition for branch in branches if branch.condition)


async def test_a_stand_in_is_what_is_said_of_the_tool_and_never_the_tool() -> None:
    said = TrialTool.of(badge_tool())
    other = stand_in(said, {"number": "B7"})
    assert (other.name, other.writes, other.roles) == ("make_badge", True, frozenset({"flow"}))
    assert other.implementation.problems({}) == ["arguments: 'name' is a required property"]
    nobody: Any = None
    assert await other.call({"name": "bob"}, nobody, nobody) == {"number": "B7"}
    assert other.timeout == timedelta(seconds=10)


def standing(status: str, state: str, **more: Any) -> TrialStanding:
    about = {"slots": {}, "awaiting": (), "approvers": ()} | more
    return TrialStanding(flow="badge", status=status, state=state, **about)


def said(text: str) -> tuple[dict[str, JsonValue], ...]:
    return ({"type": "text", "text": text},)


STEPS: tuple[dict[str, JsonValue], ...] = (
    {"user": "I need a badge: #1"},
    {"tool_fails": {"find_badge": "permanent"}},
    {"approver": {"bob": "approve"}},
    {"after": "P1D"},
)
FIRST = standing("confirming", "review", slots={"name": "bob", "id": "a7"})
MADE = standing("completed", "tell_yes")


def trial(id_: str) -> PlayedTrial:
    first = FIRST.model_copy(update={"slots": {"name": "bob", "id": id_}})
    called = {"name": "bob", "id": id_}
    steps = (
        PlayedStep(said=said(f"Badge {id_} is for bob.\nShall I?"), standing=first),
        PlayedStep(standing=first),
        PlayedStep(
            said=said(f"Done: {id_}"),
            calls=(PlayedCall(tool="make_badge", arguments=called, result={"number": 7}),) * 2,
            standing=MADE,
        ),
        PlayedStep(told=(PlayedTelling(person="bob", how="reminded"),), standing=MADE),
    )
    return PlayedTrial(steps=steps, standing=MADE, failed=None)


PLAYED = PlayedStory(
    "a badge: made",
    TrialPlay(user="alice", steps=STEPS),
    trial("a7"),
    trial("b8"),
    {"make_badge": {"number": 7}, "find_badge": None},
)
WRITTEN = """\
- story: "a badge: made"
  user: alice
  tool_answers: {make_badge: {number: 7}}
  steps:
    - user: "I need a badge: #1"
    - bot: "Shall I?"
    - expect: {flow: badge, status: confirming, state: review, slots: {name: bob}}
    - tool_fails: {find_badge: permanent}
    - approver: {bob: approve}
    - expect: {status: completed, state: tell_yes}
    - tool: make_badge
      with: {name: bob}
    - after: P1D
    - told: bob
      how: reminded
"""


def test_what_came_out_twice_is_expected_and_nothing_else() -> None:
    assert appended("", PLAYED.entry()) == WRITTEN


def test_a_written_story_is_one() -> None:
    stories, faults = read_stories(read_yaml(WRITTEN), "badge.yaml", KNOWN)
    assert ([each.name for each in stories], faults) == (["a badge: made"], [])


OLD = "- story: a\n  steps: [{user: x}]"


@each_row(
    "stories",
    [
        OLD,
        f"{OLD}\n",
        f"# of old\n{OLD}\n\n# the last word\n",
        "  - story: a\n    steps: [{user: x}]\n",
        "- a: [{user: x}]\n",
        "\ufeff- story: a\n  steps: [{user: x}]\n",
        "- story: a\r\n  steps: [{user: x}]\r\n",
    ],
)
def test_what_was_there_stays_to_the_byte(stories: str) -> None:
    whole = appended(stories, PLAYED.entry())
    assert whole.startswith(stories)
    assert read_yaml(whole).data[-1] == PLAYED.entry()


@each_row(
    ("stories", "why"),
    [
        ("a: [{user: x}]\n", "at the end of a list"),
        ("[{story: a, steps: [{user: x}]}]\n", "at the end of a list"),
        (f"{OLD}\n...\n", "at the end of a list"),
        (f"{OLD}\n---\n", "stories:"),
        ("- story: [", "stories: 1:"),
        ('- story: "a badge: made"\n  steps: [{user: x}]\n', "title: there is a story"),
        ('- "a badge: made": [{user: x}]\n', "title: there is a story"),
    ],
)
def test_where_no_story_can_be_put_it_says_why(stories: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        appended(stories, PLAYED.entry())


@each_row(
    "text",
    ["yes", "no", "~", "1", "1e3", "- a", "a: b", "a #b", "'", '"', "\n", "\u2028", "{a", "=", ""],
)
def test_any_text_is_written_so_that_it_is_read_again(text: str) -> None:
    entry: dict[str, JsonValue] = {"story": "a", "steps": [{"user": text, "with": {text: [text]}}]}
    assert read_yaml(appended("", entry)).data == [entry]


@each_row(
    ("text", "other", "found"),
    [
        ("Please confirm:\n3 days", "Please confirm:\n3 days", "3 days"),
        ("Please confirm:", "Please confirm:", "Please confirm:"),
        ("/a.b/", "/a.b/", None),
        ("no. a7", "no. b8", None),
        ("长" * 60, "长" * 60, "长" * 48),
        ("a long sentence that goes on and on until nobody reads it",) * 2
        + ("a long sentence that goes on and on until",),
        ("", "", None),
    ],
)
def test_a_piece_is_short_and_telling(text: str, other: str, found: str | None) -> None:
    assert piece(text, other) == found
