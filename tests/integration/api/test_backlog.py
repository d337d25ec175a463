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
from tests.fakes.clock import Clock
from tests.integration.api.conftest import client_of, problem
from tests.waiting import HANGS_AFTER_S


@pytest.fixture
async def unpolled(temporal: Client) -> str:
    """A task queue with a task that nobody takes."""
    queue = f"unpolled-{uuid4().hex}"
    await temporal.start_workflow("Conversation", {}, id=queue, task_queue=queue)
    return queue


async def until_refused(backlog: Backlog) -> Unavailable:
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            await backlog.look()
            try:
                await backlog.check()
            except Unavailable as refused:
                return refused
            await asyncio.sleep(0.05)


async def test_work_that_nobody_takes_closes_the_door_however_long_ago_somebody_knocked(
    temporal: Client, unpolled: str, clock: Clock
) -> None:
    backlog = Backlog(temporal, unpolled, most=0.5, clock=clock)
    assert "太忙" in (await until_refused(backlog)).said.zh
    clock.now += STALE + FRESH
    with pytest.raises(Unavailable):
        await backlog.check()


async def test_the_door_opens_at_once_when_all_work_was_taken_long_ago(
    temporal: Client, unpolled: str, clock: Clock
) -> None:
    backlog = Backlog(temporal, unpolled, most=0.5, clock=clock)
    await until_refused(backlog)
    backlog.task_queue = f"emptied-{unpolled}"
    clock.now += STALE + FRESH
    await backlog.check()


async def test_otherwise_the_door_is_open(temporal: Client, unpolled: str) -> None:
    for client, queue, most in ((temporal, unpolled, 3600), (temporal, "idle", 0.001)):
        backlog = Backlog(client, queue, most=most)
        await backlog.look()
        await backlog.check()
    silent = Backlog(Silent(), "any", most=0.001)  # type: ignore[arg-type]
    await silent.look()
    await silent.check()


class Silent:
    """A Temporal that doesn't tell."""

    namespace = "default"

    class workflow_service:  # noqa: N801 - an attribute of the client's
        @staticmethod
        async def describe_task_queue(*_: object, **__: object) -> None:
            raise RPCError("no", RPCStatusCode.PERMISSION_DENIED, b"")


@pytest.mark.slow
async def test_a_message_is_refused_and_piles_up_nowhere(services: Services, unpolled: str) -> None:
    limits = {"task_queue": unpolled, "backlog_seconds": 0.5}
    settings = services.settings.model_copy(update=limits)
    app = create_app(replace(services, settings=settings))
    state: AppState = app.state.shared
    assert state.turns._backlog is not None
    await until_refused(state.turns._backlog)
    async with client_of(app, "alice") as alice:
        created = await alice.post("/v1/conversations", json={})
        path = f"/v1/conversations/{created.json()['id']}/messages"
        for headers in ({}, {"accept": "text/event-stream"}):
            answer = await alice.post(path, json={"text": "你好"}, headers=headers)
            assert "太忙" in problem(answer, 503)["detail"]
            assert answer.headers["retry-after"] == "5"
        assert (await alice.get(path)).json()["items"] == []
