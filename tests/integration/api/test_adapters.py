"""Entrances for chat platforms: what isn't theirs stays outside, whatever is tried."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.api.conversations import thread_id
from router.api.dependencies import Services
from router.channels.base import DecisionRequest
from router.channels.platforms import feishu as feishu_platform
from router.channels.platforms.feishu import card, message_of, opened
from router.channels.platforms.slack import blocks
from router.contracts import flow
from router.directory.file import FileDirectory
from router.directory.sources import DirectoryFile, LiveDirectory
from router.domain.errors import Unauthenticated
from router.domain.records import LogEntry, Mailbox
from router.runtime.server import create_app
from router.store.store import Store
from tests.fakes.feishu import Feishu
from tests.fakes.slack import Slack
from tests.integration.api.conftest import QUEUE, client_of, served
from tests.integration.api.test_runs import approval_record, run_record

HOUR = 3600


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    async with Slack() as slack:
        yield slack


@pytest.fixture
async def feishu() -> AsyncIterator[Feishu]:
    async with Feishu() as feishu:
        yield feishu


@pytest.fixture
async def router(services: Services, slack: Slack, feishu: Feishu) -> AsyncIterator[AsyncClient]:
    settings = services.settings.having(slack.settings, feishu.settings)
    async with client_of(create_app(replace(services, settings=settings)), None) as client:
        yield client


async def answered(
    router: AsyncClient, platform: str, raw: bytes, headers: dict[str, str], path: str = "events"
) -> int:
    answer = await router.post(f"/adapters/{platform}/{path}", content=raw, headers=headers)
    return answer.status_code


@pytest.mark.parametrize("path", ["slack/events", "slack/interactions", "feishu/events"])
async def test_without_a_platform_there_is_no_entrance(alice: AsyncClient, path: str) -> None:
    assert (await alice.post(f"/adapters/{path}", json={})).status_code == 404


SLACK_FORGERIES: dict[str, dict[str, Any]] = {
    "unsigned": {"x-slack-signature": ""},
    "garbage": {"x-slack-signature": "v0=é".encode()},
    "another version": {"x-slack-signature": "v1=00"},
    "no time": {"x-slack-request-timestamp": ""},
    "no number": {"x-slack-request-timestamp": "1e9"},
    "a time that isn't signed": {"x-slack-request-timestamp": str(int(time.time()) + 1)},
    "a time beyond all time": {"x-slack-request-timestamp": "9" * 400},
}


@pytest.mark.parametrize("forged", SLACK_FORGERIES.values(), ids=SLACK_FORGERIES)
@pytest.mark.parametrize("path", ["events", "interactions"])
async def test_what_slack_didn_t_sign_is_refused(
    router: AsyncClient, slack: Slack, forged: dict[str, Any], path: str
) -> None:
    raw = json.dumps(slack.event("UALICE", "hello")).encode()
    headers = {**slack.signed(raw), **forged}
    answer = await router.post(f"/adapters/slack/{path}", content=raw, headers=headers)
    assert (answer.status_code, slack.requests) == (401, [])


@pytest.mark.parametrize("seconds", [-HOUR, -301, 320, HOUR])
async def test_a_replay_is_refused(
    router: AsyncClient, slack: Slack, feishu: Feishu, seconds: float
) -> None:
    at = time.time() + seconds
    raw = json.dumps(slack.event("UALICE", "hello")).encode()
    sealed = feishu.sealed(feishu.message("ou_alice", "hello"))
    assert await answered(router, "slack", raw, slack.signed(raw, at)) == 401
    assert await answered(router, "feishu", sealed, feishu.signed(sealed, at)) == 401


async def test_anothers_secret_is_no_key(router: AsyncClient, slack: Slack, feishu: Feishu) -> None:
    raw = json.dumps(slack.event("UALICE", "hello")).encode()
    assert await answered(router, "slack", raw, slack.signed(raw, secret="another")) == 401
    body = feishu.message("ou_alice", "hello")
    sealed, strange, plain = feishu.sealed(body), feishu.sealed(body, "another"), json.dumps(body)
    assert await answered(router, "feishu", sealed, feishu.signed(sealed, key="another")) == 401
    for forged in (strange, plain.encode()):
        assert await answered(router, "feishu", forged, feishu.signed(forged)) == 401


@pytest.mark.parametrize("token", ["another", "", None, {"a": 1}])
async def test_a_callback_of_another_app_of_feishu_s_is_refused(
    router: AsyncClient, feishu: Feishu, token: Any
) -> None:
    body = feishu.message("ou_alice", "hello")
    body["header"]["token"] = token
    for each in (body, {"type": "url_verification", "challenge": "c", "token": token}):
        assert (await feishu.deliver(router, each)).status_code == 401


@pytest.mark.parametrize(
    "sealed", ["", "AAAA", "!!!", "A" * 44, "AAAAAAAAAAAAAAAAAAAAAA=="], ids=repr
)
async def test_another_cipher_is_refused(router: AsyncClient, feishu: Feishu, sealed: str) -> None:
    raw = json.dumps({"encrypt": sealed}).encode()
    assert await answered(router, "feishu", raw, feishu.signed(raw)) == 401


async def test_both_platforms_see_that_the_address_is_ours(
    router: AsyncClient, slack: Slack, feishu: Feishu
) -> None:
    asked = {"type": "url_verification", "challenge": "c1", "token": feishu.verification}
    for platform in (slack, feishu):
        assert (await platform.deliver(router, asked)).json() == {"challenge": "c1"}


STRANGE_BODIES = [
    *((raw, 400) for raw in (b"", b"[]", b"null", b"{", b'{"a": NaN}', b"\xff\xfe")),
    (b'{"a":' * 60 + b"1" + b"}" * 60, 400),
    (b'{"a":"' + b"x" * 70_000 + b'"}', 413),
]


@pytest.mark.parametrize(("raw", "status"), STRANGE_BODIES, ids=lambda raw: str(raw)[:20])
async def test_a_signed_body_that_is_no_object_is_refused(
    router: AsyncClient, slack: Slack, raw: bytes, status: int
) -> None:
    assert await answered(router, "slack", raw, slack.signed(raw)) == status


ODD: list[Any] = [[], {}, 1, True]
NOT_OURS: list[dict[str, Any]] = [
    {},
    {"event": None},
    {"event": {"type": "message"}},
    {"event": {"type": "message", "channel_type": "im", "user": 5, "channel": "D1"}},
    {"event": {"type": "message", "channel_type": "channel", "user": "U1", "channel": "C1"}},
    {"event": {"type": "app_mention", "user": "U1", "channel": "C1", "bot_id": "B1"}},
    {"event": {"type": "message", "channel_type": "im", "subtype": "message_changed"}},
    {"event": {"type": "message", "channel_type": "im", "user": "U" * 9999, "channel": "D1"}},
    *(
        {"event": {"type": "message", "channel_type": "im", field: value}}
        for field in ("subtype", "type", "channel_type", "user", "channel", "bot_id")
        for value in ODD
    ),
]


@pytest.mark.parametrize("body", NOT_OURS)
async def test_no_words_no_answer(router: AsyncClient, slack: Slack, body: dict[str, Any]) -> None:
    whole = {"type": "event_callback", "event_id": "E1", **body}
    assert ((await slack.deliver(router, whole)).status_code, slack.posts) == (200, [])


@pytest.mark.parametrize(
    "payload",
    ["", "[]", "{}", '{"type":"block_actions","actions":[]}', '{"type":"view_submission"}'],
)
async def test_an_empty_press_does_nothing(router: AsyncClient, slack: Slack, payload: str) -> None:
    raw = str(httpx.QueryParams({"payload": payload})).encode()
    status = await answered(router, "slack", raw, slack.signed(raw), "interactions")
    assert status in {200, 400}
    assert slack.posts == []


@pytest.mark.parametrize("kind", [None, [], {}, 1, "sticker"])
async def test_what_nobody_reads_is_no_word(router: AsyncClient, feishu: Feishu, kind: Any) -> None:
    body = feishu.message("ou_alice", "hello")
    body["event"]["message"]["message_type"] = kind
    assert ((await feishu.deliver(router, body)).status_code, feishu.posts) == (200, [])


@pytest.mark.parametrize(
    "content",
    ["", "[" * 5000, '{"text": "\\ud800"}', '{"text": NaN}', '{"text": []}', "1" * 5000, "null", 7],
    ids=lambda content: str(content)[:20],
)
def test_words_that_cannot_be_read_are_none(feishu: Feishu, content: Any) -> None:
    body = feishu.message("ou_alice", "hello")
    body["event"]["message"]["content"] = content
    inbound = message_of(body)
    assert inbound is not None
    assert inbound.text == ""


@pytest.mark.parametrize("inside", ["[" * 5000, '{"token": "\\ud800"}', '{"a": NaN}', "[]", ""])
def test_what_was_encrypted_is_json_in_the_strict_sense(feishu: Feishu, inside: str) -> None:
    sealed = json.loads(feishu.sealed(inside.encode()))["encrypt"]
    with pytest.raises(Unauthenticated):
        opened(feishu.key, sealed)


async def test_whoever_nobody_knows_begins_nothing(
    router: AsyncClient, slack: Slack, feishu: Feishu, store: Store
) -> None:
    before = await store.conversations.owned_by("default", "UMALLORY", None, 10)
    assert (await slack.deliver(router, slack.event("UMALLORY", "我要请假"))).status_code == 200
    assert (await feishu.deliver(router, feishu.message("ou_m", "我要请假"))).status_code == 200
    assert "UMALLORY" in (await slack.posted("I don't know you yet"))["text"]
    assert "我还不认识您" in (await feishu.posted("ou_m"))["content"]["text"]
    assert await store.conversations.owned_by("default", "UMALLORY", None, 10) == before


@pytest.fixture
async def awaited(
    services: Services, slack: Slack, feishu: Feishu, store: Store, temporal: Client, unique: str
) -> AsyncIterator[tuple[AsyncClient, DecisionRequest]]:
    """An approval of bob's whose run comes to it half a second late, as after a restart."""
    record = run_record(unique[:12])
    approval = approval_record(record)
    await store.runs.publish(record, [approval])
    id_ = record.workflow_id
    await temporal.start_workflow(flow.WORKFLOW, "bob late", id=id_, task_queue=QUEUE)
    people = FileDirectory.load().everyone()
    bob = next(person for person in people if person.id == "bob")
    directory = FileDirectory(people, {("slack", "UBOB"): bob, ("feishu", "ou_bob"): bob})
    settings = services.settings.having(slack.settings, feishu.settings)
    async with client_of(
        create_app(replace(services, settings=settings, directory=directory)), None
    ) as client:
        yield client, DecisionRequest(approval, "Alice", "zh")


async def test_an_approval_on_slack_waits_out_a_worker_s_restart(
    slack: Slack, awaited: tuple[AsyncClient, DecisionRequest]
) -> None:
    router, request = awaited
    post = {"channel": "DBOB", "ts": "1.0", "blocks": blocks(request)}
    assert (await slack.presses(router, "UBOB", post, "同意")).status_code == 200
    assert "已同意" in str(await slack.updated("已同意"))


@pytest.mark.parametrize(("patience", "told"), [(2.5, "已同意"), (0.05, "正在记录")])
async def test_an_approval_on_feishu_waits_out_a_worker_s_restart(
    feishu: Feishu,
    awaited: tuple[AsyncClient, DecisionRequest],
    patience: float,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feishu_platform, "PATIENCE", patience)
    router, request = awaited
    press = feishu.press("ou_bob", {"content": card(request)}, "同意")
    answer = (await feishu.deliver(router, press)).json()
    assert told in answer["toast"]["content"]
    if told == "正在记录":
        await feishu.posted("已同意")


async def test_a_refused_token_is_fetched_anew(router: AsyncClient, feishu: Feishu) -> None:
    for person, token in (("ou_1", feishu.token), ("ou_2", "t-2")):
        feishu.token = token
        await feishu.deliver(router, feishu.message(person, "hello"))
        await feishu.posted(person)


async def test_entrances_aren_t_in_the_documentation(router: AsyncClient) -> None:
    assert "adapters" not in str((await router.get("/openapi.json")).json()["paths"].keys())


PEOPLE = """
users:
  - {{id: alice, name: Alice, accounts: {{{alice}}}}}
  - {{id: bob, name: Bob, accounts: {{{bob}}}}}
  - {{id: gina, name: Gina, accounts: {{{gina}}}}}
"""
LOST = {
    "unlinked": PEOPLE.format(alice="", bob="", gina="slack: UGINA"),
    "another's": PEOPLE.format(alice="slack: UGINA", bob="slack: UALICE", gina="slack: UBOB"),
    "of nobody who works here": "users:\n  - {id: gina, name: Gina}\n",
}


@pytest.mark.parametrize("people", LOST.values(), ids=LOST)
async def test_who_lost_an_account_reads_no_more(
    services: Services, slack: Slack, store: Store, unique: str, tmp_path: Path, people: str
) -> None:
    file = tmp_path / "people.yaml"
    file.write_text(PEOPLE.format(alice="slack: UALICE", bob="slack: UBOB", gina=""))
    directory = LiveDirectory.load(DirectoryFile(file))
    settings = services.settings.having(slack.settings)
    app = create_app(replace(services, settings=settings, directory=directory))
    async with served(app) as address, AsyncClient(base_url=address) as router:
        await slack.says(router, "UALICE", "hello", channel=unique)
        alice = directory.by_account("slack", "UALICE")
        assert alice is not None
        talk = thread_id(alice, "slack", unique)
        await told(store, talk, unique, "the first news")
        assert (await slack.posted("the first news"))["channel"] == unique
        file.write_text(people)
        assert directory.refresh()
        await told(store, talk, unique, "news of a raise")
        run = run_record(unique[:12])
        asked = {"recipient": "bob", "data": {"reason": "asked", "flow_run": run.id}}
        row = LogEntry.model_validate(
            {"key": run.id, "kind": "approval", "at": run.created_at, **asked}
        )
        await store.runs.publish(run, [approval_record(run)], [row])
        for kind, subject in (("conversation", talk), ("person", "bob")):
            box = {"tenant": "default", "platform": "slack", "kind": kind, "subject": subject}
            mailbox = Mailbox.model_validate({**box, "place": {}, "due": datetime.now(UTC)})
            async with asyncio.timeout(10):
                while await store.mailboxes.unread(mailbox, 10):  # noqa: ASYNC110 - the outbox's
                    await asyncio.sleep(0.05)
    assert "raise" not in str(slack.posts)
    cards = {post["channel"] for post in slack.posts if "请审批" in post["text"]}
    assert cards == ({"UALICE"} if "UALICE" in people else set())


async def told(store: Store, conversation: str, unique: str, text: str) -> None:
    """A run of the conversation's says something by itself, days after it was asked for."""
    data = {"role": "assistant", "text": text, "replies": [{"type": "text", "text": text}]}
    row = LogEntry(
        key=f"{unique} {text}",
        kind="message",
        at=datetime.now(UTC),
        conversation=conversation,
        data=data,
    )
    await store.log.append("default", [row])
