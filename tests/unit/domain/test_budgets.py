import pytest
from pydantic import ValidationError

from router.domain.budgets import Budget, Budgets, Spent
from router.domain.messages import Usage

MUCH = Usage(llm_calls=10**9, prompt_tokens=10**9)


def spent(calls: int = 0, tokens: int = 0) -> Usage:
    return Usage(llm_calls=calls, prompt_tokens=tokens // 2, completion_tokens=tokens - tokens // 2)


@pytest.mark.parametrize(
    ("budget", "before", "tokens", "why"),
    [
        (Budget(), MUCH, 10**6, None),
        (Budget(calls=3), spent(2), 100, None),
        (Budget(calls=3), spent(3), 0, "3 of 3 calls are spent"),
        (Budget(calls=0), spent(), 0, "0 of 0 calls are spent"),
        (Budget(tokens=1000), spent(1, 900), 100, None),
        (Budget(tokens=1000), spent(1, 900), 101, "900 of 1000 tokens are spent"),
        (Budget(tokens=100), spent(1, 120), 0, "120 of 100 tokens are spent"),
    ],
)
def test_a_budget_says_why_it_could_not_pay(
    budget: Budget, before: Usage, tokens: int, why: str | None
) -> None:
    assert budget.why_spent(before, tokens) == why


def test_a_turn_has_limits_unless_told_otherwise_and_a_day_has_none() -> None:
    budgets = Budgets()
    assert budgets.turn.why_spent(MUCH) is not None
    assert not budgets.by_the_day
    assert Budgets(user=Budget(calls=0)).by_the_day
    assert Budgets(tenant=Budget(tokens=0)).by_the_day


def test_the_narrowest_day_that_is_spent_is_named() -> None:
    budgets = Budgets(user=Budget(calls=9), tenant=Budget(calls=3), day=Budget(calls=3))
    assert budgets.why_spent(Spent(spent(1), spent(2), spent(2))) is None
    assert budgets.why_spent(Spent(spent(1), spent(3), spent(5))) == (
        "tenant",
        "3 of 3 calls are spent",
    )
    assert budgets.why_spent(Spent(spent(1), spent(2), spent(5)), 10) == (
        "day",
        "5 of 3 calls are spent",
    )


@pytest.mark.parametrize("wrong", [{"turn": {"calls": -1}}, {"week": {}}, {"user": {"euros": 3}}])
def test_a_budget_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Budgets.model_validate(wrong)
