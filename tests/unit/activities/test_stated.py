from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from company.tools.calendar import count_workdays
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from router.flow.view import FormView
from router.routing.tool_form import form_of
from router.tool.tool import tool
from router.understanding.grounding import changed, grounded_call, stated
from tests.forms import form
from tests.table import each_row
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
    "days that nobody named are asked for": (
        "the two days right after our launch",
        {"start": "2026-12-26", "end": "2026-12-27"},
        {"start": None, "end": None},
    ),
    "days that rules can't read, in a month that was named": (
        "牙疼得厉害，三月头两天来不了",
        {"start": "2027-03-01", "end": "2027年3月2日"},
        {"start": "2027-03-01", "end": "2027-03-02"},
    ),
    "the message's own words are the model's to choose": (
        "周五回来，下周一请假",
        {"start": "下周一"},
        {"start": "2026-11-23"},
    ),
    "a choice that nobody named is asked for, and free text is what was said": (
        "孩子发烧，周四来不了",
        {"leave_type": "personal", "reason": "孩子发烧"},
        {"leave_type": None, "reason": "孩子发烧", "start": "2026-11-19"},
    ),
    "a reason that nobody gave": ("下周一请年假", {"reason": "family trip"}, {"reason": None}),
    "a reason put shortly": (
        "I need Friday off because my cat is ill and has to see the vet",
        {"reason": "cat is ill, vet"},
        {"reason": "cat is ill, vet"},
    ),
    "a month that is named whole holds all its days": (
        "12 月一共要上几天班",
        {"start": "2026-12-01", "end": "2026-12-31"},
        {"end": "2026-12-31"},
    ),
    "a choice that the message names is that choice": (
        "孩子发烧，周四请个病假",
        {"leave_type": "personal"},
        {"leave_type": "sick"},
    ),
    "nothing to read": ("牙疼，来不了", {"reason": "牙疼"}, {"reason": "牙疼"}),
    "no words at all": ("", {"start": "2026-12-01"}, {"start": None}),
}


@each_row(("text", "given", "expected"), STATED.values(), ids=STATED)
def test_leave_starts_as_stated(text: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = stated(LEAVE.slots, given, text, NOW)
    assert {name: found.get(name) for name in expected} == expected


def test_items_have_what_rules_read_and_what_only_the_model_knows() -> None:
    given: dict[str, Any] = {"items": [{"category": "office", "amount": "204"}]}
    found = stated(CLAIM, given, "I paid 240 yuan for printer paper", NOW)
    assert found["items"] == [{"amount": {"amount": "240.00", "currency": "CNY"}}]
    given = {"items": [{"category": "meal", "amount": "58 CNY"}]}
    assert (
        stated(CLAIM, given, "I'd like some money back", NOW, ["such as 36"]).get("items") is None
    )


def test_what_was_said_before_counts_as_said() -> None:
    given: dict[str, Any] = {"leave_type": "sick", "start": "2026-12-01", "reason": "牙疼"}
    before = ["我牙疼", "要请病假吗？", "对，12 月 1 号"]
    assert stated(LEAVE.slots, given, "那就这么请吧", NOW, before) == given
    assert stated(LEAVE.slots, given, "那就这么请吧", NOW) == {}
    assert stated(LEAVE.slots, given, "那就这么请吧", NOW, None) == given


@each_row("value", [None, [], {}, 7, "", "\u0000", "x" * 10_000, [None], [[1]]])
@each_row("name", ["start", "items", "leave_type", "reason", "nobody"])
def test_whatever_a_model_gives_is_shaped_or_left_to_the_flow(name: str, value: Any) -> None:
    assert isinstance(stated({**LEAVE.slots, **CLAIM}, {name: value}, "明天打车 36 块", NOW), dict)


def test_a_day_that_rules_read_goes_where_the_model_says() -> None:
    known = shown(LEAVE, leave_type="annual", start="2026-11-23", end="2026-11-25")
    text = "It should end on November 26 instead"
    assert changed(known, {"end": "2026-11-26"}, text, NOW) == {"end": "2026-11-26"}


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
    "what is asked for, reckoned by the model alone; not what isn't": (
        "the two days before our launch party",
        {"start": "2026-12-22", "end": "2026-12-23"},
        {"start": "2026-12-22"},
    ),
    "a day beside a correction of something else": (
        "搞错了，应该是病假",
        {"leave_type": "sick", "end": "2026-11-23"},
        {"leave_type": "sick"},
    ),
    "nothing new": ("年假", {"leave_type": "annual"}, {}),
    "a day, left to others": ("你看着办吧", {"start": "2026-12-22"}, {}),
    "a day that isn't known yet": ("I can't say yet", {"start": "2026-12-22"}, {}),
}


@each_row(("text", "given", "expected"), ANSWERED.values(), ids=ANSWERED)
def test_answers_are_what_is_said(
    text: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = changed(shown(LEAVE, leave_type="annual"), given, text, NOW)
    assert {name: found[name] for name in found if name in given} == expected


def shown(definition: FlowDefinition, **slots: Any) -> FormView:
    return form(definition, World(definition).begin(**slots).run)


@each_row(
    ("text", "given"),
    [
        ("多加一天吧", {"end": "2026-11-27"}),
        ("one more day please", {"end": "2026-11-27"}),
        ("该算医生让歇的那一类", {"leave_type": "sick"}),
    ],
)
def test_a_correction_is_the_models_where_rules_read_none(text: str, given: dict[str, Any]) -> None:
    slots = {"leave_type": "annual", "start": "2026-11-25", "end": "2026-11-26", "reason": "搬家"}
    assert changed(shown(LEAVE, **slots), given, text, NOW) == given


def test_of_an_item_only_what_was_said_or_is_known_is_taken() -> None:
    item = {"amount": {"amount": "58.00", "currency": "CNY"}, "category": "meal"}
    claim = load_flow(FLOWS / "reimbursement.yaml")
    known = shown(claim, items=[item], reason="lunch")
    made_up: dict[str, Any] = {
        "category": "transport",
        "amount": {"amount": "10.00", "currency": "CNY"},
        "invoice": "1234567890",
    }
    found = changed(known, {"items": [made_up]}, "it was a taxi", NOW)
    assert found["items"] == [{**item, "category": "transport"}]


@tool(permission="write")
async def pay(what: str, amount: int, urgent: bool) -> str:
    """Pay."""
    return f"{what} {amount} {urgent}"


@each_row(
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


CALLED = {
    "another month": ("数一下12月1日到12月18日有几个工作日", True, ("2026-12-01", "2026-12-18")),
    "beside another call": ("数一下12月1日到12月18日有几个工作日", False, None),
    "no day": ("数一下有几个工作日", True, None),
}


@each_row(("text", "alone", "days"), CALLED.values(), ids=CALLED)
def test_a_call_has_the_days_that_rules_read_and_not_the_models(
    text: str, alone: bool, days: tuple[str, str] | None
) -> None:
    made_up: dict[str, Any] = {"start": "2026-11-01", "end": "2026-11-17"}
    form = form_of(count_workdays)
    assert form is not None
    kept, dropped = grounded_call(form.slots, made_up, text, NOW, (), alone=alone)
    assert kept == (dict(zip(("start", "end"), days, strict=True)) if days else {})
    assert dropped == ([] if days else ["start", "end"])


ASKED: dict[str, tuple[str, dict[str, Any], str, Any, Any]] = {
    "an amount as ever": (
        "老样子",
        {},
        "items.0.amount",
        {"amount": "58.00", "currency": "CNY"},
        None,
    ),
    "a reason that nobody has": ("说不上来", {}, "reason", "family trip", None),
    "a reason in other words": ("是为了 搬家", {}, "reason", "搬家", "搬家"),
}


@each_row(("text", "known", "asked", "given", "taken"), ASKED.values(), ids=ASKED)
def test_what_is_asked_for_is_as_little_made_up(
    text: str, known: dict[str, Any], asked: str, given: Any, taken: Any
) -> None:
    item = {"category": "transport", "date": "2026-11-17"}
    run = shown(load_flow(FLOWS / "reimbursement.yaml"), items=[item], **known)
    run = run.model_copy(update={"awaiting": [asked]})
    assert changed(run, {asked: given}, text, NOW).get(asked) == taken
