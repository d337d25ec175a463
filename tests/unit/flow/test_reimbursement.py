from pathlib import Path
from typing import Any

import pytest

from router.domain.commands import FillSlots
from router.domain.messages import Message
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Skipped
from router.flow.loader import load_flow
from router.flow.paused import Situation
from router.flow.prompts.question import view
from router.understanding.reader import Reader
from tests.unit.flow.world import NOW, World
from tests.unit.understanding.flows import EMPLOYEE

FLOWS = Path(__file__).parents[3] / "flows"


@pytest.fixture(scope="module")
def claim() -> FlowDefinition:
    return load_flow(FLOWS / "reimbursement.yaml")


def item(amount: str = "36.00", invoice: str = "A1", **other: Any) -> dict[str, Any]:
    return {
        "category": "transport",
        "amount": {"amount": amount, "currency": "CNY"},
        "date": "2026-11-17",
        "invoice": invoice,
        **other,
    }


def confirmed(claim: FlowDefinition, *items: dict[str, Any], user: str = "alice") -> World:
    world = World(claim, user=user).begin(items=list(items), reason="出差")
    return world.confirm()


def test_an_item_is_asked_for_field_by_field_and_then_whether_there_is_more(
    claim: FlowDefinition,
) -> None:
    world = World(claim).begin()
    asked = []
    for answer in (
        {"items__0__category": "meal"},
        {"items__0__amount": {"amount": "58", "currency": "CNY"}},
        {"items__0__date": "2026-11-17"},
        {"items__0__invoice": "A1"},
        {"items__more": False},
    ):
        asked.append(world.run.asked)
        world.answer(**answer)
    fields = [f"items.0.{name}" for name in ("category", "amount", "date", "invoice")]
    assert [*asked, world.run.asked] == [*fields, "items", "reason"]


@pytest.mark.parametrize(
    "typed", ["差旅 12000 元 今天 发票号 D1", "business class, 12000 yuan today, invoice D1"]
)
def test_what_is_understood_of_an_answer_is_kept_and_only_the_rest_is_asked(
    claim: FlowDefinition, typed: str
) -> None:
    world = World(claim).begin()
    asked = world.run.asked
    situation = Situation(now=NOW, locale="zh", roles=EMPLOYEE, active=view(claim, world.run))
    (command,) = Reader([claim]).read(Message(text=typed), situation).commands
    assert isinstance(command, FillSlots)
    world.take(Answered(slots=command.slots))
    amount = {"amount": "12000.00", "currency": "CNY"}
    assert world.run.slots["items"] == [{"date": "2026-11-18", "amount": amount, "invoice": "D1"}]
    assert (world.run.asked, world.run.misses) == (asked, 0)
    world.answer(items__0__category="transport")
    assert world.run.asked == "items"


def test_the_confirmation_shows_every_item_and_the_total(claim: FlowDefinition) -> None:
    world = World(claim).begin(items=[item(), item("64.50", "A2")], reason="出差")
    assert world.run.status == "confirming"
    assert world.run.slots["total"] == {"amount": "100.50", "currency": "CNY"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (item("0"), "大于零"),
        (item("600000"), "50 万元"),
        (item(amount="5", date="2026-11-19"), "今天之后"),
        (item(amount="5", date="2025-01-01"), "超过一年"),
        (item(invoice="OLD"), "已经报销过"),
        ({**item(), "amount": {"amount": "45", "currency": "USD"}}, "只报人民币"),
    ],
)
def test_an_item_that_can_not_be_claimed_is_refused_with_the_reason(
    claim: FlowDefinition, wrong: dict[str, Any], said: str
) -> None:
    world = World(claim, claimed=frozenset({"OLD"})).begin(items=[wrong], reason="出差")
    assert said in world.said[-1]
    assert world.run.status == "collecting"


@pytest.mark.parametrize(
    ("wrong", "asked"),
    [
        ({**item(), "amount": {"amount": "200", "currency": "USD"}}, "items.0.amount"),
        (item("0"), "items.0.amount"),
        ({**item(), "date": "2026-11-19"}, "items.0.date"),
        (item(invoice="OLD"), "items.0.invoice"),
    ],
)
def test_of_an_item_only_what_is_wrong_is_asked_anew(
    claim: FlowDefinition, wrong: dict[str, Any], asked: str
) -> None:
    world = World(claim, claimed=frozenset({"OLD"})).begin(items=[wrong], reason="出差")
    assert world.run.asked == asked
    items: Any = world.run.slots["items"]
    assert set(items[0]) == set(wrong) - {asked.rpartition(".")[2]}


def test_a_corrected_value_that_is_wrong_leaves_the_one_before(claim: FlowDefinition) -> None:
    world = World(claim).begin(items=[item(), item("64.50", "A2")], reason="出差")
    before = world.run.slots["items"]
    world.answer(items__1__amount={"amount": "0", "currency": "CNY"})
    assert any("大于零" in said for said in world.said)
    assert world.run.slots["items"] == before


def test_a_shorter_list_is_taken_and_added_up_anew(claim: FlowDefinition) -> None:
    world = World(claim).begin(items=[item(), item("64.50", "A2")], reason="出差")
    world.answer(items=[item("64.50", "A2")])
    assert world.run.status == "confirming"
    assert world.run.slots["total"] == {"amount": "64.50", "currency": "CNY"}


def test_after_an_item_is_removed_others_may_still_follow(claim: FlowDefinition) -> None:
    world = World(claim).begin()
    world.answer(items__0=item(), items__1=item("64.50", "A2"))
    assert world.run.asked == "items"
    world.answer(items=[item()])
    assert world.run.asked == "items"


def test_who_has_no_invoice_hears_what_to_do(claim: FlowDefinition) -> None:
    without = {name: value for name, value in item().items() if name != "invoice"}
    world = World(claim).begin(items=[item(invoice="A2"), without])
    world.take(Skipped(by="alice"))
    assert any("必填" in said and "第2项删掉" in said for said in world.said)


def test_the_same_invoice_twice_in_a_claim_is_refused(claim: FlowDefinition) -> None:
    world = World(claim).begin(items=[item()], reason="出差").confirm(False)
    world.answer(items=[item(), item("99")])
    assert any("已经有了" in said for said in world.said)


@pytest.mark.parametrize(
    ("amount", "approvers"),
    [
        ("1000.00", ["bob"]),
        ("1000.01", ["bob", "erin"]),
        ("10000.00", ["bob", "erin"]),
        ("12000.00", ["bob", "erin", "carol"]),
    ],
)
def test_the_amount_says_who_has_to_approve(
    claim: FlowDefinition, amount: str, approvers: list[str]
) -> None:
    world = confirmed(claim, item(amount))
    asked = []
    while world.run.status == "waiting_approval":
        asked += world.asked_to_decide
        world.decide(asked[-1])
    assert asked == approvers
    assert world.run.status == "completed"
    assert world.calls == ["submit_claim", "settle_claim"]


@pytest.mark.parametrize(
    ("user", "approvers"),
    [("erin", ["carol"]), ("carol", ["erin"])],
)
def test_nobody_approves_a_claim_of_their_own_nor_the_same_claim_twice(
    claim: FlowDefinition, user: str, approvers: list[str]
) -> None:
    world = confirmed(claim, item("12000.00"), user=user)
    asked = []
    while world.run.status == "waiting_approval":
        asked += world.asked_to_decide
        world.decide(asked[-1])
    assert (asked, world.run.status) == (approvers, "completed")


def test_a_rejected_claim_frees_its_invoices_and_tells_the_comment(claim: FlowDefinition) -> None:
    world = confirmed(claim, item()).decide("bob", "reject", "缺明细")
    assert world.run.status == "rejected"
    assert world.calls == ["submit_claim", "reject_claim"]
    assert world.arguments["reject_claim"] == {"claim": "C1"}
    assert "缺明细" in world.said[-1]


def test_a_returned_claim_is_withdrawn_before_it_is_changed(claim: FlowDefinition) -> None:
    world = confirmed(claim, item()).decide("bob", "return", "发票不清楚")
    assert world.calls == ["submit_claim", "withdraw_claim"]
    assert world.run.status in ("collecting", "confirming")


def test_a_claim_that_can_not_be_filed_ends_as_failed_and_says_so(claim: FlowDefinition) -> None:
    world = World(claim, failing=frozenset({"submit_claim"})).begin(items=[item()], reason="x")
    assert world.confirm().run.status == "failed"
    assert "什么都没有提交" in world.said[-1]
