"""What the stories of the expense claim leave open."""

from typing import Any

from router.domain.commands import FillSlots
from router.domain.messages import Message
from router.flow.engine.events import Answered, Skipped
from router.flow.paused import Situation
from router.understanding.reader import Reader
from tests.forms import form
from tests.table import each_row
from tests.unit.flow.world import NOW, World, sample
from tests.unit.understanding.flows import EMPLOYEE

CLAIM = sample("reimbursement")


def item(amount: str = "36.00", invoice: str = "A1", date: str = "2026-11-17") -> dict[str, Any]:
    money = {"amount": amount, "currency": "CNY"}
    return {"category": "transport", "amount": money, "date": date, "invoice": invoice}


TAXI, HOTEL = item(), item("64.50", "A2")


def claiming(*items: dict[str, Any], user: str = "alice") -> World:
    return World(CLAIM, user, claimed="OLD").begin(items=list(items), reason="出差")


@each_row("typed", ["差旅 12000 元 今天 发票号 D1", "business class, 12000 yuan today, invoice D1"])
def test_what_is_understood_of_an_answer_is_kept_and_only_the_rest_is_asked(typed: str) -> None:
    world = World(CLAIM).begin()
    asked = world.run.question.path
    situation = Situation(now=NOW, locale="zh", roles=EMPLOYEE)
    (command,) = (
        Reader([CLAIM])
        .read(Message(text=typed), situation.showing(form(CLAIM, world.run)))
        .commands
    )
    assert isinstance(command, FillSlots)
    world.take(Answered(slots=command.slots))
    amount = {"amount": "12000.00", "currency": "CNY"}
    assert world.run.form.slots["items"] == [
        {"date": "2026-11-18", "amount": amount, "invoice": "D1"}
    ]
    assert (world.run.question.path, world.run.question.no_matches) == (asked, 0)
    world.answer(items__0__category="transport")
    assert world.run.question.path == "items"


@each_row(
    ("wrong", "said", "field"),
    [
        (item("0"), "大于零", "amount"),
        (item("600000"), "50 万元", "amount"),
        (item("5", date="2026-11-19"), "今天之后", "date"),
        (item("5", date="2025-01-01"), "超过一年", "date"),
        (item(invoice="OLD"), "已经报销过", "invoice"),
        ({**TAXI, "amount": {"amount": "45", "currency": "USD"}}, "只报人民币", "amount"),
    ],
)
def test_of_an_item_only_what_is_wrong_is_asked_anew_with_the_reason(
    wrong: dict[str, Any], said: str, field: str
) -> None:
    world = claiming(wrong)
    assert said in world.said[-1]
    assert world.run.question.path == f"items.0.{field}"
    items: Any = world.run.form.slots["items"]
    assert set(items[0]) == set(wrong) - {field}


def test_a_corrected_value_that_is_wrong_leaves_the_one_before() -> None:
    world = claiming(TAXI, HOTEL)
    before = world.run.form.slots["items"]
    world.answer(items__1__amount={"amount": "0", "currency": "CNY"})
    assert any("大于零" in said for said in world.said)
    assert world.run.form.slots["items"] == before


def test_items_are_added_up_and_a_shorter_list_anew() -> None:
    world = claiming(TAXI, HOTEL)
    assert world.run.form.slots["total"] == {"amount": "100.50", "currency": "CNY"}
    world.answer(items=[HOTEL])
    assert world.run.form.slots["total"] == {"amount": "64.50", "currency": "CNY"}
    assert world.run.status == "confirming"


def test_after_an_item_is_removed_others_may_still_follow() -> None:
    world = World(CLAIM).begin().answer(items__0=TAXI, items__1=HOTEL)
    assert world.run.question.path == "items"
    assert world.answer(items=[TAXI]).run.question.path == "items"


def test_who_has_no_invoice_hears_what_to_do() -> None:
    without = {name: value for name, value in TAXI.items() if name != "invoice"}
    world = World(CLAIM).begin(items=[HOTEL, without]).take(Skipped(by="alice"))
    assert any("必填" in said and "第2项删掉" in said for said in world.said)


def test_the_same_invoice_twice_in_a_claim_is_refused() -> None:
    world = claiming(TAXI).confirm(False).answer(items=[TAXI, item("99")])
    assert any("已经有了" in said for said in world.said)


@each_row(
    ("user", "amount", "approvers"),
    [
        ("alice", "1000.00", ["bob"]),
        ("alice", "1000.01", ["bob", "erin"]),
        ("alice", "10000.00", ["bob", "erin"]),
        ("alice", "12000.00", ["bob", "erin", "carol"]),
        ("erin", "12000.00", ["carol"]),
        ("carol", "12000.00", ["erin"]),
    ],
)
def test_the_amount_says_who_decides_and_nobody_does_on_their_own_nor_twice(
    user: str, amount: str, approvers: list[str]
) -> None:
    world = claiming(item(amount), user=user).confirm()
    asked = []
    while world.run.status == "waiting_approval":
        asked += world.awaited
        world.decide(asked[-1])
    assert (asked, world.run.status) == (approvers, "completed")
    assert world.called == ["submit_claim", "settle_claim"]
