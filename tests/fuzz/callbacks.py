"""Entrances of chat platforms: what comes is signed, and sealed, as the platform would.

Whoever has no key is turned away at the first line; what is looked at here lies behind it. An
input that begins with `!` is sent as it is, signed by nobody.
"""

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlencode

from router.extensions.dingtalk.open_api import App
from tests.fakes.dingtalk import DingTalk
from tests.fakes.feishu import Feishu
from tests.fakes.slack import Slack
from tests.fakes.teams import Teams, account
from tests.fakes.wecom import EVENTS, ROBOT, Wecom, xml_of
from tests.fuzz.desk import desk
from tests.fuzz.entrance import Entrance, Outcome, Take, as_bytes, registered
from tests.integration.api.extensions.channels import test_adapters
from tests.integration.api.extensions.dingtalk import test_dingtalk
from tests.integration.api.extensions.wecom import test_wecom

RAW = b"!"
JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
Sent = tuple[str, dict[str, str], bytes]
"""A path with its query, headers and a body."""


def _opening(
    name: str, fake: Callable[[], Any], made: Callable[[Any, bytes], Sent], path: str
) -> Callable[[], Any]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Take]:
        async with fake() as platform, desk() as here:
            settings = here.services.settings.having(platform.settings)
            app = here.app(f"{name} {platform.origin}", settings=settings)

            async def take(data: bytes) -> Outcome:
                sent = (path, JSON, data[1:]) if data[:1] == RAW else made(platform, data)
                target, headers, body = sent
                return await here.outcome(here.ask("POST", target, headers, body, app))

            yield take

    return opened


def _jsons(*tables: Any) -> Iterator[bytes]:
    """What is JSON, and of tables of forgeries those bodies that are whole."""
    yield from map(as_bytes, tables)
    yield from (b"", b"{", b"[]", b"[" * 5000, b'{"a": NaN}', b'{"token": "\\ud800"}')
    yield RAW + b"{}"


def _slack(slack: Slack, data: bytes) -> Sent:
    if data[:1] == b"?":
        body = urlencode({"payload": data[1:]}).encode()
        return "/adapters/slack/interactions", {**FORM, **slack.signed(body)}, body
    return "/adapters/slack/events", {**JSON, **slack.signed(data)}, data


def _slacks() -> Iterator[bytes]:
    slack = Slack()
    file = {"id": "F1", "name": "a.pdf", "url_private": "https://files.slack.com/a", "size": 3}
    yield from _jsons(
        slack.event("UALICE", "hello"),
        slack.event("UALICE", "", files=[file], subtype="file_share"),
        slack.event("UNOBODY", "hello", channel_type="channel", thread_ts="1.2"),
        {"type": "url_verification", "challenge": "c", "token": "t"},
    )
    press = {
        "type": "block_actions",
        "team": {"id": slack.team},
        "user": {"id": "UBOB", "team_id": slack.team},
        "channel": {"id": "D1"},
        "message": {"ts": "1.2", "thread_ts": "1.1"},
        "state": {"values": {"comment": {"comment": {"value": "more"}}}},
        "actions": [{"type": "button", "action_id": "a", "value": "{}", "action_ts": "1.3"}],
    }
    yield b"?" + as_bytes(press)


registered(
    Entrance(
        "slack",
        "events and presses that Slack signed",
        _opening("slack", Slack, _slack, "/adapters/slack/events"),
        _slacks,
        "json",
    )
)


def _feishu(feishu: Feishu, data: bytes) -> Sent:
    sealed = feishu.sealed(data)
    return "/adapters/feishu/events", {**JSON, **feishu.signed(sealed)}, sealed


def _feishus() -> Iterator[bytes]:
    feishu = Feishu()
    file = {"message_type": "file", "content": '{"file_key": "k", "file_name": "a.pdf"}'}
    post = {
        "message_type": "post",
        "content": '{"title": "", "content": [[{"tag": "text", "text": "hi"}]]}',
    }
    event = {
        "operator": {"open_id": "ou_bob", "tenant_key": feishu.tenant},
        "action": {"tag": "button", "value": {"a": "b"}, "form_value": {"comment": "more"}},
        "context": {"open_chat_id": "oc_bob", "open_message_id": "om_2"},
    }
    yield from _jsons(
        feishu.message("ou_alice", "hello"),
        feishu.message("ou_alice", "", **file),
        feishu.message("ou_alice", "", **post),
        feishu.callback("card.action.trigger", event),
        {"type": "url_verification", "challenge": "c", "token": feishu.verification},
    )
    for made, _ in test_adapters.FEISHU_FORGERIES.values():
        if isinstance(made, dict) and isinstance(made.get("inside"), bytes):
            yield made["inside"]


registered(
    Entrance(
        "feishu",
        "callbacks that Feishu sealed and signed",
        _opening("feishu", Feishu, _feishu, "/adapters/feishu/events"),
        _feishus,
        "json",
    )
)


class _DingTalkKnown(DingTalk):
    """One whose app has said already how presses are to be signed."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        app = App(self.app_key, self.secret, self.robot, self.template)
        self.routes["known"] = {"apiSecret": app.card_secret}
        return self


def _dingtalk(dingtalk: DingTalk, data: bytes) -> Sent:
    if data[:1] == b"?":
        return "/adapters/dingtalk/cards", {**JSON, **dingtalk.signed_press()}, data[1:]
    return "/adapters/dingtalk/events", {**JSON, **dingtalk.signed()}, data


def _dingtalks() -> Iterator[bytes]:
    dingtalk = DingTalk()
    picture = {"msgtype": "picture", "content": {"downloadCode": "c", "pictureDownloadCode": "d"}}
    rich = {"msgtype": "richText", "content": {"richText": [{"text": "hi"}, {"downloadCode": "c"}]}}
    yield from _jsons(
        dingtalk.message("staff_m", "hello"),
        dingtalk.message("staff_m", "", **picture),
        dingtalk.message("staff_m", "", **rich),
    )
    yield b"?" + as_bytes(test_dingtalk.body_of(dingtalk, test_dingtalk.PRESS))


registered(
    Entrance(
        "dingtalk",
        "messages and presses that DingTalk signed",
        _opening("dingtalk", _DingTalkKnown, _dingtalk, "/adapters/dingtalk/events"),
        _dingtalks,
        "json",
    )
)


def _wecom(wecom: Wecom, data: bytes) -> Sent:
    if data[:1] == b"?":
        sealed = wecom.sealed(data[1:], wecom.robot_key, corp="")
        query = wecom.signed(sealed, token=wecom.robot_token)
        return f"{ROBOT}?{urlencode(query)}", JSON, as_bytes({"encrypt": sealed})
    sealed = wecom.sealed(data)
    return f"{EVENTS}?{urlencode(wecom.signed(sealed))}", {}, wecom.envelope(sealed)


def _wecoms() -> Iterator[bytes]:
    wecom = Wecom()
    yield as_bytes(xml_of(wecom.message("alice", "hello")))
    yield as_bytes(xml_of(wecom.message("alice", "", "image", MediaId="m1", PicUrl="http://x")))
    for forged in test_wecom.FORGED_MESSAGES.values():
        if isinstance(forged, dict) and "message" not in forged and "key" not in forged:
            whole = xml_of(wecom.message("alice", "hello"))
            within = f"{forged.get('within', '')}</xml>"
            yield as_bytes(forged.get("before", "") + whole.replace("</xml>", within))
    yield b"?" + as_bytes(wecom.called("alice", "hello"))
    yield RAW + wecom.envelope("AAAA")


registered(
    Entrance(
        "wecom",
        "callbacks that WeCom sealed and signed",
        _opening("wecom", Wecom, _wecom, EVENTS),
        _wecoms,
    )
)


def _teams(teams: Teams, data: bytes) -> Sent:
    """The token names the service that the activity names, where that can be read."""
    try:
        read = json.loads(data)
    except (ValueError, RecursionError):
        read = None
    activity = read if isinstance(read, dict) else {"serviceUrl": teams.service}
    service = activity.get("serviceUrl")
    if isinstance(service, str) and service == "{service}":
        data = data.replace(b"{service}", teams.service.encode())
        activity = {"serviceUrl": teams.service}
    key = json.dumps(activity.get("serviceUrl"))
    known = _TOKENS.get(key)
    if known is None or known[0] < time.monotonic():
        _TOKENS.clear()
        known = _TOKENS[key] = (
            time.monotonic() + 600,
            teams.vouching({"serviceUrl": activity.get("serviceUrl")}),
        )
    return "/adapters/teams/events", {**JSON, "authorization": f"Bearer {known[1]}"}, data


_TOKENS: dict[str, tuple[float, str]] = {}
"""By service, until when and what: a signature takes longer than all that is looked at."""


def _activities() -> Iterator[bytes]:
    who = account("alice")
    said = {
        "type": "message",
        "id": "a1",
        "serviceUrl": "{service}",
        "channelId": "msteams",
        "from": {"id": f"29:{who}", "aadObjectId": who, "name": "Alice"},
        "conversation": {"id": "c1", "tenantId": Teams.tenant, "conversationType": "personal"},
        "recipient": {"id": f"28:{Teams.app_id}"},
        "channelData": {"tenant": {"id": Teams.tenant}},
        "text": "<at>Desk</at> hello",
        "entities": [],
    }
    link = {"downloadUrl": "https://x.sharepoint.com/a", "uniqueId": "u", "fileType": "pdf"}
    file = {
        "contentType": "application/vnd.microsoft.teams.file.download.info",
        "content": link,
        "name": "a.pdf",
    }
    yield from _jsons(
        said,
        {**said, "attachments": [file]},
        {
            **said,
            "type": "invoke",
            "name": "adaptiveCard/action",
            "value": {
                "action": {"type": "Action.Execute", "verb": "x", "data": {"comment": "more"}}
            },
        },
        {
            **said,
            "type": "invoke",
            "name": "fileConsent/invoke",
            "value": {"action": "accept", "context": {}, "uploadInfo": {}},
        },
        {**said, "type": "conversationUpdate", "membersAdded": [{"id": "x"}]},
    )


registered(
    Entrance(
        "teams",
        "activities that the Bot Framework vouches for",
        _opening("teams", Teams, _teams, "/adapters/teams/events"),
        _activities,
        "json",
        # What the Bot Framework is to be told of an `invoke` that a bot doesn't know.
        foreseen=frozenset({501}),
    )
)
