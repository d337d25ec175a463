"""What is put right of a request: what was given last, a field by name, its days, its length."""

from functools import partial
from typing import Any

import pytest

from router.domain.commands import CancelFlow, Confirm, FillSlots
from router.domain.messages import FlowStatus
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import Slot
from router.flow.view import FormView
from router.understanding.corrections.values import put_right
from tests.table import each_row
from tests.unit.entities.tables import spread, typed
from tests.unit.understanding.dialogue import NOW, SUNDAY, asking, command, corrected, filled
from tests.unit.understanding.flows import EXPENSE, LEAVE, TRIP

BY_PHRASE = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "搬家"}
LEAVING = asking(LEAVE, None, BY_PHRASE, "confirming")


@each_row(
    ("slots", "typed"),
    spread(
        ({"end": "2026-11-27"}, "结束日期改成周五  change the end date to Friday"),
        ({"end": "2026-11-27"}, "no, change the end date to Friday  改成到周五"),
        ({"start": "2026-11-24"}, "开始日期改为下周二  改成下周二"),
        ({"reason": "家里有事"}, "事由改成家里有事"),
        ({"reason": "moving house"}, "reason should be moving house"),
        ({"leave_type": "sick"}, "假别改成病假  把请假类型改成病假  改成病假  不是年假，是病假"),
        ({"leave_type": "sick"}, "actually, make it sick leave"),
        ({"end": "2026-11-20"}, "结束日期改成11月20日"),
        ({"end": "2027-01-04"}, "结束日期改成1月4日"),
        ({"start": "2026-11-24", "end": "2026-11-26"}, "改成下周二到周四"),
    ),
)
def test_a_leave_is_put_right(typed: str, slots: dict[str, Any]) -> None:
    assert corrected(LEAVING, typed) == slots


@each_row("typed", ["不对，是下周二", "no, next Tuesday", "改成下周二"])
@each_row(("latest", "moves"), [(["end"], "end"), (["start"], "start")])
def test_a_day_alone_corrects_what_was_given_last(
    typed: str, latest: list[str], moves: str
) -> None:
    view = LEAVING.model_copy(update={"latest": latest})
    assert corrected(view, typed) == {moves: "2026-11-24"}


def test_both_ends_of_a_single_day_move() -> None:
    view = LEAVING.model_copy(update={"slots": {**BY_PHRASE, "end": BY_PHRASE["start"]}})
    assert corrected(view, "不对，是下周二") == {"start": "2026-11-24", "end": "2026-11-24"}


@each_row("typed", ["周五", "家里有事", "航班改到周五", "会议改成线上", "好的", "不对", ""])
def test_what_is_no_correction(typed: str) -> None:
    assert corrected(LEAVING, typed) is None


KNOWN = {"leave_type": "annual", "start": "2026-12-01", "end": "2026-12-03", "reason": "搬家"}


def slot(kind: str, zh: str, en: str, **more: Any) -> Slot:
    words = {"zh": zh, "en": en}
    return Slot.model_validate({"type": kind, "ask": words, "label": words, **more})


def choice(**labels: dict[str, str]) -> Slot:
    choices = {value: {"label": label} for value, label in labels.items()}
    return Slot.model_validate({"type": "choice", "choices": choices})


ROOM = {
    "people": slot("integer", "人数", "People"),
    "video": slot("boolean", "视频", "Video"),
    "day": slot("date", "日期", "Day"),
}
CHANGED_AMONG = {
    "items": EXPENSE.slots["items"],
    "reason": EXPENSE.slots["reason"],
    "change": choice(
        **{"items": {"zh": "费用", "en": "Items"}, "-": {"zh": "不改了", "en": "nothing"}}
    ),
}
CLAIM = {
    "items": [{"category": "transport", "invoice": "FG-30", "date": "2026-11-17"}],
    "reason": "见客户",
}
heard, given = partial(command, now=SUNDAY), partial(filled, now=SUNDAY)


def confirming(**slots: Any) -> FormView:
    return asking(LEAVE, None, {**KNOWN, **slots}, "confirming")


def room(asked: str | None = None, **slots: Any) -> FormView:
    status: FlowStatus = "collecting" if asked else "confirming"
    return asking(LEAVE, asked, slots, status, fillable=ROOM, flow="room")


STANDING = {
    "shown": confirming(),
    "shown with its length": confirming(duration={"days": 3}),
    "shown as one day": confirming(end=KNOWN["start"]),
    "why": asking(LEAVE, "reason", {**KNOWN, "reason": None}),
    "from when": asking(LEAVE, "start", {"leave_type": "sick"}),
    "till when, from a Saturday": asking(LEAVE, "end", {"start": "2026-11-28"}),
    "which half": asking(LEAVE, "start_half", {**KNOWN, "duration": {"days": 2.5}}),
    "a room": room(people=8, video=True, day="2026-11-26"),
    "whether video": room("video", people=8),
    "what of a claim": asking(EXPENSE, "change", CLAIM, fillable=CHANGED_AMONG),
}


@each_row(
    ("at", "slots", "typed"),
    spread(
        ("shown", {"start": "2026-12-02", "end": "2026-12-04"}, "no, it's Dec 2 to Dec 4"),
        ("shown", {"start": "2026-12-02", "end": "2026-12-04"}, "push it back one day  往后推一天"),
        ("shown", {"start": "2026-12-03", "end": "2026-12-07"}, "make that Dec 3 to Dec 7"),
        ("shown", {"end": "2026-12-04"}, "改成到周五  actually until Friday  多请一天"),
        ("shown", {"end": "2026-12-04"}, "one day more"),
        ("shown", {"start": "2026-11-23"}, "那就下周一吧"),
        ("shown", {"start": "2026-11-25", "end": "2026-11-27"}, "从周三到周五"),
        ("shown", {"start": "2026-11-26", "end": "2026-11-26"}, "再改一下，只请周四"),
        ("shown", {"start": "2026-11-24"}, "好的，但是改成周二"),
        ("shown", {"start": "2026-12-08", "end": "2026-12-10"}, "不对，是12月8号  推迟一周"),
        ("shown", {"leave_type": "sick"}, "病假吧"),
        ("shown", {"start": "2026-11-30", "end": "2026-12-02"}, "提前一天  bring it forward a day"),
        ("shown", {"end": "2026-12-07"}, "extend it by two days"),
        ("shown", {"end": "2026-12-02"}, "少请一天"),
        ("shown", {"change": "start"}, "日期错了  the dates are wrong"),
        ("shown", {"change": "reason"}, "the reason  可以是可以，但是事由写错了"),
        ("shown", {}, "家里有事  航班改到周五  明天的会议推迟一天  会议提前了两天，很烦"),
        ("shown with its length", {"start": "2026-12-02"}, "往后推一天"),
        ("shown with its length", {"duration": {"days": 4}}, "多请一天"),
        ("shown with its length", {"duration": {"days": 2.5}}, "少请半天"),
        ("shown with its length", {}, "少请五天"),
        ("shown as one day", {"start_half": "am", "end_half": "am"}, "不对，上午  no, the morning"),
        ("shown as one day", {"start": "2026-11-24", "end": "2026-11-24"}, "下周二"),
        ("why", {}, "你好  hello  好  yes  nope  Hi there"),
        ("why", {"start": "2026-11-27", "end": "2026-11-30"}, "从下周五到下下周一"),
        ("why", {"start": "2026-11-23", "end": "2026-11-25"}, "Nov 23 to Nov 25"),
        ("why", {"reason": "搬家"}, "搬家"),
        ("why", {"reason": "明天搬家"}, "明天搬家"),
        ("why", {"reason": "the move to Monday"}, "the move to Monday"),
        ("why", {"reason": "想打车去医院"}, "想打车去医院"),
        ("why", {"reason": "没有"}, "没有"),
        ("from when", {"end": "2026-12-04"}, "到12月4号"),
        ("from when", {"start": "2026-11-10"}, "11月10日"),
        ("from when", {"start": "2026-12-02"}, "12月2号"),
        ("till when, from a Saturday", {"end": "2026-11-30"}, "next Monday then  下周一"),
        ("till when, from a Saturday", {"end": "2026-11-20"}, "11月20号"),
        ("till when, from a Saturday", {"end": "2027-01-05"}, "1月5号"),
        ("which half", {}, "afternoon on the last day"),
        ("which half", {"start_half": "am", "end_half": "am"}, "最后一天上午"),
        ("which half", {"start_half": "pm"}, "下午"),
        ("a room", {"people": 12}, "不对，是十二个人"),
        ("a room", {"people": 5}, "改成五个人"),
        ("a room", {"people": 8}, "no, it's for 8 people"),
        ("a room", {"video": False}, "不要视频了  change the video to no"),
        ("a room", {"video": True}, "需要视频"),
        ("a room", {"day": "2026-11-27"}, "周五"),
        ("a room", {"day": "2026-11-26"}, "this Thursday"),
        ("a room", {"day": "2026-11-25"}, "提前一天"),
        ("a room", {}, "视频会议很多"),
        ("whether video", {"video": False}, "no video  不要视频"),
        ("whether video", {"video": True}, "Yes we need video please"),
        ("whether video", {}, "需要吗？  no idea  not sure  不知道  没想好  好像要吧  有点难"),
        ("whether video", {}, "等等"),
        ("whether video", {"people": 9}, "no, make it 9 people"),
        ("what of a claim", {"change": "items"}, "费用  Items"),
        ("what of a claim", {"change": "items.0.invoice"}, "发票号错了"),
        ("what of a claim", {"change": "items.0.amount"}, "the amount is wrong"),
        ("what of a claim", {"change": "reason"}, "事由"),
        ("what of a claim", {}, "FG-31"),
        ("what of a claim", {"change": "-"}, "不改了"),
    ),
)
def test_what_is_said_changes_what_it_names(at: str, typed: str, slots: dict[str, Any]) -> None:
    assert given(typed, STANDING[at]) == slots


def test_an_end_alone_is_read_from_the_start_on() -> None:
    view = confirming(start="2026-11-27", end="2026-11-30")
    assert given("actually until Tuesday", view) == {"end": "2026-12-01"}


@each_row(
    ("typed", "value"),
    [
        *((typed, True) for typed in ("发吧", "send it", "go for it", "好的，发吧", "提交")),
        *((typed, False) for typed in ("先别提交", "等等", "wait", "hold on", "do not send it")),
    ],
)
def test_a_request_is_sent_off_or_held_back(typed: str, value: bool) -> None:
    assert heard(typed, confirming()) == Confirm(value=value)


@each_row("typed", ["我改主意了，不请了", "on second thoughts, don't bother"])
def test_a_change_of_mind_calls_it_off(typed: str) -> None:
    assert heard(typed, confirming()) == CancelFlow()


@each_row("typed", ["算了，撤回刚才的请假", "actually I don't want to take leave any more"])
def test_it_is_called_off_while_it_asks(typed: str) -> None:
    assert heard(typed, asking(LEAVE, "start", {"leave_type": "annual"})) == CancelFlow()


def test_a_request_for_something_else_is_no_reason() -> None:
    command = heard("先报销一下打车费58", asking(LEAVE, "reason", {**KNOWN, "reason": None}))
    assert command is not None
    assert command.type == "start_flow"


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


@each_row(("typed", "expected"), SAID_OF_AN_END)
@each_row(
    "view",
    [
        asking(LEAVE, "reason", WEEK, latest=["end"]),
        asking(LEAVE, None, {**WEEK, "reason": "搬家"}, "confirming"),
        asking(LEAVE, "change", {**WEEK, "reason": "搬家"}),
    ],
    ids=["why", "confirming", "what to change"],
)
def test_the_end_of_a_range_that_is_named_is_the_one_that_changes(
    typed: str, expected: dict[str, Any], view: FormView
) -> None:
    assert given(typed, view) == expected


@each_row("typed", ["start Tuesday instead", "从周二开始", "第一天改成周二"])
def test_another_start_is_no_end_where_the_end_is_asked(typed: str) -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-30"})
    assert given(typed, view) == {"start": "2026-12-01"}


@each_row("typed", ["家里开始装修", "get back from Tuesday meetings", "起不来"])
def test_a_reason_that_speaks_of_starting_stays_a_reason(typed: str) -> None:
    assert given(typed, asking(LEAVE, "reason", WEEK)) == {"reason": typed}


NOTE = slot("file", "附件", "Attachment", **{"required": False, "=skippable": True})
ABOUT = slot("text", "内容", "Contents")
CHANGE = choice(
    about={"zh": "内容", "en": "Contents"},
    note={"zh": "附件", "en": "Attachment"},
    nothing={"zh": "不改了", "en": "Leave it as it is"},
)
SUPPLIED = {"about": ABOUT, "note": NOTE}
DESK = asking(LEAVE, None, {"about": "buy a desk"}, "confirming", fillable=SUPPLIED)
CHANGING = asking(LEAVE, "change", {"about": "buy a desk"}, fillable={**SUPPLIED, "change": CHANGE})


@pytest.mark.parametrize("view", [DESK, CHANGING], ids=["confirming", "changing"])
@typed("""
    补充附件  加一个附件  上传附件  我要补一下附件
    add an attachment  the attachment please
""")
def test_what_was_left_empty_is_asked_for(view: FormView, typed: str) -> None:
    assert heard(typed, view) == FillSlots(slots={"change": "note"})


@each_row("typed", ["加一个内容", "附件在桌上"])
def test_anything_else_is_not_that(typed: str) -> None:
    assert heard(typed, DESK) != FillSlots(slots={"change": "note"})


@each_row(
    ("slots", "typed"),
    spread(
        ({"destination": "北京"}, "去北京  还是去北京吧  不对，是去北京"),
        ({"destination": "Berlin"}, "I'm going to Berlin"),
        (None, "去上海  去北京要花多少钱？"),
    ),
)
def test_another_place_is_a_correction(typed: str, slots: dict[str, str] | None) -> None:
    known = {"destination": "上海", "start": "2026-11-23", "end": "2026-11-25"}
    view = asking(TRIP, None, known, "confirming", fillable=TRIP.slots)
    assert put_right(view, Utterance.of(typed, NOW)) == slots


def test_a_length_at_the_confirmation_moves_the_last_day() -> None:
    known = {"destination": "上海", "start": "2026-11-23", "end": "2026-11-24", "reason": "见客户"}
    view = asking(TRIP, None, known, "confirming")
    assert put_right(view, Utterance.of("改成四天", NOW)) == {"end": "2026-11-26"}
