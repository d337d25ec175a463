"""The entrance of DingTalk: what isn't its own stays outside, whatever is tried."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.api.dependencies import Services
from router.contracts import flow
from router.directory.file import FileDirectory
from router.domain.errors import RouterError, TooManyRequests, Unavailable
from router.domain.messages import TextReply
from router.extensions.channels.base import (
    DecisionRequest,
    GivenFile,
    Inbound,
    InboundFile,
    NotAdmitted,
    Statement,
    Undeliverable,
)
from router.extensions.channels.dispatcher import Dispatcher
from router.extensions.dingtalk.open_api import App, OpenApi
from router.extensions.dingtalk.shapes import card_of
from router.runtime.server import create_app
from router.store.store import Store
from tests.fakes.dingtalk import DingTalk, refused
from tests.fakes.web_server import Drop, Reply, json_reply
from tests.integration.api.conftest import QUEUE, client_of
from tests.integration.api.extensions.channels.test_adapters import choices
from tests.integration.api.test_runs import approval_record, run_record
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

HOUR = 3600
MESSAGE, PRESS = "events", "cards"


@pytest.fixture
async def dingtalk() -> AsyncIterator[DingTalk]:
    async with DingTalk() as dingtalk:
        app = App(dingtalk.app_key, dingtalk.secret, dingtalk.robot, dingtalk.template)
        dingtalk.routes["known"] = {"apiSecret": app.card_secret}
        yield dingtalk


@pytest.fixture
async def router(services: Services, dingtalk: DingTalk) -> AsyncIterator[AsyncClient]:
    settings = services.settings.having(dingtalk.settings)
    async with client_of(create_app(replace(services, settings=settings)), None) as client:
        yield client


def signed(dingtalk: DingTalk, path: str, **how: Any) -> dict[str, str]:
    return dingtalk.signed(**how) if path == MESSAGE else dingtalk.signed_press(**how)


def body_of(dingtalk: DingTalk, path: str, user: str = "staff_m") -> dict[str, Any]:
    if path == MESSAGE:
        return dingtalk.message(user, "hello")
    card = {"track": "t1", "content": card_of(choices())}
    return dingtalk.press(user, card, "A")


async def answered(
    router: AsyncClient, path: str, body: dict[str, Any] | bytes, headers: dict[str, Any]
) -> tuple[int, bytes]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = await router.post(f"/adapters/dingtalk/{path}", content=raw, headers=headers)
    return answer.status_code, answer.content


@each_row("path", [MESSAGE, PRESS])
async def test_without_dingtalk_there_is_no_entrance(alice: AsyncClient, path: str) -> None:
    assert (await alice.post(f"/adapters/dingtalk/{path}", json={})).status_code == 404


TIME = {MESSAGE: "timestamp", PRESS: "x-ddpaas-signature-timestamp"}
SIGN = {MESSAGE: "sign", PRESS: "x-ddpaas-signature"}
FORGERIES: dict[str, tuple[dict[str, str], Any]] = {
    "missing": (SIGN, ""),
    "altered": (SIGN, "A" * 43 + "="),
    "no base64": (SIGN, "é!".encode()),
    "of no time": (TIME, ""),
    "of no number": (TIME, "1e12"),
    "of seconds": (TIME, "1795000000"),
    "of another time": (TIME, None),
    "of a time before all time": (TIME, "-1795000000000"),
    "of a time beyond all time": (TIME, "9" * 400),
    "of a time in other figures": (TIME, "１７９５０００００００００".encode()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("named", "value"), FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("path", [MESSAGE, PRESS])
async def test_what_dingtalk_didn_t_sign_is_refused_with_one_answer(
    router: AsyncClient, dingtalk: DingTalk, path: str, named: dict[str, str], value: Any
) -> None:
    headers: dict[str, Any] = signed(dingtalk, path)
    other = str(int(headers[TIME[path]]) + 1)
    headers[named[path]] = other if value is None else value
    unsigned = await answered(router, path, b"{", {})
    assert unsigned[0] == 401
    assert await answered(router, path, body_of(dingtalk, path), headers) == unsigned
    assert dingtalk.requests == []


@pytest.mark.parametrize("path", [MESSAGE, PRESS])
@pytest.mark.parametrize("seconds", [-HOUR, -301, 320, HOUR])
async def test_a_replay_is_refused_though_dingtalk_allows_an_hour(
    router: AsyncClient, dingtalk: DingTalk, path: str, seconds: float
) -> None:
    headers = signed(dingtalk, path, at=time.time() + seconds)
    assert (await answered(router, path, body_of(dingtalk, path), headers))[0] == 401
    assert dingtalk.requests == []


@pytest.mark.parametrize("path", [MESSAGE, PRESS])
async def test_another_app_s_secret_is_no_key(
    router: AsyncClient, dingtalk: DingTalk, path: str
) -> None:
    """Nor is the app's own for presses, nor that of presses for messages."""
    body = body_of(dingtalk, path)
    for secret in ("another", dingtalk.secret if path == PRESS else "of presses"):
        headers = signed(dingtalk, path, secret=secret)
        assert (await answered(router, path, body, headers))[0] == 401
    others = signed(dingtalk, PRESS if path == MESSAGE else MESSAGE)
    crossed = dict(zip((TIME[path], SIGN[path]), others.values(), strict=True))
    assert (await answered(router, path, body, crossed))[0] == 401
    assert dingtalk.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("path", [MESSAGE, PRESS])
@pytest.mark.parametrize(
    ("raw", "status"),
    [
        *((raw, 400) for raw in (b"", b"[]", b"null", b"{", b'{"a": NaN}', b"\xff\xfe")),
        (b'{"a":' * 60 + b"1" + b"}" * 60, 400),
        (b'{"a":"' + b"x" * 70_000 + b'"}', 413),
        (b"{}", 200),
    ],
    ids=lambda raw: str(raw)[:20],
)
async def test_a_signed_body_that_is_no_object_is_refused(
    router: AsyncClient, dingtalk: DingTalk, path: str, raw: bytes, status: int
) -> None:
    assert (await answered(router, path, raw, signed(dingtalk, path)))[0] == status
    assert dingtalk.requests == []


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        (MESSAGE, {"senderCorpId": "dingother"}),
        (MESSAGE, {"senderCorpId": None, "senderStaffId": None}),
        (MESSAGE, {"chatbotCorpId": "dingother"}),
        (MESSAGE, {"robotCode": "another"}),
        (MESSAGE, {"robotCode": None}),
        (PRESS, {"corpId": "dingother"}),
        (PRESS, {"corpId": None}),
    ],
)
async def test_people_of_other_companies_and_other_robots_begin_nothing(
    router: AsyncClient, dingtalk: DingTalk, path: str, odd: dict[str, Any]
) -> None:
    body = {**body_of(dingtalk, path), **odd}
    assert await answered(router, path, body, signed(dingtalk, path)) == (200, b"{}")
    await dingtalk.says(router, "staff_colleague", "hello")
    await dingtalk.posted("staff_colleague")
    assert "staff_m" not in str(dingtalk.posts)


async def test_whoever_nobody_knows_is_told_so_once_and_begins_nothing(
    router: AsyncClient, dingtalk: DingTalk
) -> None:
    body = dingtalk.message("staff_m", "我要请假")
    for _ in range(3):
        assert (await dingtalk.deliver(router, body)).status_code == 200
    told = await dingtalk.posted("I don't know you yet")
    assert (told["to"], told["kind"]) == ("staff_m", "sampleText")
    assert "（staff_m）" in told["content"]["content"]
    assert len(dingtalk.posts) == 1


async def test_no_address_of_an_event_is_asked_for_anything(
    router: AsyncClient, dingtalk: DingTalk
) -> None:
    """Not the one at which a session is answered: nobody has signed it."""
    await dingtalk.says(router, "staff_m", "hello", sessionWebhook=f"{dingtalk.origin}/session")
    await dingtalk.posted("staff_m")
    assert not [target for target in dingtalk.targets if "session" in target]


async def test_a_refused_token_is_fetched_anew(router: AsyncClient, dingtalk: DingTalk) -> None:
    for person, token in (("staff_1", dingtalk.token), ("staff_2", "t-2")):
        dingtalk.token = token
        await dingtalk.says(router, person, "hello")
        await dingtalk.posted(person)
    assert sum(target.endswith("/accessToken") for target in dingtalk.targets) == 2


@pytest.mark.parametrize("code", ["invalidClientIdOrSecret", "Forbidden.AccessDenied"])
async def test_an_app_that_dingtalk_won_t_have_is_said_in_the_log(
    router: AsyncClient, dingtalk: DingTalk, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    dingtalk.troubles.append(refused(code, 403))
    await dingtalk.says(router, "staff_m", "hello")
    async with asyncio.timeout(HANGS_AFTER_S):
        while "ROUTER_DINGTALK_APP_KEY" not in caplog.text:  # noqa: ASYNC110 - said aside
            await asyncio.sleep(0.02)
    assert dingtalk.secret not in caplog.text


async def test_what_can_t_be_taken_in_is_said_to_whoever_wrote_it(
    services: Services, dingtalk: DingTalk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DingTalk doesn't promise to send it again."""
    everyone = services.directory.everyone()
    directory = FileDirectory(everyone, {("dingtalk", "staff_x"): everyone[0]})
    settings = services.settings.having(dingtalk.settings)
    there = replace(services, settings=settings, directory=directory)
    monkeypatch.setattr("router.extensions.channels.dispatcher.PATIENCE", 0.0)
    async with client_of(create_app(there), None) as router:
        said = dingtalk.message("staff_x", "hello")
        assert (await dingtalk.deliver_once(router, said)).status_code == 503
        assert "请再发一次" in str(await dingtalk.posted("isn't known yet whether this message"))


@pytest.mark.parametrize("trouble", [None, Unavailable("later"), TooManyRequests("later")])
async def test_a_press_that_takes_longer_than_dingtalk_waits_goes_on(
    router: AsyncClient,
    dingtalk: DingTalk,
    monkeypatch: pytest.MonkeyPatch,
    trouble: RouterError | None,
) -> None:
    released, ended = asyncio.Event(), asyncio.Event()

    async def take(_: Dispatcher, __: Inbound) -> None:
        await released.wait()
        ended.set()
        if trouble is not None:
            raise trouble

    monkeypatch.setattr(Dispatcher, "take", take)
    monkeypatch.setattr("router.extensions.dingtalk.entrance.CARD_PATIENCE", 0.0)
    body, signs = body_of(dingtalk, PRESS), signed(dingtalk, PRESS)
    status, _ = await answered(router, PRESS, body, signs)
    assert (status, ended.is_set()) == (200, False)
    released.set()
    async with asyncio.timeout(HANGS_AFTER_S):
        await ended.wait()
    if trouble is not None:
        await dingtalk.posted("再按一次")


async def test_an_approval_waits_out_a_worker_s_restart(
    services: Services, dingtalk: DingTalk, store: Store, temporal: Client, unique: str
) -> None:
    record = run_record(unique[:12])
    approval = approval_record(record)
    await store.runs.publish(record, [approval])
    await temporal.start_workflow(
        flow.WORKFLOW, "bob late", id=record.workflow_id, task_queue=QUEUE
    )
    people = FileDirectory.load().everyone()
    bob = next(person for person in people if person.id == "bob")
    directory = FileDirectory(people, {("dingtalk", "staff_bob"): bob})
    settings = services.settings.having(dingtalk.settings)
    there = replace(services, settings=settings, directory=directory)
    fields = card_of(DecisionRequest(approval, "Alice", "zh"))
    card: dict[str, Any] = {"track": "t9", "content": fields, "private": {}}
    dingtalk.posts.append({"to": "staff_bob", "kind": "card", **card})
    async with client_of(create_app(there), None) as router:
        press = dingtalk.press("staff_bob", card, "同意")
        answer = await router.post(
            "/adapters/dingtalk/cards", json=press, headers=dingtalk.signed_press()
        )
    assert answer.json()["cardData"]["cardParamMap"]["status"] == "✅ 已同意"


@pytest.fixture
async def api(dingtalk: DingTalk) -> AsyncIterator[OpenApi]:
    app = App(dingtalk.app_key, dingtalk.secret, dingtalk.robot, dingtalk.template)
    api = OpenApi(app, dingtalk.origin, dingtalk.origin, None)
    yield api
    await api.aclose()


async def test_what_reaches_nobody_is_undeliverable(dingtalk: DingTalk, api: OpenApi) -> None:
    dingtalk.unknown.add("staff_gone")
    gone = {"account": "staff_gone"}
    with pytest.raises(Undeliverable, match="no such"):
        await api.post(gone, choices(), "k1")
    with pytest.raises(Undeliverable, match="accounts"):
        await api.say(gone, "hello")


REFUSALS: list[tuple[Reply, type[Exception]]] = [
    (refused("Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", 403), TooManyRequests),
    (refused("anything", 429), TooManyRequests),
    (refused("Forbidden.AccessDenied.AccessTokenPermissionDenied", 403), NotAdmitted),
    (refused("param.templateNotExist", 400), NotAdmitted),
    (refused("ServiceUnavailable", 503), Unavailable),
    (refused("invalidParameter", 400), Undeliverable),
    (Reply([b"<html>"], 200), Unavailable),
    (Reply([b"[]"], 200), Unavailable),
    (Reply([b"{", Drop()], 200), Unavailable),
    (Reply([b"x" * 20_000_000], 200), Unavailable),
]


@pytest.mark.parametrize(("answer", "kind"), REFUSALS)
async def test_each_refusal_is_of_its_kind(
    dingtalk: DingTalk, api: OpenApi, answer: Reply, kind: type[Exception]
) -> None:
    dingtalk.troubles.append(answer)
    with pytest.raises(kind) as refusal:
        await api.say({"account": "staff_a"}, "hello")
    assert refusal.type is kind
    await api.say({"account": "staff_a"}, "hello")
    assert len(dingtalk.posts) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"errcode": 88, "errmsg": "busy"}, TooManyRequests),
        ({"errcode": 40035, "errmsg": "no"}, Undeliverable),
        ({"errcode": 0}, Undeliverable),
        ({"errcode": 0, "media_id": 7}, Undeliverable),
    ],
)
async def test_a_file_that_can_t_be_uploaded_is_posted_nowhere(
    dingtalk: DingTalk, api: OpenApi, answer: dict[str, Any], kind: type[Exception]
) -> None:
    dingtalk.troubles.append(json_reply(answer))
    given = GivenFile("a.pdf", "application/pdf", b"%PDF", "f1")
    with pytest.raises(kind):
        await api.give({"account": "staff_a"}, given, "k")
    assert dingtalk.posts == []


@pytest.mark.parametrize("place", ["", "nowhere", "ftp://a.test/x", "http://[", None, 7])
async def test_a_file_that_is_nowhere_can_t_be_fetched(
    dingtalk: DingTalk, api: OpenApi, place: Any
) -> None:
    dingtalk.troubles.append(json_reply({"downloadUrl": place}))
    with pytest.raises(RouterError):
        await api.fetch(InboundFile("a.pdf", "code"))


async def test_a_picture_is_shown_and_a_long_text_is_several(
    dingtalk: DingTalk, api: OpenApi
) -> None:
    place = {"group": "cidG"}
    await api.give(place, GivenFile("a.png", "image/png", b"png", "f1"), "k")
    await api.post(place, Statement([TextReply(text="line\n" * 2000)], "c", "en"), "k")
    picture, *texts = dingtalk.posts
    assert (picture["kind"], picture["content"]) == ("sampleImageMsg", {"photoURL": "@media0"})
    assert [post["kind"] for post in texts] == ["sampleMarkdown"] * 3
    assert all(post["to"] == "cidG" for post in dingtalk.posts)


async def test_a_card_posted_again_is_one(dingtalk: DingTalk, api: OpenApi) -> None:
    for _ in range(2):
        await api.post({"account": "staff_a"}, choices(), "k1")
    assert [post["track"] for post in dingtalk.posts] == ["k1"]


async def test_an_approver_s_card_is_in_no_group_whatever_the_place(
    dingtalk: DingTalk, api: OpenApi, unique: str
) -> None:
    request = DecisionRequest(approval_record(run_record(unique[:12])), "Alice", "zh")
    await api.post({"group": "cidG", "account": "staff_bob"}, request, "k1")
    (card,) = dingtalk.posts
    assert (card["to"], card["space"]) == ("staff_bob", "IM_ROBOT")


@pytest.mark.parametrize("code", ["invalidClientIdOrSecret", "another.reason"])
async def test_without_a_token_everything_waits(dingtalk: DingTalk, code: str) -> None:
    """What is refused for good is passed over; that of an app's secret isn't."""
    app = App(dingtalk.app_key, f"not {dingtalk.secret}", dingtalk.robot, dingtalk.template)
    dingtalk.no_token = code
    api = OpenApi(app, dingtalk.origin, dingtalk.origin, None)
    for calling in (api.say({"account": "staff_a"}, "hello"), api.ticket([])):
        with pytest.raises(NotAdmitted, match="ROUTER_DINGTALK_APP_KEY"):
            await calling
    await api.aclose()
