"""Which conversation a chat is, and what happens to it when a request comes twice."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from httpx import AsyncClient
from openai import AsyncOpenAI
from pydantic import JsonValue

from router.domain.records import LogEntry
from router.extensions.openai import identity
from router.store.store import Store
from tests.integration.api.extensions.openai.conftest import PATH, ask, body, fault, release, said
from tests.table import each_row


async def count(client: AsyncClient) -> int:
    return len((await client.get("/v1/conversations", params={"limit": 200})).json()["items"])


async def latest(client: AsyncClient) -> str:
    id_: str = (await client.get("/v1/conversations")).json()["items"][0]["id"]
    return id_


async def turns(client: AsyncClient) -> int:
    """How many turns the latest conversation has had."""
    return int((await client.get(f"/v1/conversations/{await latest(client)}")).json()["turns"])


def row(conversation: str, number: int, **data: JsonValue) -> LogEntry:
    key, at = f"{conversation}:{number}", datetime.now(UTC)
    return LogEntry(key=key, kind="message", at=at, conversation=conversation, data=data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "header", ["X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id", "X-Conversation-Id", None]
)
async def test_an_id_is_a_conversation(alice: AsyncClient, header: str | None, unique: str) -> None:
    named: Any = {"headers": {header: unique}} if header else {}
    named |= {} if header else {"metadata": {"conversation_id": unique}}
    before = await count(alice)
    for texts in (["hello"], ["hello", "more"], ["edited", "and other"]):
        assert said(await ask(alice, *texts, **named)) == f"alice: {texts[-1]}"
    assert (await count(alice), await turns(alice)) == (before + 1, 3)


async def test_without_an_id_the_first_words_tell(alice: AsyncClient, unique: str) -> None:
    before = await count(alice)
    for texts in ([unique], [unique, "b"], [unique, "b", "c"]):
        await ask(alice, *texts)
    assert (await count(alice), await turns(alice)) == (before + 1, 3)


async def test_what_is_said_besides_tells_chats_apart(alice: AsyncClient, unique: str) -> None:
    before = await count(alice)
    for texts, user in (([unique], "one"), ([unique], "two"), ([unique, "on"], "one")):
        await ask(alice, *texts, user=user)
    assert await count(alice) == before + 2
    not_kept = {"X-OpenWebUI-Chat-Id": f"local:{unique}"}
    for texts in (["first"], ["second"], ["first", "on"]):
        await ask(alice, *texts, headers=not_kept)
    assert await count(alice) == before + 4


async def test_librechat_names_a_chat_from_its_answer_on(alice: AsyncClient, unique: str) -> None:
    before, header = await count(alice), "X-LibreChat-Conversation-Id"
    for more, id_ in (([], "new"), (["b"], f"c-{unique}"), (["b", "c"], f"c-{unique}")):
        await ask(alice, unique, *more, headers={header: id_})
    assert (await count(alice), await turns(alice)) == (before + 1, 3)


async def test_the_same_words_later_are_anew(alice: AsyncClient, store: Store, unique: str) -> None:
    before = await count(alice)
    await ask(alice, unique)
    began = await latest(alice)
    for number, text in enumerate([unique, "on"]):
        said = row(began, number, role="user", text=text)
        line = said.model_copy(update={"message_id": f"m{number}"})
        await store.log.append("default", [line])
    await ask(alice, unique)
    assert await count(alice) == before + 2
    assert await latest(alice) != began


async def test_the_same_words_begin_a_new_chat_after_a_while(
    alice: AsyncClient, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await count(alice)
    await ask(alice, unique)
    monkeypatch.setattr(identity, "REPEATED_WITHIN", timedelta(0))
    for expected in range(before + 2, before + 6):
        await ask(alice, unique)
        assert await count(alice) == expected


@pytest.mark.slow
@each_row("named", [True, False])
async def test_a_repeat_gets_the_first_answer(alice: AsyncClient, unique: str, named: bool) -> None:
    headers = {"X-Conversation-Id": unique} if named else {}
    first, again = [await ask(alice, unique, headers=headers) for _ in range(2)]
    assert first.json()["id"] == again.json()["id"]
    assert await turns(alice) == 1
    for texts in (["yes"], ["yes"], ["yes", "yes"]):
        await ask(alice, unique, *texts, headers=headers)
    assert await turns(alice) == 3


async def test_requests_at_the_same_time_are_one_message(alice: AsyncClient, unique: str) -> None:
    answers = await asyncio.gather(*(ask(alice, f"{unique} at once") for _ in range(4)))
    assert {said(answer) for answer in answers} == {f"alice: {unique} at once"}
    assert await turns(alice) == 1


@each_row("header", ["X-OpenWebUI-Message-Id", "X-LibreChat-Message-Id"])
async def test_another_id_is_another_message(alice: AsyncClient, unique: str, header: str) -> None:
    for message in ("m1", "m1", "m2"):
        await ask(alice, "hi", headers={"X-Conversation-Id": unique, header: message})
    assert await turns(alice) == 2


async def test_an_idempotency_key_is_the_messages_id(alice: AsyncClient, unique: str) -> None:
    chat = {"X-Conversation-Id": unique, "Idempotency-Key": "k1"}
    await ask(alice, "hello", headers=chat)
    await ask(alice, "so", "hello", headers=chat)
    assert await turns(alice) == 1
    assert fault(await ask(alice, "something else", headers=chat), 400)["message"]
    bad = await ask(alice, "hello", headers={**chat, "Idempotency-Key": "x" * 65})
    assert fault(bad, 400)["param"] == "Idempotency-Key"


async def test_what_systems_say_is_passed_over(alice: AsyncClient, unique: str) -> None:
    sent, headers = body("hi"), {"X-Conversation-Id": unique}
    for now in ("It is 10:00.", "It is 10:01."):
        messages = [{"role": "system", "content": now}, *sent["messages"]]
        await alice.post(PATH, json={**sent, "messages": messages}, headers=headers)
    assert await turns(alice) == 1


async def test_a_client_that_goes_away_stops_nothing(online: AsyncClient, unique: str) -> None:
    url, chat = f"{online.base_url}/v1", {**body("held"), **named(unique)}
    alice = AsyncOpenAI(base_url=url, api_key="alice", max_retries=0, timeout=0.3)
    with pytest.raises(Exception, match="timed out"):
        await alice.chat.completions.create(**chat)
    await release(online)
    made = await alice.with_options(timeout=60).chat.completions.create(**chat)
    assert made.choices[0].message.content == "alice: held"
    assert await turns(online) == 2  # with the one that releases it


async def test_the_clients_helper_puts_a_stream_together(address: str, unique: str) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice", max_retries=0)
    chat = {**body("much"), **named(unique), "temperature": 0.2}
    async with alice.chat.completions.stream(**chat) as stream:
        events = [event.type async for event in stream]
        whole = (await stream.get_final_completion()).choices[0]
    assert "content.delta" in events
    assert (whole.finish_reason, whole.message.role) == ("stop", "assistant")
    assert (whole.message.content or "").endswith("\n\nfive")


def named(chat: str) -> dict[str, Any]:
    return {"extra_headers": {"X-Conversation-Id": chat}}


async def test_a_model_can_be_looked_up(address: str) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice")
    assert (await alice.models.retrieve("intent-router")).owned_by == "intent-router"


@each_row("stream", [False, True])
async def test_news_comes_before_the_next_answer_and_only_there(
    alice: AsyncClient, store: Store, unique: str, stream: bool
) -> None:
    headers = {"X-Conversation-Id": unique}
    await ask(alice, "one", headers=headers)
    news: dict[str, JsonValue] = {"type": "text", "text": "批准了"}
    by_itself = row(await latest(alice), 1, role="assistant", text="批准了", replies=[news])
    await store.log.append("default", [by_itself])
    answer = await ask(alice, "one", "two", headers=headers, stream=stream)
    said = "批准了".encode("unicode_escape").decode() if stream else "批准了"
    assert answer.text.index(said) < answer.text.index("alice: two")
