"""Teams' activities, in the shapes that were recorded, and addresses that lead to Microsoft."""

from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from router.domain.messages import ConfirmAction
from router.extensions.channels.base import Button, CardDecision, InboundFile, Pressed
from router.extensions.teams.credentials import is_connector, is_store
from router.extensions.teams.entrance import is_of_tenant, message_of, press_of
from router.extensions.teams.settings import TeamsSettings
from tests.table import each_row

TENANT = "99999999-8888-7777-6666-555555555555"
APP = "11111111-2222-3333-4444-555555555555"
SETTINGS = TeamsSettings(app_id=APP, app_password=SecretStr("s"), tenant_id=TENANT)
ALICE = "aaaaaaaa-0000-0000-0000-00000000000a"
BOT = {"id": f"28:{APP}", "name": "Desk"}
MENTION = {"type": "mention", "text": "<at>Desk</at>", "mentioned": BOT}
BOB = {"type": "mention", "text": "<at>Bob Lee</at>", "mentioned": {"id": "29:bob", "name": "Bob"}}
PERSONAL = {"conversationType": "personal", "tenantId": TENANT, "id": f"a:1{'x' * 130}"}
GROUP = {"conversationType": "groupChat", "isGroup": True, "id": "19:g@thread.v2"}
THREAD = {
    "conversationType": "channel",
    "isGroup": True,
    "id": "19:c@thread.tacv2;messageid=1616990032035",
}
HTML = {"contentType": "text/html", "content": "<p>hello</p>"}
PRESSED = Button(
    pressed=Pressed(
        conversation="c1", action=ConfirmAction(type="confirm", value=True, question="q")
    )
)
DECIDED = Button(decision=CardDecision(approval="a1", digest="d1", verdict="approve"))


def activity(**more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "1616990032035",
        "timestamp": "2026-11-26T04:53:52.123Z",
        "channelId": "msteams",
        "serviceUrl": "https://smba.trafficmanager.net/emea/",
        "from": {"id": "29:1AbC", "name": "Alice", "aadObjectId": ALICE},
        "conversation": PERSONAL,
        "recipient": BOT,
        "entities": [{"type": "clientInfo", "platform": "Windows", "timezone": "Asia/Shanghai"}],
        "channelData": {"tenant": {"id": TENANT}},
        "locale": "zh-CN",
        "text": "hello",
        "textFormat": "plain",
        "attachments": [HTML],
        **more,
    }


def in_chat(text: str, chat: dict[str, Any], *mentions: dict[str, Any]) -> dict[str, Any]:
    return activity(text=text, conversation=chat, entities=[*mentions])


@each_row(
    ("sent", "meant"),
    [
        (activity(), "hello"),
        (activity(text="  我要请假\r\n"), "我要请假"),
        (activity(text="a\u00a0b&nbsp;c"), "a b c"),
        (activity(text="3 < 5 &amp; <b>"), "3 < 5 &amp; <b>"),
        (activity(text="<at>Desk</at> typed"), "<at>Desk</at> typed"),
        (activity(text=None), ""),
        (activity(text=["x"]), ""),
        (in_chat("<at>Desk</at>&nbsp;我要请假\n", GROUP, MENTION), "我要请假"),
        (in_chat("<at>Desk</at> ask <at>Bob Lee</at>", THREAD, MENTION, BOB), "ask @Bob"),
        (in_chat("hi <at>Bob Lee</at> and <at>Desk</at>", GROUP, BOB, MENTION), "hi @Bob and"),
    ],
)
def test_a_message_is_read_as_whoever_typed_it_saw_it(sent: dict[str, Any], meant: str) -> None:
    inbound = message_of(sent)
    assert inbound is not None
    assert (inbound.text, inbound.account, inbound.files) == (meant, ALICE, ())


@each_row("chat", [PERSONAL, GROUP, THREAD])
def test_a_chat_is_one_conversation_and_so_is_a_thread(chat: dict[str, Any]) -> None:
    inbound = message_of(in_chat("<at>Desk</at> hi", chat, MENTION))
    assert inbound is not None
    assert inbound.thread == inbound.place["chat"] == chat["id"]
    assert inbound.place["service"] == "https://smba.trafficmanager.net/emea/"
    assert inbound.place["scope"] == ("personal" if chat is PERSONAL else "group")


def test_ids_are_ones_within_a_chat_alone() -> None:
    first, second = (message_of(in_chat("x", chat, MENTION)) for chat in (GROUP, THREAD))
    assert first is not None
    assert second is not None
    assert first.event != second.event


ODD: list[Any] = [None, [], {}, 1, True, "", "x" * 501]
NO_BUTTONS: list[Any] = ["", "{}", "x", 1, [], DECIDED.packed]
NO_DATA: list[Any] = [None, 1, "x", [], {}, {"button": 1}, {"button": "{}"}]


@each_row(
    "sent",
    [
        {},
        in_chat("not to the bot", GROUP),
        in_chat("<at>Bob Lee</at> hi", THREAD, BOB),
        in_chat("typed <at>Desk</at>", GROUP, {**MENTION, "mentioned": {"id": "28:other"}}),
        activity(conversation={"id": "19:x@thread.v2"}),
        activity(**{"from": {"id": "28:another-bot", "name": "Bot"}}),
        *(activity(type=kind) for kind in ("messageUpdate", "messageDelete", "messageReaction")),
        *(activity(type=kind) for kind in ("conversationUpdate", "installationUpdate", "typing")),
        *(activity(value={"button": value}) for value in NO_BUTTONS),
        *(activity(id=value) for value in ODD),
        *(activity(conversation={**PERSONAL, "id": value}) for value in ODD),
        *(activity(**{"from": {"aadObjectId": value}}) for value in ODD),
    ],
)
def test_what_nobody_says_to_the_bot_is_left_alone(sent: dict[str, Any]) -> None:
    assert message_of(sent) is None


@each_row("value", [None, 1, "x", [], [None, 1, [], {"type": "mention"}], {}])
def test_what_is_odd_beside_the_words_takes_none_of_them(value: Any) -> None:
    sent = activity(entities=value, attachments=value, value=value, recipient=value)
    inbound = message_of(sent)
    assert inbound is not None
    assert (inbound.text, inbound.files) == ("hello", ())


FILE = "application/vnd.microsoft.teams.file.download.info"
URL = "https://house-my.sharepoint.com/personal/alice/_layouts/15/download.aspx?tempauth=t"


@each_row(
    ("attached", "files"),
    [
        (
            {"contentType": FILE, "name": "打车.pdf", "content": {"downloadUrl": URL}},
            [InboundFile("打车.pdf", f"shared {URL}")],
        ),
        (
            {"contentType": "image/*", "contentUrl": "https://smba.trafficmanager.net/x"},
            [InboundFile("image", "inline https://smba.trafficmanager.net/x")],
        ),
        ({"contentType": FILE, "name": "a.pdf"}, [InboundFile("a.pdf", "")]),
        ({"contentType": FILE, "name": 7, "content": {"downloadUrl": 7}}, [InboundFile("", "")]),
        ({"contentType": "image/png", "contentUrl": []}, [InboundFile("image", "")]),
        ({"contentType": "video/mp4", "name": "a.mp4"}, [InboundFile("a.mp4", "")]),
        ({"contentType": "application/vnd.microsoft.card.adaptive", "name": "card"}, []),
        (HTML, []),
        ({"contentType": "messageReference"}, []),
    ],
)
def test_files_have_their_address_and_what_is_none_is_left(
    attached: dict[str, Any], files: list[InboundFile]
) -> None:
    inbound = message_of(activity(attachments=[HTML, attached]))
    assert inbound is not None
    assert list(inbound.files) == files


def invoke(**action: Any) -> dict[str, Any]:
    pressed = {"type": "Action.Execute", "verb": "decide", **action}
    value = {"action": pressed, "trigger": "manual"}
    return activity(type="invoke", name="adaptiveCard/action", replyToId="17", value=value)


def test_a_press_brings_its_button_and_what_was_written() -> None:
    pressed = message_of(activity(text=None, value={"button": PRESSED.packed, "comment": "x"}))
    decided = press_of(invoke(data={"button": DECIDED.packed, "comment": "why?"}))
    assert pressed is not None
    assert decided is not None
    assert (pressed.button, pressed.text) == (PRESSED, None)
    assert (decided.button, decided.comment, decided.account) == (DECIDED, "why?", ALICE)


@each_row(
    "sent",
    [
        activity(type="invoke"),
        invoke(),
        *(invoke(data=value) for value in NO_DATA),
        invoke(data={"button": PRESSED.packed}),
        invoke(data={"button": DECIDED.packed}) | {"from": {}},
    ],
)
def test_an_empty_press_is_none(sent: dict[str, Any]) -> None:
    assert press_of(sent) is None


def test_a_comment_that_is_no_text_is_none() -> None:
    decided = press_of(invoke(data={"button": DECIDED.packed, "comment": ["x"]}))
    assert decided is not None
    assert decided.comment == ""


@each_row(
    ("more", "ours"),
    [
        ({}, True),
        ({"channelData": {"tenant": {"id": TENANT.upper()}}}, True),
        ({"from": {"aadObjectId": ALICE, "tenantId": TENANT}}, True),
        ({"channelData": {"tenant": {"id": ALICE}}}, False),
        ({"conversation": {**PERSONAL, "tenantId": ALICE}}, False),
        ({"from": {"aadObjectId": ALICE, "tenantId": ALICE}}, False),
        ({"from": {"aadObjectId": ALICE, "tenantId": 7}}, False),
        ({"channelData": None}, False),
        ({"channelData": {"tenant": {"id": [TENANT]}}}, False),
    ],
)
def test_guests_of_another_tenant_are_none_of_ours(more: dict[str, Any], ours: bool) -> None:
    assert is_of_tenant(TENANT, activity(**more)) is ours


@each_row(
    ("url", "connector", "store"),
    [
        ("https://smba.trafficmanager.net/emea/", True, False),
        ("https://SMBA.trafficmanager.net:443/teams", True, False),
        ("https://smba.infra.gcc.teams.microsoft.com/teams", True, False),
        ("https://house-my.sharepoint.com/x?tempauth=1", False, True),
        ("https://house.sharepoint.com:443/x", False, True),
        ("http://smba.trafficmanager.net/emea/", False, False),
        ("https://smba.trafficmanager.net:8443/", False, False),
        ("https://evil.trafficmanager.net/", False, False),
        ("https://smba.trafficmanager.net.evil.test/", False, False),
        ("https://evil.test/smba.trafficmanager.net", False, False),
        ("https://smba.trafficmanager.net@evil.test/", False, False),
        ("https://evil.test\\@smba.trafficmanager.net/", False, False),
        ("https://smba.trafficmanager.net/?to=evil", False, False),
        ("https://smba.trafficmanager.net/#x", False, False),
        ("http://house.sharepoint.com/x", False, False),
        ("https://evilsharepoint.com/x", False, False),
        ("https://sharepoint.com.evil.test/x", False, False),
        ("https://user:pw@house.sharepoint.com/x", False, False),
        ("https://house.sharepoint.com:22/x", False, False),
        ("https://[::1/x", False, False),
        ("https://smba.trafficmanager.net:x/", False, False),
        ("//smba.trafficmanager.net/", False, False),
        ("file:///etc/passwd", False, False),
        ("http://169.254.169.254/", False, False),
        ("", False, False),
    ],
)
def test_nothing_goes_but_to_microsoft(url: str, connector: bool, store: bool) -> None:
    assert (is_connector(SETTINGS, url), is_store(SETTINGS, url)) == (connector, store)


@each_row("url", ["https://gateway.test/x", "https://gateway.test/teams/y"])
def test_a_gateway_stands_for_all_of_teams(url: str) -> None:
    gateway = SETTINGS.model_copy(update={"service_url": "https://gateway.test/teams"})
    assert is_connector(gateway, url)
    assert is_store(gateway, url)
    assert not is_connector(gateway, "http://gateway.test/x")


@each_row("value", ["contoso.onmicrosoft.com", "1111", f"{APP}x", "{" + APP + "}"])
@each_row("name", ["app_id", "tenant_id"])
def test_an_id_that_no_token_has_is_refused_at_the_start(name: str, value: str) -> None:
    given = {"app_id": APP, "app_password": SecretStr("s"), "tenant_id": TENANT, name: value}
    with pytest.raises(ValidationError, match="write the id that the portal shows"):
        TeamsSettings.model_validate(given)
