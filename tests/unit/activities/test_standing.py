"""Requests on their buttons."""

from typing import Any

from activities.builtin.standing import days_of, offer_of, sums
from tests.table import each_row
from tests.unit.activities.requests import CLAIM, MONDAY, NOW, TRIP, asked


def test_a_button_says_kind_amount_and_status_and_its_words_mean_it() -> None:
    leave, claim = offer_of(MONDAY, NOW.tzinfo), offer_of(CLAIM, NOW.tzinfo)
    assert leave.label.zh == "请假申请（年假，11月30日）：审批中"
    assert leave.label.en == "Leave request (annual, 30 Nov): waiting approval"
    assert {"年假", "2026-11-30", "Leave request"} <= set(leave.synonyms)
    assert claim.label.zh == "费用报销（11月23日提交，¥116.00）：审批中"
    assert claim.label.en == "Expense claim (asked on 23 Nov, CNY 116.00): waiting approval"
    assert "上海" in offer_of(TRIP, NOW.tzinfo).synonyms


@each_row(
    "slots",
    [{}, {"start": None}, {"start": "soon"}, {"items": ["x", 7, None]}, {"a": {"currency": "CNY"}},
     {"items": [{"amount": {"amount": "x", "currency": "CNY"}}]}, {"end": "2026-01-01"}],
)  # fmt: skip
def test_slots_of_any_shape_have_a_button(slots: dict[str, Any]) -> None:
    record = asked("odd", "leave_request", **slots)
    assert offer_of(record, NOW.tzinfo).label.zh.startswith("请假申请（")
    assert [*days_of(slots), sums(slots, "en")][-1] in ("", "1 item")


def test_a_total_beside_its_items_is_counted_once_and_other_money_besides() -> None:
    items: Any = [{"amount": {"amount": "58", "currency": "CNY"}}] * 2
    total: Any = {"amount": "116.00", "currency": "CNY"}
    assert sums({"items": items, "total": total}, "zh") == "¥116.00"
    assert sums({"total": total}, "zh") == "¥116.00"
    deposit: Any = {"amount": "10", "currency": "CNY"}
    assert sums({"items": items, "deposit": deposit}, "zh") == "¥126.00"
