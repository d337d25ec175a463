"""Going on with what was put aside, in words and with buttons."""

from router.domain.commands import (
    CancelFlow,
    Command,
    Explain,
    FillSlots,
    HandOff,
    KeepPaused,
    Repeat,
    ReplyText,
    Resume,
    Skip,
    StartFlow,
    StartOver,
)
from router.domain.messages import ChooseAction
from router.flow.definition import FlowDefinition
from router.flow.paused import PausedRun, options_of, value, which
from router.flow.view import FormView
from router.understanding.reader import Reader
from tests.table import each_row
from tests.unit.understanding.dialogue import asking, command, read, routed
from tests.unit.understanding.flows import EXPENSE, LEAVE, TRIP

A_LEAVE = PausedRun(run="l1", flow=LEAVE.flow, title=LEAVE.title, known="假别 年假")
A_CLAIM = PausedRun(run="c1", flow=EXPENSE.flow, title=EXPENSE.title)
BOTH = [A_LEAVE, A_CLAIM]
WHICH = which(BOTH, "zh")


@each_row(
    ("said", "run"),
    [
        *(("回到请假", "l1"), ("接着刚才的请假", "l1"), ("继续请假申请吧", "l1")),
        *(("那就回到刚才那个请假申请", "l1"), ("continue my leave request", "l1")),
        *(("resume leave", "l1"), ("Let's go back to my leave request, please", "l1")),
        *(("回到报销", "c1"), ("接着办报销吧", "c1"), ("back to the expense claim", "c1")),
        *(("继续刚才的", "c1"), ("continue where we left off", "c1"), ("接着办", "c1")),
    ],
)
def test_what_was_put_aside_is_taken_up_by_name_or_as_the_latest(said: str, run: str) -> None:
    reading = read(said, resumable=BOTH)
    assert reading.commands == [Resume(run=run)]
    assert routed(reading)[::2] == ("flow", "slot")


@each_row("slot", ["reason", "items.0.amount", None])
def test_it_is_taken_up_in_the_middle_of_another(slot: str | None) -> None:
    active = asking(EXPENSE, slot, {}, "collecting" if slot else "confirming")
    assert command("接着刚才的请假", active, resumable=[A_LEAVE]) == Resume(run="l1")


@each_row("said", ["继续报销", "continue with my expense claim", "继续刚才的"])
def test_what_is_talked_about_already_is_asked_again(said: str) -> None:
    active = asking(EXPENSE, "reason")
    assert command(said, active, resumable=[A_LEAVE]) == Repeat()


@each_row(
    "said",
    ["回到公司办请假手续", "继续教育的培训费", "接着请假的人太多", "再来一次", "finish the report"],
)
def test_words_that_only_begin_so_are_a_reason(said: str) -> None:
    active = asking(EXPENSE, "reason")
    assert command(said, active, resumable=BOTH) == FillSlots(slots={"reason": said})


def test_with_nothing_put_aside_a_request_is_a_request() -> None:
    assert isinstance(command("继续，我要请假"), StartFlow)


def test_a_skill_that_asks_is_what_is_gone_on_with() -> None:
    assert not isinstance(command("继续", resumable=BOTH, skill="travel"), Resume)
    assert command("回到报销", resumable=BOTH, skill="travel") == Resume(run="c1")


@each_row(
    ("said", "meant"),
    [
        *(
            ("报销", Resume(run="c1")),
            ("第一个", Resume(run="l1")),
            ("2", Resume(run="c1")),
        ),
        *(("请假申请", Resume(run="l1")), ("leave request", Resume(run="l1"))),
        *((said, KeepPaused()) for said in ("都先放着", "先不用", "none of these", "leave them")),
        ("3", KeepPaused()),
    ],
)
def test_the_question_which_is_answered_by_title_number_or_none(said: str, meant: Command) -> None:
    assert command(said, resumable=BOTH, offered=WHICH.options) == meant


def test_something_else_is_still_understood_when_it_is_asked_which() -> None:
    asked = command("我要请三天年假", resumable=BOTH, offered=WHICH.options)
    assert isinstance(asked, StartFlow)


@each_row("active", [None, asking(EXPENSE, "reason")])
def test_a_button_takes_it_up_however_long_ago_it_was_shown(active: FormView | None) -> None:
    pressed = ChooseAction(type="choose", value=value("l1"), question="offer:of long ago")
    assert command(pressed, active, resumable=BOTH) == Resume(run="l1")
    assert isinstance(command(pressed, active), ReplyText)


@each_row("hostile", ["resume:", "resume:l1:x", "resume:" + "x" * 9000])
def test_a_button_that_names_no_run_does_nothing(hostile: str) -> None:
    pressed = ChooseAction(type="choose", value=hostile)
    assert isinstance(command(pressed, resumable=BOTH), ReplyText)


def test_two_of_one_kind_are_told_apart_by_what_is_known() -> None:
    twice = [A_LEAVE, A_LEAVE.model_copy(update={"run": "l2", "known": "假别 病假"})]
    labels = [option.label for option in options_of(twice, "zh")]
    assert labels == ["请假申请（假别 年假）", "请假申请（假别 病假）"]


@each_row(
    ("way", "meant"),
    [
        *(("help", Explain()), ("skip", Skip()), ("start_over", StartOver())),
        ("cancel", CancelFlow()),
    ],
)
@each_row("active", [asking(LEAVE, "start"), asking(LEAVE, None, {}, "confirming")])
def test_a_way_on_is_what_it_says(way: str, meant: Command, active: FormView) -> None:
    assert command(ChooseAction(type="choose", value=f"act:{way}"), active) == meant


@each_row(
    "said",
    [
        *("找人工", "转人工", "人工客服", "talk to a person", "Can I speak to someone?"),
        ChooseAction(type="choose", value="act:person"),
    ],
)
def test_a_person_is_wanted_in_the_middle_of_a_flow(said: str | ChooseAction) -> None:
    reading = read(said, asking(LEAVE, "reason"))
    assert isinstance(reading.commands[0], HandOff)
    assert routed(reading)[:2] == ("handoff", "leave_request")


GOING = Reader((LEAVE, EXPENSE, TRIP))
WHERE = asking(TRIP, "destination")


def going(said: str, active: FormView, *put_aside: PausedRun) -> Command | None:
    return command(said, active, reader=GOING, resumable=list(put_aside))


@each_row("slot", ["destination", "start"])
@each_row("said", ["请假", "请假申请", "leave request", "my leave request"])
def test_what_was_put_aside_is_taken_up_by_its_bare_name(said: str, slot: str) -> None:
    assert going(said, asking(TRIP, slot), A_CLAIM, A_LEAVE) == Resume(run="l1")


@each_row(
    ("said", "flow"),
    [("请假", LEAVE), ("报销", EXPENSE), ("leave request", LEAVE), ("费用报销", EXPENSE)],
)
def test_the_name_of_a_flow_is_no_answer_but_begins_it(said: str, flow: FlowDefinition) -> None:
    begun = going(said, WHERE)
    assert isinstance(begun, StartFlow)
    assert begun.flow == flow.flow


@each_row("said", ["出差", "business trip", "请假"])
def test_where_the_reason_is_asked_the_name_of_a_flow_is_one(said: str) -> None:
    why = asking(EXPENSE, "reason")
    assert going(said, why, A_LEAVE) == FillSlots(slots={"reason": said})


@each_row("said", ["上海", "Leeds", "trip", "出差"])
def test_what_no_other_flow_is_called_is_an_answer(said: str) -> None:
    assert not isinstance(going(said, WHERE, A_LEAVE), StartFlow | Resume)
