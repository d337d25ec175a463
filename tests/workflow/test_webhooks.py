"""Other systems hear of a request: API, worker, Temporal, flows and consumers, all real."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.web_server import json_reply
from tests.fakes.webhook_consumer import SECRET, VARIABLE, WebhookConsumer
from tests.workflow.test_streaming import served

REQUEST = "我要请年假，2027-05-11 到 2027-05-12，家里有事"
WHOLE = [
    *("flow.started", "flow.waiting_approval", "approval.requested"),
    *("approval.decided", "flow.completed"),
]


@asynccontextmanager
async def telling(
    folder: Path, temporal: Client, *consumers: WebhookConsumer
) -> AsyncIterator[AsyncClient]:
    """Alice's connection to a house that tells these consumers of everything."""
    about = {"secret_env": VARIABLE, "events": ["*"]}
    file = folder / "webhooks.json"
    file.write_text(json.dumps([{"url": each.url, **about} for each in consumers]), "utf-8")
    settings = Settings.load(
        data=folder, webhooks=file, webhook_allow=[each.origin for each in consumers]
    )
    queue = uuid4().hex
    async with (
        at_work(settings) as parts,
        build_worker(temporal, parts, queue),
        served(parts, temporal, queue) as client,
    ):
        yield client


async def said(client: AsyncClient, conversation: str, **body: object) -> dict[str, object]:
    answer = await client.post(f"/v1/conversations/{conversation}/messages", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def asked_for_leave(client: AsyncClient) -> str:
    """Ask for leave and have bob approve it; the run's id."""
    conversation = (await client.post("/v1/conversations", json={})).json()["id"]
    await said(client, conversation, text=REQUEST)
    turn = await said(client, conversation, text="确认")
    flow = turn["flow"]
    assert isinstance(flow, dict)
    assert flow["status"] == "waiting_approval", turn
    bob = {"Authorization": "Bearer bob"}
    waiting = (await client.get("/v1/approvals", headers=bob)).json()["items"]
    mine = next(one for one in waiting if one["flow_run"] == flow["id"])
    decision = {"decision": "approve", "digest": mine["digest"]}
    path = f"/v1/approvals/{mine['id']}/decision"
    decided = await client.post(path, json=decision, headers=bob)
    assert decided.status_code == 200, decided.text
    return str(flow["id"])


@pytest.mark.slow
async def test_leave_is_told_from_the_sentence_to_the_effect(
    tmp_path: Path, real_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One consumer is away: the other hears of everything, in order."""
    monkeypatch.setenv(VARIABLE, SECRET)
    async with WebhookConsumer() as away:
        pass
    async with (
        WebhookConsumer() as erp,
        telling(tmp_path, real_client, erp, away) as client,
    ):
        run = await asked_for_leave(client)
        done = await erp.hears("flow.completed", run)
        olga = {"Authorization": "Bearer olga"}
        query: dict[str, str | int] = {"state": "waiting", "limit": 200}
        found = await client.get("/v1/webhooks/deliveries", params=query, headers=olga)
    assert erp.names(run) == WHOLE
    assert erp.refused == []
    data = done["data"]
    assert (data["flow"], data["status"], data["requester"]) == (
        "leave_request",
        "completed",
        "alice",
    )
    assert "slots" not in data
    waiting = found.json()["items"]
    assert {one["url"] for one in waiting} == {away.url}
    assert len(waiting) == len(WHOLE)


@pytest.mark.slow
async def test_nothing_is_lost_by_a_process_that_ends(
    tmp_path: Path, real_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a house leaves behind as it ends, the next one tells, in order."""
    monkeypatch.setenv(VARIABLE, SECRET)
    refusing = [True]

    async with WebhookConsumer(lambda _: json_reply({}, 503 if refusing else 200)) as erp:
        async with telling(tmp_path, real_client, erp) as client:
            run = await asked_for_leave(client)
        assert erp.told == []
        refusing.clear()
        async with telling(tmp_path, real_client, erp):
            await erp.hears("flow.completed", run)
    assert erp.names(run) == WHOLE
