"""What the reader makes of requests, answers, buttons and offers."""

from typing import Any

from router.domain import messages
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
from router.flow.view import FormView
from router.understanding import route_reasons
from tests.table import each_row
from tests.unit.entities.tables import typed
from tests.unit.understanding.dialogue import TAXI, asking, command, read, routed
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, LEAVE

KNOWN = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "搬家"}
CONFIRMING = asking(LEAVE, None, KNOWN, "confirming")
DECEMBER = messages.FormAction(type="form", values={"start": "2026-12-01"})
OFFERED = [
    messages.Option(label="请假申请", value="leave_request"),
    messages.Option(label="费用报销", value="reimbursement"),
]


def choose(value: Any, question: str | None = None) -> messages.ChooseAction:
    return messages.ChooseAction(type="choose", value=value, question=question)


def test_a_request_starts_its_flow_with_what_it_names() -> None:
    reading = read("我要请年假，下周一到周三，家里有事")
    slots = {**KNOWN, "reason": "家里有事"}
    assert reading.commands == [StartFlow(flow="leave_request", slots=slots)]
    assert routed(reading) == ("flow", "leave_request", "pattern")
    assert reading.route is not None
    assert reading.route.confidence == 1.0
    assert "请假申请" in reading.route.reason
    assert reading.entities[0].value == {"start": "2026-11-23", "end": "2026-11-25"}
    assert reading.normalised == "我要请年假,下周一到周三,家里有事"


@each_row("text", ["怎么请假", "你好", "取消我的请假", "今天天气如何", "取消"])
def test_anything_else_is_left_to_the_deciding(text: str) -> None:
    reading = read(text)
    assert (reading.route, reading.commands) == (None, [])


def test_two_flows_in_one_sentence_are_a_question() -> None:
    reading = read("我要请假，还有要报销打车费", locale="en")
    assert routed(reading)[::2] == ("clarify", "pattern")
    (clarify,) = reading.commands
    assert isinstance(clarify, Clarify)
    options = {option.value: option.label for option in clarify.options}
    assert options == {"leave_request": "Leave request", "reimbursement": "Expense claim"}


def test_a_flow_for_other_roles_does_not_start() -> None:
    assert command("今天加班") is None
    assert command("今天加班", roles=frozenset({"manager"})) == StartFlow(flow="overtime")


@each_row("text", ["1", "请假", "第一个", "leave_request"])
def test_an_offered_flow_is_chosen_in_words(text: str) -> None:
    reading = read(text, offered=OFFERED)
    assert isinstance(reading.commands[0], StartFlow)
    assert reading.commands[0].flow == "leave_request"
    assert routed(reading)[2] == "slot"


def test_an_offered_flow_is_chosen_with_a_button() -> None:
    reading = read(choose("reimbursement"), offered=OFFERED)
    assert reading.commands == [StartFlow(flow="reimbursement")]
    assert routed(reading)[2] == "action"


@each_row("said", ["1", choose("leave_request")], ids=["words", "button"])
def test_a_flow_that_was_offered_begins_with_what_the_first_words_named(
    said: str | messages.ChooseAction,
) -> None:
    reading = read(said, offered=OFFERED, offered_for="下周一到周三想陪陪家里人，年假")
    (begun,) = reading.commands
    assert isinstance(begun, StartFlow)
    assert begun.slots == {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25"}


@each_row(
    ("action", "said"),
    [
        (choose("reimbursement"), "没有要选的"),
        (messages.ConfirmAction(type="confirm", value=True, question="a"), "没有再改动什么"),
        (DECEMBER, "没有要填的"),
    ],
)
@each_row("skill", ["", "policy-advisor"])
def test_an_answer_where_nothing_was_asked_is_told_so(action: Any, said: str, skill: str) -> None:
    reading = read(action, skill=skill)
    (reply,) = reading.commands
    assert isinstance(reply, ReplyText)
    assert said in reply.text
    assert routed(reading)[::2] == ("reply", "action")


@each_row(
    "action",
    [
        {"type": "confirm", "value": True, "question": "a"},
        {"type": "form", "values": {}},
        {"type": "choose", "value": "x"},
        {"type": "choose", "value": 7},
        {"type": "choose", "value": None},
        {"type": "choose", "value": []},
    ],
)
def test_an_answer_that_fits_no_offer_shows_what_is_offered(action: dict[str, Any]) -> None:
    said = messages.Message.model_validate({"action": action}).action
    asked = command(said, offered=OFFERED)
    assert isinstance(asked, Clarify)
    assert asked.options == OFFERED


def test_an_option_that_is_no_flow_is_left_to_the_deciding() -> None:
    option = messages.Option(label="看看政策", value="policy-advisor")
    assert command(choose("policy-advisor"), offered=[option]) is None


def test_a_choice_where_yes_or_no_is_asked_shows_the_question_again() -> None:
    choice = choose("annual")
    assert command(choice, CONFIRMING) == FillSlots(slots={}, question="outdated")
    assert (
        command(messages.ToolResultAction(type="tool_result", tool_call_id="1", result=1)) is None
    )


def test_an_answer_fills_what_is_asked() -> None:
    reading = read("到周四", asking(LEAVE, "end", {"start": "2026-11-23"}))
    assert reading.commands == [FillSlots(slots={"end": "2026-11-26"})]
    assert routed(reading) == ("flow", "leave_request", "slot")


def test_calling_it_off_cancels_whatever_is_asked() -> None:
    for view in (asking(LEAVE, "reason"), asking(LEAVE, "start"), CONFIRMING):
        reading = read("算了不请了", view)
        assert reading.commands == [CancelFlow()]
        assert routed(reading)[::2] == ("cancel", "slot")


KIND, START, WHY = asking(LEAVE, "leave_type"), asking(LEAVE, "start"), asking(LEAVE, "reason")
TILL = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"})
MORE = asking(EXPENSE, "items", {"items": [TAXI]})
WAITING = asking(LEAVE, None, KNOWN, "waiting_approval")
ELSEWHERE = "陪客户去医院处理一下上次没办完的要报销的事情"
CLAIM, SICK = StartFlow(flow="reimbursement"), FillSlots(slots={"leave_type": "sick"})
AFTERWARDS = FillSlots(slots={"start": "2026-11-24"})


@each_row(
    ("view", "said", "expected"),
    [
        (CONFIRMING, "好的", Confirm(value=True)),
        (CONFIRMING, "ok", Confirm(value=True)),
        (CONFIRMING, "不对", Confirm(value=False)),
        (CONFIRMING, "不对，结束日期改成周五", Confirm(value=False, slots={"end": "2026-11-27"})),
        (CONFIRMING, "结束日期改成周五", FillSlots(slots={"end": "2026-11-27"})),
        (CONFIRMING, "改成下周二", AFTERWARDS),
        (CONFIRMING, "reason should be moving house", FillSlots(slots={"reason": "moving house"})),
        (CONFIRMING, "今天天气", None),
        (KIND, choose("sick"), SICK),
        (MORE, choose(False), FillSlots(slots={"items.more": False})),
        (START, DECEMBER, FillSlots(slots={"start": "2026-12-01"})),
        # Another flow is heard while one asks, but not its word within free text
        *((view, "我要报销", CLAIM) for view in (KIND, WHY, CONFIRMING, WAITING)),
        (WHY, ELSEWHERE, FillSlots(slots={"reason": ELSEWHERE})),
        # Asking for the same flow again goes on with it
        (KIND, "我要请假", FillSlots(slots={})),
        (KIND, "我要请病假", SICK),
        (TILL, "不对，我要请病假", SICK),
        # A correction is heard while something else is asked
        (TILL, "不对，是下周二", AFTERWARDS),
        (TILL, "改成病假", SICK),
        # A digression is left to the deciding; a flow that doesn't ask hears nothing
        (WHY, "年假还剩几天？", None),
        (KIND, "今天天气如何", None),
        (WAITING, "好的", None),
    ],
)
def test_what_is_said_to_a_question(view: FormView, said: Any, expected: Command | None) -> None:
    assert command(said, view) == expected


def test_the_reason_is_in_the_language_of_the_conversation() -> None:
    route = read("apply for annual leave", locale="en").route
    assert route is not None
    assert "Leave request" in route.reason


CARD = messages.ConfirmReply(text="?", summary={}, question="review:4::ab")
SHOWN = CONFIRMING.model_copy(update={"replies": [CARD]})
ASKED_DATE = asking(
    LEAVE, "start", replies=[messages.FormReply(text="?", fields=[], question="details:1:start:ab")]
)


def test_an_answer_that_names_the_open_question_is_to_that_one() -> None:
    yes = messages.ConfirmAction(type="confirm", value=True, question="review:4::ab")
    assert command(yes, SHOWN) == Confirm(value=True, question=SHOWN.question)
    form = messages.FormAction(
        type="form", values={"start": "2026-11-23"}, question="details:1:start:ab"
    )
    assert command(form, ASKED_DATE) == FillSlots(slots={"start": "2026-11-23"})


@each_row("question", ["review:3::ab", "review:4::cd", "", "x" * 300, "offer:ab"])
@each_row(
    "action",
    [
        {"type": "confirm", "value": True, "question": "a"},
        {"type": "choose", "value": "annual"},
        {"type": "form", "values": {"reason": "x"}},
    ],
)
def test_answers_to_other_questions_change_nothing(question: str, action: dict[str, Any]) -> None:
    said = messages.Message.model_validate({"action": {**action, "question": question}}).action
    for view in (SHOWN, ASKED_DATE):
        assert command(said, view) == FillSlots(slots={}, question="outdated")


def test_an_option_of_an_earlier_offer_shows_the_present_one() -> None:
    old = choose("leave_request", "offer:old")
    asked = command(old, offered=OFFERED)
    assert isinstance(asked, Clarify)
    assert asked.options == OFFERED
    now = choose("leave_request", messages.offer_question(OFFERED))
    assert command(now, offered=OFFERED) == StartFlow(flow="leave_request")


def test_where_no_question_is_open_any_more_that_is_said() -> None:
    late = messages.ConfirmAction(type="confirm", value=True, question="review:4::ab")
    assert command(late) == ReplyText(text=route_reasons.ANSWERED_BEFORE.zh)


def test_a_flow_is_started_by_name_with_values_read_like_a_forms() -> None:
    start = messages.StartAction(type="start", flow="leave_request", slots={"start": "12月1日"})
    reading = read(start)
    assert reading.commands == [StartFlow(flow="leave_request", slots={"start": "2026-12-01"})]
    assert routed(reading)[::2] == ("flow", "action")
    assert isinstance(command(start, CONFIRMING), StartFlow)


@each_row(("flow", "roles"), [("nothing_such", EMPLOYEE), ("leave_request", frozenset[str]())])
def test_what_is_not_there_is_not_started(flow: str, roles: frozenset[str]) -> None:
    start = messages.StartAction(type="start", flow=flow)
    assert command(start, roles=roles) == ReplyText(text="这件事现在办不了。")


ASKED_FOR_TEXT = asking(EXPENSE, "reason", {"items": [TAXI]})


@typed("""
    leave request  Leave request.  leave  my leave request  leave_request
    请假申请  请假  “请假申请”  我的请假申请  请 假
""")
def test_where_a_text_is_asked_for_the_mere_name_of_a_flow_is_that_text(typed: str) -> None:
    assert command(typed, ASKED_FOR_TEXT) == FillSlots(slots={"reason": typed})


@each_row("request_", ["我要请假", "申请请假", "请假两天", "request leave please"])
def test_a_flow_that_is_asked_for_begins_also_where_a_text_is_asked_for(request_: str) -> None:
    assert isinstance(command(request_, ASKED_FOR_TEXT), StartFlow)


def test_a_mere_name_is_a_request_where_no_text_is_asked_for() -> None:
    assert isinstance(command("请假申请", asking(EXPENSE, "items.0.amount")), StartFlow)
    assert isinstance(command("请假申请"), StartFlow)


def test_what_is_addressed_to_a_skill_begins_no_flow_but_answers_one_that_asks() -> None:
    assert read(messages.Message(text="我要请假", skill="policy-advisor")).route is None
    addressed = messages.Message(text="确认", skill="policy-advisor")
    assert command(addressed, CONFIRMING) == Confirm(value=True)


def test_what_is_addressed_to_the_skill_that_asked_answers_it() -> None:
    addressed = messages.Message(text="三年", skill="policy-advisor")
    told = command(addressed, skill="policy-advisor")
    assert told == RunSkill(skill="policy-advisor", request="三年", addressed_by="answer")
    assert read(addressed, skill="trip-planner").route is None
