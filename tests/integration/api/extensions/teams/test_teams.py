"""The entrance for Teams: who the Bot Framework doesn't vouch for stays outside."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.api import auth
from router.api.dependencies import Services
from router.api.params import fresh_id
from router.contracts import flow
from router.directory.file import FileDirectory
from router.domain.errors import RouterError, TooManyRequests, Unavailable
from router.domain.records import FileRecord
from router.extensions.channels.base import DecisionRequest, Undeliverable
from router.extensions.teams.adaptive_cards import cards_of
from router.extensions.teams.connector import TeamsConnector
from router.runtime.server import create_app
from router.store.store import Store
from tests.fakes.teams import Body, Teams, account, buttons, refusal, signing_key
from tests.fakes.web_server import Reply, json_reply
from tests.integration.api.conftest import QUEUE, client_of
from tests.integration.api.test_runs import approval_record, run_record
from tests.waiting import HANGS_AFTER_S

HOUR = 3600
FRAMEWORK = ("/metadata", "/keys")


@pytest.fixture
async def teams() -> AsyncIterator[Teams]:
    async with Teams() as teams:
        yield teams


@pytest.fixture
async def router(services: Services, teams: Teams) -> AsyncIterator[AsyncClient]:
    settings = services.settings.having(teams.settings)
    async with client_of(create_app(replace(services, settings=settings)), None) as client:
        yield client


async def delivered(router: AsyncClient, teams: Teams, token: str, **more: Any) -> int:
    return (await teams.deliver(router, teams.message("mallory", "hi", **more), token)).status_code


def called(teams: Teams) -> list[str]:
    """What the connector was asked for, beside the keys that tell who calls."""
    return [each for each in teams.targets if each not in FRAMEWORK]


async def test_without_its_settings_there_is_no_entrance(alice: AsyncClient) -> None:
    assert (await alice.post("/adapters/teams/events", json={})).status_code == 404


FORGERIES: dict[str, dict[str, Any]] = {
    "another app's": {"aud": "11111111-2222-3333-4444-000000000000"},
    "another app's beside ours": {"aud": [Teams.app_id, "other"]},
    "nobody's": {"aud": None},
    "another issuer's": {"iss": "https://login.microsoftonline.com/common/v2.0"},
    "an issuer's that begins like it": {"iss": "https://api.botframework.com.evil.test"},
    "of no issuer": {"iss": None},
    "old": {"exp": time.time() - 60},
    "very old": {"exp": time.time() - 30 * 24 * HOUR},
    "without an end": {"exp": None},
    "with an end that is none": {"exp": "soon"},
    "of tomorrow": {"nbf": time.time() + 24 * HOUR, "exp": time.time() + 25 * HOUR},
    "another service's": {"serviceurl": "https://smba.trafficmanager.net/emea/"},
    "a service's that is none": {"serviceurl": 7},
    "no service's": {"serviceurl": None},
    "signed with another key": {"key": "another"},
    "signed with a key that nobody publishes": {"key": "another", "kid": "unknown"},
}


@pytest.mark.slow
@pytest.mark.parametrize("claims", FORGERIES.values(), ids=FORGERIES)
async def test_what_the_bot_framework_doesn_t_vouch_for_is_refused(
    router: AsyncClient, teams: Teams, claims: dict[str, Any]
) -> None:
    activity = teams.message("mallory", "hello")
    answer = await teams.deliver(router, activity, teams.vouching(activity, **claims))
    unsigned = await router.post("/adapters/teams/events", json=activity)
    assert (answer.status_code, answer.content) == (401, unsigned.content)
    assert called(teams) == []


def unsigned(claims: Body) -> str:
    return jwt.encode(claims, "", "none", headers={"kid": Teams.kid})


def by_its_public_key(claims: Body) -> str:
    """As who takes a public key for a shared secret would believe."""
    secret = str(Teams.published(signing_key("teams"), Teams.kid)["n"])
    return jwt.encode(claims, secret, "HS256", headers={"kid": Teams.kid})


def altered(claims: Body) -> str:
    header, _, signature = jwt.encode(
        {**claims, "aud": "other"}, signing_key("teams"), "RS256", headers={"kid": Teams.kid}
    ).split(".")
    _, body, _ = unsigned(claims).split(".")
    return f"{header}.{body}.{signature}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        unsigned,
        by_its_public_key,
        altered,
        lambda _: "",
        lambda _: "x",
        lambda _: "a.b.c",
        lambda _: "x" * 20_000,
        lambda claims: jwt.encode(claims, signing_key("teams"), "RS256"),
        lambda claims: jwt.encode(
            claims, signing_key("teams"), "RS512", headers={"kid": Teams.kid}
        ),
    ],
)
async def test_a_token_that_is_none_of_theirs_is_refused(
    router: AsyncClient, teams: Teams, made: Any
) -> None:
    claims = {"iss": Teams.issuer, "aud": Teams.app_id, "exp": int(time.time()) + HOUR}
    token = made({**claims, "serviceurl": teams.service})
    assert await delivered(router, teams, token) == 401
    assert called(teams) == []


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Basic eDp5", "bearer  ", "Token x", "Bearer é".encode().decode("latin-1")],
)
async def test_without_a_bearer_nobody_is_let_in(
    router: AsyncClient, teams: Teams, header: str
) -> None:
    sent = {b"authorization": header.encode("latin-1")}
    activity = teams.message("mallory", "hello")
    answer = await router.post("/adapters/teams/events", json=activity, headers=sent)
    assert (answer.status_code, teams.requests) == (401, [])


@pytest.mark.parametrize(
    "more",
    [
        {"channelId": "webchat"},
        {"channelId": None},
        {"serviceUrl": "https://evil.trafficmanager.net/"},
        {"serviceUrl": "http://169.254.169.254/"},
        {"serviceUrl": "https://smba.trafficmanager.net.evil.test/"},
        {"serviceUrl": 7},
        {"serviceUrl": None},
    ],
)
async def test_a_service_that_isn_t_microsoft_s_never_sees_the_bot_s_token(
    router: AsyncClient, teams: Teams, more: dict[str, Any]
) -> None:
    """Though the Bot Framework should vouch for it."""
    activity = teams.message("mallory", "hello", **more)
    assert (await teams.deliver(router, activity)).status_code == 401
    assert called(teams) == []


async def test_an_activity_of_another_service_than_its_token_s_is_refused(
    router: AsyncClient, teams: Teams
) -> None:
    activity = teams.message("mallory", "hello")
    token = teams.vouching(activity)
    moved = {**activity, "serviceUrl": f"{teams.origin}/amer/"}
    assert (await teams.deliver(router, moved, token)).status_code == 401
    assert (await teams.deliver(router, activity, token)).status_code == 200


@pytest.mark.parametrize("endorsed", [("webchat",), ("skype", "slack")])
async def test_a_key_that_is_endorsed_for_other_channels_vouches_for_none_of_ours(
    router: AsyncClient, teams: Teams, endorsed: tuple[str, ...]
) -> None:
    other = teams.published(signing_key("webchat's"), "k2", *endorsed)
    teams.keys = [*teams.keys, other]
    activity = teams.message("mallory", "hello")
    forged = teams.vouching(activity, key="webchat's", kid="k2")
    assert (await teams.deliver(router, activity, forged)).status_code == 401
    assert (await teams.deliver(router, activity)).status_code == 200


async def test_a_new_key_is_found_and_an_unknown_one_isn_t_looked_for_each_time(
    router: AsyncClient, teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = teams.message("mallory", "hello")
    assert (await teams.deliver(router, activity)).status_code == 200
    new = teams.vouching(activity, key="new", kid="k2")
    for _ in range(3):
        assert (await teams.deliver(router, activity, new)).status_code == 401
    assert teams.targets.count("/keys") == 1
    teams.keys = [teams.published(signing_key("new"), "k2")]
    monkeypatch.setattr(auth, "COOLDOWN", 0.0)
    assert (await teams.deliver(router, activity, new)).status_code == 200
    assert (await teams.deliver(router, activity)).status_code == 401


@pytest.mark.parametrize(
    "keys", [[], "x", [None, 1, [], {}], [{"endorsements": ["msteams"], "kty": "oct", "k": "eA"}]]
)
async def test_while_there_are_no_keys_it_is_delivered_again(
    router: AsyncClient, teams: Teams, keys: Any
) -> None:
    teams.keys = keys
    assert (await teams.deliver_once(router, teams.message("mallory", "hi"))).status_code == 503
    assert called(teams) == []


@pytest.mark.parametrize("uri", ["http://evil.test/keys", "file:///etc/keys", "x", "https://"])
async def test_keys_are_fetched_from_no_address_that_anybody_could_stand_in_for(
    router: AsyncClient, teams: Teams, uri: str
) -> None:
    teams.jwks_uri = uri
    assert (await teams.deliver_once(router, teams.message("mallory", "hi"))).status_code == 503
    assert called(teams) == []


async def test_keys_that_came_over_no_tls_vouch_for_nobody(
    router: AsyncClient, teams: Teams
) -> None:
    async with Teams() as elsewhere:
        teams.jwks_uri = f"{elsewhere.origin}/keys"
        assert (await teams.deliver_once(router, teams.message("mallory", "hi"))).status_code == 503
        assert elsewhere.requests == []


STRANGE_BODIES = [
    *((raw, 400) for raw in (b"", b"[]", b"null", b"{", b'{"a": NaN}', b"\xff\xfe")),
    (b'{"a":' * 60 + b"1" + b"}" * 60, 400),
    (b'{"a":"' + b"x" * 70_000 + b'"}', 413),
]


@pytest.mark.parametrize(("raw", "status"), STRANGE_BODIES, ids=lambda raw: str(raw)[:20])
async def test_a_body_that_is_no_object_is_refused(
    router: AsyncClient, teams: Teams, raw: bytes, status: int
) -> None:
    headers = {"authorization": f"Bearer {teams.vouching(teams.message('alice', 'hi'))}"}
    answer = await router.post("/adapters/teams/events", content=raw, headers=headers)
    assert answer.status_code == status


@pytest.mark.parametrize(
    "more",
    [
        {"type": "conversationUpdate", "membersAdded": [{"id": "29:x"}]},
        {"type": "messageUpdate", "channelData": {"eventType": "editMessage"}},
        {"type": "messageDelete"},
        {"type": ["message"]},
        {"from": None},
        {"conversation": []},
        {"value": {"button": '{"pressed": 1}'}},
    ],
)
async def test_what_nobody_said_begins_nothing(
    router: AsyncClient, teams: Teams, more: dict[str, Any]
) -> None:
    known = {"tenant": {"id": teams.tenant}}
    more = {**more, "channelData": {**more.get("channelData", {}), **known}}
    answer = await teams.deliver(router, teams.message("mallory", "hello", **more))
    assert (answer.status_code, called(teams)) == (200, [])


@pytest.mark.parametrize(
    "more",
    [
        {"name": "task/fetch"},
        {"name": None},
        {"name": "adaptiveCard/action"},
        {"name": "adaptiveCard/action", "value": {"action": {"data": {"button": "{}"}}}},
        {"name": "adaptiveCard/action", "value": [1]},
    ],
)
async def test_an_invoke_that_nobody_knows_is_answered_so(
    router: AsyncClient, teams: Teams, more: dict[str, Any]
) -> None:
    answer = await teams.deliver(router, teams.activity("mallory", type="invoke", **more))
    assert (answer.status_code, called(teams)) == (501, [])


OTHERS: dict[str, dict[str, Any]] = {
    "another tenant": {"channelData": {"tenant": {"id": Teams.app_id}}},
    "none": {"channelData": {}},
    "a guest": {"from": {"aadObjectId": account("mallory"), "tenantId": Teams.app_id}},
}


@pytest.mark.parametrize("more", OTHERS.values(), ids=OTHERS)
async def test_people_of_other_tenants_begin_nothing_and_hear_nothing(
    router: AsyncClient, teams: Teams, more: dict[str, Any]
) -> None:
    said = await teams.deliver(router, teams.message("mallory", "hello", **more))
    pressed = await teams.deliver(router, teams.activity("mallory", type="invoke", **more))
    assert (said.json(), pressed.json()) == ({}, {})
    await teams.says(router, "colleague", "hello")
    await teams.posted(account("colleague"))
    assert account("mallory") not in str(teams.posts)


async def test_whoever_nobody_knows_is_told_so(
    router: AsyncClient, teams: Teams, store: Store
) -> None:
    before = await store.conversations.owned_by("default", account("mallory"), None, 10)
    await teams.says(router, "mallory", "我要请假")
    told = await teams.posted("I don't know you yet")
    assert account("mallory") in told["text"]
    assert told["textFormat"] == "plain"
    assert await store.conversations.owned_by("default", account("mallory"), None, 10) == before


@pytest.fixture
async def awaited(
    services: Services, teams: Teams, store: Store, temporal: Client, unique: str
) -> AsyncIterator[tuple[AsyncClient, DecisionRequest]]:
    """An approval of bob's whose run comes to it half a second late, as after a restart."""
    record = run_record(unique[:12])
    approval = approval_record(record)
    await store.runs.publish(record, [approval])
    await temporal.start_workflow(
        flow.WORKFLOW, "bob late", id=record.workflow_id, task_queue=QUEUE
    )
    people = FileDirectory.load().everyone()
    bob = next(person for person in people if person.id == "bob")
    directory = FileDirectory(people, {("teams", account("bob")): bob})
    settings = services.settings.having(teams.settings)
    app = create_app(replace(services, settings=settings, directory=directory))
    async with client_of(app, None) as client:
        yield client, DecisionRequest(approval, "Alice", "zh")


def on_show(request: DecisionRequest) -> Body:
    """The request's card, as it was posted."""
    kind = "application/vnd.microsoft.card.adaptive"
    return {"id": "17", "attachments": [{"contentType": kind, "content": cards_of(request)[0]}]}


async def test_a_decision_answers_its_press_with_the_card_and_changes_the_message(
    teams: Teams, awaited: tuple[AsyncClient, DecisionRequest]
) -> None:
    router, request = awaited
    answer = await teams.presses(router, "bob", on_show(request), "同意")
    assert (answer["statusCode"], answer["type"]) == (
        200,
        "application/vnd.microsoft.card.adaptive",
    )
    assert "已同意" in json.dumps(answer["value"], ensure_ascii=False)
    changed = await teams.updated("已同意")
    assert (changed["id"], buttons(changed)) == ("17", [])


async def test_a_decision_that_takes_longer_than_teams_waits_is_shown_later(
    teams: Teams,
    awaited: tuple[AsyncClient, DecisionRequest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("router.extensions.channels.dispatcher.PATIENCE", 0.0)
    router, request = awaited
    answer = await teams.presses(router, "bob", on_show(request), "同意")
    assert answer["type"] == "application/vnd.microsoft.activity.message"
    assert "It is being recorded" in answer["value"]
    assert (await teams.updated("已同意"))["id"] == "17"


GROUP = {"conversationType": "groupChat", "id": "19:g@thread.v2"}


async def test_a_card_that_was_passed_on_to_a_group_shows_nothing_there(
    teams: Teams, awaited: tuple[AsyncClient, DecisionRequest]
) -> None:
    router, request = awaited
    press = teams.press("bob", on_show(request), "同意") | {"conversation": GROUP}
    answer = (await teams.deliver(router, press)).json()
    assert answer["type"] == "application/vnd.microsoft.activity.message"
    assert answer["value"] == "✅ 已同意"
    assert (teams.updates, teams.posts) == ([], [])


async def test_what_comes_of_it_later_is_told_to_whoever_pressed_alone(
    teams: Teams,
    awaited: tuple[AsyncClient, DecisionRequest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("router.extensions.channels.dispatcher.PATIENCE", 0.0)
    router, request = awaited
    press = teams.press("bob", on_show(request), "同意") | {"conversation": GROUP}
    assert "It is being recorded" in (await teams.deliver(router, press)).json()["value"]
    assert (await teams.posted("已同意"))["chat"] == teams.chat("bob")
    assert teams.updates == []


async def test_nobody_decides_by_a_card_who_isn_t_asked(
    teams: Teams, awaited: tuple[AsyncClient, DecisionRequest]
) -> None:
    router, request = awaited
    answer = await teams.presses(router, "mallory", on_show(request), "同意")
    assert "This card isn't for you" in answer["value"]
    await teams.posted("I don't know you yet")
    assert teams.updates == []


@pytest.mark.slow
@pytest.mark.parametrize("context", [None, {}, {"file": 7}, {"file": "../x"}, {"file": "a" * 24}])
async def test_a_file_that_isn_t_theirs_is_given_to_nobody(
    teams: Teams, awaited: tuple[AsyncClient, DecisionRequest], context: Any
) -> None:
    router, _ = awaited
    upload = {"uploadUrl": f"{teams.origin}/onedrive/x"}
    value = {"action": "accept", "context": context, "uploadInfo": upload}
    invoke = {"type": "invoke", "name": "fileConsent/invoke", "value": value}
    for user in ("bob", "mallory"):
        activity = teams.activity(user, replyToId="17", **invoke)
        assert (await teams.deliver(router, activity)).json() == {}
    await teams.says(router, "mallory", "anybody?")
    await teams.posted("I don't know you yet")
    assert (teams.saved, teams.removed) == ({}, [])


async def test_a_file_of_somebody_else_s_is_put_into_nobody_s_onedrive(
    teams: Teams,
    store: Store,
    awaited: tuple[AsyncClient, DecisionRequest],
    caplog: pytest.LogCaptureFixture,
) -> None:
    router, _ = awaited
    alice = next(one for one in FileDirectory.load().everyone() if one.id == "alice")
    file = FileRecord.of(fresh_id(), alice, "hers.pdf", b"%PDF-1.7 hers", datetime.now(UTC))
    await store.files.keep(file, b"%PDF-1.7 hers")
    upload = {"uploadUrl": f"{teams.origin}/onedrive/x"}
    value = {"action": "accept", "context": {"file": file.id}, "uploadInfo": upload}
    invoke = {"type": "invoke", "name": "fileConsent/invoke", "value": value}
    assert (await teams.deliver(router, teams.activity("bob", **invoke))).json() == {}
    async with asyncio.timeout(HANGS_AFTER_S):
        while "isn't theirs" not in caplog.text:  # noqa: ASYNC110 - it comes after the answer
            await asyncio.sleep(0.02)
    assert (teams.saved, teams.removed) == ({}, [])


PLACE = {"chat": "a:1", "scope": "personal"}


@pytest.fixture
async def connector(teams: Teams) -> AsyncIterator[TeamsConnector]:
    connector = TeamsConnector(teams.settings)
    yield connector
    await connector.aclose()


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (refusal(429, "TooManyRequests", retry_after="7"), TooManyRequests),
        (refusal(429, "TooManyRequests", retry_after="soon"), TooManyRequests),
        (refusal(412, "PreconditionFailed"), Unavailable),
        (refusal(502, "BadGateway"), Unavailable),
        (Reply([b"<html>"], 503), Unavailable),
        (refusal(403, "BotNotInConversationRoster"), Undeliverable),
        (refusal(404, "ConversationNotFound"), Undeliverable),
        (refusal(413, "MessageSizeTooBig"), Undeliverable),
        (json_reply([1], 400), Undeliverable),
        (Reply([b""], 302, {"location": "https://evil.test/"}), Undeliverable),
    ],
)
async def test_what_teams_refuses_says_whether_to_come_again(
    teams: Teams, connector: TeamsConnector, trouble: Reply, raised: type[RouterError]
) -> None:
    teams.troubles.append(trouble)
    with pytest.raises(raised) as refused:
        await connector.say({**PLACE, "service": teams.service}, "hello")
    assert teams.token not in str(refused.value)
    if isinstance(refused.value, TooManyRequests):
        assert refused.value.retry_after in {5, 7}


async def test_a_token_is_fetched_once_and_anew_when_it_is_refused(
    teams: Teams, connector: TeamsConnector
) -> None:
    place = {**PLACE, "service": teams.service}
    for text in ("one", "two"):
        await connector.say(place, text)
    assert teams.tokens == 1
    teams.token = "bot-token-2"
    await connector.say(place, "three")
    assert (teams.tokens, [post["text"] for post in teams.posts]) == (2, ["one", "two", "three"])


async def test_an_app_that_nobody_admits_is_said_without_its_secret(teams: Teams) -> None:
    wrong = teams.settings.model_copy(update={"app_id": Teams.tenant})
    connector = TeamsConnector(wrong)
    with pytest.raises(RouterError, match="set ROUTER_TEAMS_APP_ID") as refused:
        await connector.say({**PLACE, "service": teams.service}, "hello")
    assert teams.secret not in str(refused.value)
    await connector.aclose()


async def test_a_place_that_is_no_longer_microsoft_s_sees_no_token(
    teams: Teams, connector: TeamsConnector
) -> None:
    with pytest.raises(RouterError, match="may see the bot's token"):
        await connector.say({**PLACE, "service": "https://evil.test/"}, "hello")
    assert teams.requests == []


async def test_a_chat_whose_history_was_removed_is_opened_anew(
    teams: Teams, connector: TeamsConnector
) -> None:
    place = {"chat": teams.chat("bob"), "scope": "personal", "service": teams.service}
    teams.gone.add(teams.chat("bob"))
    with pytest.raises(RouterError, match="ConversationNotFound"):
        await connector.say(place, "to nobody")
    await connector.say({**place, "account": account("bob")}, "to bob")
    assert [(post["chat"], post["text"]) for post in teams.posts] == [(teams.chat("bob"), "to bob")]


async def test_a_thread_that_is_gone_is_told_to_nobody_else(
    teams: Teams, connector: TeamsConnector
) -> None:
    thread = {"chat": "19:c@thread.tacv2;messageid=1", "scope": "group", "service": teams.service}
    teams.gone.add(thread["chat"])
    with pytest.raises(RouterError, match="ConversationNotFound"):
        await connector.say({**thread, "account": account("bob")}, "to a group")
    assert (teams.posts, teams.opened) == ([], [])


async def test_an_approver_s_card_is_posted_in_their_own_chat_wherever_it_was_to_go(
    teams: Teams, connector: TeamsConnector
) -> None:
    thread = {"chat": "19:c@thread.tacv2;messageid=1", "scope": "group", "service": teams.service}
    request = DecisionRequest(approval_record(run_record("r1")), "Alice", "zh")
    await connector.post({**thread, "account": account("bob")}, request, "key")
    assert [post["chat"] for post in teams.posts] == [teams.chat("bob")]
