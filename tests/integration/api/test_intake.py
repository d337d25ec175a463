"""Messages in an overload: refused early, before anything is written or sent to Temporal."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from temporalio.client import Client
from temporalio.service import RPCError

from router.api.dependencies import AppState, Services
from router.api.intake import ABANDONED_FOR_S, MIN_WAITING
from router.contracts.conversation import Submission, workflow_id
from router.domain.errors import TooManyRequests
from router.domain.messages import ConfirmAction, Message, Route, TextReply, Turn
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import LogEntry
from router.runtime.server import create_app
from router.store.store import Store
from tests.fakes.clock import Clock
from tests.integration.api.conftest import client_of, problem

GREETING = Message(text="你好")
MOMENT = datetime(2027, 3, 10, tzinfo=UTC)


@dataclass
class Overload:
    """An API whose messages wait: no worker polls its queue."""

    app: FastAPI
    alice: AsyncClient
    waiting: Sequence[tuple[str, str]]
    """Conversation and id of each message that waits."""
    clock: Clock

    async def begin(self) -> str:
        created = await self.alice.post("/v1/conversations", json={})
        assert created.status_code == 201, created.text
        conversation: str = created.json()["id"]
        return conversation


def messages_of(conversation: str) -> str:
    return f"/v1/conversations/{conversation}/messages"


async def submission(state: AppState, message: Message, message_id: str = "") -> Submission:
    """Return alice's message; without an id of her choice it gets a fresh one."""
    alice = await state.services.directory.find(DEFAULT_TENANT, "alice")
    assert alice is not None
    return Submission(
        message_id=message_id or uuid4().hex, message=message, caller=alice, fresh=not message_id
    )


@pytest.fixture
async def overload(services: Services, clock: Clock) -> AsyncIterator[Overload]:
    settings = services.settings.model_copy(update={"task_queue": f"unpolled-{uuid4().hex}"})
    app = create_app(replace(services, settings=settings))
    state: AppState = app.state.shared
    state.turns.intake.clock = clock
    async with client_of(app, "alice") as alice:
        overload = Overload(app, alice, [], clock)
        waiting = [(await overload.begin(), f"m{number}") for number in range(MIN_WAITING)]
        sent = [
            asyncio.create_task(
                alice.post(messages_of(place), json={"text": "你好", "message_id": message_id})
            )
            for place, message_id in waiting
        ]
        while len(state.turns.intake.state().ages) < MIN_WAITING:  # noqa: ASYNC110 - of an application
            await asyncio.sleep(0)
        overload.waiting = waiting
        yield overload
        await state.turns.close()
        await asyncio.gather(*sent)


async def test_a_new_message_is_refused_and_leaves_no_trace(
    overload: Overload, temporal: Client
) -> None:
    conversation = await overload.begin()
    overload.clock.now += 4

    for headers in ({}, {"accept": "text/event-stream"}):
        answer = await overload.alice.post(
            messages_of(conversation), json={"text": "你好"}, headers=headers
        )
        assert "再发一次" in problem(answer, 429)["detail"]
        assert int(answer.headers["retry-after"]) >= 1

    assert (await overload.alice.get(messages_of(conversation))).json()["items"] == []
    workflow = temporal.get_workflow_handle(workflow_id("default", conversation))
    with pytest.raises(RPCError):
        await workflow.describe()


async def test_what_was_taken_before_or_ends_something_is_not_refused(
    overload: Overload,
) -> None:
    overload.clock.now += 4
    state: AppState = overload.app.state.shared
    place, message_id = overload.waiting[0]
    record = await state.services.store.conversations.find("default", place)
    assert record is not None
    confirms = Message(action=ConfirmAction(type="confirm", value=True))

    await state.turns.admit(record, await submission(state, GREETING, message_id))
    await state.turns.admit(record, await submission(state, confirms))
    shown = await overload.alice.get(messages_of(place))

    assert shown.status_code == 200
    with pytest.raises(TooManyRequests):
        await state.turns.admit(record, await submission(state, GREETING))


async def test_a_message_that_was_answered_long_ago_is_not_refused(
    overload: Overload, store: Store
) -> None:
    conversation = await overload.begin()
    state: AppState = overload.app.state.shared
    record = await store.conversations.find("default", conversation)
    assert record is not None
    route = Route(kind="reply", by="fallback")
    turn = Turn(message_id="answered", turn=1, route=route, replies=[TextReply(text="long ago")])
    whole = {"digest": "d", "turn": turn.model_dump(mode="json")}
    line = LogEntry(
        key=f"{conversation}:answered",
        conversation=conversation,
        kind="turn",
        message_id="answered",
        data=whole,
        at=MOMENT,
    )
    await store.log.append("default", [line])
    overload.clock.now += 4

    await state.turns.admit(record, await submission(state, GREETING, "answered"))

    with pytest.raises(TooManyRequests):
        await state.turns.admit(record, await submission(state, GREETING, "unheard-of"))


async def test_messages_that_were_given_up_count_for_a_while(overload: Overload) -> None:
    overload.clock.now += 4
    state: AppState = overload.app.state.shared

    await state.turns.close()

    with pytest.raises(TooManyRequests):
        state.turns.intake.check()
    overload.clock.now += ABANDONED_FOR_S + 1
    state.turns.intake.check()
