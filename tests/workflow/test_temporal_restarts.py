"""Temporal's server killed in the middle of turns and decisions, as people at the API see it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from router.api import turns
from router.domain.errors import Unavailable
from router.gateway import run_updates
from router.runtime.composition import Parts, assembled
from router.runtime.temporal import connect
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.e2e.chaos.house import answers, temporal_at
from tests.e2e.chaos.machine import Kept
from tests.ports import free_ports
from tests.temporal import register_attributes
from tests.waiting import HANGS_AFTER_S
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.slow

QUEUE = "restarts"


@dataclass
class House:
    """An API and a worker in this process, and a server in another that can be away."""

    parts: Parts
    http: httpx.AsyncClient
    server: Kept
    port: int
    dies: bool = False
    """Whether the server is killed as soon as a turn has told its flow something."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def conversation_that_is_cut(self) -> str:
        """A conversation in whose first turn the server is killed."""
        place = await self.conversation()
        self.dies = True
        self.gone.clear()
        return place

    async def leave(self) -> None:
        """Kill the server, and keep it away."""
        await self.server.stop()
        self.gone.set()

    async def come_back(self) -> None:
        self.server.start()
        await answers(self.port)

    async def conversation(self) -> str:
        return str((await self.http.post("/v1/conversations")).json()["id"])

    async def send(self, conversation: str, text: str, **more: Any) -> httpx.Response:
        """Send a message; `wait` and `accept` are those of the request."""
        wait, accept = more.pop("wait", 30), more.pop("accept", "application/json")
        path = f"/v1/conversations/{conversation}/messages?wait={wait}"
        body = {"text": text, **more}
        return await self.http.post(path, json=body, headers={"Accept": accept})

    async def turn(self, conversation: str, message_id: str) -> dict[str, Any]:
        """The turn that answers a message, once it is over."""
        path = f"/v1/conversations/{conversation}/messages/{message_id}"
        async with asyncio.timeout(HANGS_AFTER_S):
            while (answer := await self.http.get(path)).status_code != 200:
                assert answer.status_code in {202, 503}, answer.text
                await asyncio.sleep(0.2)
        found: dict[str, Any] = answer.json()
        return found

    async def said(self, conversation: str) -> list[str]:
        items = (await self.http.get(f"/v1/conversations/{conversation}/messages")).json()["items"]
        return [item["text"] for item in items if item["role"] == "user"]


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder, (port,) = tmp_path_factory.mktemp("restarts"), free_ports(1)
    async with AsyncExitStack() as open_:
        server = temporal_at(folder, port)
        server.start()
        open_.push_async_callback(server.stop)
        await answers(port)
        settings = Settings.load(data=folder, temporal_address=f"127.0.0.1:{port}")
        client = await connect(settings)
        await register_attributes(client)
        parts = await open_.enter_async_context(assembled(settings))
        publish = parts.store.runs.publish
        await open_.enter_async_context(build_worker(client, parts, QUEUE))
        http = await open_.enter_async_context(served(parts, client, QUEUE))
        built = House(parts, http, server, port)

        async def published(*given: Any, **more: Any) -> Any:
            if built.dies:
                built.dies = False
                await built.leave()
                raise Unavailable("killed before anything was written")
            return await publish(*given, **more)

        parts.store.runs.publish = published  # type: ignore[method-assign]
        yield built
        parts.store.runs.publish = publish  # type: ignore[method-assign]


async def test_a_message_whose_turn_is_cut_by_a_restart_is_running_and_then_answered(
    house: House,
) -> None:
    place = await house.conversation_that_is_cut()
    answer = await house.send(place, "我要请假", message_id="m", wait=3)
    assert (answer.status_code, answer.json()) == (202, {"message_id": "m", "status": "running"})
    await house.come_back()
    turn = await house.turn(place, "m")
    assert turn["flow"]["name"] == "leave_request"
    assert (await house.send(place, "我要请假", message_id="m")).json() == turn
    assert await house.said(place) == ["我要请假"]


async def test_a_message_is_answered_where_the_server_is_back_in_time(house: House) -> None:
    place = await house.conversation_that_is_cut()
    sending = asyncio.create_task(house.send(place, "我要请假", message_id="m"))
    await house.gone.wait()
    await house.come_back()
    answer = await sending
    assert (answer.status_code, answer.json()["flow"]["name"]) == (200, "leave_request")
    assert await house.said(place) == ["我要请假"]


async def test_a_stream_goes_on_through_a_restart(house: House) -> None:
    place = await house.conversation_that_is_cut()
    stream = house.send(place, "我要请假", message_id="m", accept="text/event-stream")
    streaming = asyncio.create_task(stream)
    await house.gone.wait()
    await house.come_back()
    events = [line for line in (await streaming).text.splitlines() if line.startswith("event:")]
    assert (events[0], events[-1]) == ("event: message", "event: turn")


async def test_a_message_that_nothing_accepts_names_the_id_to_send_it_again_under(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one to which its sender gave no id."""
    place = await house.conversation()
    await house.leave()
    monkeypatch.setattr(turns, "RESTART_S", 1.0)
    refused = await house.send(place, "我要请假")
    problem = refused.json()
    assert (refused.status_code, problem["outcome"]) == (503, "unknown")
    assert "retry-after" in refused.headers
    monkeypatch.undo()
    await house.come_back()
    answer = await house.send(place, "我要请假", message_id=problem["message_id"])
    assert (answer.status_code, answer.json()["message_id"]) == (200, problem["message_id"])
    assert await house.said(place) == ["我要请假"]


async def test_a_decision_that_is_cut_by_a_restart_may_be_made_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await house.conversation()
    await house.send(place, "我要请年假，12月7日到8日，家里有事")
    flow = (await house.send(place, "确认")).json()["flow"]
    assert flow["status"] == "waiting_approval", flow
    run = flow["id"]
    bob = {"Authorization": "Bearer bob"}
    items = (await house.http.get("/v1/approvals", headers=bob)).json()["items"]
    shown = next(item for item in items if item["flow_run"] == run)

    async def decide(decision: str) -> httpx.Response:
        return await house.http.post(
            f"/v1/approvals/{shown['id']}/decision",
            json={"decision": decision, "digest": shown["digest"]},
            headers=bob,
        )

    monkeypatch.setattr(run_updates, "UPDATE_WINDOW_S", 3.0)
    house.dies = True
    cut = await decide("approve")
    assert (cut.status_code, cut.json().get("outcome")) == (503, "unknown"), cut.text
    assert "retry-after" in cut.headers
    monkeypatch.undo()
    await house.come_back()
    assert [(await decide("approve")).status_code for _ in range(2)] == [200, 200]
    other = await decide("reject")
    assert (other.status_code, "同意" in other.json()["detail"]) == (409, True)
    shown_run = (await house.http.get(f"/v1/flow-runs/{run}")).json()
    assert [line["by"] for line in shown_run["history"] if line["event"] == "approve"] == ["bob"]
