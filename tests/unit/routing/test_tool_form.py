from dataclasses import replace
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, JsonValue

from router.domain.locale import Locale
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Confirmed, Failed
from router.flow.prompts.question import question
from router.routing.tool_form import form_of, obstacle
from router.tool.implementation import FunctionImplementation
from router.tool.tool import Tool, tool
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
