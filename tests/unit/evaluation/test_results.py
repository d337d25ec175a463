import pytest

from router.evaluation.dataset import LabelledEntity
from router.evaluation.figures import value_at
from tests.unit.evaluation.samples import result

TOMORROW = LabelledEntity(type="date", value="2026-11-19")
TWO = LabelledEntity(type="number", value="2")


def test_a_slot_is_right_where_exactly_its_value_was_understood() -> None:
    one = result(
        "leave_request",
        "leave_request",
        slots={"start": "2026-11-23", "end": "2026-11-24", "items.0.amount": "5", "reason": None},
        values={"start": "2026-11-23", "end": "2026-11-25", "items": [{"amount": "5"}]},
    )
    assert one.slots == {"start": True, "end": False, "items.0.amount": True, "reason": True}


def test_where_the_message_went_elsewhere_no_slot_was_understood() -> None:
    one = result("leave_request", "book_room", slots={"end": None}, values={})
    assert one.slots == {"end": False}


def test_asking_back_with_the_label_among_the_options_is_one_tap_away() -> None:
    assert result("book_room", "clarify", offered=("get_balance", "book_room")).is_one_tap_away
    assert not result("book_room", "clarify", offered=("get_balance",)).is_one_tap_away
    assert not result("clarify", "clarify", offered=("clarify",)).is_one_tap_away


@pytest.mark.parametrize(
    ("label", "candidates", "rank"),
    [
        ("book_room", ("book_room", "get_balance"), 0),
        ("book_room", ("get_balance", "book_room"), 1),
        ("book_room", ("get_balance",), -1),
        ("book_room", (), None),
        ("none", ("get_balance",), None),
        (None, ("get_balance",), None),
    ],
)
def test_the_rank_is_the_place_of_the_label_among_what_was_found(
    label: str | None, candidates: tuple[str, ...], rank: int | None
) -> None:
    assert result(label, "clarify", candidates=candidates).rank == rank


def test_entities_are_right_where_those_that_count_are_the_same_in_order() -> None:
    assert result(None, "clarify", entities=[TOMORROW]).entities_are_right is False
    found = result(None, "clarify", entities=[TOMORROW])
    found = type(found)(found.labelled, "clarify", "fallback", entities=[TOMORROW, TWO])
    assert found.entities_are_right is True
    assert result(None, "clarify").entities_are_right is None


@pytest.mark.parametrize("path", ["x", "items.1", "items.x", "items.-1", "items.0.amount.more", ""])
def test_where_there_is_nothing_the_value_is_none(path: str) -> None:
    assert value_at({"items": [{"amount": "5"}]}, path) is None
