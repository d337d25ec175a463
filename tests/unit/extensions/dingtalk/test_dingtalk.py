"""What DingTalk sends and is sent: shapes as recorded, and no text that acts by itself."""

import asyncio
import json
from typing import Any
from unittest.mock import Mock

import pytest

from router.domain.errors import MisconfiguredError
from router.domain.locale import Localised
from router.domain.messages import ChoicesReply, Option, Reply, TextReply
from router.domain.text_tables import written
from router.extensions.channels.base import Button, DecisionRequest, InboundFile, Statement
from router.extensions.dingtalk import entrance
from router.extensions.dingtalk.settings import DingTalkSettings
from router.extensions.dingtalk.shapes import (
    LONGEST_CODE,
    as_markdown,
    card_of,
    has_buttons,
    message_of,
    of_company,
    press_of,
    title_of,
)
from tests.fakes.dingtalk import DingTalk, buttons
from tests.fakes.dingtalk_card import DRAWING, drawn
from tests.table import each_row
from tests.unit.extensions.channels.test_blocks import APPROVAL, ASK

HERE = DingTalk()
ACCOUNT = "manager7141"


def said(*replies: Reply) -> Statement:
    return Statement(replies, "c1", "en")


CONTENTS: dict[str, tuple[dict[str, Any], str | None, list[InboundFile]]] = {
    "words": ({"msgtype": "text", "text": {"content": " 我要请假 "}}, "我要请假", []),
    "no words": ({"msgtype": "text", "text": {}}, "", []),
    "a picture": (
        {"msgtype": "picture", "content": {"downloadCode": "d1", "pictureDownloadCode": "p1"}},
        None,
        [InboundFile("", "d1")],
    ),
    "a text with a picture": (
        {
            "msgtype": "richText",
            "content": {
                "richText": [
                    {"text": "报销 "},
                    {"type": "picture", "downloadCode": "d2", "pictureDownloadCode": "p2"},
                    {"text": "打车"},
                ]
            },
        },
        "报销 打车",
        [InboundFile("", "d2")],
    ),
    "a file": (
        {
            "msgtype": "file",
            "content": {"spaceId": "1", "fileName": "票.pdf", "downloadCode": "d3", "fileId": "2"},
        },
        None,
        [InboundFile("票.pdf", "d3")],
    ),
    "something spoken": (
        {"msgtype": "audio", "content": {"duration": 9, "downloadCode": "d", "recognition": "好"}},
        "好",
        [],
    ),
    "a film": (
        {"msgtype": "video", "content": {"duration": 9, "videoType": "mp4", "downloadCode": "d"}},
        None,
        [InboundFile("video", "")],
    ),
}


@each_row(("sent", "text", "files"), CONTENTS.values(), ids=CONTENTS)
def test_each_kind_of_message_is_read(
    sent: dict[str, Any], text: str | None, files: list[InboundFile]
) -> None:
    body = {**HERE.message(ACCOUNT), **sent}
    inbound = message_of(body)
    assert inbound is not None
    assert (inbound.text, list(inbound.files)) == (text, files)
    assert (inbound.event, inbound.account) == (body["msgId"], ACCOUNT)
    assert inbound.place == {"account": ACCOUNT}


def test_a_group_is_answered_in_the_group() -> None:
    inbound = message_of(HERE.message(ACCOUNT, "hello", group="cidG=="))
    assert inbound is not None
    assert (inbound.thread, inbound.place) == ("cidG==", {"group": "cidG=="})


ODD: list[Any] = [None, "", [], {}, 1, True, "x" * 9999]


@each_row("odd", ODD, ids=lambda odd: str(odd)[:8])
@each_row("name", ["senderStaffId", "msgId", "conversationId", "conversationType", "msgtype"])
def test_what_nobody_could_have_sent_says_nothing(name: str, odd: Any) -> None:
    assert message_of(HERE.message(ACCOUNT, "hello") | {name: odd}) is None


@each_row("chat", ["cidA;IM_ROBOT.boss", "cid A", "cid\n", "cid.b", "群"])
def test_a_chat_s_id_names_one_place(chat: str) -> None:
    assert message_of(HERE.message(ACCOUNT, "hello", group=chat)) is None


@each_row("odd", ODD, ids=lambda odd: str(odd)[:8])
@each_row("kind", ["text", "picture", "richText", "file", "audio", "video"])
def test_contents_that_are_none_bring_nothing_to_fetch(kind: str, odd: Any) -> None:
    for content in (odd, {"richText": odd, "downloadCode": odd, "recognition": [odd]}):
        body = HERE.message(ACCOUNT) | {"msgtype": kind, "text": odd, "content": content}
        inbound = message_of(body)
        assert inbound is not None
        assert all(len(file.source) <= LONGEST_CODE for file in inbound.files)
        assert not any(file.source for file in inbound.files) or isinstance(odd, str)


@each_row("name", ["chatbotCorpId", "senderCorpId", "robotCode"])
@each_row("odd", [*ODD, "dingother"], ids=lambda odd: str(odd)[:8])
def test_people_of_other_companies_and_other_robots_are_told_apart(name: str, odd: Any) -> None:
    body = HERE.message(ACCOUNT, "hello")
    assert of_company(HERE.corp, HERE.robot, body)
    assert not of_company(HERE.corp, HERE.robot, body | {name: odd})


def pressed(**params: Any) -> dict[str, Any]:
    content = {"cardPrivateData": {"actionIds": ["press"], "params": params}}
    about = {"type": "actionCallback", "outTrackId": "t1", "corpId": HERE.corp, "userId": ACCOUNT}
    return {**about, "content": json.dumps(content)}


PACKED = json.loads(card_of(said(ASK))["btns"])[0]["event"]["params"]["params"]["button"]


def test_a_press_is_another_where_it_is_delivered_at_another_time() -> None:
    first, again, later = (press_of(pressed(button=PACKED), at) for at in ("1", "1", "2"))
    assert first is not None and again is not None and later is not None  # noqa: PT018
    assert first[0].event == again[0].event != later[0].event
    assert (first[1], first[0].place) == ("t1", {"account": ACCOUNT})


@each_row(
    "body",
    [
        {},
        {"content": "["},
        {"content": "[" * 5000},
        {"content": "null"},
        {"content": 7},
        pressed(),
        pressed(button=None),
        pressed(button="{}x"),
        pressed(button={"pressed": 1}),
        pressed(button=PACKED) | {"userId": None},
        pressed(button=PACKED) | {"userId": ["a"]},
        pressed(button=PACKED) | {"outTrackId": ""},
        pressed(button=PACKED) | {"outTrackId": "x" * 9999},
    ],
    ids=lambda body: str(body)[:30],
)
def test_a_press_of_nothing_does_nothing(body: dict[str, Any]) -> None:
    assert press_of(body, "1") is None


def test_buttons_are_those_that_need_no_dialog() -> None:
    fields = card_of(said(ASK))
    row = buttons({"content": fields})
    assert [(each["text"], each["color"]) for each in row] == [
        ("Confirm", "blue"),
        ("Not right", "gray"),
    ]
    assert fields["content"] == "File it?\n\nDays: 3"
    assert all(isinstance(value, str) for value in fields.values())


def test_an_approver_decides_on_what_is_shown_and_returns_it_with_a_word() -> None:
    fields = card_of(DecisionRequest(APPROVAL, "Alice", "en"))
    assert fields["title"] == "For your approval: Leave"
    assert fields["content"] == "Requested by: Alice\n\nDays: three days"
    row = buttons({"content": fields})
    packed = [each["event"]["params"]["params"]["button"] for each in row]
    decisions = [Button.model_validate_json(p).decision for p in (*packed, fields["returning"])]
    assert [(d.approval, d.digest, d.verdict) for d in decisions if d] == [
        ("a1", "d1", verdict) for verdict in ("approve", "reject", "return")
    ]


def test_a_decided_card_has_nothing_to_press() -> None:
    fields = card_of(DecisionRequest(APPROVAL, "Alice", "en", "✅ approved"))
    assert (fields["btns"], fields["returning"], fields["status"]) == ("[]", "", "✅ approved")
    assert set(fields) == set(card_of(said(ASK)))


def test_only_what_can_be_answered_by_a_button_is_a_card() -> None:
    choices = ChoicesReply(text="Which?", options=[Option(label="A", value="a")])
    assert [has_buttons(each) for each in (said(choices), said(TextReply(text="x")))] == [
        True,
        False,
    ]
    assert title_of(said(TextReply(text="first\nsecond"))) == "first"
    assert len(title_of(said(TextReply(text="x" * 999)))) <= 60


@each_row(
    ("text", "shown"),
    [
        ("one\ntwo", "one  \ntwo"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("Left:\n- annual: 12\n- sick: 5\nAll.", "Left:\n\n- annual: 12\n- sick: 5\n\nAll."),
        ("1. a\n2. b", "1. a\n2. b"),
        ("[bank](https://evil.test)", "[bank]（https://evil.test)"),
        ("![x] (https://evil.test/p.png)", "![x] （https://evil.test/p.png)"),
        ("<font color=red>x</font>", "＜font color=red>x＜/font>"),
        ("# heading\n> quoted\n---\n|a|", "\\# heading  \n\\> quoted  \n\\---  \n\\|a|"),
        ("*bold* `code` ~~gone~~ _it_", "\\*bold\\* \\`code\\` \\~\\~gone\\~\\~ \\_it\\_"),
        ("file_name_1.pdf -5 #1", "file_name_1.pdf -5 #1"),
        ("Reason: rent\n    Amount: 1", "Reason: rent  \n\u00a0\u00a0\u00a0\u00a0Amount: 1"),
        ("\\[a](b)", "\\\\[a]（b)"),
    ],
)  # fmt: skip
def test_a_text_is_lines_and_lists_and_nothing_else(text: str, shown: str) -> None:
    assert as_markdown(text) == shown


def test_a_table_is_a_list() -> None:
    table = written(["kind", "left", "in all"], [["annual", "12", "15"], ["sick", "5", "5"]])
    post = said(TextReply(text=f"Left:\n{table}"), ASK)
    assert "- annual: left 12, in all 15\n- sick: left 5, in all 5" in card_of(post)["content"]


def test_a_reason_makes_no_field() -> None:
    forged = {"reason": Localised(zh="x", en="rent\n\nAmount: ¥1")}
    labels = {"reason": Localised(zh="x", en="Reason")}
    record = APPROVAL.model_copy(update={"summary": forged, "labels": labels})
    fields = card_of(DecisionRequest(record, "Alice", "en"))
    assert not any(line.startswith("Amount") for line in fields["content"].split("\n"))


def test_the_drawing_of_the_page_is_the_card_as_it_is_made() -> None:
    remedy = "run: python -m tests.fakes.dingtalk_card"
    assert DRAWING.read_text(encoding="utf-8") == drawn(), remedy


WHOLE = {"APP_KEY": "k", "APP_SECRET": "s", "CORP_ID": "c", "CARD_TEMPLATE_ID": "t"}


@pytest.mark.parametrize(
    ("variables", "wrong"),
    [
        ({**WHOLE}, "ROUTER_DINGTALK_PUBLIC_URL isn't set"),
        ({**WHOLE, "PUBLIC_URL": "desk"}, "http"),
        ({**WHOLE, "MODE": "socket"}, "http"),
        ({"APP_KEY": "k"}, "ROUTER_DINGTALK_APP_SECRET isn't set"),
    ],
)
def test_half_a_configuration_is_refused_and_says_what_is_missing(
    variables: dict[str, str], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"ROUTER_DINGTALK_{name}", value)
    with pytest.raises(MisconfiguredError, match=wrong):
        DingTalkSettings.load()


def test_by_the_stream_no_address_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**WHOLE, "MODE": "stream"}.items():
        monkeypatch.setenv(f"ROUTER_DINGTALK_{name}", value)
    settings = DingTalkSettings.load()
    assert (settings.is_complete, settings.robot) == (True, "k")


class Pushing:
    """A connection that brings more and more, and what is said by it."""

    def __init__(self, frames: int) -> None:
        self.left, self.said = frames, list[str]()

    def __aiter__(self) -> "Pushing":
        return self

    async def __anext__(self) -> str:
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        headers = {"messageId": str(self.left), "topic": entrance.MESSAGE_TOPIC}
        data = {"conversationId": f"c{self.left}"}
        return json.dumps({"headers": headers, "data": json.dumps(data)})

    async def send(self, said: str) -> None:
        self.said.append(said)


async def test_of_what_the_stream_brings_a_bounded_number_is_under_way() -> None:
    released, most = asyncio.Event(), 0
    under_way = set[asyncio.Task[None]]()

    async def heard(_: Any) -> None:
        nonlocal most
        most = max(most, len(under_way))
        await released.wait()

    stream = entrance._Stream(Mock(heard=heard), Mock(), OSError)
    socket = Pushing(3 * entrance.MOST_AT_ONCE)
    reading = asyncio.create_task(stream._read(socket, under_way))
    for _ in range(10 * entrance.MOST_AT_ONCE):
        await asyncio.sleep(0)
    assert socket.left >= 2 * entrance.MOST_AT_ONCE - 1
    released.set()
    await reading
    await asyncio.gather(*under_way)
    assert len(socket.said) == 3 * entrance.MOST_AT_ONCE
    assert most <= entrance.MOST_AT_ONCE
