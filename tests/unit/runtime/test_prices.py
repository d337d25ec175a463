"""Money is only counted where every model has a price, and that is said at the start."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from router.domain.budgets import Budget, Budgets
from router.domain.errors import MisconfiguredError
from router.runtime.composition import chains_of
from router.settings import Settings
from router.settings.models import RoleModel
from tests.table import each_row

IN_MONEY = Budgets(user=Budget(cost=Decimal(1)), day=Budget(cost=Decimal(100)))


def settings(tmp_path: Path, model: str, **more: Any) -> Settings:
    about: dict[str, Any] = {
        "llm_base_url": "http://127.0.0.1:1/v1",
        "llm_model": model,
        "data": tmp_path,
        **more,
    }
    return Settings(**about, _env_file=None)


@each_row(
    ("model", "more", "named"),
    [
        ("ours", {}, "'ours'"),
        ("gpt-5", {"llm_roles": {"phrase": RoleModel(model="tiny")}}, "'tiny'"),
        ("gpt-5", {"llm_escalate": RoleModel(model="huge")}, "'huge'"),
    ],
    ids=["usual", "role", "escalate"],
)
async def test_a_budget_in_money_beside_a_model_without_a_price_says_what_to_write(
    tmp_path: Path, model: str, more: dict[str, Any], named: str
) -> None:
    given = settings(tmp_path, model, llm_budgets=IN_MONEY, **more)
    with pytest.raises(MisconfiguredError) as caught:
        async with chains_of(given):
            pass
    told = str(caught.value)
    assert f"model {named} has no price" in told
    assert "the cost of user and day" in told
    assert "ROUTER_LLM_PRICES" in told


async def test_without_money_to_count_no_price_is_needed(tmp_path: Path) -> None:
    async with chains_of(settings(tmp_path, "ours")) as chains:
        assert chains.usual is not None
        assert chains.usual.ahead(1_000_000).cost is None


async def test_a_price_of_ones_own_is_enough_and_a_skill_gets_no_model_without_one(
    tmp_path: Path,
) -> None:
    own = tmp_path / "prices.yaml"
    own.write_text("currency: CNY\nproviders: {x: {models: {ours: {input: 2, output: 8}}}}\n")
    given = settings(tmp_path, "ours", llm_budgets=IN_MONEY, llm_prices=own)
    async with chains_of(given) as chains:
        assert chains.usual is not None
        ahead = chains.usual.ahead(1_000_000).cost
        assert ahead is not None
        assert (ahead.amount, ahead.currency) == (Decimal(2), "CNY")
        assert chains.of("skill", "unheard-of") is chains.usual
