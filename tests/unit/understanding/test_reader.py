from datetime import datetime
from typing import Any

import pytest

from router.domain.commands import (
    CancelFlow,
    Clarify,
    Command,
    Confirm,
    FillSlots,
    ReplyText,
    RunSkill,
    StartFlow,
)
from router.domain.messages import (
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FormAction,
    FormReply,
    Message,
    Option,
    StartAction,
    ToolResultAction,
    offer_question,
)
from router.flow.paused import Situation
from router.flow.view import FlowView
from router.understanding.reader import Reader
from router.understanding.reading import Reading
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, FLOWS, LEAVE
from tests.unit.understanding.test_answers import TRANSPORT, asking

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
READER = Reader(FLOWS)
KNOWN = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "搬家"}
CONFIRMING = asking(LEAVE, None, KNOWN, "confirming")
OFFERED = [
    Option(label="请假申请", value="leave_request"),
    Option(label="费用报销", value="reimbursement"),
]


def situation(active: FlowView | None = None, **more: Any) -> Situation:
    return Situation(**{"now": NOW, "locale": "zh", "roles": EMPLOYEE, "active": active} | more)


def read(said: str | Any, active: FlowView | None = None, **more: Any) -> Reading:
    message = Message(text=said) if isinstance(said, str) else Message(action=said)
    return READER.read(message, situation(active, **more))


def command(said: str | Any, active: FlowView | None = None, **more: Any) -> Command | None:
    commands = read(said, active, **more).commands
    assert len(commands) <= 1
    return commands[0] if commands else None


def test_a_request_starts_its_flow_with_what_it_names() -> None:
    reading = read("我要请年假，下周一到周三，家里有事")
    slots = {
        "leave_type": "annual",
        "start": "2026-11-23",
        "end": "2026-11-25",
        "reason": "家里有事",
    }
    assert reading.commands == [StartFlow(flow="leave_request", slots=slots)]
    route = reading.route
    assert route is not None
    assert (route.kind, route.target, route.by, route.confidence) == (
        "flow",
        "leave_request",
        "pattern",
        1.0,
    )
    assert "请假申请" in route.reason
    assert reading.entities[0].value == {"start": "2026-11-23", "end": "2026-11-25"}
    assert reading.normalised == "我要请年假,下周一到周三,家里有事"


@pytest.mark.parametrize("text", ["怎么请假", "你好", "取消我的请假", "今天天气如何", "取消"])
def test_anything_else_is_left_to_the_deciding(text: str) -> None:
    reading = read(text)
    assert (reading.route, reading.commands) == (None, [])


def test_two_flows_in_one_sentence_are_a_question() -> None:
    reading = read("我要请假，还有要报销打车费", locale="en")
    assert reading.route is not None
    assert (reading.route.kind, reading.route.by) == ("clarify", "pattern")
    (clarify,) = reading.commands
    assert isinstance(clarify, Clarify)
    assert {(o.label, o.value) for o in clarify.options} == {
        ("Leave request", "leave_request"),
        ("Expense claim", "reimbursement"),
    }


def test_a_flow_for_other_roles_does_not_start() -> None:
    assert command("今天加班") is None
    assert command("今天加班", roles=frozenset({"manager"})) == StartFlow(flow="overtime")


@pytest.mark.parametrize("text", ["1", "请假", "第一个", "leave_request"])
def test_an_offered_flow_is_chosen_in_words(text: str) -> None:
    reading = read(text, offered=OFFERED)
    assert isinstance(reading.commands[0], StartFlow)
    assert reading.commands[0].flow == "leave_request"
    assert reading.route is not None
    assert reading.route.by == "slot"


def test_an_offered_flow_is_chosen_with_a_button() -> None:
    reading = read(ChooseAction(type="choose", value="reimbursement"), offered=OFFERED)
    assert reading.commands == [StartFlow(flow="reimbursement")]
    assert reading.route is not None
    assert reading.route.by == "action"


@pytest.mark.parametrize(
    "said", ["1", ChooseAction(type="choose", value="leave_request")], ids=["words", "button"]
)
def test_a_flow_that_was_offered_begins_with_what_the_first_words_named(
    said: str | ChooseAction,
) -> None:
    reading = read(said, offered=OFFERED, offered_for="下周一到周三想陪陪家里人，年假")
    (begun,) = reading.commands
    assert isinstance(begun, StartFlow)
    assert begun.slots == {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25"}


UNASKED = [
    ChooseAction(type="choose", value="reimbursement"),
    ConfirmAction(type="confirm", value=True),
    FormAction(type="form", values={"start": "明天"}),
]


@pytest.mark.parametrize(
    ("action", "said"),
    list(zip(UNASKED, ["没有要选的", "没有要确认的", "没有要填的"], strict=True)),
)
@pytest.mark.parametrize("skill", ["", "policy-advisor"])
def test_an_answer_where_nothing_was_asked_is_told_so(action: Any, said: str, skill: str) -> None:
    reading = read(action, skill=skill)
    (reply,) = reading.commands
    assert isinstance(reply, ReplyText)
    assert said in reply.text
    assert reading.route is not None
    assert (reading.route.kind, reading.route.by) == ("reply", "action")


@pytest.mark.parametrize(
    "action",
    [
        {"type": "confirm", "value": True},
        {"type": "form", "values": {}},
        {"type": "choose", "value": "x"},
        {"type": "choose", "value": 7},
        {"type": "choose", "value": None},
        {"type": "choose", "value": []},
    ],
)
def test_an_answer_that_fits_no_offer_shows_what_is_offered(action: dict[str, Any]) -> None:
    said = Message.model_validate({"action": action}).action
    asked = command(said, offered=OFFERED)
    assert isinstance(asked, Clarify)
    assert asked.options == OFFERED


def test_an_option_that_is_no_flow_is_left_to_the_deciding() -> None:
    option = Option(label="看看政策", value="policy-advisor")
    assert command(ChooseAction(type="choose", value="policy-advisor"), offered=[option]) is None


def test_a_choice_where_yes_or_no_is_asked_shows_the_question_again() -> None:
    choice = ChooseAction(type="choose", value="annual")
    assert command(choice, CONFIRMING) == FillSlots(slots={}, question="outdated")
    assert command(ToolResultAction(type="tool_result", tool_call_id="1", result=1)) is None


def test_buttons_and_forms_answer_the_flow_that_asks() -> None:
    kind = asking(LEAVE, "leave_type")
    assert command(ChooseAction(type="choose", value="sick"), kind) == FillSlots(
        slots={"leave_type": "sick"}
    )
    more = asking(EXPENSE, "items", {"items": [TRANSPORT]})
    assert command(ChooseAction(type="choose", value=False), more) == FillSlots(
        slots={"items.more": False}
    )
    assert command(ConfirmAction(type="confirm", value=False), CONFIRMING) == Confirm(value=False)
    start = asking(LEAVE, "start")
    form = FormAction(type="form", values={"start": "2026-12-01"})
    assert command(form, start) == FillSlots(slots={"start": "2026-12-01"})


def test_an_answer_fills_what_is_asked() -> None:
    reading = read("到周四", asking(LEAVE, "end", {"start": "2026-11-23"}))
    assert reading.commands == [FillSlots(slots={"end": "2026-11-26"})]
    assert reading.route is not None
    assert (reading.route.kind, reading.route.target, reading.route.by) == (
        "flow",
        "leave_request",
        "slot",
    )


def test_calling_it_off_cancels_whatever_is_asked() -> None:
    for view in (asking(LEAVE, "reason"), asking(LEAVE, "start"), CONFIRMING):
        reading = read("算了不请了", view)
        assert reading.commands == [CancelFlow()]
        assert reading.route is not None
        assert (reading.route.kind, reading.route.by) == ("cancel", "slot")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("好的", Confirm(value=True)),
        ("ok", Confirm(value=True)),
        ("不对", Confirm(value=False)),
        ("不对，结束日期改成周五", Confirm(value=False, slots={"end": "2026-11-27"})),
        ("结束日期改成周五", FillSlots(slots={"end": "2026-11-27"})),
        ("改成下周二", FillSlots(slots={"start": "2026-11-24"})),
        ("reason should be moving house", FillSlots(slots={"reason": "moving house"})),
        ("今天天气", None),
    ],
)
def test_a_confirmation_is_answered_or_put_right(text: str, expected: Command | None) -> None:
    assert command(text, CONFIRMING) == expected


def test_a_request_for_another_flow_is_heard_while_one_asks() -> None:
    for view in (asking(LEAVE, "leave_type"), asking(LEAVE, "reason"), CONFIRMING):
        assert command("我要报销", view) == StartFlow(flow="reimbursement")


def test_another_flows_word_within_free_text_is_free_text() -> None:
    text = "陪客户去医院处理一下上次没办完的要报销的事情"
    assert command(text, asking(LEAVE, "reason")) == FillSlots(slots={"reason": text})


def test_asking_for_the_same_flow_again_goes_on_with_it() -> None:
    view = asking(LEAVE, "leave_type")
    assert command("我要请假", view) == FillSlots(slots={})
    assert command("我要请病假", view) == FillSlots(slots={"leave_type": "sick"})


def test_a_correction_that_asks_for_the_same_flow_again_is_one() -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"})
    assert command("不对，我要请病假", view) == FillSlots(slots={"leave_type": "sick"})


def test_a_correction_is_heard_while_something_else_is_asked() -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"})
    assert command("不对，是下周二", view) == FillSlots(slots={"start": "2026-11-24"})
    assert command("改成病假", view) == FillSlots(slots={"leave_type": "sick"})


def test_a_digression_is_left_to_the_deciding() -> None:
    assert command("年假还剩几天？", asking(LEAVE, "reason")) is None
    assert command("今天天气如何", asking(LEAVE, "leave_type")) is None


def test_a_flow_that_does_not_ask_hears_nothing() -> None:
    waiting = asking(LEAVE, None, KNOWN, "waiting_approval")
    assert command("好的", waiting) is None
    assert command("我要报销", waiting) == StartFlow(flow="reimbursement")


def test_the_reason_is_in_the_language_of_the_conversation() -> None:
    route = read("apply for annual leave", locale="en").route
    assert route is not None
    assert "Leave request" in route.reason


CARD = ConfirmReply(text="?", summary={}, question="review:4::ab")
SHOWN = CONFIRMING.model_copy(update={"replies": [CARD]})
ASKED_DATE = asking(LEAVE, "start").model_copy(
    update={"replies": [FormReply(text="?", fields=[], question="details:1:start:ab")]}
)


def test_an_answer_that_names_the_open_question_is_to_that_one() -> None:
    yes = ConfirmAction(type="confirm", value=True, question="review:4::ab")
    assert command(yes, SHOWN) == Confirm(value=True, question=SHOWN.question)
    form = FormAction(type="form", values={"start": "2026-11-23"}, question="details:1:start:ab")
    assert command(form, ASKED_DATE) == FillSlots(slots={"start": "2026-11-23"})


@pytest.mark.parametrize("question", ["review:3::ab", "review:4::cd", "", "x" * 300, "offer:ab"])
@pytest.mark.parametrize(
    "action",
    [
        {"type": "confirm", "value": True},
        {"type": "choose", "value": "annual"},
        {"type": "form", "values": {"reason": "x"}},
    ],
)
def test_an_answer_to_another_question_changes_nothing(
    question: str, action: dict[str, Any]
) -> None:
    said = Message.model_validate({"action": {**action, "question": question}}).action
    for view in (SHOWN, ASKED_DATE):
        assert command(said, view) == FillSlots(slots={}, question="outdated")


def test_an_option_of_an_earlier_offer_shows_the_present_one() -> None:
    old = ChooseAction(type="choose", value="leave_request", question="offer:old")
    asked = command(old, offered=OFFERED)
    assert isinstance(asked, Clarify)
    assert asked.options == OFFERED
    now = ChooseAction(type="choose", value="leave_request", question=offer_question(OFFERED))
    assert command(now, offered=OFFERED) == StartFlow(flow="leave_request")


def test_where_no_question_is_open_any_more_that_is_said() -> None:
    late = ConfirmAction(type="confirm", value=True, question="review:4::ab")
    assert command(late) == ReplyText(text="刚才的问题已经结束了，没有任何改变。")


def test_a_flow_is_started_by_name_with_values_read_like_a_forms() -> None:
    start = StartAction(type="start", flow="leave_request", slots={"start": "12月1日"})
    reading = read(start)
    assert reading.commands == [StartFlow(flow="leave_request", slots={"start": "2026-12-01"})]
    assert reading.route is not None
    assert (reading.route.kind, reading.route.by) == ("flow", "action")
    assert isinstance(command(start, CONFIRMING), StartFlow)


@pytest.mark.parametrize(
    ("flow", "roles"), [("nothing_such", EMPLOYEE), ("leave_request", frozenset[str]())]
)
def test_what_is_not_there_is_not_started(flow: str, roles: frozenset[str]) -> None:
    start = StartAction(type="start", flow=flow)
    assert command(start, roles=roles) == ReplyText(text="这件事现在办不了。")


ASKED_FOR_TEXT = asking(EXPENSE, "reason", {"items": [TRANSPORT]})


@pytest.mark.parametrize(
    "name",
    [
        "leave request",
        "Leave request.",
        "leave",
        "my leave request",
        "leave_request",
        "请假申请",
        "请假",
        "“请假申请”",
        "我的请假申请",
        "请 假",
    ],
)
def test_where_a_text_is_asked_for_the_mere_name_of_a_flow_is_that_text(name: str) -> None:
    assert command(name, ASKED_FOR_TEXT) == FillSlots(slots={"reason": name})


@pytest.mark.parametrize("request_", ["我要请假", "申请请假", "请假两天", "request leave please"])
def test_a_flow_that_is_asked_for_begins_also_where_a_text_is_asked_for(request_: str) -> None:
    assert isinstance(command(request_, ASKED_FOR_TEXT), StartFlow)


def test_a_mere_name_is_a_request_where_no_text_is_asked_for() -> None:
    assert isinstance(command("请假申请", asking(EXPENSE, "items.0.amount")), StartFlow)
    assert isinstance(command("请假申请"), StartFlow)


def test_what_is_addressed_to_a_skill_begins_no_flow() -> None:
    addressed = Message(text="我要请假", skill="policy-advisor")
    assert READER.read(addressed, situation()).route is None


def test_what_is_addressed_to_a_skill_still_answers_a_flow_that_asks() -> None:
    addressed = Message(text="确认", skill="policy-advisor")
    assert READER.read(addressed, situation(CONFIRMING)).commands == [Confirm(value=True)]


def test_what_is_addressed_to_the_skill_that_asked_answers_it() -> None:
    addressed = Message(text="三年", skill="policy-advisor")
    (command,) = READER.read(addressed, situation(skill="policy-advisor")).commands
    assert command == RunSkill(skill="policy-advisor", request="三年")
    assert READER.read(addressed, situation(skill="trip-planner")).route is None
