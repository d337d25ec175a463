"""What a caller has remembered, over HTTP: theirs alone, bounded, and gone when they say so."""

import asyncio
from typing import Any

import pytest

from router.domain.principals import DEFAULT_TENANT
from router.domain.records import MOST_MEMORIES
from router.store.store import Store
from tests.integration.api.conftest import As, problem

PATH = "/v1/memory"


@pytest.fixture
async def nothing_kept(store: Store) -> None:
    for person in ("alice", "frank"):
        await store.memories.forget(DEFAULT_TENANT, person)


@pytest.mark.usefixtures("nothing_kept")
async def test_what_is_sent_is_listed_until_it_is_deleted(caller: As) -> None:
    alice = caller("alice")
    made = await alice.post(PATH, json={"text": "我在上海办公室"})
    assert made.status_code == 201
    assert made.json()["text"] == "我在上海办公室"
    assert (await alice.get(PATH)).json() == {"items": [made.json()], "next": None}
    assert (await alice.delete(f"{PATH}/{made.json()['id']}")).status_code == 204
    assert (await alice.get(PATH)).json()["items"] == []
    problem(await alice.delete(f"{PATH}/{made.json()['id']}"), 404)


@pytest.mark.usefixtures("nothing_kept")
async def test_the_same_twice_is_one_and_all_can_go_at_once(caller: As) -> None:
    alice = caller("alice")
    first = await alice.post(PATH, json={"text": "I eat no meat"})
    again = await alice.post(PATH, json={"text": "i eat no meat."})
    other = await alice.post(PATH, json={"text": "my desk is on floor 4"})
    assert (again.status_code, again.json()) == (201, first.json())
    assert other.json()["id"] != first.json()["id"]
    assert (await alice.delete(PATH)).json() == {"forgotten": 2}
    assert (await alice.delete(PATH)).json() == {"forgotten": 0}


@pytest.mark.usefixtures("nothing_kept")
async def test_nobody_sees_or_deletes_anothers(caller: As, store: Store) -> None:
    made = (await caller("alice").post(PATH, json={"text": "我吃素"})).json()
    for stranger in ("frank", "bob", "olga"):
        assert made["id"] not in (await caller(stranger).get(PATH)).text
        problem(await caller(stranger).delete(f"{PATH}/{made['id']}"), 404)
        await caller(stranger).delete(PATH)
    assert [m.id for m in await store.memories.listed(DEFAULT_TENANT, "alice")] == [made["id"]]
    assert await store.memories.listed("acme", "alice") == []


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_kept")
async def test_there_are_never_more_than_there_may_be(caller: As, store: Store) -> None:
    frank = caller("frank")
    texts = [f"fact number {n}" for n in range(MOST_MEMORIES - 1)]
    for text in texts:
        assert (await frank.post(PATH, json={"text": text})).status_code == 201
    both = await asyncio.gather(*(frank.post(PATH, json={"text": t}) for t in ("one", "other")))
    assert sorted(answer.status_code for answer in both) == [201, 409]
    assert len(await store.memories.listed(DEFAULT_TENANT, "frank")) == MOST_MEMORIES
    assert (await frank.post(PATH, json={"text": texts[0]})).status_code == 201
    await frank.delete(PATH)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": ""},
        {"text": "  \t"},
        {"text": None},
        {"text": 5},
        {"text": "a\x00b"},
        {"text": "x" * 501},
        {"text": "x" * 8001},
        {"text": "my password is hunter22"},
        {"text": "卡号 4111 1111 1111 1111"},
        {"text": "fine", "owner": "bob"},
    ],
    ids=[
        *("nothing", "empty", "blank", "null", "number", "control", "long", "book"),
        *("password", "card", "somebody-elses"),
    ],
)
@pytest.mark.usefixtures("nothing_kept")
async def test_what_cannot_be_remembered_is_refused_and_changes_nothing(
    caller: As, body: dict[str, Any]
) -> None:
    alice = caller("alice")
    refused = problem(await alice.post(PATH, json=body), 422)
    assert "hunter22" not in str(refused["detail"])
    assert (await alice.get(PATH)).json()["items"] == []


@pytest.mark.usefixtures("nothing_kept")
async def test_a_key_binds_a_request_to_its_body(caller: As, unique: str) -> None:
    alice, key = caller("alice"), {"Idempotency-Key": unique}
    first = await alice.post(PATH, json={"text": "我吃素"}, headers=key)
    assert (await alice.post(PATH, json={"text": "我吃素"}, headers=key)).json() == first.json()
    problem(await alice.post(PATH, json={"text": "我吃肉"}, headers=key), 422)
    assert len((await alice.get(PATH)).json()["items"]) == 1
