"""Turns as events with everything real: API, worker, Temporal, flows and tools."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
from httpx import AsyncClient
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.server import api_server


@asynccontextmanager
async def served(parts: Parts, temporal: Client, queue: str) -> AsyncIterator[AsyncClient]:
    """Alice's connection to an API whose turns are run by the workers of this queue."""
    settings = parts.settings.model_copy(update={"task_queue": queue})
    server = api_server(replace(parts, settings=settings), temporal)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve([listening]))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with AsyncClient(
            base_url=address, headers={"Authorization": "Bearer alice"}, timeout=60
        ) as client:
            try:
                yield client
            finally:
                server.stop()
        await serving


class Stream:
    """The events of one message, in a conversation of its own."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.aiter_lines()

    @classmethod
    @asynccontextmanager
    async def of(cls, client: AsyncClient, text: str) -> AsyncIterator["Stream"]:
        conversation = (await client.post("/v1/conversations")).json()["id"]
        async with client.stream(
            "POST",
            f"/v1/conversations/{conversation}/messages",
            json={"text": text},
            headers={"Accept": "text/event-stream"},
        ) as answer:
            assert answer.status_code == 200
            yield cls(answer)

    async def until(self, name: str) -> list[tuple[str, Any]]:
        """The events up to the first of this name."""
        events: list[tuple[str, Any]] = []
        while not events or events[-1][0] != name:
            lines = [await anext(self._lines) for _ in range(3)]
            data = json.loads(lines[1].removeprefix("data: "))
            events.append((lines[0].removeprefix("event: "), data))
        return events


async def test_tools_of_a_flow_are_seen_at_work_by_the_turns_ids(api: AsyncClient) -> None:
    async with Stream.of(api, "我要请年假，12月7日到8日，家里有事") as stream:
        events = await stream.until("turn")
    names = [name for name, _ in events]
    assert names[0] == "message"
    assert names[-4:] == ["route", "flow", "reply", "turn"]
    called = events[-1][1]["tool_calls"]
    assert called
    assert [data for name, data in events if name == "tool_started"] == [
        {key: call[key] for key in ("id", "name", "arguments")} for call in called
    ]
    ended = [data for name, data in events if name == "tool_finished"]
    shown = [{key: call[key] for key in ("id", "status")} for call in called]
    assert [{key: data[key] for key in ("id", "status")} for data in ended] == shown
