"""Turns as events with everything real: API, worker, Temporal, flows and tools."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from temporalio.client import Client

from router.assembly import Parts
from router.dev.api_server import api_server
from tests.workflow.desk import QUEUE


@pytest.fixture
async def alice(parts: Parts, real_client: Client) -> AsyncIterator[httpx.AsyncClient]:
    settings = parts.settings.model_copy(update={"task_queue": QUEUE})
    server = api_server(replace(parts, settings=settings), real_client)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with httpx.AsyncClient(
            base_url=address, headers={"Authorization": "Bearer alice"}, timeout=30
        ) as client:
            yield client
        server.stop()
        await serving


async def said(alice: httpx.AsyncClient, text: str) -> list[tuple[str, Any]]:
    """The events of one message in a conversation of its own."""
    conversation = (await alice.post("/v1/conversations")).json()["id"]
    answer = await alice.post(
        f"/v1/conversations/{conversation}/messages",
        json={"text": text},
        headers={"Accept": "text/event-stream"},
    )
    assert answer.status_code == 200, answer.text
    blocks = [block.split("\n") for block in answer.text.split("\n\n") if block]
    return [(n.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for n, d in blocks]


async def test_the_tools_of_a_flow_are_seen_at_work_under_the_ids_of_the_turn(
    alice: httpx.AsyncClient,
) -> None:
    events = await said(alice, "我要请年假，12月7日到8日，家里有事")

    names = [name for name, _ in events]
    assert names[0] == "message"
    assert names[-4:] == ["route", "flow", "reply", "turn"]
    turn = events[-1][1]
    called = [(call["id"], call["name"], call["status"]) for call in turn["tool_calls"]]
    assert called
    started = [(data["id"], data["name"]) for name, data in events if name == "tool_started"]
    finished = [
        (data["id"], data["name"], data["status"])
        for name, data in events
        if name == "tool_finished"
    ]
    assert set(started) >= {(id_, name) for id_, name, _ in called}
    assert set(finished) >= set(called)
