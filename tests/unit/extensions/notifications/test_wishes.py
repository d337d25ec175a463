"""Wishes about being written to, as people say them in both languages."""

from typing import Any

import pytest

from router.domain.errors import InvalidInput
from router.domain.principals import Principal
from router.entities.normalisation import normalise
from router.extensions.notifications.preferences import USUAL, NotificationPreferences, QuietHours
from router.extensions.notifications.tools.own_settings import (
    change_notification_settings,
    get_notification_settings,
)
from router.extensions.notifications.wishes import checked, wished
from router.understanding.triggers.patterns import PhraseIndex, ToolPhrases
from tests.table import each_row

BOB = Principal(id="bob", name="Bob")
THEIRS = ["feishu", "mail", "slack"]
PHRASES = PhraseIndex(
    ToolPhrases(tool=each.name, title=each.title, phrases=each.phrases)
    for each in (change_notification_settings, get_notification_settings)
)


def quiet(begins: str, ends: str) -> dict[str, Any]:
    return {"quiet": QuietHours(begins=begins, ends=ends)}


def tools_of(text: str) -> list[str]:
    found = PHRASES.find(normalise(text), frozenset({"employee"}))
    return [match.hit.flow for match in found]


WISHES: list[tuple[str, dict[str, Any]]] = [
    ("don't write to me after 19:00", quiet("19:00", "09:00")),
    ("Don’t message me after 9 p.m. please", quiet("21:00", "09:00")),
    ("晚上七点以后别给我发消息", quiet("19:00", "09:00")),
    ("19:00后别提醒我", quiet("19:00", "09:00")),
    ("晚上10点到早上8点别打扰我", quiet("22:00", "08:00")),
    ("don't remind me between 22:00 and 7:30", quiet("22:00", "07:30")),
    ("9点前别打扰我", quiet("18:00", "09:00")),
    ("don't email me before 8:30", quiet("18:00", "08:30")),
    ("don't write to me after 19:00 or on weekends", quiet("19:00", "09:00") | {"days_off": False}),
    ("随时都可以通知我", {"quiet": "never"}),
    ("remind me any time", {"quiet": "never"}),
    ("下班后别打扰我", {"quiet": None}),
    ("周末别打扰我", {"days_off": False}),
    ("周末和节假日不要给我发消息", {"days_off": False}),
    ("don't write to me on weekends", {"days_off": False}),
    ("周末也可以提醒我", {"days_off": True}),
    ("you can write to me on my days off too", {"days_off": True}),
    ("审批发邮件给我", {"channels": ("mail",)}),
    ("提醒走飞书和邮件", {"channels": ("feishu", "mail")}),
    ("write to me by mail and Slack", {"channels": ("mail", "slack")}),
    ("send approvals to me by mail", {"channels": ("mail",)}),
    ("审批不要发邮件", {"channels": ("feishu", "slack")}),
    ("don't send me approvals on Slack", {"channels": ("feishu", "mail")}),
    ("send me a daily digest at 9:00", {"digest": "09:00"}),
    ("每天早上八点半给我发一封汇总邮件", {"digest": "08:30"}),
    ("不要发每日汇总", {"digest": None}),
    ("no daily digest", {"digest": None}),
    ("申请有进展发邮件给我", {"news": True}),
    ("mail me news of my requests", {"news": True}),
]


@each_row(("text", "changes"), WISHES)
def test_a_wish_changes_what_it_names_and_nothing_else(text: str, changes: dict[str, Any]) -> None:
    before = NotificationPreferences(quiet="never", requests_wait=True)
    assert tools_of(text) == ["change_notification_settings"]
    assert wished(text, before, BOB, THEIRS) == before.model_copy(update=changes)


@each_row(
    "text",
    [
        "what are my notification settings?",
        "我的通知设置是什么",
        "我的通知设置",
        "my quiet hours",
        "when do you write to me?",
    ],
)
def test_settings_are_asked_for(text: str) -> None:
    assert tools_of(text) == ["get_notification_settings"]


@each_row(
    "text",
    [
        "提醒我明天开会",
        "给我发发票",
        "别打扰我了",
        "周末加班怎么算",
        "帮我写封邮件",
        "send an email to bob",
        "remind my manager to approve my leave",
        "我要请假，周末别忘了提醒我",
        "晚上七点以后还有会议室吗",
        "don't approve it",
    ],
)
def test_what_means_something_else_is_left_to_others(text: str) -> None:
    assert tools_of(text) == []


@each_row(
    "text",
    [
        "",
        "hello",
        "别发了",
        "七点",
        "19:00",
        "mail" * 0 + "?",
        "don't write to me",
        "\u202e",
        "x" * 300,
    ],
)
def test_what_names_nothing_changes_nothing_and_says_what_can_be_said(text: str) -> None:
    with pytest.raises(InvalidInput, match="don't write to me after 19:00"):
        wished(text, USUAL, BOB, THEIRS)


def test_a_channel_that_is_nobody_s_of_theirs_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no mail account"):
        wished("审批发邮件给我", USUAL, BOB, ["slack"])
    for wishes in ({"digest": "09:00"}, {"news": True}, {"channels": ("mail",)}):
        with pytest.raises(InvalidInput, match="no mail account"):
            checked(NotificationPreferences.model_validate(wishes), [])


def test_of_all_channels_one_is_left() -> None:
    only = NotificationPreferences(channels=("mail",))
    with pytest.raises(InvalidInput):
        wished("审批不要发邮件", only, BOB, THEIRS)


def test_a_digest_within_quiet_hours_is_refused() -> None:
    night = NotificationPreferences(quiet=QuietHours(begins="19:00", ends="08:00"))
    with pytest.raises(InvalidInput, match="07:30"):
        wished("send me a daily digest at 7:30", night, BOB, THEIRS)
    assert wished("send me a daily digest at 8:00", night, BOB, THEIRS).digest == "08:00"
