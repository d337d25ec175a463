"""Messages and replies, and what a turn may cost."""

import pytest
from pydantic import ValidationError

from router.domain.budgets import Budget, Budgets, Spent
from router.domain.locale import Locale
from router.domain.messages import (
    ChoicesReply,
    ConfirmAction,
    ConfirmReply,
    FormField,
    FormReply,
    Message,
    Option,
    Reply,
    TextReply,
    Usage,
    as_plain_text,
    replies_of,
)
from tests.table import each_row


def test_messages_of_another_content_have_another_digest() -> None:
    messages = [
        Message(text="hi"),
        Message(text="hi", skill="policy-advisor"),
        Message(action=ConfirmAction(type="confirm", value=True, question="review:1")),
        Message(action=ConfirmAction(type="confirm", value=True, question="confirm:1")),
    ]
    assert len({message.digest for message in messages}) == len(messages)
    assert Message(text="hi").digest == messages[0].digest


KINDS = [Option(label="年假", value="annual"), Option(label="病假", value="sick")]


@each_row(
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
            ConfirmReply(text="请3天年假，提交吗？", summary={"类型": "年假"}, told=True),
            "zh",
            "请3天年假，提交吗？\n\n回复“确认”或“取消”。",
        ),
        (
            ConfirmReply(text="请3天年假，提交吗？", summary={"类型": "年假", "天数": "3"}),
            "zh",
            "请3天年假，提交吗？\n\n- 类型: 年假\n- 天数: 3\n\n回复“确认”或“取消”。",
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


def test_the_replies_of_a_row_are_those_that_were_given_or_its_text() -> None:
    asked = ChoicesReply(text="请什么假？", options=KINDS)
    assert replies_of({"text": "…", "replies": [asked.model_dump(mode="json")]}) == [asked]
    assert replies_of({"text": "好"}) == [TextReply(text="好")]


MUCH = Usage(llm_calls=10**9, prompt_tokens=10**9)


def spent(calls: int = 0, tokens: int = 0) -> Usage:
    return Usage(llm_calls=calls, prompt_tokens=tokens // 2, completion_tokens=tokens - tokens // 2)


@each_row(
    ("budget", "before", "tokens", "why"),
    [
        (Budget(), MUCH, 10**6, None),
        (Budget(calls=3), spent(2), 100, None),
        (Budget(calls=3), spent(3), 0, "3 of 3 calls are spent"),
        (Budget(calls=0), spent(), 0, "0 of 0 calls are spent"),
        (Budget(tokens=1000), spent(1, 900), 100, None),
        (Budget(tokens=1000), spent(1, 900), 101, "900 of 1000 tokens are spent"),
        (Budget(tokens=100), spent(1, 120), 0, "120 of 100 tokens are spent"),
    ],
)
def test_a_budget_says_why_not(budget: Budget, before: Usage, tokens: int, why: str | None) -> None:
    assert budget.why_spent(before, spent(1, tokens)) == why


def test_a_turn_has_limits_unless_told_otherwise_and_a_day_has_none() -> None:
    budgets = Budgets()
    assert budgets.turn.why_spent(MUCH) is not None
    assert not budgets.by_the_day
    assert Budgets(user=Budget(calls=0)).by_the_day
    assert Budgets(tenant=Budget(tokens=0)).by_the_day


def test_the_narrowest_day_that_is_spent_is_named() -> None:
    budgets = Budgets(user=Budget(calls=9), tenant=Budget(calls=3), day=Budget(calls=3))
    assert budgets.why_spent(Spent(spent(1), spent(2), spent(2))) is None
    tenants = ("tenant", "3 of 3 calls are spent")
    assert budgets.why_spent(Spent(spent(1), spent(3), spent(5))) == tenants
    everybodys = ("day", "5 of 3 calls are spent")
    assert budgets.why_spent(Spent(spent(1), spent(2), spent(5)), spent(1, 10)) == everybodys


@each_row("wrong", [{"turn": {"calls": -1}}, {"week": {}}, {"user": {"euros": 3}}])
def test_a_budget_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Budgets.model_validate(wrong)
