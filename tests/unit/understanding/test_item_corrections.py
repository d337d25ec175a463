"""Putting a claim's items right, and adding to them: the one that is meant, or none."""

from typing import Any

from router.domain.commands import Confirm, FillSlots, ReplyText, Skip
from router.flow.view import FormView
from tests.table import each_row
from tests.unit.entities.tables import spread, typed
from tests.unit.understanding.dialogue import (
    TAXI,
    answered,
    asking,
    command,
    corrected,
    filled,
    item,
    yuan,
)
from tests.unit.understanding.flows import EXPENSE, LEAVE

LUNCH = item("meal", "40.00", date="2026-11-16", invoice="B2")
HOTEL = item("hotel", "500.00", date="2026-11-16", invoice="C3")
TRIP = item("transport", "36.00", date="2026-11-15", invoice="D4")


def confirming(*items: dict[str, Any]) -> FormView:
    return asking(EXPENSE, None, {"items": list(items), "reason": "见客户"}, "confirming")


def any_more(*items: dict[str, Any]) -> FormView:
    return asking(EXPENSE, "items", {"items": list(items)})


UNPROVEN = item("transport", "30.00", date="2026-11-17")
INVOICE = asking(EXPENSE, "items.0.invoice", {"items": [UNPROVEN]})
OF_TWO = asking(EXPENSE, "items.0.invoice", {"items": [UNPROVEN, LUNCH]})


REMOVALS = (
    ([LUNCH, HOTEL], "把打车那项删掉  昨天那笔删掉  delete the taxi  no, delete the taxi please"),
    (
        [TAXI, HOTEL],
        "第2项删掉  第二项不要了  删掉午餐  不用报午餐了  午餐不报了  不对，把午餐去掉",
    ),
    ([TAXI, HOTEL], "remove the second one  please take out the lunch  take the lunch out"),
    ([TAXI, HOTEL], "I don't want to claim the lunch"),
    ([TAXI, LUNCH], "最后一项去掉吧  500 那笔删了  drop item 3  remove the last one"),
    ([HOTEL], "打车和午餐都删掉"),
    ([LUNCH], "删掉第1项和第3项  remove the taxi and the hotel"),
)


@each_row(("left", "typed"), spread(*REMOVALS))
def test_an_item_that_is_named_is_removed(typed: str, left: list[Any]) -> None:
    assert corrected(confirming(TAXI, LUNCH, HOTEL), typed) == {"items": left}
    assert corrected(any_more(TAXI, LUNCH, HOTEL), typed) == {"items": left}


@typed("""
    别删打车  不要删掉午餐  只要打车  除了午餐都删掉  删掉机票的发票号  删掉第5项  删掉培训  删掉
    午餐能删掉吗
    don't remove the taxi  remove everything except the taxi  delete item 9
    把打车那项删掉，午餐改成 50 再加一个酒店
""")
def test_what_removes_nothing(typed: str) -> None:
    said = corrected(confirming(TAXI, LUNCH), typed)
    assert said is None or "items" not in said


@each_row("typed", ["打车删掉", "delete the taxi", "去掉前两项", "remove the first two"])
def test_where_several_items_fit_it_is_asked_which(typed: str) -> None:
    view = confirming(TAXI, TRIP, LUNCH)
    assert corrected(view, typed) is None
    assert isinstance(command(typed, view), ReplyText)


@each_row("typed", ["删掉打车", "第1项删掉", "remove the taxi"])
def test_the_only_item_is_not_removed(typed: str) -> None:
    heard = command(typed, confirming(TAXI))
    assert isinstance(heard, ReplyText)
    assert "cancel" in heard.text or "取消" in heard.text


@each_row(
    ("slots", "typed"),
    spread(
        ({"items.0.amount": yuan("35.00")}, "第一项改成 35  30 那笔改成 35  the first one was 35"),
        ({"items.0.amount": yuan("50.00")}, "第一项金额改成 50"),
        ({"items.1.amount": yuan("50.00")}, "午餐改成 50  把午餐改成 50 块  不对，午餐 50"),
        ({"items.1.amount": yuan("50.00")}, "最后一项的金额改成 50"),
        ({"items.1.amount": yuan("50.00")}, "the lunch should be 50  make the lunch 50 yuan"),
        ({"items.0.date": "2026-11-16"}, "打车是前天的  change item 1 date to Monday"),
        ({"items.1.amount": yuan("46.00")}, "不是40是46  no, the second one was 46"),
        ({"items.1.amount": yuan("46.00")}, "no, the 2nd one is 46  not 40 but 46"),
        ({"items.1.amount": yuan("86.00")}, "11月16日的午餐改成 86"),
        ({"items.1.category": "transport"}, "第二项改成打车"),
        ({"items.1.date": "2026-11-17"}, "最后一项的日期改成昨天"),
        ({"items.0.invoice": "D1"}, "第一张是 D1"),
        ({"items.1.invoice": "F9"}, "第二项的发票号是 F9"),
        ({"items.0.date": "2026-11-10"}, "the taxi was on Nov 10"),
        ({"items.1.invoice": "E2"}, "the invoice of the second one is E2"),
    ),
)
def test_the_item_that_is_meant_is_corrected(typed: str, slots: dict[str, Any]) -> None:
    assert corrected(confirming(TAXI, LUNCH), typed) == slots
    assert corrected(any_more(TAXI, LUNCH), typed) == slots


@each_row(
    ("slots", "typed"),
    spread(
        ({"items.0.amount": yuan("50.00")}, "金额改成 50  改成 50  不对，是 50"),
        ({"items.0.category": "meal"}, "类别改成餐饮  no, lunch"),
        ({"items.0.invoice": "B22"}, "发票号改成B22"),
        ({"items.0.date": "2026-11-10"}, "the date was Nov 10"),
        ({"items.0.amount": yuan("46.00")}, "no, it was 46"),
    ),
)
def test_the_only_item_needs_no_naming(typed: str, slots: dict[str, Any]) -> None:
    assert corrected(confirming(TAXI), typed) == slots


@each_row("typed", ["金额改成 50", "不对，是 50", "the date was Nov 10", "no, it's 46"])
def test_of_several_items_none_is_guessed(typed: str) -> None:
    for view in (confirming(TAXI, LUNCH), any_more(TAXI, LUNCH)):
        assert corrected(view, typed) is None
        assert isinstance(command(typed, view), ReplyText)


@each_row(
    ("typed", "added"),
    [
        ("打车 30", item("transport", "30.00")),
        ("还有一笔打车，金额是 58", item("transport", "58.00")),
        ("第二项是午餐 40", item("meal", "40.00")),
        ("also a taxi, it was 58", item("transport", "58.00")),
    ],
)
def test_another_item_corrects_none(typed: str, added: dict[str, Any]) -> None:
    assert corrected(any_more(TAXI), typed) is None
    assert answered(any_more(TAXI), typed) == {"items.1": added}


@each_row(
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
    assert command(typed, OF_TWO) == FillSlots(slots=slots)


@typed("""
    没有发票  没有了  没了  没有  发票丢了  没开发票  我没有发票  找不到发票了  不用了  不用
    不需要了  no  no more  nothing else  no receipt  I lost it  I don't have one
    I lost the receipt  there is no invoice
""")
def test_no_invoice_is_no_invoice(typed: str) -> None:
    assert command(typed, INVOICE) == Skip()


def test_a_field_that_is_asked_for_is_of_the_item_asked_about() -> None:
    for said in ("发票号是 12345678", "invoice number is 12345678", "12345678"):
        given = corrected(OF_TWO, said) or answered(OF_TWO, said)
        assert given == {"items.0.invoice": "12345678"}


@typed("yes  好的  发票号是多少我不知道  58元  明天给你  what is that?  Nov 18, I think")
def test_what_names_no_invoice_is_not_taken_for_one(typed: str) -> None:
    assert not isinstance(command(typed, INVOICE), FillSlots)


@typed("looks good  looks good to me  没问题  确认  perfect  that's right  submit it")
def test_approval_of_the_items_means_no_more(typed: str) -> None:
    assert command(typed, any_more(TAXI)) == FillSlots(slots={"items.more": False})


@each_row("typed", ["ok", "好的", "可以"])
def test_mere_assent_opens_no_empty_item(typed: str) -> None:
    assert not isinstance(command(typed, any_more(TAXI)), FillSlots)


@typed("""
    金额是3个人的团建  发票是客户要求开的  打车是去酒店见客户  午餐是和客户一起吃的
""")
def test_a_reason_that_speaks_of_items_corrects_none(typed: str) -> None:
    view = asking(EXPENSE, "reason", {"items": [TAXI, LUNCH]})
    assert corrected(view, typed) is None


BARE = [{"category": "transport"}, {"category": "meal"}]
BELOW = {"items.0.amount": yuan("-5.00")}
IN_A_ROW = {"items.0.amount": yuan("30.00"), "items.1.amount": yuan("40.00")}


@each_row(
    ("typed", "items", "slots"),
    [
        ("30 和 40", BARE, IN_A_ROW),
        ("30 和 50", [BARE[0], LUNCH], None),
        # A sign is kept, so that the flow can refuse it; nothing is rounded
        *((typed, BARE[:1], BELOW) for typed in ("-5 元", "负五元", "-5")),
        *((typed, BARE[:1], None) for typed in ("58.999", "58.999 元", "86,5", "1.234,50")),
    ],
)
def test_amounts_answer_for_the_items_that_lack_one(
    typed: str, items: list[Any], slots: dict[str, Any] | None
) -> None:
    assert answered(asking(EXPENSE, "items.0.amount", {"items": items}), typed) == slots


@each_row(
    ("typed", "slots"),
    [
        ("前天，发票号 A001", {"items.0.date": "2026-11-16", "items.0.invoice": "A001"}),
        ("Nov 17, INV-1003", {"items.0.date": "2026-11-17", "items.0.invoice": "INV-1003"}),
        ("Nov 17, invoice INV-1002", {"items.0.date": "2026-11-17", "items.0.invoice": "INV-1002"}),
    ],
)
def test_an_answer_may_name_the_invoice_besides(typed: str, slots: dict[str, Any]) -> None:
    view = asking(EXPENSE, "items.0.date", {"items": [item("transport", "30.00")]})
    assert answered(view, typed) == slots


NIGHT = item("hotel", "300.00")
WHY = asking(EXPENSE, "reason", {"items": [TAXI]})
LEAVE_GIVEN = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "搬家"}


@typed("""
    再加一项  再加一项吧  还有一笔  还有  加一张  对了，还有一笔费用
    add another item  add one more  one more expense  please add another
""")
def test_another_item_can_be_announced_at_the_confirmation(typed: str) -> None:
    assert filled(typed, confirming(TAXI)) == {"items.more": True}


@each_row(
    ("typed", "added"),
    [
        ("再加一项酒店 300 昨天", {**NIGHT, "date": "2026-11-17"}),
        ("还有酒店300，前天", {**NIGHT, "date": "2026-11-16"}),
        ("漏了一项：酒店300元", NIGHT),
        ("also hotel 300 yuan", NIGHT),
        ("add a hotel, 300 yuan, yesterday", {**NIGHT, "date": "2026-11-17"}),
        ("酒店300元，前天，发票FG-11", {**NIGHT, "date": "2026-11-16", "invoice": "FG-11"}),
    ],
)
@each_row("view", [confirming(TAXI), WHY], ids=["confirming", "why"])
def test_an_item_can_be_added_at_the_confirmation_and_is_no_reason(
    typed: str, added: dict[str, Any], view: FormView
) -> None:
    assert filled(typed, view) == {"items.1": added}


@each_row("typed", ["酒店", "300", "还有问题吗", "继续吧", "再加 100 项", "add"])
def test_what_adds_no_item_adds_none(typed: str) -> None:
    assert not any(path.startswith("items.") for path in filled(typed, confirming(TAXI)))


@each_row("typed", ["还有", "有", "有的"])
def test_that_there_is_more_is_no_leave_to_hand_in_what_there_is(typed: str) -> None:
    for view in (confirming(TAXI), asking(LEAVE, None, LEAVE_GIVEN, "confirming")):
        assert not isinstance(command(typed, view), Confirm)


def test_the_flow_says_itself_that_a_full_list_takes_no_more() -> None:
    full = confirming(*[TAXI] * EXPENSE.slots["items"].max)
    assert filled("再加一项", full) == {"items.more": True}


@each_row("typed", ["还有客户要见", "见客户，住酒店", "酒店300元", "a dinner with another client"])
def test_a_reason_that_sounds_like_an_item_stays_a_reason(typed: str) -> None:
    assert filled(typed, WHY) == {"reason": typed}
