from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pytest

from router.domain.locale import Localised
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import (
    SLOT_TYPES,
    Slot,
    SlotType,
    Unfit,
    fitted,
    form_values,
    read_as,
    register_slot_type,
    shown,
)
from tests.table import each_row
from tests.unit.understanding.flows import EXPENSE, LEAVE

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
FILE = "a2b3c4d5e6f7g2h3i4j5k6m7"
SLOTS = {**LEAVE.slots, **EXPENSE.slots}


@each_row(
    ("name", "given", "value"),
    [
        ("start", "2026-12-01", "2026-12-01"),
        ("start", "下周一", "2026-11-23"),
        ("start", "soon", "soon"),
        ("leave_type", "annual", "annual"),
        ("leave_type", "年假", "annual"),
        ("leave_type", "bogus", "bogus"),
        ("duration", 2, {"days": 2}),
        ("duration", "三天半", {"days": 3.5}),
        ("duration", {"days": 1}, {"days": 1}),
        ("reason", " 搬家 ", "搬家"),
        ("items.0.amount", "12000", {"amount": "12000.00", "currency": "CNY"}),
        ("items.0.amount", 12.5, {"amount": "12.50", "currency": "CNY"}),
        (
            "items.0.amount",
            {"amount": 58, "currency": "usd"},
            {"amount": "58.00", "currency": "USD"},
        ),
        ("items.0.amount", {"amount": "58"}, {"amount": "58.00", "currency": "CNY"}),
        ("items.0.amount", {"amount": "lots"}, {"amount": "lots"}),
        ("items.0.amount", True, True),
        ("items.0.date", "2026-11-17", "2026-11-17"),
        ("unknown", "x", "x"),
    ],
)
def test_a_field_is_brought_into_its_slots_shape(name: str, given: Any, value: Any) -> None:
    assert form_values(SLOTS, {name: given}, NOW) == {name: value}


def test_a_list_of_objects_is_shaped_field_by_field() -> None:
    given: Any = {"items": [{"category": "交通", "amount": "36", "date": "昨天", "invoice": "A1"}]}
    assert form_values(SLOTS, given, NOW) == {
        "items": [
            {
                "category": "transport",
                "amount": {"amount": "36.00", "currency": "CNY"},
                "date": "2026-11-17",
                "invoice": "A1",
            }
        ]
    }


@each_row(
    ("given", "value"),
    [
        (f" {FILE} ", FILE),
        ({"id": FILE, "name": "a.pdf", "type": "application/pdf", "size": 1}, FILE),
        ({"name": "a.pdf"}, {"name": "a.pdf"}),
        ({"id": 7}, 7),
        ("a.pdf", "a.pdf"),
        (7, 7),
    ],
)
def test_a_file_is_its_id_or_what_its_upload_was_answered(given: Any, value: Any) -> None:
    slots = {"receipt": Slot(type="file")}
    assert form_values(slots, {"receipt": given}, NOW) == {"receipt": value}


class Percentage(SlotType):
    """What a stranger would add, in a module of its own."""

    name = "percentage"
    label = Localised(zh="百分比", en="a percentage")
    about = Localised(zh="百分之几。", en="So many in a hundred.")
    fits = Localised(zh="请给一个百分比。", en="Please give a percentage.")
    stored = {"type": "integer", "maximum": 100}

    def read(self, slot: Slot, utterance: Utterance) -> Any:
        typed = utterance.text.removesuffix("%")
        return int(typed) if typed.isdigit() else None

    def fit(self, slot: Slot, value: Any) -> Any:
        if not isinstance(value, int) or value > 100:
            raise Unfit(self.fits)
        return value

    def word(self, slot: Slot, value: Any, locale: Any, files: Any = ()) -> str:
        return f"{value} %"


@pytest.fixture
def percentage() -> Iterator[Slot]:
    register_slot_type(Percentage)
    yield Slot(type="percentage")
    del SLOT_TYPES["percentage"]


@each_row("value", [10**400, -(10**400), float("inf"), float("nan")])
@each_row("kind", ["number", "integer", "duration"])
def test_a_number_that_other_programs_do_not_know_is_none(kind: str, value: float) -> None:
    slot = Slot(type=kind)
    with pytest.raises(Unfit):
        slot.kind.fit(slot, {"days": value} if kind == "duration" else value)


def test_a_new_type_is_read_kept_and_shown_without_a_change_elsewhere(percentage: Slot) -> None:
    whole = Slot(type="object", fields={"share": percentage})
    assert form_values({"whole": whole}, {"whole": {"share": "15%"}}, NOW) == {
        "whole": {"share": 15}
    }
    assert shown(percentage, 15, "zh") == "15 %"
    assert whole.kind.schema(whole, "en")["properties"] == {"share": percentage.kind.stored}
    with pytest.raises(Unfit, match="percentage"):
        fitted(whole, {"share": 150})


def test_a_type_that_lacks_something_is_an_error_when_it_is_imported() -> None:
    able = {"name": "half", "read": Percentage.read, "word": Percentage.word}
    with pytest.raises(TypeError, match="fit"):
        register_slot_type(
            type("Half", (SlotType,), {**able, "fits": Percentage.fits, "stored": {}})
        )
    with pytest.raises(TypeError, match="Half has neither fits nor hint"):
        register_slot_type(type("Half", (SlotType,), {**able, "fit": Percentage.fit, "stored": {}}))
    whole = {**able, "fit": Percentage.fit, "fits": Percentage.fits, "stored": {}}
    with pytest.raises(TypeError, match="Half has no label"):
        register_slot_type(type("Half", (SlotType,), whole))
    assert "half" not in SLOT_TYPES


@each_row(
    ("typed", "day"),
    [
        ("下周的周三", "2026-11-25"),
        ("下下周星期三", "2026-12-02"),
        ("这周的周五", "2026-11-20"),
        ("下周吧，周三", "2026-11-25"),
        ("周三，不对，周四", "2026-11-19"),
        ("下下下周三", "2026-12-09"),
        ("春节", "2027-02-06"),
        ("下周三回来", "2026-11-25"),
        ("下周", None),
        ("周三或周五", None),
        ("下下下下下下周三", None),
    ],
)
def test_a_date_is_the_one_day_that_the_sentences_days_come_to(typed: str, day: str | None) -> None:
    assert read_as(Slot(type="date"), Utterance.of(typed, NOW)) == day


@each_row("kind", SLOT_TYPES.values(), ids=lambda kind: kind.name)
def test_what_a_type_proposes_fits_and_is_understood(kind: SlotType) -> None:
    slot = Slot(type=kind.name)
    assert all(kind.hint(slot).within(locale) for locale in ("zh", "en"))
    for value, say in kind.examples([date(2026, 12, 1)], NOW.date()):
        assert fitted(slot, value) == value
        for words in (say.zh, say.en):
            assert read_as(slot, Utterance.of(words, NOW)) is not None
