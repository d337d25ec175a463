"""Any tool as a form, and what it asks back."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, JsonValue

from router import routing
from router.contracts import activities
from router.contracts.payload import ActivityStub
from router.domain.errors import Elicitation
from router.domain.locale import Locale, Localised
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Confirmed, Failed
from router.flow.engine.run import Inquiry
from router.flow.prompts.question import question
from router.routing.tool_form import (
    DEEPEST,
    MOST_FIELDS,
    Unaskable,
    askable,
    form_of,
    inquiry_of,
    obstacle,
    slot_of,
)
from router.tool.implementation import FunctionImplementation
from router.tool.tool import RESERVED, Tool, tool
from tests.unit.flow.definitions import Driver
from tests.unit.routing.samples import get_balance, take_note

TEXT: JsonValue = {"type": "string"}


class Guest(BaseModel):
    """Somebody who comes."""

    name: str
    age: int


class Room(BaseModel):
    """Where."""

    floor: int
    note: str | None = None


@tool(permission="read")
async def invite(guests: list[Guest], room: Room) -> int:
    """Invite people."""
    return len(guests) + room.floor


@tool(permission="read")
async def tag(words: Annotated[list[str], Field(description="words to add")]) -> int:
    """Tag something."""
    return len(words)


def form(tool: Tool) -> FlowDefinition:
    made = form_of(tool)
    assert made is not None
    return made


def test_a_tool_that_reads_asks_for_its_arguments_and_tells_what_it_found() -> None:
    driver = Driver(form(get_balance)).begin()
    assert driver.run.asked == "kind"
    driver.take(Answered(by="alice", slots={"kind": "annual"}))
    assert driver.world.calls[0][:2] == ("get_balance", {"kind": "annual"})
    assert driver.run.status == "completed"
    assert driver.said == ["days: 10"]


def test_a_tool_that_writes_is_confirmed_first() -> None:
    driver = Driver(form(take_note)).begin(text="buy milk")
    before = driver.run.status, list(driver.world.calls)
    driver.take(Confirmed(by="alice", value=True))
    assert before == ("confirming", [])
    assert driver.run.status == "completed"
    assert driver.world.calls[0][1] == {"text": "buy milk"}


async def _is_free(room: str) -> None:
    """Whether the room is free; the form's tests answer for it."""


@tool(permission="write", check=_is_free, title={"zh": "订会议室", "en": "Book a room"})
async def book(room: str, note: str = "") -> str:
    """Book a room."""
    return f"{room}{note}"


def test_a_write_is_checked_before_it_is_confirmed() -> None:
    driver = Driver(form(book)).begin(room="A1")
    assert (driver.run.status, driver.world.calls) == ("confirming", [])
    assert driver.world.checks == [("book", {"room": "A1"})]


def test_what_other_arguments_would_mend_is_asked_for_again() -> None:
    driver = Driver(form(book))
    driver.world.refusing["book"] = Failed(task="", error="room: A1 is taken", kind="arguments")
    driver.begin(room="A1")
    assert driver.said == ["That can't be done: room: A1 is taken"]
    assert (driver.run.status, driver.run.asked) == ("collecting", "change")
    driver.world.refusing.clear()
    driver.take(Answered(by="alice", slots={"change": "room"}))
    assert driver.run.asked == "room"
    driver.take(Answered(by="alice", slots={"room": "B2"}))
    assert (driver.run.status, driver.world.checks[-1][1]) == ("confirming", {"room": "B2"})


def test_what_nothing_would_mend_ends_the_form_before_anything_is_confirmed() -> None:
    driver = Driver(form(book))
    driver.world.refusing["book"] = Failed(task="", error="the house is closed")
    driver.begin(room="A1")
    assert (driver.run.status, driver.world.calls) == ("failed", [])
    assert driver.said == ["That didn't work: the house is closed"]


def test_a_form_that_asks_nothing_ends_whatever_its_check_says() -> None:
    async def open_now() -> None:
        """Whether it is open."""

    @tool(permission="write", check=open_now)
    async def ring() -> None:
        """Ring the bell."""

    driver = Driver(form(ring))
    driver.world.refusing["ring"] = Failed(task="", error="not now", kind="arguments")
    driver.begin()
    assert (driver.run.status, driver.world.calls) == ("failed", [])


def test_a_write_that_takes_nothing_is_confirmed_too() -> None:
    @tool(permission="write")
    async def ring() -> None:
        """Ring the bell."""

    driver = Driver(form(ring)).begin()
    before = driver.run.status, list(driver.world.calls), list(driver.said)
    driver.take(Confirmed(by="alice", value=True))
    assert before == ("confirming", [], [])
    assert [name for name, *_ in driver.world.calls] == ["ring"]


def test_values_for_a_form_that_takes_none_leave_its_confirmation_as_it_is() -> None:
    @tool(permission="write")
    async def ring() -> None:
        """Ring the bell."""

    driver = Driver(form(ring)).begin(loud=True)
    assert driver.run.status == "confirming"
    driver.take(Answered(by="alice", slots={"loud": True}))
    assert (driver.run.status, driver.world.calls) == ("confirming", [])


def test_declining_does_nothing() -> None:
    driver = Driver(form(take_note)).begin(text="buy milk")
    driver.take(Confirmed(by="alice", value=False))
    assert (driver.run.status, driver.world.calls) == ("cancelled", [])


def test_what_was_said_already_is_not_asked_again() -> None:
    assert Driver(form(get_balance)).begin(kind="sick").run.status == "completed"


def test_a_failed_call_says_so() -> None:
    driver = Driver(form(get_balance))
    driver.world.failing["get_balance"] = "no such year"
    driver.begin(kind="sick")
    assert driver.run.status == "failed"
    assert "no such year" in driver.said[0]


@pytest.mark.parametrize(
    ("locale", "words"),
    [
        ("zh", ["可能已经生效，也可能没有", "不会自己再试", "系统里查"]),
        ("en", ["may or may not have been done", "won't try it again", "look in the system"]),
    ],
)
def test_where_nobody_knows_whether_it_was_done_that_is_what_is_said(
    locale: Locale, words: list[str]
) -> None:
    driver = Driver(form(take_note))
    driver.run.locale = locale
    driver.begin(text="buy milk")
    driver.take(Confirmed(by="alice", value=True), answer=False)
    (task,) = driver.run.tasks
    driver.take(Failed(task=task, error="no answer came", kind="unknown"))
    assert (driver.run.status, driver.run.tasks) == ("failed", {})
    (said,) = driver.said
    assert all(word in said for word in [*words, "no answer came"])
    assert "没办成" not in said
    assert "didn't work" not in said


def test_a_refused_write_is_said_to_have_failed() -> None:
    driver = Driver(form(take_note))
    driver.world.failing["take_note"] = "the book is full"
    driver.begin(text="buy milk").take(Confirmed(by="alice", value=True))
    assert driver.said == ["That didn't work: the book is full"]


def test_a_tool_whose_arguments_fit_no_form_has_none() -> None:
    @tool(permission="read")
    async def match(wanted: dict[str, str]) -> str:
        """Match."""
        return str(wanted)

    assert form_of(match) is None
    assert obstacle(match) == "no form field fits wanted (an object of any fields)"


def test_a_form_is_open_to_whoever_may_call_the_tool() -> None:
    made: Any = form(get_balance)
    assert made.triggers.roles == get_balance.roles


def test_a_list_of_objects_is_asked_for_item_by_item_and_given_whole() -> None:
    driver = Driver(form(invite)).begin()
    asked = []
    for path, value in (
        ("guests.0.name", "Bob"),
        ("guests.0.age", 7),
        ("guests.more", False),
        ("room.floor", 3),
    ):
        asked.append(driver.run.asked)
        driver.take(Answered(by="alice", slots={path: value}))
    assert asked == ["guests.0.name", "guests.0.age", "guests", "room.floor"]
    assert driver.world.calls[0][1] == {
        "guests": [{"name": "Bob", "age": 7}],
        "room": {"floor": 3},
    }


def test_a_list_of_plain_values_is_asked_for_with_a_hint_and_may_come_whole() -> None:
    driver = Driver(form(tag)).begin()
    asked = question(driver.definition, driver.run)
    assert asked is not None
    assert asked.text == "Words to add? (Several may be named at once: a, b and c.)"
    driver.take(Answered(by="alice", slots={"words": ["a", "b"]}))
    assert driver.world.calls[0][1] == {"words": ["a", "b"]}


def test_an_argument_with_a_name_of_its_own_is_called_by_it() -> None:
    class Declared(FunctionImplementation):
        @property
        def parameters(self) -> dict[str, JsonValue]:
            return {"properties": {"in": TEXT, "file-path": TEXT}, "required": ["in", "file-path"]}

    implementation = tag.implementation
    assert isinstance(implementation, FunctionImplementation)
    declared = Declared(implementation.signature, implementation.function)
    driver = Driver(form(replace(tag, implementation=declared))).begin(in_="here")
    assert driver.run.asked == "file_path"
    driver.take(Answered(by="alice", slots={"file_path": "/a"}))
    assert driver.world.calls[0][1] == {"in": "here", "file-path": "/a"}


def test_another_value_that_was_announced_and_thought_better_of_leaves_no_gap() -> None:
    driver = Driver(form(tag)).begin()
    for slots in ({"words.0": "a"}, {"words.more": True}, {"words.more": False}):
        driver.take(Answered(by="alice", slots=slots))
    assert driver.world.calls[0][1] == {"words": ["a"]}


def test_two_dates_that_are_ends_by_their_names_are_said_in_one_breath() -> None:
    @tool(permission="read")
    async def count(start: date, end: date, label: str = "") -> int:
        """Count days."""
        return (end - start).days

    form = form_of(count)
    assert form is not None
    parts = {name: slot.part_of_range for name, slot in form.slots.items()}
    assert parts == {"start": "start", "end": "end", "label": None}


def test_one_date_alone_is_no_range() -> None:
    @tool(permission="read")
    async def look(start: date) -> str:
        """Look."""
        return str(start)

    form = form_of(look)
    assert form is not None
    assert form.slots["start"].part_of_range is None


STRING: dict[str, Any] = {"type": "string"}
POINT: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "note": STRING},
    "required": ["x"],
}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (STRING, "text"),
        ({"type": ["string", "null"]}, "text"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer"),
        ({"oneOf": [{"type": "number"}]}, "number"),
        ({"anyOf": [{"type": "number"}, STRING]}, "number"),
        ({"allOf": [{"$ref": "#/$defs/Day"}]}, "date"),
        ({"$ref": "#/$defs/Day"}, "date"),
        ({"$ref": "#/$defs/Again"}, "date"),
        ({"enum": ["a", "b"]}, "choice"),
        ({"enum": ["a", None]}, "choice"),
        ({"const": "a"}, "choice"),
        ({"type": "integer", "enum": [1, 2]}, "integer"),
        ({"type": "array", "items": STRING}, "list"),
        ({"type": "array", "items": {"$ref": "#/$defs/Point"}}, "list"),
        (POINT, "object"),
        ({"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}, "object"),
    ],
)
def test_each_kind_of_value_is_asked_for_as_what_it_is(schema: Any, kind: str) -> None:
    definitions = {
        "Day": {"type": "string", "format": "date"},
        "Again": {"$ref": "#/$defs/Day"},
        "Point": POINT,
    }
    slot = slot_of("what", schema, required=True, within={"$defs": definitions})
    assert slot.type == kind


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = STRING
    for _ in range(levels):
        inner = {"type": "object", "properties": {"in": inner}, "required": ["in"]}
    return inner


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "any kind of value"),
        (None, "any kind of value"),
        ({"$ref": "#/$defs/Loop"}, "any kind of value"),
        ({"$ref": "https://example.com/schema"}, "any kind of value"),
        ({"anyOf": [STRING, {"type": "boolean"}]}, "any kind of value"),
        ({"type": ["string", "number"]}, "a value of several kinds"),
        ({"enum": [1, "a"]}, "aren't texts"),
        ({"enum": []}, "aren't texts"),
        ({"type": "object"}, "an object of any fields"),
        ({"type": "object", "additionalProperties": STRING}, "an object of any fields"),
        (
            {"type": "object", "properties": {"a.b": STRING}, "required": ["a.b"]},
            "a.b: a name that",
        ),
        (
            {"type": "object", "properties": {"0": STRING}, "required": ["0"]},
            "0: a name that",
        ),
        (
            {
                "type": "object",
                "properties": {f"f{n}": STRING for n in range(MOST_FIELDS + 1)},
            },
            "21",
        ),
        ({"type": "array"}, "aren't all of one kind"),
        (
            {"type": "array", "prefixItems": [STRING], "items": STRING},
            "aren't all of one kind",
        ),
        ({"type": "array", "items": {"type": "array", "items": STRING}}, "a list within"),
        ({"type": "array", "items": nested(2)}, "in: an object that is nested too deep"),
        (nested(DEEPEST + 2), "an object that is nested too deep"),
        ({"$ref": "#/$defs/Tree"}, "too deep"),
    ],
)
def test_what_cannot_be_asked_for_says_why(schema: Any, why: str) -> None:
    tree = {"type": "object", "properties": {"of": {"$ref": "#/$defs/Tree"}}, "required": ["of"]}
    within = {"$defs": {"Loop": {"$ref": "#/$defs/Loop"}, "Tree": tree}}
    with pytest.raises(Unaskable, match=why):
        slot_of("what", schema, required=True, within=within)


def test_what_is_not_needed_and_cannot_be_asked_for_is_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {"name": STRING, "extra": {"type": "object"}},
    }
    assert list(slot_of("what", schema, required=True).fields) == ["name"]


def test_a_list_has_at_least_one_item_and_no_more_than_anybody_would_say() -> None:
    def bounds(**more: int) -> tuple[int, int]:
        slot = slot_of("what", {"type": "array", "items": STRING, **more}, required=True)
        return slot.min, slot.max

    assert bounds() == (1, 20)
    assert bounds(minItems=2, maxItems=3) == (2, 3)
    assert bounds(minItems=0, maxItems=10_000) == (1, 50)


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("from", "from"),
        ("file-path", "file_path"),
        ("in", "in_"),
        ("null", "null_"),
        ("change", "change_"),
        ("more", "more_"),
        ("a.b", "a_b"),
        ("x ? slots.y : 1 //", "x_slots_y_1"),
        ("1st", "argument1st"),
        ("日期", "argument"),
        ("", "argument"),
    ],
)
def test_a_name_that_no_expression_can_carry_gets_another_and_is_called_by_its_own(
    name: str, alias: str
) -> None:
    found = askable({"properties": {name: STRING}, "required": [name]})
    assert list(found.slots) == [alias]
    assert found.arguments == {alias: name}


def test_names_that_come_to_the_same_stay_apart() -> None:
    found = askable({"properties": {"a-b": STRING, "a_b": STRING, "a.b": STRING}})
    assert found.arguments == {"a_b_2": "a-b", "a_b": "a_b", "a_b_3": "a.b"}


def functions_of(module: ModuleType) -> Iterator[str]:
    """The names of the functions that a module makes, wherever a constant says one."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = {
                "function": node.args[:1],
                "Function": [each.value for each in node.keywords if each.arg == "name"],
            }
            for name in named.get(node.func.id, []):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield getattr(module, name.id)


def test_functions_of_the_protocol_and_activities_are_reserved_and_nothing_else() -> None:
    modules = [each.name for each in pkgutil.iter_modules(routing.__path__)]
    made = (functions_of(importlib.import_module(f"router.routing.{name}")) for name in modules)
    functions = {name for names in made for name in names}
    ours = {each.name for each in vars(activities).values() if isinstance(each, ActivityStub)}
    assert functions | ours == RESERVED


BOOK = Localised(zh="订座", en="Book a seat")


def asked(*fields: dict[str, Any], taken: tuple[str, ...] = (), **about: Any) -> Inquiry | None:
    """One question for each set of fields."""
    each = [
        Elicitation(key=f"k{n}", message="Which seat?", schema_={"properties": one, **about})
        for n, one in enumerate(fields)
    ]
    return inquiry_of(each, BOOK, "call", taken)


def test_it_says_who_asks_what_in_both_languages() -> None:
    inquiry = asked({"seat": {"type": "string"}})
    assert inquiry is not None
    assert inquiry.say == Localised(
        zh="“订座”想先问你：Which seat?", en="Book a seat asks you first: Which seat?"
    )


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "email"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "number"}, "number"),
        ({"type": "integer", "minimum": 1}, "integer"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string", "enum": ["a", "b"]}, "choice"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, "choice"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "choice"),
    ],
)
def test_every_plain_field_has_a_slot(schema: dict[str, Any], type_: str) -> None:
    inquiry = asked({"it": {**schema, "title": "The thing"}})
    assert inquiry is not None
    assert inquiry.slots["it"].type == type_
    assert inquiry.slots["it"].label == Localised(zh="The thing", en="The thing")


def test_values_go_by_their_titles() -> None:
    inquiry = asked({"size": {"oneOf": [{"const": "s", "title": "Small {{ x }}"}]}})
    assert inquiry is not None
    assert inquiry.slots["size"].choices["s"].label.en == "Small { { x }}"


def test_names_that_are_taken_or_that_no_expression_carries_are_changed() -> None:
    field = {"type": "string"}
    inquiry = asked({"seat": field, "a-b": field, "in": field}, {"seat": field}, taken=("seat",))
    assert inquiry is not None
    assert inquiry.fields == {
        "k0": {"seat": "seat_2", "a-b": "a_b", "in": "in_"},
        "k1": {"seat": "seat_3"},
    }


@pytest.mark.parametrize("word", ["change", "more"])
def test_a_field_is_not_called_like_the_questions_about_slots(word: str) -> None:
    inquiry = asked({word: {"type": "string"}})
    assert inquiry is not None
    assert inquiry.fields == {"k0": {word: f"{word}_"}}


def test_what_may_be_left_out_is_asked_only_where_nothing_must_be_given() -> None:
    fields = {"seat": {"type": "string"}, "note": {"type": "string"}}
    some, all_ = asked(fields, required=["seat"]), asked(fields)
    assert some is not None
    assert all_ is not None
    assert [slot.required for slot in some.slots.values()] == [True, False]
    assert [slot.required for slot in all_.slots.values()] == [True, True]


@pytest.mark.parametrize("schema", [{"type": "object"}, "string", None, {"type": ["x"]}, 7])
def test_a_field_that_no_form_fits_is_left_out_where_it_may_be(schema: Any) -> None:
    fields = {"seat": {"type": "string"}, "it": schema}
    assert asked(fields, required=["it"]) is None
    left = asked(fields, required=["seat"])
    assert left is not None
    assert list(left.slots) == ["seat"]


def test_an_address_is_shown_and_asked_about() -> None:
    visit = Elicitation(key="k", message="Sign in.", url="https://example.com/in")
    inquiry = inquiry_of([visit], BOOK, "call", ())
    assert inquiry is not None
    assert inquiry.say.en.endswith("Sign in. https://example.com/in")
    assert inquiry.fields == {"k": {"": "go_on"}}
    assert inquiry.slots["go_on"].type == "boolean"
