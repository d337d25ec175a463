from datetime import datetime
from typing import Any

import pytest

from router.flow.model import FlowDefinition
from router.understanding.patterns import PatternIndex
from router.understanding.prefill import prefill
from router.understanding.utterance import Utterance
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, LEAVE

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")


def filled(flow: FlowDefinition, typed: str) -> dict[str, Any]:
    utterance = Utterance.of(typed, NOW)
    matches = PatternIndex([flow]).find(utterance.normalised, EMPLOYEE)
    return prefill(flow.slots, utterance, matches)


def yuan(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("我要请假", {}),
        ("你好，我要请假，谢谢", {}),
        (
            "我要请年假，下周一到周三，家里有事",
            {
                "leave_type": "annual",
                "start": "2026-11-23",
                "end": "2026-11-25",
                "reason": "家里有事",
            },
        ),
        (
            "想请两天年假，下周四开始",
            {"leave_type": "annual", "start": "2026-11-26", "duration": {"days": 2}},
        ),
        (
            "明天身体不舒服请一天病假",
            {
                "leave_type": "sick",
                "start": "2026-11-19",
                "duration": {"days": 1},
                "reason": "身体不舒服",
            },
        ),
        ("I'd like to take next Friday off", {"start": "2026-11-27"}),
        ("book vacation for Dec 24", {"leave_type": "annual", "start": "2026-12-24"}),
        (
            "我想请周四和周五的事假，因为要搬家",
            {
                "leave_type": "personal",
                "start": "2026-11-19",
                "end": "2026-11-20",
                "reason": "要搬家",
            },
        ),
        (
            "明天下午请假",
            {
                "start": "2026-11-19",
                "start_half": "pm",
                "end": "2026-11-19",
                "end_half": "pm",
            },
        ),
        ("从明天下午开始请假", {"start": "2026-11-19", "start_half": "pm"}),
        (
            "12月24日下午到12月26日上午请年假",
            {
                "leave_type": "annual",
                "start": "2026-12-24",
                "start_half": "pm",
                "end": "2026-12-26",
                "end_half": "am",
            },
        ),
        ("请假三天，周一回来", {"duration": {"days": 3}}),
        (
            "我要请假，明天，去医院看病",
            {"leave_type": "sick", "start": "2026-11-19", "reason": "去医院看病"},
        ),
        (
            "I need sick leave tomorrow, I have a fever",
            {"leave_type": "sick", "start": "2026-11-19", "reason": "I have a fever"},
        ),
        (
            "I'd like annual leave from Dec 1 to Dec 5 because of my sister's wedding",
            {
                "leave_type": "annual",
                "start": "2026-12-01",
                "end": "2026-12-05",
                "reason": "my sister's wedding",
            },
        ),
        (
            "hi, please book vacation for Dec 24, thanks",
            {"leave_type": "annual", "start": "2026-12-24"},
        ),
        ("我要请假，因为要搬家", {"reason": "要搬家"}),
        ("请年假，我下周五", {"leave_type": "annual", "start": "2026-11-27"}),
        (
            "annual leave tomorrow because my parents visit",
            {"leave_type": "annual", "start": "2026-11-19", "reason": "my parents visit"},
        ),
        # One day that is given as both ends is a whole range; nothing is left to ask.
        (
            "annual leave from 2026-12-28 to 2026-12-28",
            {"leave_type": "annual", "start": "2026-12-28", "end": "2026-12-28"},
        ),
        (
            "从12月28号到12月28号请年假",
            {"leave_type": "annual", "start": "2026-12-28", "end": "2026-12-28"},
        ),
        ("想请假，时间是下周五，原因是搬家", {"start": "2026-11-27", "reason": "搬家"}),
    ],
)
def test_leave_takes_what_the_sentence_names(typed: str, slots: dict[str, Any]) -> None:
    assert filled(LEAVE, typed) == slots


@pytest.mark.parametrize(
    ("typed", "items"),
    [
        (
            "报一下昨天打车的钱 36 块",
            [{"category": "transport", "date": "2026-11-17", "amount": yuan("36.00")}],
        ),
        (
            "三张打车票 58、36、32 要报销",
            [
                {"category": "transport", "amount": yuan("58.00")},
                {"category": "transport", "amount": yuan("36.00")},
                {"category": "transport", "amount": yuan("32.00")},
            ],
        ),
        (
            "昨天打车36块，今天午饭25块，报销一下",
            [
                {"category": "transport", "date": "2026-11-17", "amount": yuan("36.00")},
                {"category": "meal", "date": "2026-11-18", "amount": yuan("25.00")},
            ],
        ),
        (
            "报销三笔：打车36、午饭25、酒店500",
            [
                {"category": "transport", "amount": yuan("36.00")},
                {"category": "meal", "amount": yuan("25.00")},
                {"category": "hotel", "amount": yuan("500.00")},
            ],
        ),
        (
            "打车报销36元，发票号12345678",
            [{"category": "transport", "amount": yuan("36.00"), "invoice": "12345678"}],
        ),
        ("reimburse my hotel bill", [{"category": "hotel"}]),
        (
            "claim $45 for a taxi on Nov 10",
            [
                {
                    "category": "transport",
                    "date": "2026-11-10",
                    "amount": {"amount": "45.00", "currency": "USD"},
                }
            ],
        ),
    ],
)
def test_a_claim_takes_its_items(typed: str, items: list[dict[str, Any]]) -> None:
    assert filled(EXPENSE, typed) == {"items": items}


@pytest.mark.parametrize("typed", ["我要报销", "我要报销昨天的费用", "打车和午饭一共100块，报销"])
def test_what_is_not_sure_is_left_to_be_asked(typed: str) -> None:
    assert filled(EXPENSE, typed) == {}


def test_what_is_left_over_is_the_reason_of_a_claim() -> None:
    slots = filled(EXPENSE, "报销差旅费1200元，去上海见客户")
    assert slots["reason"] == "去上海见客户"


def test_a_single_day_without_a_slot_for_how_long_ends_where_it_starts() -> None:
    slots = {name: slot for name, slot in LEAVE.slots.items() if name != "duration"}
    assert prefill(slots, Utterance.of("明天请一天假", NOW)) == {
        "start": "2026-11-19",
        "end": "2026-11-19",
    }


def test_a_plain_date_slot_takes_the_one_date() -> None:
    slots = {"day": LEAVE.slots["start"].model_copy(update={"part_of_range": None})}
    assert prefill(slots, Utterance.of("下周三", NOW)) == {"day": "2026-11-25"}
    assert prefill(slots, Utterance.of("下周三到周五", NOW)) == {}


def test_a_slot_that_is_only_looked_up_is_not_filled() -> None:
    slots = {"end": LEAVE.slots["end"].model_copy(update={"ask": None, "part_of_range": None})}
    assert prefill(slots, Utterance.of("下周三", NOW)) == {}
