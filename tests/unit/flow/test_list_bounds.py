"""More than a slot can hold: what fits is kept, and the person hears what is left out and why."""

from datetime import UTC, datetime
from typing import Any

from router.entities.utterance import Utterance
from router.flow.engine.list_bounds import MAX_NAMED_ITEMS
from router.flow.slot_types.structures import pieces
from router.understanding.items.items import find_items
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text
from tests.unit.flow.world import sample

COST = {
    "what": {"type": "text", "label": text("what"), "ask": text("What?")},
    "days": {
        "type": "list",
        "label": text("days"),
        "of": {"type": "date", "ask": text("Which day?")},
        "max": 2,
        "required": False,
    },
}
KINDS = {name: {"label": text(name.title())} for name in ("apple", "banana", "cherry")}


def list_of(max_: int, **of: Any) -> dict[str, Any]:
    item = {"ask": text("What?"), **of}
    return {"type": "list", "label": text("Things"), "of": item, "max": max_}


def asked(slot: dict[str, Any]) -> Driver:
    states = {"ask": {"collect": ["things"], "next": "done"}, "done": {"end": "completed"}}
    return Driver(flow_of("shopping", states, {"things": slot})).begin()


def reviewed(slot: dict[str, Any]) -> Driver:
    states = {
        "ask": {"collect": ["things"], "next": "sure"},
        "sure": {"confirm": text("Sure?"), "confirmed": "done", "declined": "ask"},
        "done": {"end": "completed"},
    }
    return Driver(flow_of("shopping", states, {"things": slot})).begin()


@each_row(
    ("slot", "given", "kept", "said"),
    [
        (
            list_of(3, type="text"),
            ["a", "b", "c", "d"],
            ["a", "b", "c"],
            "“Things” takes 3 at most, so the first 3 are kept. 1 was left out: d.",
        ),
        (
            list_of(1, type="date"),
            ["2027-03-01", "2027-03-02", "2027-03-03"],
            ["2027-03-01"],
            "2 were left out: Tue 2 Mar 2027; Wed 3 Mar 2027.",
        ),
        (
            list_of(2, type="choice", choices=KINDS),
            ["apple", "banana", "cherry"],
            ["apple", "banana"],
            "1 was left out: Cherry.",
        ),
        (
            list_of(1, type="object", fields=COST),
            [{"what": "taxi"}, {"what": "lunch"}],
            [{"what": "taxi"}],
            "1 was left out: what lunch.",
        ),
        (
            list_of(3, type="object", fields=COST),
            [{"what": "taxi", "days": ["2027-03-01", "2027-03-02", "2027-03-03"]}],
            [{"what": "taxi", "days": ["2027-03-01", "2027-03-02"]}],
            "“days” takes 2 at most, so the first 2 are kept. 1 was left out: Wed 3 Mar 2027.",
        ),
        (
            list_of(1, type="text"),
            [str(number) for number in range(MAX_NAMED_ITEMS + 20)],
            ["0"],
            f"{MAX_NAMED_ITEMS}; and the 19 after that.",
        ),
        (
            list_of(1, type="text"),
            ["a", "x" * 300],
            ["a"],
            f"left out: {'x' * 39}….",
        ),
    ],
)
def test_a_list_keeps_its_first_items_and_names_the_others(
    slot: dict[str, Any], given: list[Any], kept: list[Any], said: str
) -> None:
    driver = asked(slot).answer(things=given)
    assert driver.run.form.slots["things"] == kept
    assert said in " ".join(driver.said)
    assert driver.run.question.no_matches == 0


def test_items_that_are_said_one_by_one_beyond_a_full_list_are_named_together() -> None:
    driver = asked(list_of(2, type="object", fields=COST))
    driver.answer({f"things.{n}": {"what": what} for n, what in enumerate("abcd")})
    assert driver.run.form.slots["things"] == [{"what": "a"}, {"what": "b"}]
    (said,) = [said for said in driver.said if "left out" in said]
    assert "2 were left out: what c; what d." in said


def test_who_wants_to_add_to_a_full_list_is_told_that_it_is_full() -> None:
    driver = reviewed(list_of(1, type="object", fields=COST)).answer({"things": [{"what": "a"}]})
    driver.answer({"things.more": True})
    assert driver.run.form.slots["things"] == [{"what": "a"}]
    assert "takes 1 at most and is full" in driver.said[-1]


@each_row(
    ("slot", "given", "said"),
    [
        (
            {"type": "text", "ask": text("Why?"), "max_length": 10},
            "because of it",
            "That has 13 characters; 10 fit. Please say it in fewer words.",
        ),
        (
            {"type": "money", "ask": text("How much?")},
            {"amount": "10000000000000.00", "currency": "CNY"},
            "That amount is too large: 1,000,000,000,000 at most.",
        ),
        ({"type": "number", "ask": text("How many?")}, 10**400, "Please give a number."),
        (
            list_of(2, type="text"),
            "no list",
            "This needs one or several items.",
        ),
    ],
)
def test_a_value_that_is_too_much_for_its_slot_is_refused_with_the_bound(
    slot: dict[str, Any], given: Any, said: str
) -> None:
    driver = asked(slot).answer(things=given)
    assert driver.run.form.slots.get("things") is None
    assert said in " ".join(driver.said)


@each_row(
    ("said", "count"),
    [
        ("，".join(f"11月{n % 27 + 1}日打车{n + 10}元" for n in range(25)), 25),
        ("，".join(f"11月{n % 27 + 1}日打车{n + 10}元" for n in range(60)), 60),
        ("，".join(f"打车{n + 10}元" for n in range(60)), 60),
        (", ".join(f"taxi {n + 10} yuan" for n in range(60)), 60),
    ],
)
def test_no_item_of_a_long_row_is_passed_over(said: str, count: int) -> None:
    items, _ = find_items(
        sample("reimbursement").slots["items"],
        Utterance.of(said, datetime(2026, 11, 28, tzinfo=UTC)),
    )
    assert len(items) == count


@each_row(
    ("typed", "row"),
    [
        ("- milk\n- eggs\n- bread", ["milk", "eggs", "bread"]),
        ("1. 牛奶\n2. 鸡蛋", ["牛奶", "鸡蛋"]),
        ("• milk\n• two-sided tape", ["milk", "two-sided tape"]),
        ("3.5 l of milk, -5 degrees", ["3.5 l of milk", "-5 degrees"]),
    ],
)
def test_bullets_are_no_part_of_what_they_stand_before(typed: str, row: list[str]) -> None:
    assert pieces(typed) == row
