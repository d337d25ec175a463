"""Putting a claim's items right: the one that is meant, or none."""

from datetime import datetime
from typing import Any

import pytest

from router.domain.commands import FillSlots, ReplyText, Skip
from router.entities.utterance import Utterance
from router.flow.view import FlowView
from router.understanding.corrections.values import correction
from router.understanding.slots.answers import answer
from tests.unit.understanding.flows import EXPENSE
from tests.unit.understanding.test_answers import asking, yuan
from tests.unit.understanding.test_reader import command

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
TAXI = {
    "category": "transport",
    "amount": yuan("30.00"),
    "date": "2026-11-17",
    "invoice": "A1",
}
LUNCH = {"category": "meal", "amount": yuan("40.00"), "date": "2026-11-16", "invoice": "B2"}
HOTEL = {"category": "hotel", "amount": yuan("500.00"), "date": "2026-11-16", "invoice": "C3"}
TRIP = {"category": "transport", "amount": yuan("36.00"), "date": "2026-11-15", "invoice": "D4"}


def confirming(*items: dict[str, Any]) -> FlowView:
    return asking(EXPENSE, None, {"items": list(items), "reason": "见客户"}, "confirming")


def any_more(*items: dict[str, Any]) -> FlowView:
    return asking(EXPENSE, "items", {"items": list(items)})


def put_right(view: FlowView, typed: str) -> dict[str, Any] | None:
    return correction(view, Utterance.of(typed, NOW))


def without(item: dict[str, Any], name: str) -> dict[str, Any]:
    return {n: v for n, v in item.items() if n != name}


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("把打车那项删掉", [LUNCH, HOTEL]),
        ("第2项删掉", [TAXI, HOTEL]),
        ("第二项不要了", [TAXI, HOTEL]),
        ("删掉午餐", [TAXI, HOTEL]),
        ("不用报午餐了", [TAXI, HOTEL]),
        ("午餐不报了", [TAXI, HOTEL]),
        ("不对，把午餐去掉", [TAXI, HOTEL]),
        ("最后一项去掉吧", [TAXI, LUNCH]),
        ("500 那笔删了", [TAXI, LUNCH]),
        ("昨天那笔删掉", [LUNCH, HOTEL]),
        ("打车和午餐都删掉", [HOTEL]),
        ("删掉第1项和第3项", [LUNCH]),
        ("remove the second one", [TAXI, HOTEL]),
        ("delete the taxi", [LUNCH, HOTEL]),
        ("please take out the lunch", [TAXI, HOTEL]),
        ("take the lunch out", [TAXI, HOTEL]),
        ("drop item 3", [TAXI, LUNCH]),
        ("no, delete the taxi please", [LUNCH, HOTEL]),
        ("I don't want to claim the lunch", [TAXI, HOTEL]),
        ("remove the last one", [TAXI, LUNCH]),
        ("remove the taxi and the hotel", [LUNCH]),
    ],
)
def test_an_item_that_is_named_is_removed(typed: str, left: list[Any]) -> None:
    assert put_right(confirming(TAXI, LUNCH, HOTEL), typed) == {"items": left}
    assert put_right(any_more(TAXI, LUNCH, HOTEL), typed) == {"items": left}


@pytest.mark.parametrize(
    "typed",
    [
        "别删打车",
        "不要删掉午餐",
        "只要打车",
        "除了午餐都删掉",
        "删掉机票的发票号",
        "删掉第5项",
        "删掉培训",
        "删掉",
        "午餐能删掉吗",
        "don't remove the taxi",
        "remove everything except the taxi",
        "delete item 9",
        "把打车那项删掉，午餐改成 50 再加一个酒店",
    ],
)
def test_what_removes_nothing(typed: str) -> None:
    said = put_right(confirming(TAXI, LUNCH), typed)
    assert said is None or "items" not in said


@pytest.mark.parametrize(
    "typed", ["打车删掉", "delete the taxi", "去掉前两项", "remove the first two"]
)
def test_where_several_items_fit_it_is_asked_which(typed: str) -> None:
    view = confirming(TAXI, TRIP, LUNCH)
    assert put_right(view, typed) is None
    assert isinstance(command(typed, view), ReplyText)


@pytest.mark.parametrize("typed", ["删掉打车", "第1项删掉", "remove the taxi"])
def test_the_only_item_is_not_removed(typed: str) -> None:
    heard = command(typed, confirming(TAXI))
    assert isinstance(heard, ReplyText)
    assert "cancel" in heard.text or "取消" in heard.text


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("第一项改成 35", {"items.0.amount": yuan("35.00")}),
        ("第一项金额改成 50", {"items.0.amount": yuan("50.00")}),
        ("午餐改成 50", {"items.1.amount": yuan("50.00")}),
        ("把午餐改成 50 块", {"items.1.amount": yuan("50.00")}),
        ("不对，午餐 50", {"items.1.amount": yuan("50.00")}),
        ("打车是前天的", {"items.0.date": "2026-11-16"}),
        ("30 那笔改成 35", {"items.0.amount": yuan("35.00")}),
        ("不是40是46", {"items.1.amount": yuan("46.00")}),
        ("11月16日的午餐改成 86", {"items.1.amount": yuan("86.00")}),
        ("第二项改成打车", {"items.1.category": "transport"}),
        ("最后一项的日期改成昨天", {"items.1.date": "2026-11-17"}),
        ("第一张是 D1", {"items.0.invoice": "D1"}),
        ("第二项的发票号是 F9", {"items.1.invoice": "F9"}),
        ("the first one was 35", {"items.0.amount": yuan("35.00")}),
        ("no, the second one was 46", {"items.1.amount": yuan("46.00")}),
        ("no, the 2nd one is 46", {"items.1.amount": yuan("46.00")}),
        ("change item 1 date to Monday", {"items.0.date": "2026-11-16"}),
        ("the lunch should be 50", {"items.1.amount": yuan("50.00")}),
        ("make the lunch 50 yuan", {"items.1.amount": yuan("50.00")}),
        ("not 40 but 46", {"items.1.amount": yuan("46.00")}),
        ("the taxi was on Nov 10", {"items.0.date": "2026-11-10"}),
        ("the invoice of the second one is E2", {"items.1.invoice": "E2"}),
    ],
)
def test_the_item_that_is_meant_is_put_right(typed: str, slots: dict[str, Any]) -> None:
    assert put_right(confirming(TAXI, LUNCH), typed) == slots
    assert put_right(any_more(TAXI, LUNCH), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("金额改成 50", {"items.0.amount": yuan("50.00")}),
        ("改成 50", {"items.0.amount": yuan("50.00")}),
        ("不对，是 50", {"items.0.amount": yuan("50.00")}),
        ("类别改成餐饮", {"items.0.category": "meal"}),
        ("发票号改成B22", {"items.0.invoice": "B22"}),
        ("the date was Nov 10", {"items.0.date": "2026-11-10"}),
        ("no, it was 46", {"items.0.amount": yuan("46.00")}),
        ("no, lunch", {"items.0.category": "meal"}),
    ],
)
def test_the_only_item_needs_no_naming(typed: str, slots: dict[str, Any]) -> None:
    assert put_right(confirming(TAXI), typed) == slots


@pytest.mark.parametrize(
    "typed", ["金额改成 50", "不对，是 50", "the date was Nov 10", "no, it's 46"]
)
def test_of_several_items_none_is_guessed(typed: str) -> None:
    for view in (confirming(TAXI, LUNCH), any_more(TAXI, LUNCH)):
        assert put_right(view, typed) is None
        assert isinstance(command(typed, view), ReplyText)


@pytest.mark.parametrize(
    ("typed", "item"),
    [
        ("打车 30", {"category": "transport", "amount": yuan("30.00")}),
        ("还有一笔打车，金额是 58", {"category": "transport", "amount": yuan("58.00")}),
        ("第二项是午餐 40", {"category": "meal", "amount": yuan("40.00")}),
        ("also a taxi, it was 58", {"category": "transport", "amount": yuan("58.00")}),
    ],
)
def test_another_item_corrects_none(typed: str, item: dict[str, Any]) -> None:
    assert put_right(any_more(TAXI), typed) is None
    assert answer(any_more(TAXI), Utterance.of(typed, NOW)) == {"items.1": item}


def test_a_field_that_is_asked_for_is_of_the_item_asked_about() -> None:
    items = [without(TAXI, "invoice"), LUNCH]
    view = asking(EXPENSE, "items.0.invoice", {"items": items})
    for typed in ("发票号是 12345678", "invoice number is 12345678", "12345678"):
        said = put_right(view, typed) or answer(view, Utterance.of(typed, NOW))
        assert said == {"items.0.invoice": "12345678"}


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("11月16日的午餐改成 86", {"items.1.amount": yuan("86.00")}),
        ("第一张是 D1", {"items.0.invoice": "D1"}),
        ("号码是 25312000000000123456", {"items.0.invoice": "25312000000000123456"}),
        ("INV-1002", {"items.0.invoice": "INV-1002"}),
        ("D1", {"items.0.invoice": "D1"}),
        ("No. 20261", {"items.0.invoice": "20261"}),
        ("2531 2000 0000 0012 3456", {"items.0.invoice": "2531 2000 0000 0012 3456"}),
    ],
)
def test_the_question_for_an_invoice_hears_numbers_and_corrections(
    typed: str, slots: dict[str, Any]
) -> None:
    view = asking(EXPENSE, "items.0.invoice", {"items": [without(TAXI, "invoice"), LUNCH]})
    assert command(typed, view) == FillSlots(slots=slots)


NO_INVOICE = [
    *("没有发票", "没有了", "没了", "没有", "发票丢了", "没开发票", "我没有发票", "找不到发票了"),
    *("不用了", "不用", "不需要了"),
    *("no", "no more", "nothing else", "no receipt", "I lost it", "I don't have one"),
    *("I lost the receipt", "there is no invoice"),
]


@pytest.mark.parametrize("typed", NO_INVOICE)
def test_no_invoice_is_no_invoice(typed: str) -> None:
    view = asking(EXPENSE, "items.0.invoice", {"items": [without(TAXI, "invoice")]})
    assert command(typed, view) == Skip()


@pytest.mark.parametrize(
    "typed",
    ["yes", "好的", "发票号是多少我不知道", "58元", "明天给你", "what is that?", "Nov 18, I think"],
)
def test_what_names_no_invoice_is_not_taken_for_one(typed: str) -> None:
    view = asking(EXPENSE, "items.0.invoice", {"items": [without(TAXI, "invoice")]})
    assert not isinstance(command(typed, view), FillSlots)


@pytest.mark.parametrize(
    "typed",
    ["looks good", "looks good to me", "没问题", "确认", "perfect", "that's right", "submit it"],
)
def test_approval_of_the_items_means_no_more(typed: str) -> None:
    assert command(typed, any_more(TAXI)) == FillSlots(slots={"items.more": False})


@pytest.mark.parametrize("typed", ["ok", "好的", "可以"])
def test_mere_assent_opens_no_empty_item(typed: str) -> None:
    assert not isinstance(command(typed, any_more(TAXI)), FillSlots)


@pytest.mark.parametrize(
    "typed",
    ["金额是3个人的团建", "发票是客户要求开的", "打车是去酒店见客户", "午餐是和客户一起吃的"],
)
def test_a_reason_that_speaks_of_items_corrects_none(typed: str) -> None:
    view = asking(EXPENSE, "reason", {"items": [TAXI, LUNCH]})
    assert put_right(view, typed) is None


BARE = [{"category": "transport"}, {"category": "meal"}]


def test_amounts_in_a_row_answer_for_the_items_that_lack_one() -> None:
    view = asking(EXPENSE, "items.0.amount", {"items": BARE})
    assert answer(view, Utterance.of("30 和 40", NOW)) == {
        "items.0.amount": yuan("30.00"),
        "items.1.amount": yuan("40.00"),
    }


def test_amounts_in_a_row_overwrite_none_that_is_known() -> None:
    view = asking(EXPENSE, "items.0.amount", {"items": [BARE[0], LUNCH]})
    assert answer(view, Utterance.of("30 和 50", NOW)) is None


@pytest.mark.parametrize("typed", ["-5 元", "负五元", "-5"])
def test_a_sign_is_kept_so_that_the_flow_can_refuse_it(typed: str) -> None:
    view = asking(EXPENSE, "items.0.amount", {"items": [BARE[0]]})
    assert answer(view, Utterance.of(typed, NOW)) == {"items.0.amount": yuan("-5.00")}


@pytest.mark.parametrize("typed", ["58.999", "58.999 元", "86,5", "1.234,50"])
def test_an_amount_that_is_none_is_not_rounded(typed: str) -> None:
    view = asking(EXPENSE, "items.0.amount", {"items": [BARE[0]]})
    assert answer(view, Utterance.of(typed, NOW)) is None


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("前天，发票号 A001", {"items.0.date": "2026-11-16", "items.0.invoice": "A001"}),
        ("Nov 17, INV-1003", {"items.0.date": "2026-11-17", "items.0.invoice": "INV-1003"}),
        ("Nov 17, invoice INV-1002", {"items.0.date": "2026-11-17", "items.0.invoice": "INV-1002"}),
    ],
)
def test_an_answer_may_name_the_invoice_besides(typed: str, slots: dict[str, Any]) -> None:
    known = without(without(TAXI, "date"), "invoice")
    view = asking(EXPENSE, "items.0.date", {"items": [known]})
    assert answer(view, Utterance.of(typed, NOW)) == slots
