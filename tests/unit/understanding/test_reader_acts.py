"""What the reader makes of words about the dialogue, and of sentences that ask for a tool."""

from functools import partial
from typing import Any

from router.domain import commands
from router.domain.locale import Localised
from router.domain.messages import FormAction
from router.domain.principals import Capability
from router.flow.view import FormView
from router.understanding.reader import Reader
from router.understanding.triggers.patterns import ToolPhrases
from tests.table import each_row
from tests.unit.entities.tables import spread
from tests.unit.understanding.dialogue import TAXI, asking, routed
from tests.unit.understanding.dialogue import command as command_by
from tests.unit.understanding.dialogue import read as read_by
from tests.unit.understanding.flows import EXPENSE, FLOWS, LEAVE, flow

TAKE_BACK = flow(
    "take_back",
    title={"zh": "撤回申请", "en": "Withdraw a request"},
    slots={"request": {"type": "text", "ask": {"zh": "哪个？", "en": "Which?"}}},
    states={"done": {"collect": ["request"], "next": "over"}, "over": {"end": "completed"}},
)
STANDING = Localised(zh="我的申请", en="My requests")
PHRASES = [
    ToolPhrases("standing", STANDING, ("^我的请假批了吗[?]?$", "^my requests$"), reads=True),
    ToolPhrases("take_back", TAKE_BACK.title, ("^取消我的(?P<request>请假|报销)$",)),
]
OFFERED = [
    *(flow.capability for flow in FLOWS),
    Capability(kind="tool", name="standing", title=STANDING, description=STANDING),
]
READER = Reader([*FLOWS, TAKE_BACK], PHRASES, OFFERED)
KNOWN = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25"}
CONFIRMING = asking(LEAVE, None, {**KNOWN, "reason": "搬家"}, "confirming")


read, command = partial(read_by, reader=READER), partial(command_by, reader=READER)


@each_row("view", [asking(LEAVE, "start"), asking(LEAVE, "reason", KNOWN), CONFIRMING])
@each_row(
    ("meant", "said"),
    spread(
        (commands.Skip(), "跳过  先不填"),
        (commands.Explain(), "怎么填  ?"),
        (commands.Repeat(), "什么？  come again?"),
        (commands.StartOver(), "从头来  start over"),
    ),
)
def test_an_act_goes_to_who_asks(view: FormView, said: str, meant: commands.Command) -> None:
    reading = read(said, view)
    assert reading.commands == [meant]
    assert routed(reading) == ("flow", "leave_request", "slot")
    assert reading.route
    assert "请假申请" in reading.route.reason


@each_row("said", ["帮助搬家", "重新装修", "没有", "跳过年会回老家"])
def test_a_reason_is_a_reason(said: str) -> None:
    view = asking(LEAVE, "reason", KNOWN)
    assert command(said, view) == commands.FillSlots(slots={"reason": said})


def test_what_is_asked_for_as_a_choice_is_no_act() -> None:
    slot = {"type": "choice", "choices": {"help": {"label": {"zh": "帮助", "en": "help"}}}}
    desk = TAKE_BACK.model_copy(
        update={"slots": {"topic": TAKE_BACK.slots["request"].model_validate(slot)}}
    )
    assert command("help", asking(desk, "topic")) == commands.FillSlots(slots={"topic": "help"})


MAY_BE_EMPTY = TAKE_BACK.slots["request"].model_copy(update={"required": False, "skippable": True})
OPTIONAL = TAKE_BACK.model_copy(update={"slots": {"request": MAY_BE_EMPTY}})


def test_none_skips_only_what_may_be_left_empty() -> None:
    assert command("没有", asking(OPTIONAL, "request")) == commands.Skip()
    assert command("没有", asking(TAKE_BACK, "request")) == commands.FillSlots(
        slots={"request": "没有"}
    )


@each_row("values", [{}, {"request": ""}, {"request": None}])
def test_a_form_that_is_left_empty_skips_what_may_be(values: dict[str, Any]) -> None:
    form = FormAction(type="form", values=values)
    assert command(form, asking(OPTIONAL, "request")) == commands.Skip()
    assert command(form, asking(TAKE_BACK, "request")) == commands.FillSlots(slots=values)


def test_another_item_is_no_skip() -> None:
    view = asking(EXPENSE, "items", {"items": [TAXI]})
    assert command("next", view) == commands.FillSlots(slots={"items.more": True})
    assert command("跳过", view) == commands.Skip()


@each_row("locale", ["zh", "en"])
def test_outside_of_flows_help_names_what_the_caller_may_use(locale: str) -> None:
    reading = read("你能做什么", locale=locale)
    assert routed(reading)[::2] == ("reply", "pattern")
    (reply,) = reading.commands
    assert isinstance(reply, commands.ReplyText)
    for title in (LEAVE.title, EXPENSE.title, STANDING):
        assert title.within(locale) in reply.text  # type: ignore[arg-type]
    assert "加班" not in reply.text
    assert "Overtime" not in reply.text


def test_whom_nothing_is_open_to_hears_that() -> None:
    reader = Reader([], offered=[FLOWS[2].capability])
    reply = command("help", reader=reader, locale="en")
    assert isinstance(reply, commands.ReplyText)
    assert "Nothing is open" in reply.text


def test_outside_of_flows_the_last_reply_is_asked_for_again() -> None:
    reading = read("再说一遍")
    assert reading.commands == [commands.Repeat()]
    assert routed(reading)[::2] == ("reply", "pattern")


@each_row("said", ["跳过", "从头来", "怎么填"])
def test_other_acts_are_none_where_nothing_is_asked(said: str) -> None:
    assert command(said) is None


def test_a_skill_that_asked_is_told_what_it_may_understand_better() -> None:
    assert isinstance(command("help", skill="trip-planner"), commands.RunSkill)


@each_row("view", [None, asking(LEAVE, "reason", KNOWN), CONFIRMING])
def test_a_tool_that_reads_is_called_at_once(view: FormView | None) -> None:
    reading = read("我的请假批了吗？", view)
    (call,) = reading.commands
    assert isinstance(call, commands.CallTool)
    assert (call.tool, call.arguments) == ("standing", {})
    assert routed(reading) == ("tool", "standing", "pattern")
    assert {hit.flow for hit in reading.patterns if hit.blocked_by is None} == set()


def test_any_other_tool_starts_its_form_with_what_the_sentence_names() -> None:
    reading = read("取消我的请假")
    assert reading.commands == [commands.StartFlow(flow="take_back", slots={"request": "请假"})]
    assert routed(reading)[::2] == ("flow", "pattern")


def test_a_flow_that_takes_the_message_comes_before_a_tool() -> None:
    greedy = [ToolPhrases("standing", STANDING, ("^我要请假$",), reads=True)]
    begun = command("我要请假", reader=Reader(FLOWS, greedy))
    assert begun == commands.StartFlow(flow="leave_request")


@each_row("said", ["撤回", "撤回吧", "take it back", "withdraw it"])
def test_what_was_handed_in_is_taken_back(said: str) -> None:
    waiting = asking(LEAVE, None, status="waiting_approval")
    assert command(said, handed_in=[waiting]) == commands.Withdraw()
    assert command(said, at_work=asking(LEAVE, None, status="running")) == commands.CancelFlow()
    assert command(said, asking(LEAVE, "start")) == commands.CancelFlow()
    assert command(said) is None


def test_giving_up_alone_takes_nothing_back_that_waits_for_approval() -> None:
    waiting = asking(LEAVE, None, status="waiting_approval")
    assert command("算了", handed_in=[waiting]) is None


def test_cancel_another_kind_is_no_cancellation_of_this_one() -> None:
    expense = asking(EXPENSE, "reason", {"items": [TAXI]})
    taken_back = commands.StartFlow(flow="take_back", slots={"request": "请假"})
    assert command("取消我的请假", expense) == taken_back
    assert command("取消我的请假", asking(LEAVE, "start")) == commands.CancelFlow()
    assert command("取消我的报销", expense) == commands.CancelFlow()
    at_work = asking(EXPENSE, None, status="running")
    assert command("取消我的请假", at_work=at_work) == taken_back
    assert command("取消我的报销", at_work=at_work) == commands.CancelFlow()


@each_row("said", ["leave it", "forget about it", "取消申请", "算了", "不办了"])
def test_words_that_name_no_kind_call_off_any_run(said: str) -> None:
    assert command(said, asking(EXPENSE, "reason", {"items": [TAXI]})) == commands.CancelFlow()


@each_row("said", ["cancel my leave request", "cancel the leave"])
def test_in_english_a_kind_is_told_by_its_words(said: str) -> None:
    expense = asking(EXPENSE, "items.0.amount")
    assert command(said, expense) != commands.CancelFlow()
    assert command(said, asking(LEAVE, "start")) == commands.CancelFlow()
