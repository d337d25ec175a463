"""Asking models on somebody's account, over HTTP and with a real database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from activities.models import Models, SkillStep
from activities.progress import ProgressPublisher
from router.contracts.activities import Account
from router.domain.budgets import Budget, Budgets
from router.domain.messages import Usage
from router.domain.principals import Principal
from router.llm.fallback import FallbackChain
from router.llm.types import BudgetSpent, NoModelAnswered, TurnTimeOver
from router.store.database import Database
from router.store.store import Store
from tests.fakes.audience import Audience
from tests.fakes.model_server import fails, says
from tests.unit.llm.asking import Desk, desk, question

ALICE = Principal(id="alice", name="Alice")
TODAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


@dataclass
class Bank:
    """A model, and a database that counts."""

    desk: Desk
    store: Store

    async def ask(self, budgets: Budgets, **account: object) -> Usage:
        about = Account.model_validate({"caller": ALICE, "now": NOW, **account})
        asking = Models(budgets, self.store.spending).asking(
            FallbackChain([self.desk.model]), about
        )
        await asking(question())
        return asking.usage

    @property
    def requests(self) -> int:
        return len(self.desk.server.requests)


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[Bank]:
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await database.migrate()
    async with desk(says("你好")) as open_desk:
        yield Bank(open_desk, Store(database))
    await database.dispose()


async def test_what_an_answer_cost_is_counted_for_who_asked(bank: Bank) -> None:
    usage = await bank.ask(Budgets())
    assert usage.llm_calls == 1
    spent = await bank.store.spending.of_day("default", "alice", TODAY)
    assert spent == (usage, usage, usage)


async def test_a_turn_that_has_spent_its_budget_asks_no_more(bank: Bank) -> None:
    budgets = Budgets(turn=Budget(calls=2))
    await bank.ask(budgets, spent=Usage(llm_calls=1))
    with pytest.raises(BudgetSpent, match="budget of the turn: 2 of 2 calls are spent"):
        await bank.ask(budgets, spent=Usage(llm_calls=2))
    assert bank.requests == 1


async def test_a_question_that_would_cost_too_much_is_not_asked(bank: Bank) -> None:
    with pytest.raises(BudgetSpent, match="budget of the turn: 0 of 10 tokens are spent"):
        await bank.ask(Budgets(turn=Budget(tokens=10)))
    assert bank.requests == 0


async def test_a_user_whose_day_is_spent_is_told_so_and_others_are_not(bank: Bank) -> None:
    budgets = Budgets(user=Budget(calls=1))
    await bank.ask(budgets)
    with pytest.raises(BudgetSpent, match="budget of the user: 1 of 1 calls") as spent:
        await bank.ask(budgets)
    assert spent.value.scope == "user"
    await bank.ask(budgets, caller=Principal(id="bob", name="Bob"))


async def test_a_tenants_day_is_spent_by_its_people_and_no_other_tenants(bank: Bank) -> None:
    budgets = Budgets(tenant=Budget(calls=2))
    await bank.ask(budgets)
    await bank.ask(budgets, caller=Principal(id="bob", name="Bob"))
    with pytest.raises(BudgetSpent, match="budget of the tenant: 2 of 2 calls are spent") as spent:
        await bank.ask(budgets, caller=Principal(id="carol", name="Carol"))
    assert spent.value.scope == "tenant"
    await bank.ask(budgets, caller=Principal(id="alice", name="Alice", tenant="other"))


async def test_the_houses_day_is_spent_by_all_tenants(bank: Bank) -> None:
    budgets = Budgets(day=Budget(calls=1))
    await bank.ask(budgets)
    with pytest.raises(BudgetSpent, match="budget of the day"):
        await bank.ask(budgets, caller=Principal(id="alice", name="Alice", tenant="other"))


@pytest.mark.parametrize("scope", ["user", "tenant", "day"])
async def test_twenty_at_once_with_a_budget_for_three_are_three(bank: Bank, scope: str) -> None:
    budgets = Budgets.model_validate({scope: {"calls": 3}})
    asked = (bank.ask(budgets) for _ in range(20))
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(end, Usage) for end in ends) == bank.requests == 3
    assert sum(isinstance(end, BudgetSpent) for end in ends) == 17
    spent = await bank.store.spending.of_day("default", "alice", TODAY)
    assert spent.user.llm_calls == 3


async def test_what_a_question_cost_is_counted_in_the_end_and_not_its_estimate(bank: Bank) -> None:
    usage = await bank.ask(Budgets(user=Budget(tokens=10**6)))
    assert (await bank.store.spending.of_day("default", "alice", TODAY)).user == usage


async def test_a_question_that_nobody_answers_costs_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await database.migrate()
    async with desk(fails(500)) as open_desk:
        bank = Bank(open_desk, Store(database))
        with pytest.raises(NoModelAnswered):
            await bank.ask(Budgets(day=Budget(calls=5)))
        spent = await bank.store.spending.of_day("default", "alice", TODAY)
    await database.dispose()
    assert spent == (Usage(), Usage(), Usage())


async def test_everybodys_day_has_a_budget_too(bank: Bank) -> None:
    budgets = Budgets(day=Budget(calls=2))
    await bank.ask(budgets)
    await bank.ask(budgets, caller=Principal(id="bob", name="Bob"))
    with pytest.raises(BudgetSpent, match="budget of the day: 2 of 2 calls are spent"):
        await bank.ask(budgets, caller=Principal(id="carol", name="Carol"))


async def test_the_next_day_is_paid_anew(bank: Bank) -> None:
    budgets = Budgets(user=Budget(calls=1))
    await bank.ask(budgets)
    await bank.ask(budgets, now=datetime(2026, 11, 23, 0, 1, tzinfo=UTC))
    assert bank.requests == 2


async def test_no_model_is_asked_once_the_turns_time_is_over(bank: Bank) -> None:
    with pytest.raises(TurnTimeOver):
        await bank.ask(Budgets(), seconds=0)
    assert bank.requests == 0


async def test_without_a_model_nobody_answers() -> None:
    asking = Models().asking(None, Account(caller=ALICE, now=NOW))
    with pytest.raises(NoModelAnswered):
        await asking(question())


async def seen(open_desk: Desk, **account: object) -> list[dict[str, object]]:
    """What those see who watch while a question is asked, answered or not."""
    audience = Audience()
    about = Account.model_validate({"caller": ALICE, "now": NOW, "message_id": "m1", **account})
    models = Models(telling=ProgressPublisher(audience))
    asking = models.asking(FallbackChain([open_desk.model]), about, SkillStep("adviser", 3))
    with suppress(NoModelAnswered):
        await asking(question())
    return [dict(one.data) for one in audience.told if one.type == "thinking"]


async def test_a_question_of_a_skill_is_seen_with_its_step_and_what_it_took(bank: Bank) -> None:
    began, ended = await seen(bank.desk, conversation="c1")
    about = {"task": "", "skill": "adviser", "step": 3, "attempt": 1}
    assert began == {"status": "started", **about}
    assert {**began, "status": "finished"}.items() <= ended.items()
    assert ended["model"]
    for count in ("prompt_tokens", "completion_tokens"):
        assert ended[count]
    assert ended["milliseconds"] in range(10_000)


async def test_a_question_that_no_model_answers_is_seen_to_end_too() -> None:
    async with desk(fails(400)) as open_desk:
        _, ended = await seen(open_desk, conversation="c1")
    assert (ended["status"], ended["model"], ended["prompt_tokens"]) == ("finished", None, 0)


async def test_outside_of_conversations_nobody_sees_anything(bank: Bank) -> None:
    assert await seen(bank.desk) == []
