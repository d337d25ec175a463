"""Which conversation a chat is, and what happens to it when a request comes twice."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from httpx import AsyncClient
from openai import AsyncOpenAI
from pydantic import JsonValue

from router.api.openai import identity
from router.domain.records import LogEntry
from router.store.store import Store
from tests.integration.api.conftest import As
from tests.integration.api.openai.conftest import PATH, ask, body, said


async def count(client: AsyncClient) -> int:
    return len((await client.get("/v1/conversations", params={"limit": 200})).json()["items"])


async def latest(client: AsyncClient) -> str:
    id_: str = (await client.get("/v1/conversations")).json()["items"][0]["id"]
    return id_


async def turns(client: AsyncClient) -> int:
    """How many turns the latest conversation has had."""
    shown = await client.get(f"/v1/conversations/{await latest(client)}")
    number: int = shown.json()["turns"]
    return number


def row(conversation: str, number: int, kind: str, **more: JsonValue) -> LogEntry:
    return LogEntry.model_validate(
        {
            "key": f"{conversation}:{number}",
            "kind": kind,
            "at": datetime.now(UTC),
            "conversation": conversation,
            "data": {},
            **more,
        }
    )


@pytest.mark.parametrize(
    "header", ["X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id", "X-Conversation-Id"]
)
async def test_a_chat_with_an_id_is_one_conversation(
    alice: AsyncClient, header: str, unique: str
) -> None:
    before = await count(alice)
    for texts in (["hello"], ["hello", "more"], ["edited", "and other"]):
        assert said(await ask(alice, *texts, headers={header: unique})) == f"alice: {texts[-1]}"
    assert (await count(alice), await turns(alice)) == (before + 1, 3)


async def test_a_program_may_name_it_in_the_metadata(alice: AsyncClient, unique: str) -> None:
    before = await count(alice)
    for texts in (["hello"], ["other", "more"]):
        await ask(alice, *texts, metadata={"conversation_id": unique})
    assert await count(alice) == before + 1


async def test_an_id_means_another_conversation_to_somebody_else(caller: As, unique: str) -> None:
    chat = {"X-OpenWebUI-Chat-Id": unique}
    await ask(caller("alice"), "hello", headers=chat)
    mine = await latest(caller("alice"))
    assert said(await ask(caller("bob"), "hello", headers=chat)) == "bob: hello"
    assert await latest(caller("bob")) != mine
    assert (await caller("bob").get(f"/v1/conversations/{mine}")).status_code == 404


async def test_a_chat_without_an_id_is_known_by_its_first_words(
    alice: AsyncClient, unique: str
) -> None:
    before = await count(alice)
    for texts in ([unique], [unique, "b"], [unique, "b", "c"]):
        await ask(alice, *texts)
    assert (await count(alice), await turns(alice)) == (before + 1, 3)


async def test_the_same_words_begin_a_new_chat_once_the_first_has_gone_on(
    alice: AsyncClient, store: Store, unique: str
) -> None:
    before = await count(alice)
    await ask(alice, unique)
    began = await latest(alice)
    told: list[LogEntry] = []
    for number, text in enumerate([unique, "on"]):
        line: JsonValue = {"role": "user", "text": text}
        told.append(row(began, number, "message", message_id=f"m{number}", data=line))
    await store.log.append("default", told)
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


async def test_whose_chat_it_is_within_the_client_tells_chats_apart(
    alice: AsyncClient, unique: str
) -> None:
    before = await count(alice)
    await ask(alice, unique, user="one")
    await ask(alice, unique, user="two")
    await ask(alice, unique, "on", user="one")
    assert await count(alice) == before + 2


async def test_chats_that_open_webui_doesnt_keep_are_told_apart_by_their_words(
    alice: AsyncClient, unique: str
) -> None:
    before, window = await count(alice), {"X-OpenWebUI-Chat-Id": f"local:{unique}"}
    await ask(alice, "first", headers=window)
    await ask(alice, "second", headers=window)
    await ask(alice, "first", "on", headers=window)
    assert await count(alice) == before + 2


async def test_librechat_has_an_id_only_from_the_second_message_on(
    alice: AsyncClient, unique: str
) -> None:
    before, chat = await count(alice), {"X-LibreChat-Conversation-Id": f"c-{unique}"}
    await ask(alice, unique, headers={"X-LibreChat-Conversation-Id": "new"})
    await ask(alice, unique, "b", headers=chat)
    await ask(alice, unique, "b", "c", headers=chat)
    assert (await count(alice), await turns(alice)) == (before + 1, 3)


@pytest.mark.parametrize("named", [True, False])
async def test_a_repeat_gets_the_first_answer_and_the_same_words_later_do_not(
    alice: AsyncClient, unique: str, named: bool
) -> None:
    headers = {"X-Conversation-Id": unique} if named else {}
    first = await ask(alice, unique, headers=headers)
    assert first.json()["id"] == (await ask(alice, unique, headers=headers)).json()["id"]
    assert await turns(alice) == 1
    await ask(alice, unique, "yes", headers=headers)
    await ask(alice, unique, "yes", headers=headers)
    await ask(alice, unique, "yes", "yes", headers=headers)
    assert await turns(alice) == 3


async def test_requests_at_the_same_time_are_one_message(alice: AsyncClient, unique: str) -> None:
    answers = await asyncio.gather(*(ask(alice, f"{unique} at once") for _ in range(4)))
    assert {said(answer) for answer in answers} == {f"alice: {unique} at once"}
    assert await turns(alice) == 1


@pytest.mark.parametrize("header", ["X-OpenWebUI-Message-Id", "X-LibreChat-Message-Id"])
async def test_a_message_with_an_id_of_its_own_is_another_message(
    alice: AsyncClient, unique: str, header: str
) -> None:
    for message in ("m1", "m1", "m2"):
        await ask(alice, "hi", headers={"X-Conversation-Id": unique, header: message})
    assert await turns(alice) == 2


async def test_an_idempotency_key_is_the_messages_id(alice: AsyncClient, unique: str) -> None:
    chat = {"X-Conversation-Id": unique, "Idempotency-Key": "k1"}
    await ask(alice, "hello", headers=chat)
    await ask(alice, "so", "hello", headers=chat)
    assert await turns(alice) == 1
    other = await ask(alice, "something else", headers=chat)
    assert other.status_code == 400
    assert other.json()["error"]["message"]
    bad = await ask(alice, "hello", headers={**chat, "Idempotency-Key": "x" * 65})
    assert bad.json()["error"]["param"] == "Idempotency-Key"


async def test_what_systems_say_is_passed_over(alice: AsyncClient, unique: str) -> None:
    sent = body("hi")
    for now in ("It is 10:00.", "It is 10:01."):
        messages = [{"role": "system", "content": now}, *sent["messages"]]
        headers = {"X-Conversation-Id": unique}
        await alice.post(PATH, json={**sent, "messages": messages}, headers=headers)
    assert await turns(alice) == 1


async def test_a_client_that_goes_away_stops_nothing(address: str, unique: str) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice", max_retries=0, timeout=0.3)
    with pytest.raises(Exception, match="timed out"):
        await alice.chat.completions.create(
            model="intent-router",
            messages=[{"role": "user", "content": "soon"}],
            extra_headers={"X-Conversation-Id": unique},
        )
    patient = alice.with_options(timeout=20)
    made = await patient.chat.completions.create(
        model="intent-router",
        messages=[{"role": "user", "content": "soon"}],
        extra_headers={"X-Conversation-Id": unique},
    )
    assert made.choices[0].message.content == "alice: soon"
    async with AsyncClient(base_url=address, headers={"Authorization": "Bearer alice"}) as plain:
        assert await turns(plain) == 1


async def test_the_clients_stream_helper_puts_the_answer_together(
    address: str, unique: str
) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice", max_retries=0)
    async with alice.chat.completions.stream(
        model="intent-router",
        messages=[{"role": "user", "content": "much"}],
        temperature=0.2,
        extra_headers={"X-Conversation-Id": unique},
    ) as stream:
        events = [event.type async for event in stream]
        whole = await stream.get_final_completion()
    assert "content.delta" in events
    assert whole.choices[0].finish_reason == "stop"
    assert (whole.choices[0].message.content or "").endswith("\n\nfive")
    assert whole.choices[0].message.role == "assistant"


async def test_a_model_can_be_looked_up(address: str) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice")
    assert (await alice.models.retrieve("intent-router")).owned_by == "intent-router"


@pytest.mark.parametrize("stream", [False, True])
async def test_news_comes_before_the_next_answer_and_only_there(
    alice: AsyncClient, store: Store, unique: str, stream: bool
) -> None:
    headers = {"X-Conversation-Id": unique}
    await ask(alice, "one", headers=headers)
    conversation = await latest(alice)
    by_itself: JsonValue = {
        "role": "assistant",
        "text": "批准了",
        "replies": [{"type": "text", "text": "批准了"}],
    }
    await store.log.append("default", [row(conversation, 1, "message", data=by_itself)])
    answer = await ask(alice, "one", "two", headers=headers, stream=stream)
    news, echo = "批准了", "alice: two"
    if stream:
        news = news.encode("unicode_escape").decode()
    assert answer.text.index(news) < answer.text.index(echo)
