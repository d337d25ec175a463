"""What models cost, as operators get it: of their own tenant, and of nobody else's."""

import csv
import io
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from httpx import AsyncClient

from router.domain.costs import Purpose
from router.domain.messages import Cost, Usage
from router.store.store import Store
from tests.integration.api.conftest import As, problem
from tests.table import each_row

DAY = date(2018, 5, 7)
"""A day on which nobody else in these tests asks a model."""
THAT_DAY = {"since": "2018-05-07", "until": "2018-05-07"}
PURPOSE = Purpose.of("router-1@55f749c8", "gpt-5-mini")


def usage(cost: str | None, currency: str = "USD", calls: int = 1) -> Usage:
    return Usage(
        llm_calls=calls,
        prompt_tokens=100 * calls,
        cached_tokens=40,
        completion_tokens=10,
        cost=None if cost is None else Cost(amount=Decimal(cost), currency=currency),
    )


@pytest.fixture
def olga(caller: As) -> AsyncClient:
    return caller("olga")


@pytest.fixture
async def spent(store: Store, unique: str) -> str:
    """A model that two people were answered by, at a price, and without one; its name."""
    model = f"m-{unique[:8]}"
    purpose = PURPOSE._replace(model=model)
    for tenant, user, cost, currency in (
        ("default", "alice", "0.000000123", "USD"),
        ("default", "bob", "0.2", "USD"),
        ("default", "bob", None, ""),
        ("default", "bob", "7", "CNY"),
        ("acme", "zed", "99", "USD"),
    ):
        await store.spending.add(tenant, user, DAY, usage(cost, currency), purpose)
    return model


async def got(client: AsyncClient, **query: str) -> dict[str, Any]:
    answer = await client.get("/v1/spending", params=THAT_DAY | query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_costs_are_summed_up_and_what_has_none_is_counted(
    olga: AsyncClient, spent: str
) -> None:
    found = await got(olga, by="model,role,prompt")
    (line,) = [each for each in found["lines"] if each["model"] == spent]
    assert (line["role"], line["prompt"]) == ("router", "router-1")
    assert (line["cost"], line["unpriced_calls"], line["calls"]) == ("0.200000123", 2, 4)
    assert (line["prompt_tokens"], line["cached_tokens"]) == (400, 160)
    assert found["currency"] == "USD"


async def test_another_tenants_spending_is_never_seen(olga: AsyncClient, spent: str) -> None:
    found = await got(olga, by="person,model")
    assert {line["person"] for line in found["lines"] if line["model"] == spent} == {"alice", "bob"}
    assert all(Decimal(line["cost"] or 0) < 99 for line in found["lines"])


@each_row("path", ["/v1/spending", "/v1/spending.csv"])
async def test_is_for_operators_and_each_look_is_noted(
    caller: As, olga: AsyncClient, path: str
) -> None:
    problem(await caller("alice").get(path, params=THAT_DAY), 403)
    assert (await olga.get(path, params=THAT_DAY)).status_code == 200
    (line, *_) = (await olga.get("/v1/audit?act=spending.read")).json()["items"]
    assert line["detail"].startswith("since=2018-05-07 until=2018-05-07 by=day,model")


async def test_the_table_is_csv_with_its_names_first(olga: AsyncClient, spent: str) -> None:
    answer = await olga.get("/v1/spending.csv", params={**THAT_DAY, "by": "person,model"})
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    own = [(row["person"], row["cost"]) for row in rows if row["model"] == spent]
    assert own == [("bob", "0.2"), ("alice", "0.000000123")]
    assert {row["currency"] for row in rows} == {"USD"}


@each_row("by", ["", "tenant", "day;drop", "day,,model", "day,cost", "DAY", "x" * 101, "day,\x00"])
async def test_no_other_part_can_be_asked_for(olga: AsyncClient, by: str) -> None:
    for path in ("/v1/spending", "/v1/spending.csv"):
        problem(await olga.get(path, params={**THAT_DAY, "by": by}), 422)
