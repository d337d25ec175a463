"""Taking back what was completed: over HTTP and in chat, with the worker and Temporal real."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
from httpx import AsyncClient
from temporalio.client import Client

from activities import provided
from company.people.people import human_resources
from company.people.records import Owner
from router.contracts.activities import ToolCall
from router.domain.errors import ArgumentsToolError
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from tests.one_try import run_tool
from tests.workflow.desk import QUEUE, Talk, becomes, heard, person, run_of


@pytest.fixture
async def frank(parts: Parts, real_client: Client) -> Talk:
    return await Talk(real_client, parts, await person(parts, "frank"), locale="en").open()


def by(user: str, key: str = "") -> dict[str, str]:
    keyed = {"Idempotency-Key": key} if key else {}
    return {"Authorization": f"Bearer {user}", **keyed}


async def days_left(talk: Talk) -> float:
    owner = Owner(tenant=DEFAULT_TENANT, person=talk.person.id)
    people = await talk.parts.dependencies.resolve(human_resources)
    left = await people.leave.balance(owner, "annual", 2026)
    return float(left.days or 0)


async def completed(frank: Talk) -> str:
    run = await frank.waiting_leave("I need annual leave from 2026-12-07 to 2026-12-08, family")
    await decide(frank, run, "approve")
    await becomes(frank.parts, run, lambda r: r.status == "completed" and r.remedy is not None)
    return run


async def withdraw(
    api: AsyncClient, run: str, key: str = "", user: str = "frank", comment: str = "back early"
) -> httpx.Response:
    path = f"/v1/flow-runs/{run}/withdraw"
    return await api.post(path, json={"comment": comment}, headers=by(user, key))


async def decide(frank: Talk, run: str, verdict: str) -> None:
    await frank.approver("bob").decide(run, verdict)


async def test_completed_leave_is_taken_back_when_agreed(api: AsyncClient, frank: Talk) -> None:
    before = await days_left(frank)
    run = await completed(frank)
    assert await days_left(frank) == before - 2
    key = uuid4().hex
    begun = await withdraw(api, run, key)
    assert begun.status_code == 200, begun.text
    other = begun.json()["id"]
    assert (begun.json()["status"], other != run) == ("waiting_approval", True)
    assert (await withdraw(api, run, key)).json() == begun.json()
    again = await withdraw(api, run)
    assert (again.status_code, other in again.json()["detail"]) == (409, True)
    assert (await days_left(frank)) == before - 2
    asked = (await api.get("/v1/approvals?limit=200", headers=by("bob"))).json()["items"]
    (item,) = [item for item in asked if item["flow_run"] == other]
    assert "Frank Novak：撤回年假 2 天" in item["title"]
    await decide(frank, other, "approve")
    await becomes(frank.parts, other, lambda r: r.status == "completed")
    first = (await api.get(f"/v1/flow-runs/{run}", headers=by("frank"))).json()
    second = (await api.get(f"/v1/flow-runs/{other}", headers=by("frank"))).json()
    assert (first["status"], first["withdrawn_by"]) == ("cancelled", other)
    assert (second["withdraws"], second["flow"]) == (run, "leave_request")
    events = [line["event"] for line in first["history"]]
    assert events[-2:] == ["withdrawal asked", "withdrawn"]
    undone = [line["comment"] for line in second["history"] if line["event"] == "undone"]
    assert undone == ["record (revert_leave)"]
    assert await days_left(frank) == before
    done = await withdraw(api, run)
    assert (done.status_code, "already" in done.json()["detail"]) == (409, True)
    await heard(frank, "The withdrawal was agreed to")


@pytest.mark.slow
async def test_what_is_refused_stands_and_may_be_tried_anew(api: AsyncClient, frank: Talk) -> None:
    run = await completed(frank)
    left = await days_left(frank)
    other = (await withdraw(api, run)).json()["id"]
    await decide(frank, other, "reject")
    await becomes(frank.parts, other, lambda r: r.status == "rejected")
    assert (await run_of(frank.parts, run)).status == "completed"
    assert await days_left(frank) == left
    third = (await withdraw(api, run)).json()["id"]
    assert third not in (run, other)
    for _ in range(2):  # the first answer may have been lost
        assert (await withdraw(api, third)).json()["status"] == "cancelled"
    assert await days_left(frank) == left
    assert (await run_of(frank.parts, run)).status == "completed"


async def test_nobody_but_its_requester_takes_it_back(api: AsyncClient, frank: Talk) -> None:
    run = await completed(frank)
    for user, status in (("bob", 403), ("gina", 404), ("olga", 403)):
        assert (await withdraw(api, run, user=user)).status_code == status
    assert (await withdraw(api, run, comment="\x1b")).status_code == 422


@pytest.mark.slow
async def test_in_chat_a_completed_request_is_found_where_none_is_open(frank: Talk) -> None:
    # Nobody else asks for anything as him: what is open would be found first.
    talk = await frank.another("dave")
    run = await talk.waiting_leave("我要请病假，2026年11月16日到17日，家里有事")
    carol, parts = talk.approver("carol"), talk.parts
    await carol.decide(run, "approve")
    await becomes(talk.parts, run, lambda r: r.remedy is not None)

    async def call(key: str) -> Any:
        async def connected() -> Client:
            return talk.client

        about: dict[str, Any] = {"key": key, "now": datetime.now(UTC), "caller": talk.person}
        asked = ToolCall(tool="withdraw_request", arguments={"request": "请假"}, **about)
        with (
            parts.dependencies.override(provided.temporal, connected),
            parts.dependencies.override(provided.task_queue, QUEUE),
        ):
            registry, ledger = parts.offered.registry, parts.store.ledger
            return await run_tool(registry, ledger, parts.dependencies, asked, True)

    told = await call(uuid4().hex)
    again = await call(uuid4().hex)
    assert (told["outcome"], told["request"], told["status"]) == ("asked", run, "waiting_approval")
    assert again == told
    other = (await run_of(talk.parts, run)).withdrawn_by
    assert other is not None
    await carol.decide(other, "approve")
    await becomes(talk.parts, run, lambda r: r.status == "cancelled")
    with pytest.raises(ArgumentsToolError, match="no request under way"):
        await call(uuid4().hex)
