"""Entrances for chat platforms: what isn't theirs stays outside, whatever is tried."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import httpx
import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.api.conversations import thread_id
from router.api.dependencies import Services
from router.contracts import flow
from router.directory.file import FileDirectory
from router.directory.sources import DirectoryFile, LiveDirectory
from router.domain.messages import ChoicesReply, Option
from router.domain.records import LogEntry, Mailbox
from router.extensions.channels.base import DecisionRequest, Statement
from router.extensions.channels.dispatcher import STRANGERS_A_MINUTE
from router.extensions.feishu import entrance as feishu_platform
from router.extensions.feishu.entrance import card, message_of
from router.extensions.slack.entrance import blocks
from router.runtime.server import create_app
from router.store.store import Store
from tests.fakes.feishu import Feishu
from tests.fakes.slack import Slack
from tests.fakes.web_server import Reply, json_reply
from tests.integration.api.conftest import QUEUE, client_of, served
from tests.integration.api.test_runs import approval_record, run_record
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

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


@each_row("path", ["slack/events", "slack/interactions", "feishu/events"])
async def test_without_a_platform_there_is_no_entrance(alice: AsyncClient, path: str) -> None:
    assert (await alice.post(f"/adapters/{path}", json={})).status_code == 404


SLACK_FORGERIES: dict[str, dict[str, Any]] = {
    "unsigned": {"x-slack-signature": ""},
    "garbage": {"x-slack-signature": "v0=é".encode()},
    "another version": {"x-slack-signature": "v1=00"},
    "no time": {"x-slack-request-timestamp": ""},
    "no number": {"x-slack-request-timestamp": "1e9"},
    "a time beyond all time": {"x-slack-request-timestamp": "9" * 400},
}


@pytest.mark.slow
@pytest.mark.parametrize("forged", SLACK_FORGERIES.values(), ids=SLACK_FORGERIES)
@pytest.mark.parametrize("path", ["events", "interactions"])
async def test_what_slack_didn_t_sign_is_refused(
    router: AsyncClient, slack: Slack, forged: dict[str, Any], path: str
) -> None:
    raw = json.dumps(slack.event("UALICE", "hello")).encode()
    headers = {**slack.signed(raw), **forged}
    answer = await router.post(f"/adapters/slack/{path}", content=raw, headers=headers)
    assert (answer.status_code, slack.requests) == (401, [])


async def test_a_time_that_slack_didn_t_sign_is_refused(router: AsyncClient, slack: Slack) -> None:
    raw = json.dumps(slack.event("UALICE", "hello")).encode()
    headers = slack.signed(raw)
    headers["x-slack-request-timestamp"] = str(int(headers["x-slack-request-timestamp"]) + 1)
    assert await answered(router, "slack", raw, headers) == 401
    assert slack.requests == []


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


FEISHU_FORGERIES: dict[str, tuple[Any, dict[str, str]]] = {
    "no body": (b"", {}),
    "no JSON": (b"{", {}),
    "no object": (b"[]", {}),
    "nothing encrypted": (b'{"type": "url_verification", "challenge": "c"}', {}),
    "no base64": ("!!!", {}),
    "an IV alone": ("AAAAAAAAAAAAAAAAAAAAAA==", {}),
    "half a block": ("A" * 44, {}),
    "no padding": ("A" * 64, {}),
    "another key": ({"key": "another"}, {}),
    "signed with another key": ({}, {"x-lark-signature": "0" * 64}),
    "signed by nobody": ({}, {"x-lark-signature": ""}),
    "signed at no time": ({}, {"x-lark-request-timestamp": "1e9"}),
    "another token": ({"header": {"token": "another"}}, {}),
    "no token": ({"header": {"token": None}}, {}),
    "a token that is no text": ({"header": {"token": {"a": 1}}}, {}),
    "another app": ({"header": {"app_id": "cli_other"}}, {}),
    "a question of another app": ({"type": "url_verification", "token": "another"}, {}),
    "inside no object": ({"inside": b"[]"}, {}),
    "inside too deep": ({"inside": b"[" * 5000}, {}),
    "inside half a letter": ({"inside": b'{"token": "\\ud800"}'}, {}),
    "inside no number": ({"inside": b'{"a": NaN}'}, {}),
}


def forged(feishu: Feishu, made: Any) -> bytes:
    """The body of a callback of which something is wrong."""
    if isinstance(made, bytes):
        return made
    if isinstance(made, str):
        return json.dumps({"encrypt": made}).encode()
    body = feishu.message("ou_alice", "hello")
    header = {**body["header"], **made.pop("header", {})}
    key, inside = made.pop("key", ""), made.pop("inside", None)
    return feishu.sealed(inside or {**body, "header": header, **made}, key)


@pytest.mark.slow
@pytest.mark.parametrize(("made", "headers"), FEISHU_FORGERIES.values(), ids=FEISHU_FORGERIES)
async def test_whatever_is_wrong_with_a_callback_feishu_s_answer_is_one(
    router: AsyncClient, feishu: Feishu, made: Any, headers: dict[str, str]
) -> None:
    """Or who asks often enough decrypts by what differs."""
    raw = forged(feishu, dict(made) if isinstance(made, dict) else made)
    answers = set()
    for signed in (feishu.signed(raw) | headers, {}):
        answer = await router.post("/adapters/feishu/events", content=raw, headers=signed)
        answers.add((answer.status_code, answer.content))
    unsigned = await router.post("/adapters/feishu/events", content=feishu.sealed({"a": 1}))
    assert answers == {(401, unsigned.content)}
    assert feishu.requests == []


async def test_nothing_is_decrypted_before_its_signature_is_checked(
    router: AsyncClient, feishu: Feishu, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(side_effect=ValueError)
    monkeypatch.setattr(feishu_platform, "opened", asked)
    sealed = feishu.sealed(feishu.message("ou_alice", "hello"))
    assert await answered(router, "feishu", sealed, feishu.signed(sealed, key="another")) == 401
    asked.assert_not_called()


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


@pytest.mark.slow
@pytest.mark.parametrize("body", NOT_OURS)
async def test_no_words_no_answer(router: AsyncClient, slack: Slack, body: dict[str, Any]) -> None:
    whole = {"type": "event_callback", "event_id": "E1", **body}
    assert ((await slack.deliver(router, whole)).status_code, slack.posts) == (200, [])


@pytest.mark.slow
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


OTHERS: dict[str, dict[str, Any]] = {
    "another workspace": {"team_id": "TEVIL"},
    "none": {"team_id": None},
    "a guest of a shared channel": {"event": {"user_team": "TEVIL"}},
    "a guest by source": {"event": {"source_team": "TEVIL", "team": "T0123"}},
    "another's channel": {"team_id": "TEVIL", "event": {"team": "TEVIL"}},
}


@pytest.mark.parametrize("odd", OTHERS.values(), ids=OTHERS)
async def test_people_of_other_workspaces_begin_nothing(
    router: AsyncClient, slack: Slack, odd: dict[str, Any]
) -> None:
    event = slack.event("UMALLORY", "hello")
    whole = {**event, **odd, "event": {**event["event"], **odd.get("event", {})}}
    assert (await slack.deliver(router, whole)).status_code == 200
    post = {"channel": "D1", "ts": "1.0", "blocks": blocks(choices())}
    for team in ({"id": "TEVIL"}, {"id": slack.team}):
        pressed = await slack.presses(router, "UMALLORY", post, "A", team=team, of="TEVIL")
        assert pressed.status_code == 200
    colleague = slack.event("UCOLLEAGUE", "hello") | {"team_id": "T9", "enterprise_id": "E0123"}
    await slack.deliver(router, colleague)
    await slack.posted("UCOLLEAGUE")
    assert "UMALLORY" not in str(slack.posts)


@pytest.mark.parametrize(
    ("whose", "status", "told"),
    [
        (json_reply({"ok": False, "error": "ratelimited"}, 429, retry_after="1"), 429, []),
        (json_reply({"ok": False, "error": "fatal_error"}), 503, []),
        (json_reply({"ok": False, "error": "unknown_method"}), 200, ["UGUEST"]),
        (Reply([b"<html>"], 404), 200, ["UGUEST"]),
    ],
)
async def test_while_slack_can_not_say_whose_the_bot_is_nothing_is_taken_in(
    router: AsyncClient, slack: Slack, whose: Reply, status: int, told: list[str]
) -> None:
    """Where it never will, those at least are left out who come from elsewhere than the event."""
    slack.whose = whose
    for user, team in (("UMALLORY", "TEVIL"), ("UGUEST", slack.team)):
        deliver = slack.deliver_once if status == 503 else slack.deliver
        answer = await deliver(router, slack.event(user, "hello", team=team))
        assert answer.status_code == status
    for user in told:
        await slack.posted(user)
    assert "UMALLORY" not in str(slack.posts)


@pytest.mark.parametrize("kind", ["sender", "operator"])
async def test_guests_of_a_group_on_feishu_begin_nothing(
    router: AsyncClient, feishu: Feishu, kind: str
) -> None:
    post = {"content": card(choices())}
    body = feishu.message("ou_m", "hi") if kind == "sender" else feishu.press("ou_m", post, "A")
    body["event"][kind]["tenant_key"] = "another"
    answer = await feishu.deliver(router, body)
    assert (answer.status_code, answer.json(), feishu.requests) == (200, {}, [])


def choices() -> Statement:
    """A question with a button."""
    question = ChoicesReply(text="Which?", options=[Option(label="A", value="a")])
    return Statement([question], "c1", "en")


@pytest.mark.slow
async def test_accounts_that_are_nobody_s_are_answered_within_bounds(
    router: AsyncClient, slack: Slack, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    claiming = AsyncMock(side_effect=store.keys.claim)
    monkeypatch.setattr(store.keys, "claim", claiming)
    for number in range(3):
        for _ in range(3):
            await slack.says(router, f"UX{number}", "hello")
    for number in range(100):
        await slack.says(router, f"UY{number}", "hello")
    await slack.posted("UX2")
    assert claiming.await_count == STRANGERS_A_MINUTE
    assert len(slack.posts) <= STRANGERS_A_MINUTE


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


@pytest.mark.parametrize(("patience", "told"), [(HANGS_AFTER_S, "已同意"), (0.05, "正在记录")])
async def test_an_approval_on_feishu_waits_out_a_worker_s_restart(
    feishu: Feishu,
    awaited: tuple[AsyncClient, DecisionRequest],
    patience: float,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("router.extensions.channels.dispatcher.PATIENCE", patience)
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


@pytest.mark.slow
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


@asynccontextmanager
async def talking(
    services: Services, slack: Slack, people: Path, channel: str
) -> AsyncIterator[tuple[LiveDirectory, str]]:
    """The API with these people, to whom Slack's alice has said something there; what it is in."""
    directory = LiveDirectory.load(DirectoryFile(people))
    settings = services.settings.having(slack.settings)
    app = create_app(replace(services, settings=settings, directory=directory))
    async with (
        served(app) as address,
        AsyncClient(base_url=address, timeout=HANGS_AFTER_S) as router,
    ):
        await slack.says(router, "UALICE", "hello", channel=channel)
        alice = directory.by_account("slack", "UALICE")
        assert alice is not None
        yield directory, thread_id(alice, "slack", channel)


@pytest.mark.slow
@pytest.mark.parametrize("people", LOST.values(), ids=LOST)
async def test_who_lost_an_account_reads_no_more(
    services: Services, slack: Slack, store: Store, unique: str, tmp_path: Path, people: str
) -> None:
    file = tmp_path / "people.yaml"
    file.write_text(PEOPLE.format(alice="slack: UALICE", bob="slack: UBOB", gina=""))
    async with talking(services, slack, file, unique) as (directory, talk):
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
            async with asyncio.timeout(HANGS_AFTER_S):
                while await store.mailboxes.unread(mailbox, 10):  # noqa: ASYNC110 - the outbox's
                    await asyncio.sleep(0.05)
    assert "raise" not in str(slack.posts)
    cards = {post["channel"] for post in slack.posts if "请审批" in post["text"]}
    assert cards == ({"UALICE"} if "UALICE" in people else set())


async def test_what_is_said_while_slack_doesn_t_admit_the_bot_is_posted_afterwards_once(
    services: Services,
    slack: Slack,
    store: Store,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("router.extensions.channels.deferral.SELDOM", timedelta(seconds=0.2))
    file = tmp_path / "people.yaml"
    file.write_text(PEOPLE.format(alice="slack: UALICE", bob="", gina=""))
    async with talking(services, slack, file, unique) as (_, talk):
        slack.token = "of another installation"
        await told(store, talk, unique, "first")
        await told(store, talk, unique, "second")
        async with asyncio.timeout(HANGS_AFTER_S):
            while "set ROUTER_SLACK_BOT_TOKEN" not in caplog.text:  # noqa: ASYNC110 - the outbox's
                await asyncio.sleep(0.05)
        oldest = await store.mailboxes.oldest(["slack", "feishu"])
        assert oldest.keys() == {"slack"}
        slack.token = Slack.token
        await slack.posted("second")
        async with asyncio.timeout(HANGS_AFTER_S):
            while await store.mailboxes.oldest(["slack"]):  # noqa: ASYNC110 - noted once posted
                await asyncio.sleep(0.05)
    news = [post["text"] for post in slack.posts if post["text"] in ("first", "second")]
    assert news == ["first", "second"]


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
