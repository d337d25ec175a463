import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from httpx import AsyncClient, Response

from router.contracts.conversation_state import ConversationState, Transcript
from router.domain.messages import Usage
from router.domain.records import LogEntry
from router.store.store import Store
from tests.integration.api.conftest import As, problem, until


async def test_a_new_conversation_is_the_callers_and_speaks_their_language(caller: As) -> None:
    for user, body, locale in (
        ("alice", None, "zh"),
        ("alice", {}, "zh"),
        ("frank", {}, "en"),
        ("frank", {"locale": "zh", "metadata": {"source": ["web", 1]}}, "zh"),
    ):
        answer = await caller(user).post("/v1/conversations", json=body)
        assert (answer.status_code, answer.json()["locale"]) == (201, locale)
        assert set(answer.json()) == {"id", "locale", "created_at"}
        assert re.fullmatch(r"[a-z2-7]{24}", answer.json()["id"])


async def test_a_key_begins_one_conversation(caller: As, unique: str) -> None:
    async def begin(user: str, locale: str, key: str = unique) -> Response:
        headers = {"Idempotency-Key": key}
        return await caller(user).post(
            "/v1/conversations", json={"locale": locale}, headers=headers
        )

    first, again = await begin("alice", "en"), await begin("alice", "en")
    quoted = await begin("alice", "en", f'"{unique}"')
    assert first.json() == again.json() == quoted.json()
    assert (await begin("alice", "zh")).status_code == 422
    assert (await begin("frank", "en")).json()["id"] != first.json()["id"]


@pytest.mark.parametrize("key", ["", "a b", "x" * 65, '""', "\x7f", "é"])
async def test_a_bad_key_is_refused(alice: AsyncClient, conversation: str, key: str) -> None:
    headers = {b"Idempotency-Key": key.encode("latin-1")}
    said = {"text": "hi"}
    for path in ("/v1/conversations", "/v1/route", f"{conversation}/messages"):
        body = {} if path == "/v1/conversations" else said
        refused = problem(await alice.post(path, json=body, headers=headers), 422)
        assert refused["errors"][0]["field"] == "Idempotency-Key"


async def test_the_list_is_ones_own_newest_first_in_pages(caller: As) -> None:
    dave = caller("dave")
    made = [(await dave.post("/v1/conversations")).json()["id"] for _ in range(5)]
    found: list[str] = []
    after = ""
    while True:
        page = (await dave.get(f"/v1/conversations?limit=2{after}")).json()
        found += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == made[::-1]


def said(conversation: str, role: str, text: str) -> LogEntry:
    place = {"key": f"{conversation} {role}", "at": datetime.now(UTC), "conversation": conversation}
    data = {"role": role, "text": text}
    return LogEntry.model_validate({"kind": "message", "data": data} | place)


async def test_the_list_shows_how_far(alice: AsyncClient, conversation: str, store: Store) -> None:
    id_ = conversation.rpartition("/")[2]

    async def listed() -> dict[str, Any]:
        items = (await alice.get("/v1/conversations?limit=200")).json()["items"]
        found: dict[str, Any] = next(item for item in items if item["id"] == id_)
        return found

    silent = await listed()
    assert (silent["title"], silent["latest"], silent["latest_at"]) == ("", None, None)
    await store.log.append("default", [said(id_, "user", "I  need\n" + "x" * 100)])
    begun = await listed()
    assert begun["title"] == "I need " + "x" * 73
    await store.log.append("default", [said(id_, "assistant", "Why?")])
    went_on = await listed()
    assert went_on["title"] == begun["title"]
    assert int(went_on["latest"]) > int(begun["latest"])
    (last,) = (await alice.get(f"{conversation}/messages?after={begun['latest']}")).json()["items"]
    assert (last["id"], last["at"]) == (went_on["latest"], went_on["latest_at"])


async def test_a_place_that_no_list_gave_is_refused_by_its_name(alice: AsyncClient) -> None:
    for path in ("/v1/conversations", "/v1/flow-runs", "/v1/approvals"):
        refused = problem(await alice.get(path, params={"after": "nowhere"}), 422)
        assert refused["errors"][0]["field"] == "after"


async def test_what_is_anothers_is_not_there(caller: As, conversation: str) -> None:
    for body in ({"text": "hi"}, {"text": ""}):
        problem(await caller("bob").post(f"{conversation}/messages", json=body), 404)


async def test_a_new_conversation_stands_at_nothing(alice: AsyncClient, conversation: str) -> None:
    assert (await alice.get(conversation)).json() == {
        "id": conversation.rpartition("/")[2],
        "locale": "zh",
        "status": "idle",
        "turns": 0,
        "active_flow": None,
        "paused_flows": [],
        "pending_confirmation": None,
        "active_skill": None,
        "with_person": None,
        "usage": Usage().model_dump(mode="json"),
    }


async def test_a_closed_conversation_stands_where_it_was_left(
    alice: AsyncClient, conversation: str, store: Store
) -> None:
    await alice.post(f"{conversation}/messages", json={"text": "close"})
    left = ConversationState(transcript=Transcript(turn_count=7)).model_dump_json()
    await store.conversations.save_snapshot("default", conversation.rpartition("/")[2], left)
    await until(lambda: alice.get(conversation), lambda a: a.json()["turns"] == 7)


async def test_cancelling_stops_the_turn_that_runs(alice: AsyncClient, conversation: str) -> None:
    problem(await alice.post(f"{conversation}/cancel"), 409)
    slow = {"text": "slow", "message_id": "s"}
    sent = asyncio.create_task(alice.post(f"{conversation}/messages", json=slow))
    await until(lambda: alice.get(conversation), lambda a: a.json()["status"] == "running")
    stopped = await alice.post(f"{conversation}/cancel")
    cancelling = {"status": "cancelling", "message_ids": ["s"]}
    assert (stopped.status_code, stopped.json()) == (202, cancelling)
    assert (await sent).json()["status"] == "cancelled"
    problem(await alice.post(f"{conversation}/cancel"), 409)


async def test_a_cancel_counts_once(alice: AsyncClient, conversation: str, unique: str) -> None:
    key = {"Idempotency-Key": unique}
    for message_id, status in (("first", 202), ("later", 422)):
        body = {"text": "held", "message_id": message_id}
        await alice.post(f"{conversation}/messages?wait=0", json=body)
        assert (await alice.post(f"{conversation}/cancel", headers=key)).status_code == status
        await alice.post(f"{conversation}/messages", json={"text": "release"})
        assert (await alice.post(f"{conversation}/messages", json=body)).json()["status"] == "done"
