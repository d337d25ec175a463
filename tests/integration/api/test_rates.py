"""How many requests a person and a tenant may make."""

from dataclasses import replace

import httpx
import pytest

from router.api.dependencies import Services
from router.api.limits import MINUTE, Buckets, RateLimits
from router.domain.errors import TooManyRequests
from router.domain.principals import Principal
from router.runtime.server import create_app
from tests.integration.api.conftest import client_of


class Clock:
    """Time that passes when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def person(name: str, tenant: str = "default") -> Principal:
    return Principal(id=name, name=name, tenant=tenant)


def test_a_minutes_worth_may_come_at_once_and_then_evenly() -> None:
    clock = Clock()
    buckets = Buckets(6, clock)
    assert [buckets.wait("alice") for _ in range(6)] == [0.0] * 6
    assert buckets.wait("alice") == pytest.approx(10)
    clock.now += 10
    assert buckets.wait("alice") == 0
    assert buckets.wait("alice") > 0


def test_who_waits_long_has_no_more_than_a_minutes_worth() -> None:
    clock = Clock()
    buckets = Buckets(3, clock)
    buckets.wait("alice")
    clock.now += 100 * MINUTE
    assert [buckets.wait("alice") > 0 for _ in range(4)] == [False, False, False, True]


def test_what_is_refused_costs_nothing() -> None:
    clock = Clock()
    buckets = Buckets(1, clock)
    buckets.wait("alice")
    for _ in range(50):
        buckets.wait("alice")
    clock.now += MINUTE
    assert buckets.wait("alice") == 0


def test_it_keeps_no_more_buckets_than_it_may() -> None:
    buckets = Buckets(1, Clock(), most=2)
    for name in ("alice", "bob", "carol"):
        assert buckets.wait(name) == 0
    assert buckets.wait("carol") > 0
    assert buckets.wait("alice") == 0  # forgotten


def test_one_person_uses_up_nobody_elses() -> None:
    rates = RateLimits(per_user=1, clock=Clock())
    rates.admit(person("alice"))
    rates.admit(person("bob"))
    rates.admit(person("alice", "other"))
    with pytest.raises(TooManyRequests) as refused:
        rates.admit(person("alice"))
    assert refused.value.retry_after == 60
    assert "60" in refused.value.said.zh


def test_a_tenant_has_a_limit_over_all_its_people() -> None:
    rates = RateLimits(per_tenant=2, clock=Clock())
    rates.admit(person("alice"))
    rates.admit(person("bob"))
    with pytest.raises(TooManyRequests, match="company"):
        rates.admit(person("carol"))
    rates.admit(person("dave", "other"))


def test_nobody_is_counted_where_nothing_is_set() -> None:
    rates = RateLimits()
    for _ in range(10_000):
        rates.admit(person("alice"))


async def test_the_api_answers_429_with_when_to_come_back(services: Services) -> None:
    settings = services.settings.model_copy(update={"user_requests_per_minute": 2})
    app = create_app(replace(services, settings=settings))
    async with client_of(app, "dave") as dave, client_of(app, "erin") as erin:
        statuses = [(await dave.get("/v1/capabilities")).status_code for _ in range(3)]
        refused: httpx.Response = await dave.get("/v1/approvals")
        assert statuses == [200, 200, 429]
        assert refused.headers["content-type"] == "application/problem+json"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert (await erin.get("/v1/capabilities")).status_code == 200
        assert (await dave.get("/healthz")).status_code == 200


async def test_a_run_of_ag_ui_is_refused_as_a_problem_before_it_begins(services: Services) -> None:
    settings = services.settings.model_copy(update={"user_requests_per_minute": 1})
    app = create_app(replace(services, settings=settings))
    async with client_of(app, "gina") as gina:
        assert (await gina.get("/v1/capabilities")).status_code == 200
        run = {
            "threadId": "t",
            "runId": "r",
            "state": {},
            "messages": [{"id": "m", "role": "user", "content": "我要请假"}],
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        refused = await gina.post("/ag-ui", json=run)
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert "太频繁" in refused.json()["detail"]
