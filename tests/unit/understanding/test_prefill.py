from datetime import datetime
from typing import Any

import pytest

from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.understanding.slots.prefill import prefill
from router.understanding.triggers.patterns import PatternIndex
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
        # The address of a page is one word, whatever it is written with.
        (
            "我要请事假，明天一天，事由是办手续 见 https://wiki.example/a?b=1&c=2",
            {
                "leave_type": "personal",
                "start": "2026-11-19",
                "duration": {"days": 1},
                "reason": "办手续 见 https://wiki.example/a?b=1&c=2",
            },
        ),
        (
            "I need sick leave tomorrow, because of https://hr.example/x;y=1, thanks",
            {
                "leave_type": "sick",
                "start": "2026-11-19",
                "reason": "https://hr.example/x;y=1",
            },
        ),
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


def claimed(typed: str) -> list[str]:
    """The items of a claim in one line each, the day as month and day."""
    lines = []
    for each in filled(EXPENSE, typed).get("items", []):
        money, day = each.get("amount"), str(each.get("date", ""))[5:]
        amount = f"{money['amount']} {money['currency']}" if money else ""
        words = (each.get("category", ""), amount, day, each.get("invoice", ""))
        lines.append(" ".join(word for word in words if word).replace(" CNY", ""))
    return lines


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        # The number of a document is no amount
        (
            "报销打车费，发票号 25312000000000123456，58 元，昨天",
            ["transport 58.00 11-17 25312000000000123456"],
        ),
        ("报销打车费 58 元，25312000000000123456", ["transport 58.00 25312000000000123456"]),
        ("报销打车费58元，发票号A123，昨天，见客户", ["transport 58.00 11-17 A123"]),
        ("claim a taxi 58 yuan, receipt 20261", ["transport 58.00 20261"]),
        ("claim a taxi 58 yuan, invoice no. 12", ["transport 58.00 12"]),
        ("报销打车发票 58", ["transport 58.00"]),
        ("报销打车发票 1200", ["transport 1200.00"]),
        # Rows: one each, in order
        ("三张打车票58 36 32报销", [f"transport {n}.00" for n in (58, 36, 32)]),
        ("claim 3 taxi rides: 58 + 36 + 32", [f"transport {n}.00" for n in (58, 36, 32)]),
        ("报销昨天和前天的打车费，30 和 40", ["transport 30.00 11-17", "transport 40.00 11-16"]),
        ("报销打车和午饭，30 和 40", ["transport 30.00", "meal 40.00"]),
        ("报销打车58块，午餐36，发票号 A1 和 A2", ["transport 58.00 A1", "meal 36.00 A2"]),
        (
            "三张打车票 58、36、32 报销，发票号分别是 A1、A2、A3，出差上海",
            ["transport 58.00 A1", "transport 36.00 A2", "transport 32.00 A3"],
        ),
        (
            "claim taxi 58, 36 and 32, invoices A11, A12, A13; Shanghai trip",
            ["transport 58.00 A11", "transport 36.00 A12", "transport 32.00 A13"],
        ),
        (
            "claim a taxi on Nov 3 and lunch on Nov 4, 35 and 68",
            ["transport 35.00 11-03", "meal 68.00 11-04"],
        ),
        (
            "claim taxi 30 and lunch 40, the invoice of the second one is E2",
            ["transport 30.00", "meal 40.00 E2"],
        ),
        # A row that fits nothing is asked for
        ("报销打车和午饭，30、40、50", ["transport", "meal"]),
        (
            "报销打车58、午餐36、酒店500，发票号 A1 和 A2",
            ["transport 58.00", "meal 36.00", "hotel 500.00"],
        ),
        # What looks like a figure of money and is none, or could be two
        ("报销话费 ¥99，10月的", ["telecom 99.00"]),
        ("claim 86,5 yuan lunch", ["meal"]),
        ("claim 1.234,50 yuan hotel", ["hotel"]),
        ("报销打车 58，360元酒店", ["transport", "hotel"]),
        ("报销打车 1,200 元", ["transport 1200.00"]),
        ("报销打车费 58.999", ["transport"]),
        ("报销打车费 58.999 元", ["transport"]),
        ("报销打车费 -5 元", ["transport -5.00"]),
        ("报销打车费负五元", ["transport -5.00"]),
        ("报销打车费-58元", ["transport 58.00"]),
        # Said again in place of the first
        ("报销昨天打车 58，不对，是 85，发票号 C1", ["transport 85.00 11-17 C1"]),
        ("claim taxi 58, no sorry, 85", ["transport 85.00"]),
        ("报销昨天，不对，前天的打车费 58", ["transport 58.00 11-16"]),
        ("claim taxi 58, no, 85, and lunch 36", ["transport 85.00", "meal 36.00"]),
        ("claim taxi 58, no receipt, lunch 36", ["transport 58.00", "meal 36.00"]),
        ("报销打车 58，没有发票，午餐 36", ["transport 58.00", "meal 36.00"]),
        # A day for all stands before or after them; one in between is of what it stands with
        (
            "claim taxi 30 yuan and lunch 40 yuan yesterday",
            ["transport 30.00 11-17", "meal 40.00 11-17"],
        ),
        (
            "claim taxi 30 yuan and lunch 40 yuan, both yesterday",
            ["transport 30.00 11-17", "meal 40.00 11-17"],
        ),
        ("报销昨天打车 30 和午餐 40", ["transport 30.00 11-17", "meal 40.00 11-17"]),
        ("claim taxi 58 on Nov 3 and lunch 40", ["transport 58.00 11-03", "meal 40.00"]),
        # The same twice
        ("报销昨天打车36、昨天打车58", ["transport 36.00 11-17", "transport 58.00 11-17"]),
        ("报销餐饮和招待费 200元", ["meal 200.00"]),
    ],
)
def test_a_claim_takes_each_item_as_it_was_meant(typed: str, lines: list[str]) -> None:
    assert claimed(typed) == lines


@pytest.mark.parametrize(
    "typed", ["报销打车 58，不对，是 85", "claim taxi 58, no sorry, 85", "报销打车 58，发票号 A1"]
)
def test_words_of_correction_and_documents_are_no_reason(typed: str) -> None:
    assert "reason" not in filled(EXPENSE, typed)


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
