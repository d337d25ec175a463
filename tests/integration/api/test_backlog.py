"""Messages while the workers are behind, told from a real server's own measure."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from router.api.dependencies import AppState, Services
from router.api.limits import FRESH, STALE, Backlog
from router.domain.errors import Unavailable
from router.runtime.server import create_app
from tests.integration.api.conftest import client_of


class Clock:
    """Time that passes when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def unpolled(temporal: Client) -> str:
    """A task queue with a task that nobody takes."""
    queue = f"unpolled-{uuid4().hex}"
    await temporal.start_workflow("Conversation", {}, id=queue, task_queue=queue)
    return queue


async def until_refused(backlog: Backlog) -> None:
    async with asyncio.timeout(30):
        while True:
            await backlog.look()
            try:
                backlog.check()
            except Unavailable:
                return
            await asyncio.sleep(0.05)


async def test_work_that_nobody_takes_closes_the_door(temporal: Client, unpolled: str) -> None:
    clock = Clock()
    backlog = Backlog(temporal, unpolled, most=0.5, clock=clock)
    await until_refused(backlog)
    with pytest.raises(Unavailable) as refused:
        backlog.check()
    assert "太忙" in refused.value.said.zh


async def test_it_stays_open_while_the_oldest_is_young(temporal: Client, unpolled: str) -> None:
    backlog = Backlog(temporal, unpolled, most=3600)
    await backlog.look()
    backlog.check()


async def test_an_idle_queue_keeps_nobody_out(temporal: Client) -> None:
    backlog = Backlog(temporal, "idle", most=0.001)
    await backlog.look()
    backlog.check()


async def test_what_was_measured_long_ago_keeps_nobody_out(temporal: Client, unpolled: str) -> None:
    clock = Clock()
    backlog = Backlog(temporal, unpolled, most=0.5, clock=clock)
    await until_refused(backlog)
    clock.now += STALE + FRESH
    backlog.check()


class Silent:
    """A Temporal that doesn't tell."""

    namespace = "default"

    class workflow_service:  # noqa: N801 - an attribute of the client's
        @staticmethod
        async def describe_task_queue(*_: object, **__: object) -> None:
            raise RPCError("no", RPCStatusCode.PERMISSION_DENIED, b"")


async def test_a_server_that_does_not_tell_keeps_nobody_out() -> None:
    backlog = Backlog(Silent(), "any", most=0.001)  # type: ignore[arg-type]
    await backlog.look()
    backlog.check()


async def test_a_message_is_refused_at_once_and_never_piles_up(
    services: Services, unpolled: str
) -> None:
    limits = {"task_queue": unpolled, "backlog_seconds": 0.5}
    settings = services.settings.model_copy(update=limits)
    app = create_app(replace(services, settings=settings))
    state: AppState = app.state.shared
    assert state.turns._backlog is not None
    await until_refused(state.turns._backlog)
    async with client_of(app, "alice") as alice:
        created = await alice.post("/v1/conversations", json={})
        path = f"/v1/conversations/{created.json()['id']}/messages"
        answer = await alice.post(path, json={"text": "你好", "message_id": "m1"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "太忙" in answer.json()["detail"]
        stream = {"accept": "text/event-stream"}
        assert (await alice.post(path, json={"text": "x"}, headers=stream)).status_code == 503
        assert (await alice.get(path)).json()["items"] == []
