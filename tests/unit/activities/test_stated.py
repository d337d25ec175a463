from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from router.flow.prompts.question import view
from router.flow.view import FlowView
from router.routing.tool_form import form_of
from router.tool.tool import tool
from router.understanding.grounding import changed, stated
from tests.unit.flow.world import World

FLOWS = Path(__file__).parents[3] / "flows"
NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
LEAVE = load_flow(FLOWS / "leave_request.yaml")
CLAIM = load_flow(FLOWS / "reimbursement.yaml").slots


STATED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "days that the model worked out give way to those that rules read": (
        "下周一到周三年假",
        {"start": "2026-11-24", "end": "2026-11-30"},
        {"start": "2026-11-23", "end": "2026-11-25", "leave_type": "annual"},
    ),
    "a last day that nobody named is not guessed": (
        "明天请病假",
        {"start": "2026-11-18", "end": "2026-11-18"},
        {"start": "2026-11-19", "end": None},
    ),
    "days that rules can't read are the model's to work out": (
        "the two days right after our launch",
        {"start": "2026-12-26", "end": "2026-12-27"},
        {"start": "2026-12-26", "end": "2026-12-27"},
    ),
    "the message's own words are the model's to choose": (
        "周五回来，下周一请假",
        {"start": "下周一"},
        {"start": "2026-11-23"},
    ),
    "what rules can't read is the model's, and free text always is": (
        "孩子发烧，周四来不了",
        {"leave_type": "personal", "reason": "孩子发烧"},
        {"leave_type": "personal", "reason": "孩子发烧", "start": "2026-11-19"},
    ),
    "a choice that the message names is that choice": (
        "孩子发烧，周四请个病假",
        {"leave_type": "personal"},
        {"leave_type": "sick"},
    ),
    "nothing to read": ("来不了", {"reason": "牙疼"}, {"reason": "牙疼"}),
    "no words at all": ("", {"start": "2026-12-01"}, {"start": "2026-12-01"}),
}


@pytest.mark.parametrize(("text", "given", "expected"), STATED.values(), ids=STATED)
def test_leave_starts_as_stated(text: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = stated(LEAVE.slots, given, text, NOW)
    assert {name: found.get(name) for name in expected} == expected


def test_items_have_what_rules_read_and_what_only_the_model_knows() -> None:
    given: dict[str, Any] = {"items": [{"category": "office", "amount": "204"}]}
    found = stated(CLAIM, given, "I paid 240 yuan for printer paper", NOW)
    item = {"category": "office", "amount": {"amount": "240.00", "currency": "CNY"}}
    assert found["items"] == [item]
    given = {"items": [{"category": "meal"}, {"category": "transport"}]}
    assert stated(CLAIM, given, "打车 58 块", NOW)["items"] == given["items"]


@pytest.mark.parametrize("value", [None, [], {}, 7, "", "\u0000", "x" * 10_000, [None], [[1]]])
@pytest.mark.parametrize("name", ["start", "items", "leave_type", "reason", "nobody"])
def test_whatever_a_model_gives_is_shaped_or_left_to_the_flow(name: str, value: Any) -> None:
    assert isinstance(stated({**LEAVE.slots, **CLAIM}, {name: value}, "明天打车 36 块", NOW), dict)


ANSWERED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "what is asked for, as rules read it, and nothing that was made up beside it": (
        "等下周二吧",
        {"start": "2026-11-22", "end": "2026-11-22", "reason": "rest", "leave_type": "annual"},
        {"start": "2026-11-24"},
    ),
    "named": ("搞错了，是病假", {"leave_type": "sick"}, {"leave_type": "sick"}),
    "asked": ("the day after Christmas", {"start": "2026-12-26"}, {"start": "2026-12-26"}),
    "in its own words": ("是为了搬家", {"reason": "搬家"}, {"reason": "搬家"}),
    "nothing but inventions": ("嗯", {"leave_type": "sick", "reason": "rest"}, {}),
    "a text that nobody wrote": ("家里有点情况", {"reason": "rest"}, {}),
    "a correction in words that no rule knows": (
        "not really holiday, more like I feel ill",
        {"leave_type": "sick"},
        {"leave_type": "sick"},
    ),
    "days that only the model can reckon": (
        "the two days before our launch party",
        {"start": "2026-12-22", "end": "2026-12-23"},
        {"start": "2026-12-22", "end": "2026-12-23"},
    ),
    "nothing new": ("年假", {"leave_type": "annual"}, {}),
}


@pytest.mark.parametrize(("text", "given", "expected"), ANSWERED.values(), ids=ANSWERED)
def test_answers_are_what_is_said(
    text: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = changed(shown(LEAVE, leave_type="annual"), given, text, NOW)
    assert {name: found[name] for name in found if name in given} == expected


def shown(definition: FlowDefinition, **slots: Any) -> FlowView:
    return view(definition, World(definition).begin(**slots).run)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("多加一天吧", {"end": "2026-11-27"}),
        ("one more day please", {"end": "2026-11-27"}),
        ("往后挪一挪再开头", {"start": "2026-11-26"}),
        ("该算医生让歇的那一类", {"leave_type": "sick"}),
    ],
)
def test_a_correction_is_the_models_where_rules_read_none(text: str, given: dict[str, Any]) -> None:
    slots = {"leave_type": "annual", "start": "2026-11-25", "end": "2026-11-26", "reason": "搬家"}
    assert changed(shown(LEAVE, **slots), given, text, NOW) == given


@tool(permission="write")
async def pay(what: str, amount: int, urgent: bool) -> str:
    """Pay."""
    return f"{what} {amount} {urgent}"


@pytest.mark.parametrize(
    ("text", "given", "taken"),
    [
        ("please make the amount 7778 instead", {"amount": 7778}, {"amount": 7778}),
        ("please make the amount 7778 instead", {"amount": "7778"}, {"amount": 7778}),
        ("please make the amount 7,778 instead", {"amount": 7778}, {"amount": 7778}),
        ("还是付七千五吧", {"amount": 7500}, {"amount": 7500}),
        ("oh, and it is urgent", {"urgent": True}, {"urgent": True}),
        ("7778, please", {"amount": 7778, "what": "food"}, {"amount": 7778}),
        ("please change the amount", {"amount": 7778}, {}),
        ("please make the amount 7778 instead", {"urgent": True}, {}),
        ("it is for 2026-11-24", {"amount": 24}, {}),
    ],
)
def test_numbers_are_put_right(text: str, given: dict[str, Any], taken: dict[str, Any]) -> None:
    definition = form_of(pay)
    assert definition is not None
    paying = shown(definition, what="rent", amount=7000, urgent=False)
    assert paying.status == "confirming"
    assert changed(paying, given, text, NOW) == taken
