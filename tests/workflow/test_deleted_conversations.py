"""A conversation that its owner has deleted, over HTTP with the worker and Temporal real."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient, Response
from temporalio.client import Client

from router.api import conversations
from router.cli import erase
from router.contracts.conversation import FORGET, workflow_id
from router.domain.errors import Unavailable
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import LogEntry
from router.gateway import executions
from router.gateway.executions import Execution, begun_by, workflows_of
from router.runtime.composition import Parts
from router.store.erasure import ConversationErasure
from router.store.legal_holds import LegalHold
from router.tool.tool import Tool, tool
from tests.fakes.model_server import calls
from tests.integration.api.conftest import problem
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, person
from tests.workflow.test_streaming import served
from tests.workflow.tooled import Tooled
from workflows.conversation import DELETED

ALICE = {"Authorization": "Bearer alice"}


@pytest.fixture
async def alice(parts: Parts, real_client: Client) -> Talk:
    return await Talk(real_client, parts, await person(parts, "alice")).open()


def path_of(talk: Talk) -> str:
    return f"/v1/conversations/{talk.id}"


async def delete(api: AsyncClient, talk: Talk, user: str = "alice") -> Response:
    return await api.delete(path_of(talk), headers={"Authorization": f"Bearer {user}"})


@pytest.mark.slow
async def test_it_goes_and_its_run_goes_on(api: AsyncClient, alice: Talk, parts: Parts) -> None:
    run = await alice.waiting_leave("我要请年假，12月21日到12月22日，家里有事")
    assert (await delete(api, alice)).status_code == 204
    for path in ("", "/messages", "/events"):
        problem(await api.get(f"{path_of(alice)}{path}", headers=ALICE), 404)
    said: dict[str, Any] = {"text": "在吗"}
    problem(await api.post(f"{path_of(alice)}/messages", json=said, headers=ALICE), 404)
    listed = (await api.get("/v1/conversations?limit=200", headers=ALICE)).json()["items"]
    assert alice.id not in {item["id"] for item in listed}
    await alice.approver("bob").decide(run, "approve")
    stands = (await api.get(f"/v1/flow-runs/{run}", headers=ALICE)).json()
    assert stands["status"] in {"running", "waiting", "completed"}
    assert await parts.store.log.since(DEFAULT_TENANT, alice.id, 0, 10) == []
    left = await workflows_of(alice.client, begun_by([workflow_id(DEFAULT_TENANT, alice.id)]))
    assert not [each for each in left if each.open]
    again, others = await delete(api, alice), await delete(api, alice, "frank")
    assert (again.status_code, others.status_code) == (204, 404)


class Booked:
    """A tool that books something, and goes on when it is let."""

    def __init__(self) -> None:
        self.began, self.goes_on, self.booked = asyncio.Event(), asyncio.Event(), 0

    def tool(self) -> Tool:
        @tool(permission="read", retries=1, timeout="60s", title={"zh": "订", "en": "Book"})
        async def book_it() -> str:
            """Book something."""
            self.began.set()
            await self.goes_on.wait()
            self.booked += 1
            return "booked"

        return book_it


@asynccontextmanager
async def at_work(tooled: Tooled, bookings: Booked) -> AsyncIterator[tuple[AsyncClient, Talk]]:
    """A house whose model books for each message."""
    book = calls(("book_it", {}))
    async with (
        tooled([bookings.tool()], [book, book]) as talk,
        served(talk.parts, talk.client, talk.queue) as api,
    ):
        yield api, talk


async def send(api: AsyncClient, talk: Talk, text: str, **more: str) -> Response:
    return await api.post(f"{path_of(talk)}/messages", json={"text": text, **more})


async def become_open(talk: Talk, number: int) -> None:
    """Return when so many messages wait or run."""
    for _ in range(3000):
        if len((await talk.status()).running) == number:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"never {number}: {await talk.status()}")


async def told_to_forget(talk: Talk) -> None:
    """Return when the conversation's workflow has been told of the deletion."""
    for _ in range(3000):
        if any([_is_told(event) async for event in talk.handle.fetch_history_events()]):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("never told")


def _is_told(event: Any) -> bool:
    told = event.workflow_execution_signaled_event_attributes
    return bool(told.signal_name == FORGET)


async def test_a_turn_under_way_is_answered_and_what_has_not_begun_is_refused(
    tooled: Tooled, parts: Parts
) -> None:
    bookings = Booked()
    async with at_work(tooled, bookings) as (api, talk):
        running = asyncio.create_task(send(api, talk, "book it"))
        await asyncio.wait_for(bookings.began.wait(), HANGS_AFTER_S)
        behind = [asyncio.create_task(send(api, talk, f"book {n} more")) for n in range(5)]
        await become_open(talk, 6)
        async with api.stream("GET", f"{path_of(talk)}/events") as events:
            deleting = asyncio.create_task(delete(api, talk))
            heard = [line async for line in events.aiter_lines()]
        await told_to_forget(talk)
        bookings.goes_on.set()
        answer, refusals = await running, await asyncio.gather(*behind)
        assert (await deleting).status_code == 204
    assert (answer.status_code, bookings.booked) == (200, 1)
    assert [(c["name"], c["status"]) for c in answer.json()["tool_calls"]] == [("book_it", "done")]
    assert {problem(each, 404)["detail"] for each in refusals} == {DELETED.zh}
    assert not [line for line in heard if line in {"event: turn", "event: forgotten"}]
    assert await parts.store.log.since(DEFAULT_TENANT, talk.id, 0, 10) == []
    assert await parts.store.conversations.load_snapshot(DEFAULT_TENANT, talk.id) is None


@pytest.mark.slow
async def test_a_turn_that_takes_long_is_left_to_end_and_whoever_deletes_is_told_so(
    tooled: Tooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookings = Booked()
    monkeypatch.setattr(conversations, "FINISHED_WITHIN_S", 0.2)
    async with at_work(tooled, bookings) as (api, talk):
        running = asyncio.create_task(send(api, talk, "book it"))
        await asyncio.wait_for(bookings.began.wait(), HANGS_AFTER_S)
        early = await delete(api, talk)
        bookings.goes_on.set()
        answer, late = await running, await delete(api, talk)
    assert "正在处理" in problem(early, 503)["detail"]
    assert (answer.status_code, late.status_code) == (200, 204)


@pytest.mark.slow
async def test_a_person_is_erased_after_what_is_under_way(tooled: Tooled) -> None:
    bookings = Booked()
    async with at_work(tooled, bookings) as (api, talk):
        running = asyncio.create_task(send(api, talk, "book it"))
        await asyncio.wait_for(bookings.began.wait(), HANGS_AFTER_S)
        theirs = begun_by([talk.handle.id])
        found = [Execution(talk.handle.id, "", open=True, began_at=datetime.now(UTC))]
        ending = asyncio.create_task(erase.end_workflows(talk.client, theirs, found))
        await told_to_forget(talk)
        bookings.goes_on.set()
        answer = await running
        await ending
    assert (answer.status_code, bookings.booked) == (200, 1)


async def test_what_comes_late_brings_nothing_back(
    api: AsyncClient, alice: Talk, parts: Parts
) -> None:
    assert (await delete(api, alice)).status_code == 204
    data = {"role": "assistant", "text": "late"}
    row = {"kind": "message", "at": datetime.now(UTC), "data": data, "conversation": alice.id}
    await parts.store.log.append(DEFAULT_TENANT, [LogEntry(key=uuid4().hex, **row)])
    await parts.store.conversations.save_snapshot(DEFAULT_TENANT, alice.id, "{}")
    assert await parts.store.log.since(DEFAULT_TENANT, alice.id, 0, 10) == []
    assert await parts.store.conversations.load_snapshot(DEFAULT_TENANT, alice.id) is None


@pytest.mark.slow
async def test_a_legal_hold_keeps_it(api: AsyncClient, alice: Talk, parts: Parts) -> None:
    run = await alice.waiting_leave("我要请年假，12月23日到12月24日，家里有事")
    hold = {"kind": "run", "subject": run, "reason": "court", "placed_by": "olga"}
    placed = LegalHold.model_validate(hold | {"placed_at": datetime.now(UTC)})
    await parts.store.legal_holds.place(DEFAULT_TENANT, placed)
    assert "court" not in problem(await delete(api, alice), 409)["detail"]
    assert (await api.get(f"{path_of(alice)}/messages")).json()["items"]
    await parts.store.legal_holds.release(DEFAULT_TENANT, "run", run)
    assert (await delete(api, alice)).status_code == 204


async def test_where_its_words_cannot_be_deleted_all_of_it_goes_on(
    api: AsyncClient, alice: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.say("你好")

    async def unreachable(*_: str) -> datetime:
        raise Unavailable("The database can't be reached right now; try again.")

    with monkeypatch.context() as broken:
        broken.setattr(ConversationErasure, "erase", unreachable)
        problem(await delete(api, alice), 503)
    newest = await executions.newest(alice.client, alice.handle.id)
    assert newest is not None
    assert newest.open
    assert (await api.get(f"{path_of(alice)}/messages", headers=ALICE)).json()["items"]


@pytest.fixture
def once_erased(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[], Awaitable[object]]], None]:
    """Has this happen when the words of a conversation have just gone."""

    def during(happens: Callable[[], Awaitable[object]]) -> None:
        erase = ConversationErasure.erase

        async def followed(own: ConversationErasure, tenant: str, conversation: str) -> datetime:
            at = await erase(own, tenant, conversation)
            await happens()
            return at

        monkeypatch.setattr(ConversationErasure, "erase", followed)

    return during


@pytest.mark.slow
async def test_a_thread_that_begins_anew_meanwhile_goes_on(
    api: AsyncClient,
    alice: Talk,
    parts: Parts,
    once_erased: Callable[[Callable[[], Awaitable[object]]], None],
) -> None:
    await alice.say("你好")

    async def begins_anew() -> None:
        await alice.handle.terminate()
        await alice.open()
        await alice.say("请问")

    once_erased(begins_anew)
    assert (await delete(api, alice)).status_code == 204
    newest = await executions.newest(alice.client, alice.handle.id)
    assert newest is not None
    assert newest.open
    kept = await parts.store.log.transcript(DEFAULT_TENANT, alice.id, None, 10)
    assert [row.data["text"] for row in kept if row.data["role"] == "user"] == ["请问"]


@pytest.mark.slow
async def test_who_has_to_finish_it_is_told_that_its_words_are_gone(
    api: AsyncClient, alice: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.say("你好")

    async def unreachable(*_: object) -> list[executions.Execution]:
        raise Unavailable("Temporal or its worker can't be reached right now; try again.")

    with monkeypatch.context() as broken:
        broken.setattr(executions, "end", unreachable)
        said = problem(await delete(api, alice), 503)
    assert "内容已经删掉了" in said["detail"]
    problem(await api.get(path_of(alice), headers=ALICE), 404)
    assert (await delete(api, alice)).status_code == 204
