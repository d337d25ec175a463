"""Asking models on somebody's account, over HTTP and with a real database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pytest

from activities.models import Models, SkillStep
from activities.progress import ProgressPublisher
from router.contracts.activities import BEYOND, OUTAGE_WINDOW, PHRASE, Account, Phrase
from router.domain.budgets import Budget, Budgets, Spent
from router.domain.messages import Usage
from router.domain.principals import Principal
from router.llm.fallback import FallbackChain
from router.llm.types import BudgetSpent, NoModelAnswered, TurnTimeOver
from router.store.database import Database
from router.store.store import Store
from tests.fakes.audience import Audience
from tests.fakes.model_server import Behaviour, fails, hangs, says
from tests.table import each_row
from tests.unit.llm.asking import Desk, desk, question

ALICE, BOB = Principal(id="alice", name="Alice"), Principal(id="bob", name="Bob")
ELSEWHERE = Principal(id="alice", name="Alice", tenant="other")
TODAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


@dataclass
class Bank:
    """A model, and a database that counts."""

    desk: Desk
    store: Store

    async def ask(self, budgets: Budgets, **account: object) -> Usage:
        about = Account.model_validate({"caller": ALICE, "now": NOW, **account})
        models = Models(budgets, self.store.spending)
        asking = models.asking(FallbackChain([self.desk.model]), about)
        await asking(question())
        return asking.usage

    async def spent(self) -> Spent:
        return await self.store.spending.of_day("default", "alice", TODAY)

    @property
    def requests(self) -> int:
        return len(self.desk.server.requests)


@pytest.fixture
def behaviour() -> Behaviour:
    return says("你好")


@pytest.fixture
async def bank(sqlite: Database, behaviour: Behaviour) -> AsyncIterator[Bank]:
    async with desk(behaviour) as open_desk:
        yield Bank(open_desk, Store(sqlite))


@pytest.mark.parametrize("budgets", [Budgets(), Budgets(user=Budget(tokens=10**6))])
async def test_what_an_answer_cost_is_counted_for_who_asked(bank: Bank, budgets: Budgets) -> None:
    usage = await bank.ask(budgets)
    assert (usage.llm_calls, usage.model) == (1, "scripted")
    counted = usage.model_copy(update={"model": ""})
    assert await bank.spent() == (counted, counted, counted)


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
    await bank.ask(budgets, caller=BOB)
    await bank.ask(budgets, now=datetime(2026, 11, 23, 0, 1, tzinfo=UTC))
    assert bank.requests == 3


async def test_a_tenants_day_is_spent_by_its_people_and_no_other_tenants(bank: Bank) -> None:
    budgets = Budgets(tenant=Budget(calls=2))
    await bank.ask(budgets)
    await bank.ask(budgets, caller=BOB)
    with pytest.raises(BudgetSpent, match="budget of the tenant: 2 of 2 calls are spent") as spent:
        await bank.ask(budgets, caller=Principal(id="carol", name="Carol"))
    assert spent.value.scope == "tenant"
    await bank.ask(budgets, caller=ELSEWHERE)


async def test_the_houses_day_is_spent_by_all_tenants(bank: Bank) -> None:
    budgets = Budgets(day=Budget(calls=2))
    await bank.ask(budgets)
    await bank.ask(budgets, caller=BOB)
    with pytest.raises(BudgetSpent, match="budget of the day: 2 of 2 calls are spent"):
        await bank.ask(budgets, caller=ELSEWHERE)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["user", "tenant", "day"])
async def test_twenty_at_once_with_a_budget_for_three_are_three(bank: Bank, scope: str) -> None:
    budgets = Budgets.model_validate({scope: {"calls": 3}})
    asked = (bank.ask(budgets) for _ in range(20))
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(end, Usage) for end in ends) == bank.requests == 3
    assert sum(isinstance(end, BudgetSpent) for end in ends) == 17
    assert (await bank.spent()).user.llm_calls == 3


@pytest.mark.parametrize("behaviour", [fails(500)])
async def test_a_question_that_nobody_answers_costs_nothing(bank: Bank) -> None:
    with pytest.raises(NoModelAnswered):
        await bank.ask(Budgets(day=Budget(calls=5)))
    assert await bank.spent() == Spent()


async def test_no_model_is_asked_once_the_turns_time_is_over(bank: Bank) -> None:
    with pytest.raises(TurnTimeOver):
        await bank.ask(Budgets(), seconds=0)
    assert bank.requests == 0


@pytest.mark.parametrize("behaviour", [hangs()])
async def test_a_model_that_takes_all_its_time_leaves_some_for_the_plain_answer(bank: Bank) -> None:
    told = r"2 s of this turn are over: .* took longer than [01]\.\d s"
    with pytest.raises(TurnTimeOver, match=told):
        await bank.ask(Budgets(), seconds=2)


@pytest.mark.parametrize("behaviour", [fails(400, code="context_length_exceeded")])
async def test_a_refusal_is_told_as_one_however_little_time_is_left(bank: Bank) -> None:
    with pytest.raises(NoModelAnswered, match="answered 400"):
        await bank.ask(Budgets(), seconds=1)


@each_row(("turn", "silent"), [(1, 5), (30, 5), (60, 10), (600, 10)])
def test_an_activity_that_asks_a_model_outlasts_what_is_left_of_the_turn(
    turn: float, silent: float
) -> None:
    about = Account(caller=ALICE, now=NOW, seconds=turn)
    given = Phrase(text="?", findings=[], locale="en", account=about)
    limit, beat = PHRASE.timeout, PHRASE.heartbeat
    assert callable(limit)
    assert limit(given) == timedelta(seconds=turn) + BEYOND + OUTAGE_WINDOW
    assert callable(beat)
    assert beat(given) == timedelta(seconds=silent)


async def test_without_a_model_nobody_answers() -> None:
    asking = Models().asking(None, Account(caller=ALICE, now=NOW))
    with pytest.raises(NoModelAnswered):
        await asking(question())


async def seen(bank: Bank, **account: object) -> list[dict[str, object]]:
    """What those see who watch while a question is asked, answered or not."""
    audience = Audience()
    about = Account.model_validate({"caller": ALICE, "now": NOW, "message_id": "m1", **account})
    models = Models(telling=ProgressPublisher(audience))
    asking = models.asking(FallbackChain([bank.desk.model]), about, SkillStep("adviser", 3))
    with suppress(NoModelAnswered):
        await asking(question())
    return [dict(one.data) for one in audience.told if one.type == "thinking"]


async def test_a_question_of_a_skill_is_seen_with_its_step_and_what_it_took(bank: Bank) -> None:
    began, ended = await seen(bank, conversation="c1")
    about = {"task": "", "skill": "adviser", "step": 3, "attempt": 1}
    assert began == {"status": "started", **about}
    assert {**began, "status": "finished"}.items() <= ended.items()
    assert all(ended[name] for name in ("model", "prompt_tokens", "completion_tokens"))
    assert ended["milliseconds"] in range(10_000)


@pytest.mark.parametrize("behaviour", [fails(400)])
async def test_a_question_that_no_model_answers_is_seen_to_end_too(bank: Bank) -> None:
    _, ended = await seen(bank, conversation="c1")
    assert (ended["status"], ended["model"], ended["prompt_tokens"]) == ("finished", None, 0)


async def test_outside_of_conversations_nobody_sees_anything(bank: Bank) -> None:
    assert await seen(bank) == []
