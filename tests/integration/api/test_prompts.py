"""The versions of prompts as operators get them, share them out and take that back."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from router.api.dependencies import Services
from router.domain.records import AuditFilter
from router.routing.prompts import Prompts
from router.runtime.server import create_app
from router.store.store import Store
from tests.integration.api.conftest import client_of, problem
from tests.integration.store.test_prompts import FIRST, turn
from tests.unit.routing.test_prompts import write

HALF = {"router-1": 1, "router-2": 1}
SHARES, BACK = "/v1/prompts/router/shares", "/v1/prompts/router/rollback"


@pytest.fixture
def app(services: Services, tmp_path: Path) -> FastAPI:
    """A house with a second version of what decides; the settings give it nothing."""
    write(tmp_path, router_2_zh="二", router_2_en="two")
    return create_app(replace(services, prompts=Prompts.load(tmp_path, {"router-1": 1})))


@pytest.fixture
async def olga(app: FastAPI, store: Store) -> AsyncIterator[AsyncClient]:
    async with client_of(app, "olga") as client:
        yield client
        while (await client.post(BACK)).status_code == 200:
            pass  # what a test sets holds for no other


async def router(client: AsyncClient) -> dict[str, Any]:
    answer = await client.get("/v1/prompts")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["items"][0]
    return found


async def test_every_version_is_there_with_where_it_is_from_and_what_it_gets(
    olga: AsyncClient,
) -> None:
    found = await router(olga)
    assert (found["job"], found["source"], found["set_by"]) == ("router", "settings", None)
    one, two = found["versions"]
    assert (one["version"], one["share"], one["origin"]) == ("router-1", 1.0, "shipped")
    assert (two["version"], two["share"], two["origin"]) == ("router-2", 0.0, "folder")
    assert two["fingerprints"]["zh"].startswith("router-2@")
    assert two["fingerprints"]["zh"] != two["fingerprints"]["en"]


async def test_shares_are_set_and_rolled_back_step_by_step_and_noted(
    olga: AsyncClient, store: Store
) -> None:
    answer = await olga.put(SHARES, json={"shares": {"router-1": 9, "router-2": 1}})
    assert answer.status_code == 200, answer.text
    assert [each["share"] for each in answer.json()["versions"]] == [0.9, 0.1]
    await olga.put(SHARES, json={"shares": HALF})
    assert (await router(olga))["set_by"] == "olga"
    back = (await olga.post(BACK)).json()
    assert [each["weight"] for each in back["versions"]] == [9, 1]
    assert (await olga.post(BACK)).json()["source"] == "settings"
    said = problem(await olga.post(BACK), 409)["detail"]
    assert said == "Nothing was set for router: the shares are those of the settings."
    deeds, _ = await store.trail.listed("default", AuditFilter(act="prompts.share"), None, 2)
    told = "router-1=9 router-2=1"
    assert [deed.detail for deed in deeds] == [
        f"{told} ▸ router-1=1 router-2=1",
        f"settings ▸ {told}",
    ]
    assert {(deed.who, deed.subject) for deed in deeds} == {("olga", "router")}


async def test_a_rollback_that_is_repeated_with_its_key_takes_back_nothing_more(
    olga: AsyncClient, unique: str
) -> None:
    for shares in ({"router-2": 1}, HALF):
        await olga.put(SHARES, json={"shares": shares})
    answers = [await olga.post(BACK, headers={"Idempotency-Key": unique}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert [each["weight"] for each in (await router(olga))["versions"]] == [0, 1]


HOSTILE: dict[str, tuple[Any, str]] = {
    "nothing": ({"shares": {}}, "shares"),
    "no-shares": ({}, "shares"),
    "a-list": ({"shares": ["router-1"]}, "shares"),
    "unknown-version": ({"shares": {"router-9": 1}}, "'router-9'; of router there are: router-1"),
    "another-job-s": ({"shares": {"phrase-1": 1}}, "'phrase-1'"),
    "nothing-for-anybody": ({"shares": {"router-1": 0}}, "more than 0"),
    "less-than-nothing": ({"shares": {"router-1": -1}}, "router-1"),
    "half": ({"shares": {"router-1": 0.5}}, "router-1"),
    "a-text": ({"shares": {"router-1": "9"}}, "router-1"),
    "true": ({"shares": {"router-1": True}}, "router-1"),
    "too-much": ({"shares": {"router-1": 10**9}}, "router-1"),
    "too-many": ({"shares": {f"router-{n}": 1 for n in range(30)}}, "shares"),
    "more": ({"shares": HALF, "tenant": "acme"}, "tenant"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("body", "said"), HOSTILE.values(), ids=HOSTILE)
async def test_shares_of_no_use_are_refused_in_words_and_change_nothing(
    olga: AsyncClient, body: Any, said: str
) -> None:
    answer = await olga.put(SHARES, json=body)
    assert said in str(problem(answer, 422))
    assert (await router(olga))["source"] == "settings"


@pytest.mark.parametrize("job", ["rooter", "router-1", "%00", "a" * 300])
async def test_there_is_no_other_job(olga: AsyncClient, job: str) -> None:
    problem(await olga.put(f"/v1/prompts/{job}/shares", json={"shares": HALF}), 404)
    problem(await olga.post(f"/v1/prompts/{job}/rollback"), 404)


async def test_nobody_but_an_operator_gets_near(app: FastAPI, olga: AsyncClient) -> None:
    async with client_of(app, "alice") as alice:
        problem(await alice.get("/v1/prompts"), 404)
        problem(await alice.put(SHARES, json={"shares": HALF}), 404)
        problem(await alice.post(BACK), 404)
    assert (await router(olga))["source"] == "settings"


async def test_outcomes_are_rates_of_one_s_own_tenant(
    olga: AsyncClient, store: Store, unique: str
) -> None:
    version = f"router-1{unique[:6]}"
    mark = FIRST.replace("router-1", version)
    now = datetime.now(UTC)
    unsure = {"route": {"kind": "clarify", "by": "retrieval", "target": "leave_request"}}
    await store.log.append(
        "default",
        [
            turn(f"{unique}1", mark, unique, at=now),
            turn(f"{unique}2", mark, unique, at=now, **unsure),
        ],
    )
    await store.log.append("acme", [turn(f"{unique}3", mark, unique, at=now)])
    found = (await olga.get("/v1/prompts", params={"days": 2})).json()
    (one,) = [each for each in found["outcomes"] if each["version"] == version]
    assert (one["conversations"], one["turns"], one["started"]) == (1, 2, 0)
    assert (one["unused"]["share"], one["asked_back"]["share"]) == (0.5, 0.5)
    assert one["completed"]["share"] is None
    assert 0 < one["missed"]["high"] < 1
