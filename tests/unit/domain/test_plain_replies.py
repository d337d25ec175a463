"""Replies as text that can be answered by text."""

import pytest

from router.domain.locale import Locale
from router.domain.messages import (
    ChoicesReply,
    ConfirmReply,
    FormField,
    FormReply,
    Option,
    Reply,
    TextReply,
    as_plain_text,
    replies_of,
)

KINDS = [Option(label="年假", value="annual"), Option(label="病假", value="sick")]


@pytest.mark.parametrize(
    ("reply", "locale", "text"),
    [
        (TextReply(text="好"), "zh", "好"),
        (ChoicesReply(text="请什么假？", options=KINDS), "zh", "请什么假？\n\n1. 年假\n2. 病假"),
        (
            ConfirmReply(text="Hand it in?", summary={"From": "1 Dec", "To": "2 Dec"}),
            "en",
            "Hand it in?\n\n- From: 1 Dec\n- To: 2 Dec\n\nAnswer “yes” or “no”.",
        ),
        (
            ConfirmReply(text="请3天年假，提交吗？", summary={"类型": "年假", "天数": "3"}),
            "zh",
            "请3天年假，提交吗？\n\n回复“确认”或“取消”。",
        ),
        (
            ConfirmReply(text="On 3 Dec?", summary={"From": "3 Dec", "To": "3 Dec"}),
            "en",
            "On 3 Dec?\n\n- From: 3 Dec\n- To: 3 Dec\n\nAnswer “yes” or “no”.",
        ),
        (ConfirmReply(text="提交吗？", summary={}), "zh", "提交吗？\n\n回复“确认”或“取消”。"),
        (
            FormReply(
                text="请填写：",
                fields=[
                    FormField(name="kind", type="choice", label="类型", options=KINDS),
                    FormField(name="note", type="text", label="备注", required=False),
                ],
            ),
            "zh",
            "请填写：\n\n- 类型 (必填): 年假 / 病假\n- 备注",
        ),
        (
            FormReply(text="Until?", fields=[FormField(name="end", type="date", label="Until")]),
            "en",
            "Until?",
        ),
        (
            FormReply(text="收据呢？", fields=[FormField(name="r", type="file", label="收据")]),
            "zh",
            "收据呢？\n\n请附上图片或 PDF。",
        ),
        (FormReply(text="Nothing?", fields=[]), "en", "Nothing?"),
    ],
)
def test_a_reply_is_asked_in_text(reply: Reply, locale: Locale, text: str) -> None:
    assert as_plain_text([reply], locale) == text


def test_several_replies_are_paragraphs_and_empty_ones_are_none() -> None:
    replies = [TextReply(text="one"), TextReply(text=""), TextReply(text="two")]
    assert as_plain_text(replies, "en") == "one\n\ntwo"


def test_the_replies_of_a_row_are_those_that_were_given() -> None:
    asked = ChoicesReply(text="请什么假？", options=KINDS)
    assert replies_of({"text": "…", "replies": [asked.model_dump(mode="json")]}) == [asked]


def test_a_row_without_replies_is_its_text() -> None:
    assert replies_of({"text": "好"}) == [TextReply(text="好")]
