"""WeCom's own shapes: what its callbacks say, and texts and cards within its limits."""

import doctest
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from router.documents.file_format import FileReading
from router.documents.xml_tree import parsed
from router.domain.locale import Localised
from router.domain.messages import (
    ChoicesReply,
    ChooseAction,
    ConfirmReply,
    FormField,
    FormReply,
    Option,
    Reply,
    TextReply,
)
from router.domain.records import ApprovalRecord
from router.extensions.channels import worded_return
from router.extensions.channels.base import (
    Button,
    CardDecision,
    DecisionRequest,
    Inbound,
    InboundFile,
    Statement,
)
from router.extensions.wecom.callbacks import message_of, press_of, robot_message_of
from router.extensions.wecom.settings import WecomSettings
from router.extensions.wecom.template_cards import MOST_TEXT, decision_card, messages, texts
from tests.fakes.wecom import Body, card_of, labels
from tests.table import each_row

WHO = (
    "<ToUserName><![CDATA[ww1]]></ToUserName><FromUserName><![CDATA[zhangsan]]></FromUserName>"
    "<CreateTime>1348831860</CreateTime><AgentID>1000002</AgentID>"
)
FROM = ("zhangsan", "zhangsan", {"account": "zhangsan"})


def sent(kind: str, **fields: str) -> str:
    """A message as it is recorded, with these fields of its kind."""
    named = "".join(f"<{name}><![CDATA[{value}]]></{name}>" for name, value in fields.items())
    return f"{WHO}<MsgType><![CDATA[{kind}]]></MsgType>{named}<MsgId>1234567890123456</MsgId>"


def read(body: str) -> Inbound | None:
    callback = parsed(f"<xml>{body}</xml>".encode(), FileReading())
    return message_of(callback) or press_of(callback)


def said(text: str) -> Inbound:
    return Inbound("1234567890123456", *FROM, text=text, direct=True)


def attached(name: str, source: str) -> Inbound:
    return Inbound("1234567890123456", *FROM, files=(InboundFile(name, source),), direct=True)


RECORDED: dict[str, tuple[str, Inbound]] = {
    "words": (sent("text", Content="我要请假"), said("我要请假")),
    "words that look like markup": (sent("text", Content="<b>&amp;"), said("<b>&amp;")),
    "words of two lines": (sent("text", Content="a\r\nb "), said("a\nb")),
    "no words": (sent("text", Content=""), said("")),
    "a picture": (
        sent("image", PicUrl="https://evil.test/x.png", MediaId="m-1_A"),
        attached("", "m-1_A"),
    ),
    "a file": (sent("file", FileName="打车.pdf", MediaId="m2"), attached("打车.pdf", "m2")),
    "a file by its title": (sent("file", Title="a.pdf", MediaId="m2"), attached("a.pdf", "m2")),
    "a recording": (sent("voice", MediaId="m3", Format="amr"), attached("voice", "")),
    "a film": (sent("video", MediaId="m4", ThumbMediaId="m5"), attached("video", "")),
    "where somebody is": (sent("location", Location_X="23.1", Label="x"), attached("location", "")),
    "a link": (sent("link", Title="x", Url="https://evil.test"), attached("link", "")),
}


@each_row(("body", "meant"), RECORDED.values(), ids=RECORDED)
def test_a_message_is_what_somebody_said_or_attached(body: str, meant: Inbound) -> None:
    assert read(body) == meant


EVENT = f"{WHO}<MsgType>event</MsgType>"
LEFT_ALONE = {
    "nothing": "",
    "no kind": WHO,
    "a kind that nobody knows": sent("sticker", MediaId="m"),
    "a file that is nowhere": sent("file", FileName="a.pdf"),
    "a file of an endless id": sent("file", MediaId="m" * 513),
    "no id": sent("text", Content="x").replace("1234567890123456", ""),
    "an endless id": sent("text", Content="x").replace("1234567890123456", "1" * 101),
    "nobody": sent("text", Content="x").replace("zhangsan", ""),
    "everybody": sent("text", Content="x").replace("zhangsan", "@all"),
    "several": sent("text", Content="x").replace("zhangsan", "zhangsan|lisi"),
    "an endless name": sent("text", Content="x").replace("zhangsan", "z" * 101),
    "of no app": sent("text", Content="x").replace("1000002", ""),
    "somebody comes": f"{EVENT}<Event>subscribe</Event>",
    "somebody looks": f"{EVENT}<Event>enter_agent</Event><EventKey></EventKey>",
    "somebody is there": f"{EVENT}<Event>LOCATION</Event><Latitude>23.1</Latitude>",
    "the company changes": f"{EVENT}<Event>change_contact</Event>",
    "a press that isn't ours": f"{EVENT}<Event>template_card_event</Event><EventKey>1</EventKey>",
    "a card's menu": f"{EVENT}<Event>template_card_menu_event</Event><EventKey>{'{}'}</EventKey>",
    "a name within a name": sent("text", Content="x").replace("<![CDATA[zhangsan]]>", "<a>z</a>"),
}


@each_row("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_everything_else_is_left_alone(body: str) -> None:
    assert read(body) is None


DECISION = Button(decision=CardDecision(approval="a1", digest="d1", verdict="approve"))
PRESS = (
    f"{EVENT}<Event><![CDATA[template_card_event]]></Event>"
    f"<EventKey><![CDATA[{DECISION.packed}]]></EventKey><TaskId><![CDATA[t_0]]></TaskId>"
    "<CardType><![CDATA[button_interaction]]></CardType>"
    "<ResponseCode><![CDATA[code]]></ResponseCode>"
)


def test_a_press_is_one_however_often_it_is_delivered() -> None:
    first, again = read(PRESS), read(PRESS.replace("[code]", "[another]"))
    assert first == again
    assert first is not None
    assert (first.button, first.account, first.text) == (DECISION, "zhangsan", None)
    others = (("t_0", "t_1"), ("1348831860", "1348831861"), ("zhangsan", "lisi"), ("a1", "a2"))
    events = {found.event for one in others if (found := read(PRESS.replace(*one)))}
    assert len(events | {first.event}) == 5


@each_row("key", ["", "abc", "x" * 42, "x" * 44, "x" * 42 + "=", "密" * 43, "x" * 43 + "\n"])
def test_a_key_that_is_none_is_refused_without_being_repeated(key: str) -> None:
    known: dict[str, Any] = {"corp_id": "c", "agent_id": 1, "secret": "s", "token": "t"}
    with pytest.raises(ValidationError) as refused:
        WecomSettings(**known, encoding_aes_key=key)
    assert not key or key not in str(refused.value)


def told(*replies: Reply) -> list[Body]:
    return messages(Statement(replies, "c1", "zh"), "key")


def contents(posts: list[Body]) -> list[str]:
    return [post["text"]["content"] for post in posts if "text" in post]


def test_a_question_stands_on_the_card_with_what_answers_it() -> None:
    options = [Option(label=label, value=label) for label in ("年假", "病假")]
    (post,) = told(ChoicesReply(text="想请什么假？", options=options, question="q"))
    card = card_of(post)
    assert (card["main_title"], labels(post)) == ({"title": "想请什么假？"}, ["年假", "病假"])
    pressed = [Button.model_validate_json(each["key"]).pressed for each in card["button_list"]]
    chosen = [ChooseAction(type="choose", value=v, question="q") for v in ("年假", "病假")]
    assert [each and each.action for each in pressed] == chosen
    assert (post["msgtype"], card["card_type"]) == ("template_card", "button_interaction")


def test_what_comes_before_the_question_is_a_text() -> None:
    text, card = told(ConfirmReply(text="请确认：\n年假 2 天\n提交吗？", summary={}, question="q"))
    assert contents([text]) == ["请确认：\n年假 2 天"]
    assert card_of(card)["main_title"] == {"title": "提交吗？"}
    assert labels(card) == ["确认", "不对，要改"]


def test_short_fields_stand_on_the_card_and_long_ones_in_a_text() -> None:
    short = ConfirmReply(text="提交吗？", summary={"天数": "2"}, question="q")
    long = short.model_copy(update={"summary": {"事由": "家里有事" * 9}})
    (card,) = told(short)
    text, bare = told(long)
    assert card_of(card)["horizontal_content_list"] == [{"keyname": "天数", "value": "2"}]
    assert contents([text]) == ["提交吗？\n事由: " + "家里有事" * 9]
    assert "horizontal_content_list" not in card_of(bare)
    assert card_of(bare)["main_title"] == {"title": "请选择："}


IN_WORDS: dict[str, Reply] = {
    "too many": ChoicesReply(text="?", options=[Option(label=str(n), value=n) for n in range(7)]),
    "too long a label": ChoicesReply(text="?", options=[Option(label="年" * 11, value=1)]),
    "too much in a button": ChoicesReply(text="?", options=[Option(label="1", value="x" * 1024)]),
    "two that are one": ChoicesReply(text="?", options=[Option(label=n, value=1) for n in "ab"]),
    "nothing to press": TextReply(text="好的"),
    "a form": FormReply(text="?", fields=[FormField(name="a", type="date", label="开始")]),
}


@each_row("reply", IN_WORDS.values(), ids=IN_WORDS)
def test_what_no_card_can_carry_is_said_in_words(reply: Reply) -> None:
    (post,) = told(reply)
    assert post["msgtype"] == "text"
    if isinstance(reply, ChoicesReply):
        assert all(option.label in post["text"]["content"] for option in reply.options)


def test_cards_of_one_post_are_told_apart_and_called_the_same_again() -> None:
    ask = ConfirmReply(text="吗？", summary={}, question="q")
    tasks = [card_of(post)["task_id"] for post in told(ask, ask)]
    assert tasks == [card_of(post)["task_id"] for post in told(ask, ask)] == ["key_0", "key_1"]


LONG = {
    "a line": "x" * 5000,
    "Chinese": "年" * 3000,
    "emoji": "😀" * 1500,
    "lines": "\n".join(["一行字" * 20] * 60),
    "one line and a long one": "a\n" + "b" * 4000,
    "half a letter": "\ud800" * 3000,
}


@each_row("text", LONG.values(), ids=LONG)
def test_a_long_text_is_cut_into_several_and_loses_nothing(text: str) -> None:
    cut = contents(list(texts(text)))
    assert all(0 < len(each.encode("utf-8", "replace")) <= MOST_TEXT for each in cut)
    assert "".join(cut).replace("\n", "") == text.replace("\n", "")
    assert "\n".join(cut) == text or "\n" not in text or "b" in text


@each_row(
    "hostile",
    ['<a href="https://evil.test">银行</a>', "<A\thref=x>", "< a href=x>", "<\n/a>", "</a>"],
)
def test_nobody_writes_a_link_under_another_name(hostile: str) -> None:
    (post,) = texts(hostile)
    assert "<" not in post["text"]["content"]
    assert contents([post]) == [hostile.replace("<", "＜")]


@each_row("harmless", ["3 < 5", "<b>", "a<abc", "<&>", "List<Article>"])
def test_other_signs_are_left_as_they_are(harmless: str) -> None:
    assert contents(list(texts(harmless))) == [harmless]


def approval(**values: str) -> ApprovalRecord:
    return ApprovalRecord(
        id="a1",
        tenant="t",
        run="r1",
        workflow_id="w",
        flow="leave",
        person="bob",
        requester="alice",
        title=Localised(zh="年假 3 天", en="Leave"),
        summary={name: Localised(zh=value, en=value) for name, value in values.items()},
        labels={name: Localised(zh=name, en=name) for name in values},
        digest="d1",
        since=datetime(2026, 11, 22, tzinfo=UTC),
    )


def wanted(**values: str) -> DecisionRequest:
    return DecisionRequest(approval(**values), "小艾", "zh")


def test_an_approver_decides_on_what_the_card_shows() -> None:
    (post,) = messages(wanted(天数="3"), "key")
    card = card_of(post)
    assert card["main_title"] == {"title": "请审批：年假 3 天"}
    shown = [(each["keyname"], each["value"]) for each in card["horizontal_content_list"]]
    assert shown == [("申请人", "小艾"), ("天数", "3")]
    decisions = [Button.model_validate_json(each["key"]).decision for each in card["button_list"]]
    assert [(d.approval, d.digest, d.verdict) for d in decisions if d] == [
        ("a1", "d1", verdict) for verdict in ("approve", "reject", "return")
    ]


TOO_MUCH: dict[str, dict[str, str]] = {
    "many": {f"第{n}": "x" for n in range(6)},
    "a long label": {"六个字的名字啊": "x"},
    "a long value": {"事由": "家" * 27},
    "two lines": {"事由": "rent\n金额: 1"},
}


@each_row("values", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_a_card_would_cut_stands_whole_in_the_text_before_it(values: dict[str, str]) -> None:
    text, card = messages(wanted(**values), "key")
    (content,) = contents([text])
    for label, value in values.items():
        assert f"\n{label}: " + value.replace("\n", "\n    ") in content
    assert "horizontal_content_list" not in card_of(card)
    assert labels(card) == ["同意", "拒绝", "退回修改"]


def test_in_english_the_text_has_it_all_and_the_card_the_buttons() -> None:
    text, card = messages(DecisionRequest(approval(Days="3"), "Alice", "en"), "key")
    assert contents([text]) == ["For your approval: Leave\nRequested by: Alice\nDays: 3"]
    assert card_of(card)["main_title"] == {"title": "For your approval: Leave"}
    assert labels(card) == ["Approve", "Reject", "Return"]


def test_a_decided_card_says_so_and_can_not_be_pressed() -> None:
    done = DecisionRequest(approval(天数="3"), "小艾", "zh", "✅ 已同意")
    card = decision_card(done)
    assert (card["sub_title_text"], card["replace_text"]) == ("✅ 已同意", "已处理")
    assert card["main_title"] == {"title": "请审批：年假 3 天"}
    assert labels({"template_card": card}) == []


def test_a_card_s_texts_turn_nothing_round() -> None:
    (post,) = messages(wanted(事由="a\u202eb", 金额="שלום"), "key")
    assert "\u202e" not in json.dumps(post, ensure_ascii=False)
    assert "\u2068שלום\u2069" in json.dumps(post, ensure_ascii=False)


NUMBER = worded_return.number_of("a1", "d1")
WORDS: dict[str, tuple[str, str | None]] = {
    "with a blank": (f"退回 #{NUMBER} 改到周三", "改到周三"),
    "without": (f"退回#{NUMBER}改到周三", "改到周三"),
    "as Chinese keyboards type it": (f" 退回 ＃{NUMBER.upper()}：改到周三\n谢谢", "改到周三\n谢谢"),
    "in English": (f"Return #{NUMBER}, make it Wednesday", "make it Wednesday"),
    "with what nobody sees": (f"退回 #{NUMBER} a\u200bb", "ab"),
    "without words": (f"退回 #{NUMBER} ", ""),
    "without a number": ("退回 改到周三", None),
    "with a longer number": (f"退回 #{NUMBER}2 x", None),
    "with half a number": ("退回 #ab 改", None),
    "in a sentence": (f"请退回 #{NUMBER} x", None),
    "another wish": ("return policy", None),
    "nothing": ("", None),
}


@each_row(("text", "comment"), WORDS.values(), ids=WORDS)
def test_words_return_by_a_number(text: str, comment: str | None) -> None:
    found = worded_return.read(text)
    assert (found and found.comment) == comment
    assert found is None or found.number == NUMBER


def test_a_number_stands_for_exactly_what_was_shown() -> None:
    numbers = {worded_return.number_of(a, d) for a in ("a1", "a2") for d in ("d1", "d2")}
    assert len(numbers) == 4
    assert doctest.testmod(worded_return).failed == 0


def robot(**more: Any) -> Body:
    """A callback of the robot's as it is recorded, of a group."""
    about = {"msgid": "CAIQ1", "aibotid": "AIB1", "chatid": "wr1", "chattype": "group"}
    url = "https://qyapi.weixin.qq.com/cgi-bin/aibot/response?response_code=c-1%3D"
    said = {"msgtype": "text", "text": {"content": "@Desk 我要请假"}}
    return {**about, "from": {"userid": "lisi"}, "response_url": url, **said, **more}


ALONE = {"chattype": "single", "chatid": None}
PICTURE = {"msgtype": "image", "image": {"url": "https://evil.test/x"}}
MIXED = {"msg_item": [{"msgtype": "text", "text": {"content": "@Desk 收据"}}, PICTURE, 7]}
HEARD: dict[str, tuple[dict[str, Any], tuple[str, str, bool]]] = {
    "in a group": ({}, ("wr1", "我要请假", False)),
    "alone": (ALONE, ("robot", "@Desk 我要请假", False)),
    "spoken": (
        {**ALONE, "msgtype": "voice", "voice": {"content": "查年假"}},
        ("robot", "查年假", False),
    ),
    "with pictures": ({"msgtype": "mixed", "mixed": MIXED}, ("wr1", "收据", True)),
    "a picture": ({**ALONE, **PICTURE}, ("robot", "", True)),
    "a file": ({**ALONE, "msgtype": "file", "file": {"url": "https://x"}}, ("robot", "", True)),
    "nothing but its name": ({"text": {"content": "@Desk"}}, ("wr1", "", False)),
    "no name": ({"text": {"content": "请假 @Desk"}}, ("wr1", "请假 @Desk", False)),
    "no words": ({"text": {"content": None}}, ("wr1", "", False)),
}


@each_row(("more", "meant"), HEARD.values(), ids=HEARD)
def test_a_robot_hears_what_it_is_told(more: dict[str, Any], meant: tuple[str, str, bool]) -> None:
    found = robot_message_of(robot(**more))
    assert found is not None
    assert (found.inbound.thread, found.inbound.text, found.has_files) == meant
    assert (found.inbound.event, found.inbound.account) == ("CAIQ1", "lisi")
    assert found.inbound.place == {"account": "lisi", "code": "c-1="}


@each_row(
    "url", [None, 7, "", "x", "https://evil.test/?code=1", "https://x/?response_code=" + "c" * 513]
)
def test_a_robot_without_a_code_can_not_answer_in_the_group(url: object) -> None:
    found = robot_message_of(robot(response_url=url))
    assert found is not None
    assert found.inbound.place == {"account": "lisi"}


UNHEARD: dict[str, dict[str, Any]] = {
    "somebody comes": {"msgtype": "event", "event": {"eventtype": "enter_chat"}},
    "a card of another's": {"msgtype": "event", "event": {"eventtype": "template_card_event"}},
    "an answer is asked for again": {"msgtype": "stream", "stream": {"id": "s"}},
    "nothing in it": {"msgtype": "mixed", "mixed": {"msg_item": []}},
    "mixed with nothing": {"msgtype": "mixed", "mixed": 7},
    "no kind": {"msgtype": None},
    "a kind that is none": {"msgtype": ["text"]},
    "nobody": {"from": {}},
    "nobody at all": {"from": None},
    "an endless name": {"from": {"userid": "z" * 101}},
    "no id": {"msgid": ""},
    "an id that is none": {"msgid": {"a": 1}},
    "nowhere": {"chatid": None},
}


@each_row("more", UNHEARD.values(), ids=UNHEARD)
def test_a_robot_leaves_everything_else_alone(more: dict[str, Any]) -> None:
    assert robot_message_of(robot(**more)) is None
    assert robot_message_of({}) is None


@each_row("half", ["robot_token", "robot_encoding_aes_key"])
def test_half_a_robot_is_refused(half: str) -> None:
    given: dict[str, Any] = {half: "K" * 43}
    with pytest.raises(ValidationError) as refused:
        WecomSettings(**given)
    assert "ROUTER_WECOM_ROBOT_TOKEN" in str(refused.value)
    assert "K" * 43 not in str(refused.value)
