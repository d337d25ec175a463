"""What waits for approval is changed in words that plainly do so, and in no others."""

from typing import Any

from router.domain.commands import Amend, Clarify, Confirm, ReplyText, StartFlow
from router.domain.messages import ChooseAction, offer_question
from tests.table import each_row
from tests.unit.understanding.dialogue import asking, command, read
from tests.unit.understanding.flows import EXPENSE, LEAVE, flow

GIVEN = {"leave_type": "annual", "start": "2026-12-21", "end": "2026-12-22", "reason": "搬家"}
WAITING = asking(LEAVE, None, GIVEN, status="waiting_approval")
TEXT = {"zh": "?", "en": "?"}
SPACE = {"type": "text", "label": {"zh": "车位", "en": "Space"}, "ask": TEXT}
PARKING = flow(
    "parking",
    slots={"space": SPACE, "why": {"type": "text", "ask": TEXT}},
    title={"zh": "车位申请", "en": "Parking"},
)
PARKED = asking(
    PARKING, None, {"space": "B1", "why": "早班"}, status="waiting_approval", id="parked"
)


@each_row(
    ("said", "slots"),
    [
        ("不对，是到23日", {"end": "2026-12-23"}),
        ("结束日期改成12月23日", {"end": "2026-12-23"}),
        ("change the end to December 23", {"end": "2026-12-23"}),
        ("请把结束日期改到12月24日", {"end": "2026-12-24"}),
        ("能不能把结束日期改成12月24日？", {"end": "2026-12-24"}),
        ("could you change the end to Dec 24?", {"end": "2026-12-24"}),
        ("事由改成看病", {"reason": "看病"}),
        ("不对，我要请病假", None),
        ("改成病假", {"leave_type": "sick"}),
        ("actually make it sick leave", {"leave_type": "sick"}),
    ],
)
def test_a_change_of_what_waits_is_understood(said: str, slots: dict[str, Any] | None) -> None:
    found = command(said, handed_in=[WAITING])
    if slots is None:
        assert isinstance(found, StartFlow)
    else:
        assert found == Amend(run="run", flow="leave_request", slots=slots)
    assert not isinstance(command(said), Amend)


@each_row("said", ["改成B2", "不对，改成 B2", "change it to B2", "车位改成B2"])
def test_a_text_that_looks_like_the_one_that_is_known_takes_its_place(said: str) -> None:
    assert command(said, handed_in=[PARKED]) == Amend(
        run="parked", flow="parking", slots={"space": "B2"}
    )


@each_row(
    "said",
    [
        "我要请假",
        "我要请年假，12月23日到24日，看病",
        "I want to take annual leave on December 23",
        "结束日期改了吗？",
        "结束日期是哪天？",
        "改成23日了吗",
        "has the end been changed to December 23?",
        "会议开始时间是周五",
        "年假是15天",
        "不对",
        "改一下",
        "今天是23日",
        "明天天气怎么样",
        "我的请假批了吗",
        "怎么改结束日期",
        "how do I change the end date?",
        "谢谢",
        "你能做什么",
    ],
)
def test_what_asks_begins_or_only_names_something_changes_nothing(said: str) -> None:
    assert not isinstance(command(said, handed_in=[WAITING]), Amend)
    assert command(said, handed_in=[WAITING]) == command(said) or "能做" in said


OTHER = WAITING.model_copy(update={"id": "other", "slots": GIVEN | {"leave_type": "sick"}})


def test_of_several_it_is_asked_which_and_the_one_that_is_chosen_is_changed() -> None:
    said = "结束日期改成12月23日"
    which = command(said, handed_in=[WAITING, OTHER])
    assert isinstance(which, Clarify)
    assert [option.value for option in which.options] == ["amend:run", "amend:other"]
    assert "病假" in which.options[1].label
    asked: dict[str, Any] = {
        "offered": which.options,
        "offered_for": said,
        "handed_in": [WAITING, OTHER],
    }
    named = offer_question(which.options)
    pressed = ChooseAction(type="choose", value="amend:other", question=named)
    for chosen in (pressed, "第二个"):
        made = command(chosen, **asked)
        assert made == Amend(run="other", flow="leave_request", slots={"end": "2026-12-23"})
    gone = command(pressed, **(asked | {"handed_in": [WAITING]}))
    assert isinstance(gone, ReplyText)


def test_one_that_is_named_is_the_one_that_is_meant() -> None:
    claim = asking(EXPENSE, None, {"reason": "见客户"}, status="waiting_approval", id="claim")
    said = "报销的事由改成团建"
    found = command(said, handed_in=[WAITING, claim])
    assert found == Amend(run="claim", flow="reimbursement", slots={"reason": "团建"})


def test_branches_of_one_request_are_one() -> None:
    parts = [WAITING.model_copy(update={"id": n, "whole": "whole"}) for n in ("a", "b")]
    assert isinstance(command("结束日期改成12月23日", handed_in=parts), Amend)


ASKED = WAITING.model_copy(update={"status": "confirming", "amends": True, "question": "q"})


@each_row(
    ("said", "kind"),
    [
        ("好的", "confirm"),
        ("算了", "confirm"),
        ("取消", "confirm"),
        ("撤回", "cancel_flow"),
        ("取消请假", "cancel_flow"),
        ("不对，到12月24日", "confirm"),
        ("我要请假", "start_flow"),
    ],
)
def test_giving_up_a_change_is_not_giving_up_the_request(said: str, kind: str) -> None:
    found = command(said, ASKED, handed_in=[WAITING])
    assert found is not None
    assert found.type == kind
    if isinstance(found, Confirm):
        assert found.value == (said == "好的")


@each_row("said", ["帮助", "help"])
def test_help_names_what_waits(said: str) -> None:
    locale = "en" if said == "help" else "zh"
    (reply,) = read(said, handed_in=[WAITING], locale=locale).commands
    assert isinstance(reply, ReplyText)
    assert ("等审批" if locale == "zh" else "Waiting for approval") in reply.text
    assert ("年假" if locale == "zh" else "annual leave") in reply.text
