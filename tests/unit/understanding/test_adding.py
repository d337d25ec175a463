"""Another item of a list that is known, said where something else is asked."""

from typing import Any

import pytest

from router.domain.commands import Confirm, FillSlots
from router.flow.view import FlowView
from tests.unit.understanding.flows import EXPENSE, LEAVE
from tests.unit.understanding.test_answers import asking, yuan
from tests.unit.understanding.test_item_corrections import TAXI, confirming
from tests.unit.understanding.test_reader import KNOWN, command

HOTEL = {"category": "hotel", "amount": yuan("300.00")}


def said(view: FlowView, typed: str) -> dict[str, Any]:
    given = command(typed, view)
    return dict(given.slots) if isinstance(given, FillSlots | Confirm) else {}


@pytest.mark.parametrize(
    "typed",
    [
        *("再加一项", "再加一项吧", "还有一笔", "还有", "加一张", "对了，还有一笔费用"),
        *("add another item", "add one more", "one more expense", "please add another"),
    ],
)
def test_another_item_can_be_announced_at_the_confirmation(typed: str) -> None:
    assert said(confirming(TAXI), typed) == {"items.more": True}


@pytest.mark.parametrize(
    ("typed", "item"),
    [
        ("再加一项酒店 300 昨天", {**HOTEL, "date": "2026-11-17"}),
        ("还有酒店300，前天", {**HOTEL, "date": "2026-11-16"}),
        ("漏了一项：酒店300元", HOTEL),
        ("also hotel 300 yuan", HOTEL),
        ("add a hotel, 300 yuan, yesterday", {**HOTEL, "date": "2026-11-17"}),
    ],
)
def test_an_item_can_be_added_at_the_confirmation(typed: str, item: dict[str, Any]) -> None:
    assert said(confirming(TAXI), typed) == {"items.1": item}


@pytest.mark.parametrize("typed", ["酒店", "300", "还有问题吗", "继续吧", "再加 100 项", "add"])
def test_what_adds_no_item_adds_none(typed: str) -> None:
    assert not any(path.startswith("items.") for path in said(confirming(TAXI), typed))


@pytest.mark.parametrize("typed", ["还有", "有", "有的"])
def test_that_there_is_more_is_no_leave_to_hand_in_what_there_is(typed: str) -> None:
    for view in (confirming(TAXI), asking(LEAVE, None, KNOWN, "confirming")):
        assert not isinstance(command(typed, view), Confirm)


def test_a_full_list_takes_no_more() -> None:
    assert said(confirming(*[TAXI] * EXPENSE.slots["items"].max), "再加一项") == {}


WHY = asking(EXPENSE, "reason", {"items": [TAXI]})


@pytest.mark.parametrize(
    ("typed", "item"),
    [
        ("还有酒店300，前天", {**HOTEL, "date": "2026-11-16"}),
        ("also hotel 300 yuan", HOTEL),
        ("酒店300元，前天，发票FG-11", {**HOTEL, "date": "2026-11-16", "invoice": "FG-11"}),
    ],
)
def test_another_item_is_no_reason(typed: str, item: dict[str, Any]) -> None:
    assert said(WHY, typed) == {"items.1": item}


@pytest.mark.parametrize(
    "typed", ["还有客户要见", "见客户，住酒店", "酒店300元", "a dinner with another client"]
)
def test_a_reason_that_sounds_like_an_item_stays_a_reason(typed: str) -> None:
    assert said(WHY, typed) == {"reason": typed}
