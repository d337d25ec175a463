"""Amounts and lengths that only look like ones: read whole or asked for, never altered."""

from datetime import datetime
from typing import Any

import pytest

from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot, Unfit, form_values, read_as
from router.understanding.slots.prefill import prefill
from tests.table import each_row
from tests.unit.entities.tables import table
from tests.unit.understanding.flows import EXPENSE, LEAVE

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")


def answered(kind: str, typed: str) -> Any:
    """What the answer to a question for such a slot comes to, said or sent by a form."""
    slot = Slot(type=kind)
    read = read_as(slot, Utterance.of(typed, NOW))
    sent = form_values({"it": slot}, {"it": typed}, NOW)["it"]
    assert sent == (typed if read is None else read)
    return read


def claimed(typed: str) -> Any:
    """The items of a claim that opens so."""
    return prefill(EXPENSE.slots, Utterance.of(typed, NOW)).get("items", [])


@each_row("typed", table("ambiguous", "no amount by halves"))
def test_an_amount_that_nobody_can_be_sure_of_is_asked_for(typed: str) -> None:
    assert answered("money", typed) is None
    assert not any("amount" in item for item in claimed(f"报销打车费 {typed}"))


@each_row("typed", table("ambiguous", "no length by halves"))
def test_a_length_that_nobody_can_be_sure_of_is_asked_for(typed: str) -> None:
    assert answered("duration", typed) is None
    assert "duration" not in prefill(LEAVE.slots, Utterance.of(f"请年假 {typed}", NOW))


@each_row(("typed", "amount"), table("ambiguous", "an amount"))
def test_what_only_looks_odd_is_read(typed: str, amount: str) -> None:
    value, currency = amount.split()
    assert answered("money", typed) == {"amount": value, "currency": currency}


@each_row("typed", ["3-5个人", "负五十个", "1/2"])
def test_a_number_is_none_by_halves_either(typed: str) -> None:
    assert answered("number", typed) is None


@each_row("amount", ["2 3", "-58.999", "58.999", "1,2", "三 五"])
def test_what_a_form_or_a_model_gives_is_taken_as_it_is_or_not_at_all(amount: str) -> None:
    slot = Slot(type="money")
    given = form_values({"it": slot}, {"it": {"amount": amount, "currency": "CNY"}}, NOW)["it"]
    with pytest.raises(Unfit):
        slot.kind.fit(slot, given)


def test_what_a_list_is_numbered_with_adds_no_figure() -> None:
    items = claimed("报销 ①打车58元 ②午饭36元")
    assert [item["amount"]["amount"] for item in items] == ["58.00", "36.00"]
