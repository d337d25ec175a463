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
from router.flow.engine.events import Answered, Confirmed, Failed
from router.flow.engine.run_parts.form import Inquiry
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
from tests.table import each_row
from tests.unit.flow.definitions import Driver
from tests.unit.routing.samples import get_balance, match_people, take_note

STRING: dict[str, Any] = {"type": "string"}


class Guest(BaseModel):
    name: str
    age: int


class Room(BaseModel):
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


async def _is_free(room: str) -> None:
    """Whether the room is free; the form's tests answer for it."""


@tool(permission="write", check=_is_free, title={"zh": "订会议室", "en": "Book a room"})
async def book(room: str, note: str = "") -> str:
    """Book a room."""
    return f"{room}{note}"


@tool(permission="write")
async def ring() -> None:
    """Ring the bell."""


def driver(tool: Tool) -> Driver:
    """A run of the tool's form, before it begins."""
    made = form_of(tool)
    assert made is not None
    return Driver(made)


def answered(**slots: Any) -> Answered:
    return Answered(by="alice", slots=slots)


CONFIRMED = Confirmed(by="alice", value=True)


def test_a_tool_that_reads_asks_for_its_arguments_and_tells_what_it_found() -> None:
    run = driver(get_balance).begin()
    assert run.run.question.path == "kind"
    run.take(answered(kind="annual"))
    assert run.world.calls[0][:2] == ("get_balance", {"kind": "annual"})
    assert (run.run.status, run.said) == ("completed", ["days: 10"])


def test_what_was_said_already_is_not_asked_again() -> None:
    assert driver(get_balance).begin(kind="sick").run.status == "completed"


@each_row(
    ("tool", "given"), [(take_note, {"text": "buy milk"}), (ring, {}), (ring, {"loud": True})]
)
@each_row(("value", "status"), [(True, "completed"), (False, "cancelled")])
def test_a_tool_that_writes_is_confirmed_first(
    tool: Tool, given: dict[str, Any], value: bool, status: str
) -> None:
    run = driver(tool).begin(**given)
    assert (run.run.status, run.world.calls, run.said) == ("confirming", [], [])
    run.take(Confirmed(by="alice", value=value))
    assert run.run.status == status
    takes = {name: given[name] for name in given if name in tool.argument_names}
    assert [call[:2] for call in run.world.calls] == [(tool.name, takes)] * value


def test_values_for_a_form_that_takes_none_leave_its_confirmation_as_it_is() -> None:
    run = driver(ring).begin().take(answered(loud=True))
    assert (run.run.status, run.world.calls) == ("confirming", [])


def test_a_write_is_checked_before_it_is_confirmed() -> None:
    run = driver(book).begin(room="A1")
    assert (run.run.status, run.world.calls) == ("confirming", [])
    assert run.world.checks == [("book", {"room": "A1"})]


def test_what_other_arguments_would_mend_is_asked_for_again() -> None:
    run = driver(book)
    run.world.refusing["book"] = Failed(task="", error="room: A1 is taken", kind="arguments")
    run.begin(room="A1")
    assert run.said == ["That can't be done: room: A1 is taken"]
    assert (run.run.status, run.run.question.path) == ("collecting", "change")
    run.world.refusing.clear()
    assert run.take(answered(change="room")).run.question.path == "room"
    run.take(answered(room="B2"))
    assert (run.run.status, run.world.checks[-1][1]) == ("confirming", {"room": "B2"})


def test_what_nothing_would_mend_ends_the_form_before_anything_is_confirmed() -> None:
    run = driver(book)
    run.world.refusing["book"] = Failed(task="", error="the house is closed")
    run.begin(room="A1")
    assert (run.run.status, run.world.calls) == ("failed", [])
    assert run.said == ["That didn't work: the house is closed"]


def test_a_form_that_asks_nothing_ends_whatever_its_check_says() -> None:
    async def open_now() -> None:
        """Whether it is open."""

    @tool(permission="write", check=open_now)
    async def ring() -> None:
        """Ring the bell."""

    run = driver(ring)
    run.world.refusing["ring"] = Failed(task="", error="not now", kind="arguments")
    run.begin()
    assert (run.run.status, run.world.calls) == ("failed", [])


def test_a_failed_call_says_so() -> None:
    run = driver(get_balance)
    run.world.failing["get_balance"] = "no such year"
    run.begin(kind="sick")
    assert (run.run.status, run.said) == ("failed", ["That didn't work: no such year"])


@each_row(
    ("locale", "words"),
    [
        ("zh", ["可能已经生效，也可能没有", "不会自己再试", "系统里查"]),
        ("en", ["may or may not have been done", "won't try it again", "look in the system"]),
    ],
)
def test_a_call_of_unknown_end_is_said_to_be_one(locale: Locale, words: list[str]) -> None:
    run = driver(take_note)
    run.run.locale = locale
    run.begin(text="buy milk").take(CONFIRMED, answer=False)
    (task,) = run.run.work.tasks
    run.take(Failed(task=task, error="no answer came", kind="unknown"))
    assert (run.run.status, run.run.work.tasks) == ("failed", {})
    (said,) = run.said
    assert all(word in said for word in [*words, "no answer came"])
    assert not any(word in said for word in ("没办成", "didn't work"))


def test_a_refused_write_is_said_to_have_failed() -> None:
    run = driver(take_note)
    run.world.failing["take_note"] = "the book is full"
    run.begin(text="buy milk").take(CONFIRMED)
    assert run.said == ["That didn't work: the book is full"]


def test_a_tool_whose_arguments_fit_no_form_has_none() -> None:
    assert form_of(match_people) is None
    assert obstacle(match_people) == "no form field fits wanted (an object of any fields)"


def test_a_form_is_open_to_whoever_may_call_the_tool() -> None:
    made: Any = form_of(get_balance)
    assert made.triggers.roles == get_balance.roles


def test_a_list_of_objects_is_asked_for_item_by_item_and_given_whole() -> None:
    run, asked = driver(invite).begin(), []
    paths = {"guests.0.name": "Bob", "guests.0.age": 7, "guests.more": False, "room.floor": 3}
    for path, value in paths.items():
        asked.append(run.run.question.path)
        run.take(answered(**{path: value}))
    assert asked == ["guests.0.name", "guests.0.age", "guests", "room.floor"]
    assert run.world.calls[0][1] == {"guests": [{"name": "Bob", "age": 7}], "room": {"floor": 3}}


def test_a_list_of_plain_values_is_asked_for_with_a_hint_and_may_come_whole() -> None:
    run = driver(tag).begin()
    asked = question(run.definition, run.run)
    assert asked is not None
    assert asked.text == "Words to add? (Several may be named at once: a, b and c.)"
    run.take(answered(words=["a", "b"]))
    assert run.world.calls[0][1] == {"words": ["a", "b"]}


def test_an_argument_with_a_name_of_its_own_is_called_by_it() -> None:
    class Declared(FunctionImplementation):
        @property
        def parameters(self) -> dict[str, JsonValue]:
            properties: JsonValue = {"in": STRING, "file-path": STRING}
            return {"properties": properties, "required": ["in", "file-path"]}

    implementation = tag.implementation
    assert isinstance(implementation, FunctionImplementation)
    declared = Declared(implementation.signature, implementation.function)
    run = driver(replace(tag, implementation=declared)).begin(in_="here")
    assert run.run.question.path == "file_path"
    run.take(answered(file_path="/a"))
    assert run.world.calls[0][1] == {"in": "here", "file-path": "/a"}


def test_another_value_that_was_announced_and_thought_better_of_leaves_no_gap() -> None:
    run = driver(tag).begin()
    for slots in ({"words.0": "a"}, {"words.more": True}, {"words.more": False}):
        run.take(answered(**slots))
    assert run.world.calls[0][1] == {"words": ["a"]}


def test_two_dates_that_are_ends_by_their_names_are_said_in_one_breath() -> None:
    @tool(permission="read")
    async def count(start: date, end: date, label: str = "") -> int:
        """Count days."""
        return (end - start).days

    @tool(permission="read")
    async def look(start: date) -> str:
        """Look."""
        return str(start)

    def parts(tool: Tool) -> dict[str, str | None]:
        slots = driver(tool).definition.slots
        return {name: slot.part_of_range for name, slot in slots.items()}

    assert parts(count) == {"start": "start", "end": "end", "label": None}
    assert parts(look) == {"start": None}


POINT: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "note": STRING},
    "required": ["x"],
}


@each_row(
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
    day = {"type": "string", "format": "date"}
    within = {"$defs": {"Day": day, "Again": {"$ref": "#/$defs/Day"}, "Point": POINT}}
    assert slot_of("what", schema, required=True, within=within).type == kind


def nested(levels: int, name: str = "in") -> dict[str, Any]:
    inner: dict[str, Any] = STRING
    for _ in range(levels):
        inner = {"type": "object", "properties": {name: inner}, "required": [name]}
    return inner


@each_row(
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
        (nested(1, "a.b"), "a.b: a name that"),
        (nested(1, "0"), "0: a name that"),
        ({"type": "object", "properties": {f"f{n}": STRING for n in range(MOST_FIELDS + 1)}}, "21"),
        ({"type": "array"}, "aren't all of one kind"),
        ({"type": "array", "prefixItems": [STRING], "items": STRING}, "aren't all of one kind"),
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
    schema = {"type": "object", "properties": {"name": STRING, "extra": {"type": "object"}}}
    assert list(slot_of("what", schema, required=True).fields) == ["name"]


def test_a_list_has_at_least_one_item_and_no_more_than_anybody_would_say() -> None:
    def bounds(**more: int) -> tuple[int, int]:
        slot = slot_of("what", {"type": "array", "items": STRING, **more}, required=True)
        return slot.min, slot.max

    assert bounds() == (1, 20)
    assert bounds(minItems=2, maxItems=3) == (2, 3)
    assert bounds(minItems=0, maxItems=10_000) == (1, 50)


@each_row(
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
def test_a_name_that_no_expression_can_carry_gets_another(name: str, alias: str) -> None:
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


def asked(*fields: dict[str, Any], taken: tuple[str, ...] = (), **about: Any) -> Inquiry:
    """One question for each set of fields."""
    each = [
        Elicitation(key=f"k{n}", message="Which seat?", schema_={"properties": one, **about})
        for n, one in enumerate(fields)
    ]
    inquiry = inquiry_of(each, BOOK, "call", taken)
    assert inquiry is not None
    return inquiry


def test_it_says_who_asks_what_in_both_languages() -> None:
    assert asked({"seat": STRING}).say == Localised(
        zh="“订座”想先问你：Which seat?", en="Book a seat asks you first: Which seat?"
    )


@each_row(
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
    slot = asked({"it": {**schema, "title": "The thing"}}).slots["it"]
    assert (slot.type, slot.label) == (type_, Localised(zh="The thing", en="The thing"))


def test_values_go_by_their_titles() -> None:
    size = asked({"size": {"oneOf": [{"const": "s", "title": "Small {{ x }}"}]}}).slots["size"]
    assert size.choices["s"].label.en == "Small { { x }}"


def test_names_that_are_taken_or_that_no_expression_carries_are_changed() -> None:
    first = dict.fromkeys(("seat", "a-b", "in", "change", "more"), STRING)
    assert asked(first, {"seat": STRING}, taken=("seat",)).fields == {
        "k0": {"seat": "seat_2", "a-b": "a_b", "in": "in_", "change": "change_", "more": "more_"},
        "k1": {"seat": "seat_3"},
    }


def test_what_may_be_left_out_is_asked_only_where_nothing_must_be_given() -> None:
    fields = {"seat": STRING, "note": STRING}
    some, all_ = asked(fields, required=["seat"]), asked(fields)
    assert [slot.required for slot in some.slots.values()] == [True, False]
    assert [slot.required for slot in all_.slots.values()] == [True, True]


@each_row("schema", [{"type": "object"}, "string", None, {"type": ["x"]}, 7])
def test_a_field_that_no_form_fits_is_left_out_where_it_may_be(schema: Any) -> None:
    fields = {"seat": STRING, "it": schema}
    needed = Elicitation(key="k", message="?", schema_={"properties": fields, "required": ["it"]})
    assert inquiry_of([needed], BOOK, "call", ()) is None
    assert list(asked(fields, required=["seat"]).slots) == ["seat"]


def test_an_address_is_shown_and_asked_about() -> None:
    visit = Elicitation(key="k", message="Sign in.", url="https://example.com/in")
    inquiry = inquiry_of([visit], BOOK, "call", ())
    assert inquiry is not None
    assert inquiry.say.en.endswith("Sign in. https://example.com/in")
    assert (inquiry.fields, inquiry.slots["go_on"].type) == ({"k": {"": "go_on"}}, "boolean")
