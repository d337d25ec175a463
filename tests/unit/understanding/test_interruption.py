"""Giving up: by words for anything, and by those that the flow's file has for it."""

from typing import Any

from router.domain.commands import CancelFlow, FillSlots, Resume
from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition
from router.flow.paused import PausedRun
from router.understanding.dialogue_acts import ANYTHING, cancels
from router.understanding.names import FlowNames
from router.understanding.reader import Reader
from tests.table import each_row
from tests.unit.entities.tables import spread, typed
from tests.unit.understanding.dialogue import asking, read
from tests.unit.understanding.flows import EXPENSE, KIT, LEAVE, TRIP, flow

PARKING = flow(
    "parking_space",
    title={"zh": "车位申请", "en": "Parking space"},
    names=["停车位", "parking lot", "bay"],
    verbs=["停", "停车", "park"],
)
"""A flow that a stranger added."""
KINDS = {flow.flow: FlowNames.of(flow) for flow in (LEAVE, EXPENSE, TRIP, KIT, PARKING)}


def given_up(typed: str) -> list[str]:
    said = normalise(typed).text
    return [flow for flow, names in KINDS.items() if cancels(said, names)]


@typed("""
    取消  取消吧  取消申请  算了  算了，谢谢  不办了  放弃  退出  不申请了
    cancel  please cancel  Cancel it.  never mind  nevermind  forget it  stop  I changed my mind
    I don't want it any more  no longer needed
""")
def test_anything_is_given_up_by_these(typed: str) -> None:
    assert cancels(normalise(typed).text, ANYTHING)
    assert given_up(typed) == list(KINDS)


@each_row(
    ("flow", "typed"),
    spread(
        (LEAVE, "不请了  算了不请了  算了，不请了，谢谢  我不想请了  先不请了  不请假了"),
        (LEAVE, "取消我的年假  别请了  cancel my leave  cancel my pto please"),
        (LEAVE, "I don't want to take annual leave any more"),
        (EXPENSE, "我不报了  不报销了  cancel my expense claim"),
        (EXPENSE, "I no longer need the reimbursement"),
        (TRIP, "不出差了  不去出差了  出差不去了  取消出差  cancel my trip"),
        (TRIP, "I don't want to travel any more"),
        (KIT, "I don't want the laptop any more  不要电脑了  电脑不要了  取消设备申请"),
        (KIT, "cancel my equipment request  不领了"),
        (PARKING, "不停了  取消停车位  车位不要了  cancel my bay"),
        (PARKING, "I don't need the parking space any more  I don't want to park any more"),
    ),
)
def test_a_flow_is_given_up_by_its_own_words(flow: FlowDefinition, typed: str) -> None:
    assert given_up(typed) == [flow.flow]


@each_row(
    "typed",
    [
        *("航班取消了", "会议取消，要改签", "不对", "不", "不舒服", "年假", "明天", ""),
        *("don't cancel", "my flight was cancelled", "stop by the office on Monday"),
        *("I don't want to bother", "cancel the meeting with my parking lot attendant"),
    ],
)
def test_other_words_give_up_nothing(typed: str) -> None:
    assert given_up(typed) == []


READER = Reader([LEAVE, EXPENSE, TRIP, KIT, PARKING])
ONE = {"kind": "laptop", "quantity": 1}


def meant(typed: str, **situation: Any) -> tuple[object, str]:
    """The command, and the policy that gave it."""
    reading = read(typed, reader=READER, locale="en", **situation)
    return reading.commands[0], reading.route.policy if reading.route else ""


@each_row(
    ("flow", "path", "typed"),
    [
        (LEAVE, "start", "cancel my leave"),
        (EXPENSE, "reason", "不报了"),
        (TRIP, "destination", "不出差了"),
        (TRIP, "reason", "cancel my trip"),
        (KIT, "reason", "I don't want the laptop any more"),
        (PARKING, None, "cancel my bay"),
    ],
)
def test_the_flow_that_asks_is_cancelled_by_the_policy_of_that_name(
    flow: FlowDefinition, path: str | None, typed: str
) -> None:
    known = {"items": [ONE]} if flow is KIT else {}
    view = asking(flow, path, known, "confirming" if path is None else "collecting")
    assert meant(typed, active=view) == (CancelFlow(), "cancel")


def test_of_several_things_one_that_is_not_wanted_leaves_the_others() -> None:
    items = [ONE, {"kind": "monitor", "quantity": 2}]
    view = asking(KIT, None, {"items": items, "reason": "new hire"}, "confirming")
    given, policy = meant("I don't want the laptop any more", active=view)
    assert (given, policy) == (FillSlots(slots={"items": items[1:]}), "confirmation")


def test_a_flow_is_gone_on_with_by_any_of_its_names() -> None:
    paused = PausedRun(run="p1", flow=PARKING.flow, title=PARKING.title)
    for said in ("back to my bay", "接着办停车位"):
        assert meant(said, resumable=[paused]) == (Resume(run="p1"), "resume")
