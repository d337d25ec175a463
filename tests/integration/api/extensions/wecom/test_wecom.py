"""WeCom's entrance: what isn't of our app and our company stays outside, whatever is tried."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from httpx import AsyncClient
from pydantic import SecretStr
from temporalio.client import Client

from router.api.dependencies import Services
from router.contracts import flow
from router.directory.file import FileDirectory
from router.domain.errors import MisconfiguredError
from router.extensions.channels import worded_return
from router.extensions.channels.base import DecisionRequest, GivenFile, Undeliverable
from router.extensions.wecom import callbacks
from router.extensions.wecom.server_api import WecomClient
from router.extensions.wecom.settings import WecomSettings
from router.extensions.wecom.template_cards import messages
from router.runtime.server import create_app
from router.settings import Settings
from router.store.store import Store
from tests.fakes.web_server import json_reply
from tests.fakes.wecom import EVENTS, ROBOT, Wecom, labels, refused, xml_of
from tests.integration.api.conftest import QUEUE, client_of
from tests.integration.api.test_runs import approval_record, run_record
from tests.waiting import HANGS_AFTER_S

HOUR = 3600


@pytest.fixture
async def wecom() -> AsyncIterator[Wecom]:
    async with Wecom() as wecom:
        yield wecom


@pytest.fixture
async def router(services: Services, wecom: Wecom) -> AsyncIterator[AsyncClient]:
    settings = services.settings.having(wecom.settings)
    async with client_of(create_app(replace(services, settings=settings)), None) as client:
        yield client


async def test_without_wecom_there_is_no_entrance(alice: AsyncClient) -> None:
    for method in ("GET", "POST"):
        assert (await alice.request(method, EVENTS)).status_code == 404


async def test_wecom_sees_that_the_address_is_ours(router: AsyncClient, wecom: Wecom) -> None:
    sealed = wecom.sealed("1616140317555161061")
    query = wecom.signed(sealed) | {"echostr": sealed}
    answer = await router.get(EVENTS, params=query)
    assert (answer.status_code, answer.text) == (200, "1616140317555161061")
    assert answer.headers["content-type"].startswith("text/plain")


MANY = " ".join(f'a{n}="1"' for n in range(600))
FORGED_QUERIES: dict[str, dict[str, str]] = {
    "unsigned": {"msg_signature": ""},
    "another signature": {"msg_signature": "0" * 40},
    "no text": {"msg_signature": "é"},
    "another nonce": {"nonce": "1"},
    "no time": {"timestamp": ""},
    "no number": {"timestamp": "1e9"},
    "a time beyond all time": {"timestamp": "9" * 400},
}
FORGED_MESSAGES: dict[str, Any] = {
    "another key": {"key": "K" * 43},
    "another company's": {"corp": "ww0000000000000000"},
    "nobody's": {"corp": "\0"},
    "for another company": {"message": {"ToUserName": "ww0000000000000000"}},
    "for another app": {"message": {"AgentID": "1000003"}},
    "no XML": {"message": "hello"},
    "nothing": {"message": ""},
    "JSON": {"message": '{"msgtype": "text"}'},
    "half of it": {"message": "<xml><ToUserName>"},
    "an entity": {"before": '<!DOCTYPE xml [<!ENTITY a "b">]>', "within": "<a>&a;</a>"},
    "a billion laughs": {
        "before": '<!DOCTYPE xml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        "within": "<a>&b;</a>",
    },
    "a file of ours": {
        "before": '<!DOCTYPE xml [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        "within": "<a>&a;</a>",
    },
    "another's document type": {"before": '<!DOCTYPE xml SYSTEM "http://127.0.0.1:9/">'},
    "too deep": {"within": "<a>" * 6 + "</a>" * 6},
    "far too deep": {"within": "<a>" * 5000 + "</a>" * 5000},
    "too many": {"within": "<a/>" * 500},
    "too many attributes": {"within": f"<a {MANY}/>"},
    "another encoding": {"before": '<?xml version="1.0" encoding="x-none"?>'},
    "no text in it": {"message": b"<xml>\xff\xfe</xml>"},
    "no base64": "!!!",
    "an empty one": "",
    "a block alone": "A" * 43 + "=",
    "half a block": "A" * 24,
    "no padding": "A" * 128,
}


def made_of(wecom: Wecom, forged: Any) -> str:
    """What is sealed of a callback of which something is wrong."""
    if isinstance(forged, str):
        return forged
    message = forged.get("message", {})
    if isinstance(message, dict):
        whole = xml_of(wecom.message("alice", "hello") | message)
        within = f"{forged.get('within', '')}</xml>"
        message = forged.get("before", "") + whole.replace("</xml>", within)
    return wecom.sealed(message, forged.get("key", ""), forged.get("corp"))


async def test_what_is_refused_would_be_taken_as_it_was(router: AsyncClient, wecom: Wecom) -> None:
    sealed = made_of(wecom, {"before": '<?xml version="1.0"?>', "within": "<a><b/></a>"})
    content = wecom.envelope(sealed)
    answer = await router.post(EVENTS, params=wecom.signed(sealed), content=content)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("query", FORGED_QUERIES.values(), ids=FORGED_QUERIES)
async def test_what_wecom_didn_t_sign_is_refused(
    router: AsyncClient, wecom: Wecom, query: dict[str, str]
) -> None:
    sealed = wecom.sealed(xml_of(wecom.message("alice", "hello")))
    forged = wecom.signed(sealed) | query
    posted = await router.post(EVENTS, params=forged, content=wecom.envelope(sealed))
    asked = await router.get(EVENTS, params=forged | {"echostr": sealed})
    assert (posted.status_code, asked.status_code, wecom.requests) == (401, 401, [])


@pytest.mark.slow
@pytest.mark.parametrize("forged", FORGED_MESSAGES.values(), ids=FORGED_MESSAGES)
async def test_whatever_is_wrong_with_a_callback_wecom_s_answer_is_one(
    router: AsyncClient, wecom: Wecom, forged: Any
) -> None:
    """Or who asks often enough decrypts by what differs."""
    sealed = made_of(wecom, forged)
    answers = set()
    for query in (wecom.signed(sealed), {}):
        content = wecom.envelope(sealed)
        answer = await router.post(EVENTS, params=query, content=content)
        answers.add((answer.status_code, answer.content))
    unsigned = await router.get(EVENTS, params={"echostr": wecom.sealed("1")})
    assert answers == {(401, unsigned.content)}
    assert wecom.requests == []


ENVELOPES: dict[str, bytes] = {
    "nothing": b"",
    "no XML": b"{",
    "nothing sealed": b"<xml><ToUserName>x</ToUserName></xml>",
    "an entity": b'<!DOCTYPE x [<!ENTITY a "b">]><xml><Encrypt>%b</Encrypt></xml>',
    "too deep": b"<a>" * 5000,
    "too many": b"<xml><Encrypt>%b</Encrypt>" + b"<a/>" * 5000 + b"</xml>",
    "no text": b"\xff\xfe\x00",
    "in plain words": b"<xml><MsgType>text</MsgType><Content>hello</Content></xml>",
}


@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES)
async def test_an_envelope_that_is_none_is_refused(
    router: AsyncClient, wecom: Wecom, envelope: bytes
) -> None:
    sealed = wecom.sealed(xml_of(wecom.message("alice", "hello")))
    content = envelope.replace(b"%b", sealed.encode())
    answer = await router.post(EVENTS, params=wecom.signed(sealed), content=content)
    assert (answer.status_code, wecom.requests) == (401, [])


async def test_a_body_without_end_is_not_read(router: AsyncClient, wecom: Wecom) -> None:
    answer = await router.post(EVENTS, params=wecom.signed("x"), content=b"<" * 70_000)
    assert answer.status_code == 413


ROBOT_FORGERIES: dict[str, Any] = {
    "the app's": {"token": Wecom.token, "key": Wecom.key, "corp": Wecom.corp},
    "another token": {"token": "another"},
    "another key": {"key": "K" * 43},
    "a company's": {"corp": Wecom.corp},
    "another company's person": {"inside": {"from": {"corpid": "ww0", "userid": "alice"}}},
    "old": {"at": -HOUR},
    "of tomorrow": {"at": HOUR},
    "no object": {"inside": b"[]"},
    "no JSON": {"inside": b"<xml/>"},
    "too deep": {"inside": b"[" * 5000},
    "half a letter": {"inside": b'{"msgid": "\\ud800"}'},
    "no text": {"inside": b"\xff\xfe"},
    "no envelope": {"body": b""},
    "an envelope that is none": {"body": b"[]"},
    "nothing encrypted": {"body": b'{"msgid": "1", "msgtype": "text"}'},
    "something else encrypted": {"body": b'{"encrypt": {"a": 1}}'},
    "no base64": {"body": b'{"encrypt": "!!!"}'},
}


@pytest.mark.slow
@pytest.mark.parametrize("forged", ROBOT_FORGERIES.values(), ids=ROBOT_FORGERIES)
async def test_whatever_is_wrong_with_what_the_robot_hears_the_answer_is_one(
    router: AsyncClient, wecom: Wecom, forged: dict[str, Any]
) -> None:
    inside = forged.get("inside", {})
    if isinstance(inside, dict):
        inside = json.dumps(wecom.called("alice", "hello") | inside)
    sealed = wecom.sealed(inside, forged.get("key", wecom.robot_key), forged.get("corp", ""))
    at, token = time.time() + forged.get("at", 0), forged.get("token", wecom.robot_token)
    body = forged.get("body", json.dumps({"encrypt": sealed}).encode())
    query = wecom.signed(sealed, at, token)
    answers = set()
    for signed in (query, query | {"msg_signature": "0" * 40}, {}):
        answer = await router.post(ROBOT, params=signed, content=body)
        answers.add((answer.status_code, answer.content))
    unsigned = await router.get(ROBOT, params={"echostr": sealed})
    assert answers == {(401, unsigned.content)}
    assert wecom.requests == []


async def test_the_robot_s_address_is_seen_to_be_ours(router: AsyncClient, wecom: Wecom) -> None:
    sealed = wecom.sealed("echo", wecom.robot_key, "")
    for token, status in ((wecom.robot_token, 200), (wecom.token, 401)):
        query = wecom.signed(sealed, token=token) | {"echostr": sealed}
        assert (await router.get(ROBOT, params=query)).status_code == status


async def test_without_a_robot_there_is_no_entrance_for_one(
    services: Services, wecom: Wecom
) -> None:
    none = {"robot_token": SecretStr(""), "robot_encoding_aes_key": SecretStr("")}
    settings = services.settings.having(wecom.settings.model_copy(update=none))
    app = create_app(replace(services, settings=settings))
    async with client_of(app, None) as client:
        assert (await wecom.call(client, wecom.called("alice", "hello"))).status_code == 404
        assert (await client.get(ROBOT)).status_code == 404


async def test_a_stranger_in_a_group_is_told_so_there(router: AsyncClient, wecom: Wecom) -> None:
    said = wecom.called("mallory", "我要请假")
    for _ in range(2):
        assert (await wecom.call(router, said)).status_code == 200
    assert "我还不认识您" in str(await wecom.first(wecom.answers, "markdown"))
    assert (len(wecom.answers), wecom.posts) == (1, [])


@pytest.mark.parametrize("seconds", [-HOUR, -301, 320, HOUR])
async def test_a_replay_is_refused(router: AsyncClient, wecom: Wecom, seconds: float) -> None:
    sealed = made_of(wecom, {})
    query = wecom.signed(sealed, time.time() + seconds)
    answer = await router.post(EVENTS, params=query, content=wecom.envelope(sealed))
    asked = await router.get(EVENTS, params=query | {"echostr": sealed})
    assert (answer.status_code, asked.status_code) == (401, 401)


async def test_nothing_is_decrypted_before_its_signature_is_checked(
    router: AsyncClient, wecom: Wecom, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(side_effect=ValueError)
    monkeypatch.setattr(callbacks, "opened", asked)
    sealed = made_of(wecom, {})
    query = wecom.signed(sealed, token="another")
    answer = await router.post(EVENTS, params=query, content=wecom.envelope(sealed))
    assert answer.status_code == 401
    asked.assert_not_called()


async def test_what_nobody_reads_is_taken_and_left_alone(router: AsyncClient, wecom: Wecom) -> None:
    entered = wecom.callback("alice", MsgType="event", Event="enter_agent")
    changed = wecom.callback("alice", MsgType="event", Event="change_contact")
    del changed["AgentID"]
    for body in (entered, changed, wecom.message("alice", kind="sticker")):
        assert (await wecom.deliver(router, body)).status_code == 200
    assert wecom.requests == []


async def test_whoever_nobody_knows_begins_nothing(
    router: AsyncClient, wecom: Wecom, store: Store
) -> None:
    before = await store.conversations.owned_by("default", "mallory", None, 10)
    for text in ("我要请假", "退回 #abcde 改到周三"):
        assert (await wecom.deliver(router, wecom.message("mallory", text))).status_code == 200
    told = await wecom.posted("我还不认识您")
    assert (told["touser"], len(wecom.posts)) == (wecom.account("mallory"), 1)
    assert await store.conversations.owned_by("default", "mallory", None, 10) == before


@pytest.mark.slow
async def test_the_entrance_isn_t_in_the_documentation(router: AsyncClient) -> None:
    assert "adapters" not in str((await router.get("/openapi.json")).json()["paths"].keys())


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        ({"CORP_ID": "ww1"}, "ROUTER_WECOM_AGENT_ID isn't set"),
        ({"CORP_ID": "ww1", "AGENT_ID": "x"}, "ROUTER_WECOM_AGENT_ID"),
        ({"ENCODING_AES_KEY": "short"}, "ROUTER_WECOM_ENCODING_AES_KEY"),
    ],
)
def test_half_of_wecom_is_refused(
    known: dict[str, str], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in known.items():
        monkeypatch.setenv(f"ROUTER_WECOM_{name}", value)
    with pytest.raises(MisconfiguredError) as refused:
        Settings.load().section(WecomSettings)
    assert missing in str(refused.value)
    assert "short" not in str(refused.value)


@pytest.fixture
async def awaited(
    services: Services, wecom: Wecom, store: Store, temporal: Client, unique: str
) -> AsyncIterator[tuple[AsyncClient, DecisionRequest]]:
    """An approval of bob's whose run comes to it half a second late, as after a restart."""
    record = run_record(unique[:12])
    approval = approval_record(record)
    await store.runs.publish(record, [approval])
    id_ = record.workflow_id
    await temporal.start_workflow(flow.WORKFLOW, "bob late", id=id_, task_queue=QUEUE)
    people = FileDirectory.load().everyone()
    bob = next(person for person in people if person.id == "bob")
    directory = FileDirectory(people, {("wecom", wecom.account("bob")): bob})
    settings = services.settings.having(wecom.settings)
    async with client_of(
        create_app(replace(services, settings=settings, directory=directory)), None
    ) as client:
        yield client, DecisionRequest(approval, "Alice", "zh")


@pytest.mark.parametrize("patience", [HANGS_AFTER_S, 0.05])
async def test_an_approval_on_wecom_waits_out_a_worker_s_restart(
    wecom: Wecom,
    awaited: tuple[AsyncClient, DecisionRequest],
    patience: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("router.extensions.channels.dispatcher.PATIENCE", patience)
    router, request = awaited
    card = messages(request, "k")[-1]
    assert (await wecom.deliver(router, wecom.press("bob", card, "同意"))).status_code == 200
    assert labels(await wecom.updated("已同意")) == []


async def test_only_who_may_write_is_written_to(services: Services, wecom: Wecom) -> None:
    client = WecomClient(wecom.settings)
    for account in ("@all", "a|b", ""):
        with pytest.raises(Undeliverable):
            await client.say({"account": account}, "hello")
    assert wecom.requests == []
    gone = json_reply({"errcode": 0, "errmsg": "ok", "invaliduser": "alice"})
    for answer in (gone, refused(81013, "user & party & tag all invalid")):
        wecom.troubles.append(answer)
        with pytest.raises(Undeliverable):
            await client.say({"account": "alice"}, "hello")
    await client.aclose()


async def test_what_is_posted_twice_is_seen_once(wecom: Wecom) -> None:
    """By one process by its memory, and cards by whichever process."""
    request = DecisionRequest(approval_record(run_record("twice")), "Alice", "zh")
    picture = GivenFile("a.png", "image/png", b"\x89PNG\r\n\x1a\n", "f1")
    wecom.troubles.append(refused(-1, "system busy"))
    clients = [WecomClient(wecom.settings) for _ in range(2)]
    place = {"account": "bob"}
    for client in (clients[0], clients[0], clients[0], clients[1]):
        await asyncio.gather(client.post(place, request, "key"), return_exceptions=True)
    cards = [post for post in wecom.posts if "template_card" in post]
    for _ in range(2):
        await clients[0].give(place, picture, "another")
    assert (len(cards), list(wecom.uploads)) == (1, ["media_0_image"])
    for client in clients:
        await client.aclose()


@pytest.mark.parametrize(
    "hostile",
    ["<@all>", "<@userid>", "[bank](https://evil.test)", "![](https://evil.test/?q=1)", "<font>"],
)
async def test_nothing_that_is_said_in_a_group_calls_anybody_or_is_a_link(
    wecom: Wecom, hostile: str
) -> None:
    client = WecomClient(wecom.settings)
    wecom.codes.add("c1")
    await client.say({"account": "alice", "code": "c1"}, f"a {hostile}")
    (answer,) = wecom.answers
    assert hostile not in answer["markdown"]["content"]
    assert wecom.posts == []
    await client.aclose()


async def test_what_is_too_long_for_a_group_is_said_to_the_person_alone(wecom: Wecom) -> None:
    client = WecomClient(wecom.settings)
    wecom.codes.add("c1")
    await client.say({"account": "alice", "code": "c1"}, "年" * 7000)
    assert (wecom.answers, {post["touser"] for post in wecom.posts}) == ([], {"alice"})
    assert "".join(post["text"]["content"] for post in wecom.posts) == "年" * 7000
    await client.aclose()


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"digest": "another"}, "有变化"), ({"id": "another"}, "这张卡片不是给您的")],
)
async def test_a_return_is_asked_about_for_what_waits_alone(
    wecom: Wecom,
    awaited: tuple[AsyncClient, DecisionRequest],
    changed: dict[str, str],
    told: str,
) -> None:
    router, request = awaited
    other = replace(request, approval=request.approval.model_copy(update=changed))
    await wecom.deliver(router, wecom.press("bob", messages(other, "k")[-1], "退回修改"))
    await wecom.posted(told)
    assert "退回 #" not in str(wecom.posts)


@pytest.mark.parametrize("words", ["", "改" * 1001, "\u200b"])
async def test_a_return_without_a_word_is_asked_about_again(
    wecom: Wecom, awaited: tuple[AsyncClient, DecisionRequest], words: str
) -> None:
    router, request = awaited
    number = worded_return.number_of(request.approval.id, request.approval.digest)
    await wecom.deliver(router, wecom.message("bob", f"退回 #{number} {words}"))
    how = (await wecom.posted("请回复下面这一行"))["text"]["content"]
    assert how.endswith(f"退回 #{number} ")


async def test_a_number_is_found_behind_all_that_came_later(
    wecom: Wecom,
    awaited: tuple[AsyncClient, DecisionRequest],
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worded_return, "APPROVALS_PER_PAGE", 2)
    router, request = awaited
    for count in range(5):
        later = run_record(f"later{count}")
        await store.runs.publish(later, [approval_record(later)])
    number = worded_return.number_of(request.approval.id, request.approval.digest)
    await wecom.deliver(router, wecom.message("bob", f"退回 #{number} 到周三就好"))
    await wecom.posted("已退回")


async def test_a_number_that_stands_for_two_approvals_returns_neither(
    wecom: Wecom,
    awaited: tuple[AsyncClient, DecisionRequest],
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    router, _ = awaited
    other = run_record("another")
    await store.runs.publish(other, [approval_record(other)])
    monkeypatch.setattr(worded_return, "number_of", lambda *_: "aaaaa")
    await wecom.deliver(router, wecom.message("bob", "退回 #aaaaa 到周三就好"))
    await wecom.posted("分不清是哪一项")
    assert "已退回" not in str(wecom.posts)


@pytest.mark.parametrize("where", ["group", "single"])
async def test_a_return_in_words_is_one_to_the_robot_too_and_answered_to_its_approver_alone(
    wecom: Wecom, awaited: tuple[AsyncClient, DecisionRequest], where: str
) -> None:
    """Were it a message, whom the approver happens to help would read it."""
    router, request = awaited
    number = worded_return.number_of(request.approval.id, request.approval.digest)
    said = wecom.called("bob", f"退回 #{number} 到周三就好", chattype=where)
    if where == "single":
        said["text"]["content"] = said["text"]["content"].removeprefix("@Desk ")
    assert (await wecom.call(router, said)).status_code == 200
    assert (await wecom.posted("已退回"))["touser"] == wecom.account("bob")
