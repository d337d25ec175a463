"""Answers and corrections of a request for leave, said on a Sunday, and of a flow of one's own."""

from datetime import datetime
from typing import Any

import pytest

from router.domain.commands import CancelFlow, Command, Confirm, FillSlots
from router.domain.messages import Message
from router.flow.paused import Situation
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.understanding.reader import Reader
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, FLOWS, LEAVE
from tests.unit.understanding.test_answers import asking

SUNDAY = datetime.fromisoformat("2026-11-22T10:00+08:00")
KNOWN = {"leave_type": "annual", "start": "2026-12-01", "end": "2026-12-03", "reason": "搬家"}
READER = Reader(FLOWS)
ROOM = {
    "people": Slot.model_validate(
        {
            "type": "integer",
            "ask": {"zh": "几个人？", "en": "How many?"},
            "label": {"zh": "人数", "en": "People"},
        }
    ),
    "video": Slot.model_validate(
        {
            "type": "boolean",
            "ask": {"zh": "要视频吗？", "en": "Video?"},
            "label": {"zh": "视频", "en": "Video"},
        }
    ),
    "day": Slot.model_validate(
        {
            "type": "date",
            "ask": {"zh": "哪天？", "en": "Which day?"},
            "label": {"zh": "日期", "en": "Day"},
        }
    ),
}


def confirming(**slots: Any) -> FlowView:
    return asking(LEAVE, None, {**KNOWN, **slots}, "confirming")


def heard(view: FlowView, typed: str) -> Command | None:
    situation = Situation(now=SUNDAY, locale="zh", roles=EMPLOYEE, active=view)
    commands = READER.read(Message(text=typed), situation).commands
    return commands[0] if commands else None


def given(view: FlowView, typed: str) -> dict[str, Any]:
    command = heard(view, typed)
    return dict(command.slots) if isinstance(command, FillSlots | Confirm) else {}


def room(asked: str | None = None, **slots: Any) -> FlowView:
    view = asking(LEAVE, asked, slots, "collecting" if asked else "confirming")
    return view.model_copy(update={"fillable": ROOM, "flow": "room"})


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("no, it's Dec 2 to Dec 4", {"start": "2026-12-02", "end": "2026-12-04"}),
        ("make that Dec 3 to Dec 7", {"start": "2026-12-03", "end": "2026-12-07"}),
        ("改成到周五", {"end": "2026-12-04"}),
        ("actually until Friday", {"end": "2026-12-04"}),
        ("那就下周一吧", {"start": "2026-11-23"}),
        ("从周三到周五", {"start": "2026-11-25", "end": "2026-11-27"}),
        ("再改一下，只请周四", {"start": "2026-11-26", "end": "2026-11-26"}),
        ("好的，但是改成周二", {"start": "2026-11-24"}),
        ("不对，是12月8号", {"start": "2026-12-08", "end": "2026-12-10"}),
        ("病假吧", {"leave_type": "sick"}),
        ("push it back one day", {"start": "2026-12-02", "end": "2026-12-04"}),
        ("往后推一天", {"start": "2026-12-02", "end": "2026-12-04"}),
        ("推迟一周", {"start": "2026-12-08", "end": "2026-12-10"}),
        ("提前一天", {"start": "2026-11-30", "end": "2026-12-02"}),
        ("bring it forward a day", {"start": "2026-11-30", "end": "2026-12-02"}),
        ("多请一天", {"end": "2026-12-04"}),
        ("one day more", {"end": "2026-12-04"}),
        ("extend it by two days", {"end": "2026-12-07"}),
        ("少请一天", {"end": "2026-12-02"}),
        ("日期错了", {"change": "start"}),
        ("the dates are wrong", {"change": "start"}),
        ("the reason", {"change": "reason"}),
        ("可以是可以，但是事由写错了", {"change": "reason"}),
        ("家里有事", {}),
        ("航班改到周五", {}),
        ("明天的会议推迟一天", {}),
        ("会议提前了两天，很烦", {}),
    ],
)
def test_a_request_that_is_shown_is_put_right(typed: str, slots: dict[str, Any]) -> None:
    assert given(confirming(), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("往后推一天", {"start": "2026-12-02"}),
        ("多请一天", {"duration": {"days": 4}}),
        ("少请半天", {"duration": {"days": 2.5}}),
        ("少请五天", {}),
    ],
)
def test_a_length_that_tells_the_end_is_what_changes(typed: str, slots: dict[str, Any]) -> None:
    assert given(confirming(duration={"days": 3}), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("不对，上午", {"start_half": "am", "end_half": "am"}),
        ("no, the morning", {"start_half": "am", "end_half": "am"}),
        ("下周二", {"start": "2026-11-24", "end": "2026-11-24"}),
    ],
)
def test_a_single_day_keeps_being_one(typed: str, slots: dict[str, Any]) -> None:
    assert given(confirming(end=KNOWN["start"]), typed) == slots


def test_an_end_alone_is_read_from_the_start_on() -> None:
    view = confirming(start="2026-11-27", end="2026-11-30")
    assert given(view, "actually until Tuesday") == {"end": "2026-12-01"}


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        *((typed, True) for typed in ("发吧", "send it", "go for it", "好的，发吧", "提交")),
        *((typed, False) for typed in ("先别提交", "等等", "wait", "hold on", "do not send it")),
    ],
)
def test_a_request_is_sent_off_or_held_back(typed: str, value: bool) -> None:
    assert heard(confirming(), typed) == Confirm(value=value)


@pytest.mark.parametrize("typed", ["我改主意了，不请了", "on second thoughts, don't bother"])
def test_a_change_of_mind_calls_it_off(typed: str) -> None:
    assert heard(confirming(), typed) == CancelFlow()


@pytest.mark.parametrize(
    "typed", ["算了，撤回刚才的请假", "actually I don't want to take leave any more"]
)
def test_it_is_called_off_while_it_asks(typed: str) -> None:
    assert heard(asking(LEAVE, "start", {"leave_type": "annual"}), typed) == CancelFlow()


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        *((typed, {}) for typed in ("你好", "hello", "好", "yes", "nope", "Hi there")),
        ("从下周五到下下周一", {"start": "2026-11-27", "end": "2026-11-30"}),
        ("Nov 23 to Nov 25", {"start": "2026-11-23", "end": "2026-11-25"}),
        ("搬家", {"reason": "搬家"}),
        ("明天搬家", {"reason": "明天搬家"}),
        ("the move to Monday", {"reason": "the move to Monday"}),
        ("想打车去医院", {"reason": "想打车去医院"}),
        ("没有", {"reason": "没有"}),
    ],
)
def test_a_reason_is_neither_a_greeting_nor_new_dates(typed: str, slots: dict[str, Any]) -> None:
    assert given(asking(LEAVE, "reason", {**KNOWN, "reason": None}), typed) == slots


def test_a_request_for_something_else_is_no_reason() -> None:
    command = heard(asking(LEAVE, "reason", {**KNOWN, "reason": None}), "先报销一下打车费58")
    assert command is not None
    assert command.type == "start_flow"


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("到12月4号", {"end": "2026-12-04"}),
        ("11月10日", {"start": "2026-11-10"}),
        ("12月2号", {"start": "2026-12-02"}),
    ],
)
def test_asked_for_the_start(typed: str, slots: dict[str, Any]) -> None:
    assert given(asking(LEAVE, "start", {"leave_type": "sick"}), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("next Monday then", {"end": "2026-11-30"}),
        ("下周一", {"end": "2026-11-30"}),
        ("11月20号", {"end": "2026-11-20"}),
        ("1月5号", {"end": "2027-01-05"}),
    ],
)
def test_asked_for_the_end_of_what_starts_on_a_saturday(typed: str, slots: dict[str, Any]) -> None:
    assert given(asking(LEAVE, "end", {"start": "2026-11-28"}), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("afternoon on the last day", {}),
        ("最后一天上午", {"start_half": "am", "end_half": "am"}),
        ("下午", {"start_half": "pm"}),
    ],
)
def test_asked_for_half_of_the_first_day(typed: str, slots: dict[str, Any]) -> None:
    known = {**KNOWN, "duration": {"days": 2.5}}
    assert given(asking(LEAVE, "start_half", known), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("不对，是十二个人", {"people": 12}),
        ("改成五个人", {"people": 5}),
        ("no, it's for 8 people", {"people": 8}),
        ("不要视频了", {"video": False}),
        ("change the video to no", {"video": False}),
        ("需要视频", {"video": True}),
        ("周五", {"day": "2026-11-27"}),
        ("this Thursday", {"day": "2026-11-26"}),
        ("提前一天", {"day": "2026-11-25"}),
        ("视频会议很多", {}),
    ],
)
def test_numbers_and_yes_or_no_are_put_right(typed: str, slots: dict[str, Any]) -> None:
    assert given(room(people=8, video=True, day="2026-11-26"), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("no video", {"video": False}),
        ("Yes we need video please", {"video": True}),
        ("不要视频", {"video": False}),
        ("需要吗？", {}),
        *(
            (typed, {})
            for typed in ("no idea", "not sure", "不知道", "没想好", "好像要吧", "有点难")
        ),
        ("等等", {}),
        ("no, make it 9 people", {"people": 9}),
    ],
)
def test_yes_or_no_may_say_to_what(typed: str, slots: dict[str, Any]) -> None:
    assert given(room("video", people=8), typed) == slots


CHANGED_AMONG = {
    "items": EXPENSE.slots["items"],
    "reason": EXPENSE.slots["reason"],
    "change": Slot.model_validate(
        {
            "type": "choice",
            "choices": {
                "items": {"label": {"zh": "费用", "en": "Items"}},
                "-": {"label": {"zh": "不改了", "en": "nothing"}},
            },
        }
    ),
}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("费用", {"change": "items"}),
        ("Items", {"change": "items"}),
        ("发票号错了", {"change": "items.0.invoice"}),
        ("the amount is wrong", {"change": "items.0.amount"}),
        ("事由", {"change": "reason"}),
        ("FG-31", {}),
        ("不改了", {"change": "-"}),
    ],
)
def test_of_a_claim_with_one_item_its_list_or_a_field_is_what_to_change(
    typed: str, expected: dict[str, Any]
) -> None:
    item = {"category": "transport", "invoice": "FG-30", "date": "2026-11-17"}
    known: dict[str, Any] = {"items": [item], "reason": "见客户"}
    view = asking(EXPENSE, "change", known).model_copy(update={"fillable": CHANGED_AMONG})
    assert given(view, typed) == expected


WEEK = {"leave_type": "annual", "start": "2026-11-30", "end": "2026-12-04"}
SAID_OF_AN_END = [
    ("actually start on Tuesday", {"start": "2026-12-01"}),
    ("start Tuesday instead", {"start": "2026-12-01"}),
    ("from Tuesday", {"start": "2026-12-01"}),
    ("从周二开始", {"start": "2026-12-01"}),
    ("开始是周二", {"start": "2026-12-01"}),
    ("第一天改成周二", {"start": "2026-12-01"}),
    ("第一天改成下周二下午", {"start": "2026-11-24", "start_half": "pm"}),
    ("从12月3号开始休", {"start": "2026-12-03"}),
    ("start on 7 Dec", {"start": "2026-12-07", "end": "2026-12-11"}),
    ("end on Wednesday instead", {"end": "2026-12-02"}),
    ("最后一天改成周三", {"end": "2026-12-02"}),
    ("最后一天改成周三上午", {"end": "2026-12-02", "end_half": "am"}),
]


@pytest.mark.parametrize(("typed", "expected"), SAID_OF_AN_END)
@pytest.mark.parametrize(
    "view",
    [
        asking(LEAVE, "reason", WEEK).model_copy(update={"latest": ["end"]}),
        asking(LEAVE, None, {**WEEK, "reason": "搬家"}, "confirming"),
        asking(LEAVE, "change", {**WEEK, "reason": "搬家"}),
    ],
    ids=["why", "confirming", "what to change"],
)
def test_the_end_of_a_range_that_is_named_is_the_one_that_changes(
    typed: str, expected: dict[str, Any], view: FlowView
) -> None:
    assert given(view, typed) == expected


@pytest.mark.parametrize("typed", ["start Tuesday instead", "从周二开始", "第一天改成周二"])
def test_another_start_is_no_end_where_the_end_is_asked(typed: str) -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-30"})
    assert given(view, typed) == {"start": "2026-12-01"}


@pytest.mark.parametrize("typed", ["家里开始装修", "get back from Tuesday meetings", "起不来"])
def test_a_reason_that_speaks_of_starting_stays_a_reason(typed: str) -> None:
    assert given(asking(LEAVE, "reason", WEEK), typed) == {"reason": typed}
