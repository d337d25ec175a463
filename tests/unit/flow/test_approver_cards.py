"""What an approver reads: every fact they decide by, in their own language."""

from pathlib import Path
from typing import Any

import pytest

from router.domain.locale import Locale
from router.flow.loader import load_flow
from tests.unit.flow.world import World

FLOWS = Path(__file__).parents[3] / "flows"
TRIP: dict[str, Any] = {
    "destination": "Oslo",
    "start": "2026-11-30",
    "end": "2026-12-02",
    "transport": "plane",
    "estimate": {"amount": "4000.00", "currency": "CNY"},
    "reason": "talks",
    "companions": "Li",
}
EQUIPMENT: dict[str, Any] = {
    "items": [{"kind": "laptop", "quantity": 2.0}, {"kind": "headset", "quantity": 3.0}],
    "reason": "new team",
    "deliver_by": "2026-12-01",
}
SICK: dict[str, Any] = {
    "leave_type": "sick",
    "start": "2026-11-23",
    "end": "2026-11-25",
    "reason": "flu",
    "sick_note": "a" * 24,
}
CLAIM: dict[str, Any] = {
    "items": [
        {
            "category": "meal",
            "amount": {"amount": "58.00", "currency": "CNY"},
            "date": "2026-11-17",
            "invoice": "A1",
        }
    ],
    "reason": "a guest",
    "receipt": "b" * 24,
}


def card(flow: str, locale: Locale, slots: dict[str, Any]) -> str:
    """Title and summary of the approval that is asked of alice's manager."""
    world = World(load_flow(FLOWS / f"{flow}.yaml")).begin(**slots)
    if world.run.status == "collecting":
        world.answer(**slots)
    approval = world.confirm().run.approval
    assert approval is not None, (world.run.state, world.run.asked)
    lines = [
        f"{approval.labels[name].within(locale)}: {value.within(locale)}"
        for name, value in approval.summary.items()
    ]
    return "\n".join([approval.title.within(locale), *lines])


@pytest.mark.parametrize(
    ("locale", "facts"),
    [
        (
            "zh",
            [
                *("Alice", "去Oslo", "2026年11月30日", "2026年12月2日", "飞机", "4,000"),
                *("同行人: Li", "事由: talks"),
            ],
        ),
        (
            "en",
            [
                *("Alice", "to Oslo", "30 Nov 2026", "2 Dec 2026", "by plane", "4,000"),
                *("Travelling with: Li", "Purpose: talks"),
            ],
        ),
    ],
)
def test_of_a_trip_it_says_who_where_when_how_and_for_how_much(
    locale: Locale, facts: list[str]
) -> None:
    said = card("business_trip", locale, TRIP)
    assert [fact for fact in facts if fact not in said] == [], said


@pytest.mark.parametrize(
    ("locale", "facts"),
    [
        (
            "zh",
            ["Alice", "12000.00 元", "2026年12月1日", "笔记本电脑", "耳机", "2", "3", "new team"],
        ),
        ("en", ["Alice", "12000.00 CNY", "1 Dec 2026", "laptop", "headset", "2", "3", "new team"]),
    ],
)
def test_of_equipment_it_says_who_what_how_many_its_worth_and_by_when(
    locale: Locale, facts: list[str]
) -> None:
    said = card("equipment_request", locale, EQUIPMENT)
    assert [fact for fact in facts if fact not in said] == [], said


@pytest.mark.parametrize(("locale", "line"), [("zh", "证明: scan.pdf"), ("en", "note: scan.pdf")])
def test_of_a_sick_leave_it_names_the_note(locale: Locale, line: str) -> None:
    assert line in card("leave_request", locale, SICK)


@pytest.mark.parametrize(
    ("locale", "line"), [("zh", "收据: scan.pdf"), ("en", "Receipt: scan.pdf")]
)
def test_of_a_claim_it_names_the_receipt(locale: Locale, line: str) -> None:
    assert line in card("reimbursement", locale, CLAIM)


@pytest.mark.parametrize(
    ("flow", "slots"), [("business_trip", TRIP), ("equipment_request", EQUIPMENT)]
)
def test_nothing_on_it_is_in_the_other_language(flow: str, slots: dict[str, Any]) -> None:
    said = card(flow, "en", slots)
    assert not any("\u4e00" <= character <= "\u9fff" for character in said), said
