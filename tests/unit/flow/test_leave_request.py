from pathlib import Path
from typing import Any

import pytest

from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from tests.unit.flow.world import World

FLOWS = Path(__file__).parents[3] / "flows"
WEEK = {"start": "2026-11-23", "end": "2026-11-27"}
"""Monday to Friday."""


@pytest.fixture(scope="module")
def leave() -> FlowDefinition:
    return load_flow(FLOWS / "leave_request.yaml")


def test_a_sentence_that_says_everything_is_asked_for_nothing_but_the_confirmation(
    leave: FlowDefinition,
) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-23", end="2026-11-25", reason="家里有事"
    )
    assert (world.run.status, world.run.slots["days"]) == ("confirming", 3.0)


def test_what_is_missing_is_asked_one_by_one(leave: FlowDefinition) -> None:
    world = World(leave).begin()
    asked = []
    for answer in ({"leave_type": "sick"}, {"start": "2026-11-23"}, {"end": "2026-11-23"}):
        asked.append(world.run.asked)
        world.answer(**answer)
    assert [*asked, world.run.asked] == ["leave_type", "start", "end", "reason"]


def test_how_long_tells_the_last_day(leave: FlowDefinition) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-27", duration={"days": 2}, reason="x"
    )
    assert world.run.slots["end"] == "2026-11-30"
    assert world.run.slots["days"] == 2.0


@pytest.mark.parametrize(
    ("start_half", "end_half", "days", "duration"),
    [
        ("am", "am", 0.5, 0.5),
        ("pm", None, 0.5, 0.5),
        ("am", "am", 2.5, 2.5),
        ("pm", None, 2.5, 2.5),
    ],
)
def test_half_a_day_asks_which_half_and_counts_it(
    leave: FlowDefinition, start_half: str, end_half: str | None, days: float, duration: Any
) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-23", duration={"days": duration}, reason="x"
    )
    assert world.run.asked == "start_half"
    world.answer(start_half=start_half)
    assert (world.run.status, world.run.slots["days"]) == ("confirming", days)
    assert world.run.slots.get("end_half") == end_half


def test_a_half_that_was_said_is_not_asked_for(leave: FlowDefinition) -> None:
    world = World(leave).begin(
        leave_type="annual",
        start="2026-11-23",
        end="2026-11-23",
        start_half="pm",
        end_half="pm",
        reason="x",
    )
    assert (world.run.status, world.run.slots["days"]) == ("confirming", 0.5)


def test_whole_days_ask_for_no_half(leave: FlowDefinition) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-23", duration={"days": 2}, reason="x"
    )
    assert world.run.status == "confirming"


def test_an_end_before_the_start_is_refused_and_asked_for_again(leave: FlowDefinition) -> None:
    world = World(leave).begin(leave_type="annual", start="2026-11-23", reason="x")
    world.answer(end="2026-11-20")
    assert world.run.asked == "end"
    assert "不能早于" in world.said[-1]


@pytest.mark.parametrize("start", ["2026-09-01", "2028-01-03"])
def test_a_start_long_ago_or_far_ahead_is_refused(leave: FlowDefinition, start: str) -> None:
    world = World(leave).begin(leave_type="annual").answer(start=start)
    assert world.run.asked == "start"


@pytest.mark.parametrize("duration", [{"hours": 3}, {"days": 0.3}])
def test_a_duration_that_is_no_half_days_is_refused(leave: FlowDefinition, duration: Any) -> None:
    world = World(leave).begin(leave_type="annual", start="2026-11-23", duration=duration)
    assert "duration" not in world.run.slots
    assert "半天" in world.said[-1]


def test_a_weekend_needs_no_leave_and_dates_are_asked_for_again(leave: FlowDefinition) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-21", end="2026-11-22", reason="x"
    )
    assert "没有工作日" in world.said[-1]
    assert world.run.asked == "start"


def test_a_balance_that_is_too_small_is_said_and_other_dates_are_asked_for(
    leave: FlowDefinition,
) -> None:
    world = World(leave, balance=2.0).begin(leave_type="annual", reason="x", **WEEK)
    assert "还剩 2 天，不够 5 天" in world.said[-1]
    assert (world.run.asked, world.run.slots["reason"]) == ("start", "x")


def test_kinds_of_leave_without_a_quota_have_no_balance_to_exceed(leave: FlowDefinition) -> None:
    world = World(leave, balance=None).begin(leave_type="personal", reason="x", **WEEK)
    assert world.run.status == "confirming"


def test_up_to_three_days_the_manager_alone_decides(leave: FlowDefinition) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-23", end="2026-11-25", reason="x"
    )
    assert world.confirm().asked_to_decide == ["bob"]
    world.decide("bob")
    assert world.run.status == "completed"
    assert world.arguments["record_leave"]["days"] == 3.0
    assert "批准了" in world.said[-1]


def test_over_three_days_the_managers_manager_decides_too(leave: FlowDefinition) -> None:
    world = World(leave).begin(leave_type="annual", reason="x", **WEEK).confirm().decide("bob")
    assert world.asked_to_decide == ["carol"]
    assert world.decide("carol").run.status == "completed"


def test_where_the_manager_has_none_the_manager_is_enough(leave: FlowDefinition) -> None:
    world = World(leave, user="bob").begin(leave_type="annual", reason="x", **WEEK).confirm()
    assert world.decide("carol").run.status == "completed"


def test_where_there_is_no_manager_hr_decides(leave: FlowDefinition) -> None:
    world = World(leave, user="carol").begin(leave_type="annual", reason="x", **WEEK).confirm()
    assert world.asked_to_decide == ["dave"]
    assert world.decide("dave").run.status == "completed"


def test_a_rejection_tells_the_comment_and_records_nothing(leave: FlowDefinition) -> None:
    world = World(leave).begin(leave_type="annual", reason="x", **WEEK).confirm()
    world.decide("bob", "reject", "年底太忙")
    assert world.run.status == "rejected"
    assert "年底太忙" in world.said[-1]
    assert "record_leave" not in world.calls


def test_leave_that_can_not_be_recorded_ends_as_failed_and_says_so(leave: FlowDefinition) -> None:
    world = World(leave, failing=frozenset({"record_leave"}))
    world.begin(leave_type="annual", start="2026-11-23", end="2026-11-23", reason="x")
    world.confirm().decide("bob")
    assert world.run.status == "failed"
    assert "什么都没有登记" in world.said[-1]


@pytest.mark.parametrize("days", [1, 1.0, 0.5])
def test_a_single_day_at_a_weekend_is_not_moved(leave: FlowDefinition, days: float) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-28", duration={"days": days}, reason="x"
    )
    assert world.run.asked == "start"
    assert any("没有工作日" in said for said in world.said)


def test_what_is_said_to_be_wrong_is_asked_for_anew(leave: FlowDefinition) -> None:
    world = World(leave).begin(
        leave_type="annual", start="2026-11-23", duration={"days": 2.5}, reason="x"
    )
    world.answer(start_half="am").answer(change="start")
    assert (world.run.state, world.run.asked) == ("details", "start")
    world.answer(start="2026-11-24")
    assert (world.run.status, world.run.slots["end"]) == ("confirming", "2026-11-26")


def test_which_half_of_a_day_can_be_said_before_it_is_asked(leave: FlowDefinition) -> None:
    world = World(leave).begin(leave_type="annual", start="2026-11-26", duration={"days": 0.5})
    world.answer(start_half="pm").answer(reason="搬家")
    assert world.run.status == "confirming"
    assert (world.run.slots["end"], world.run.slots["days"]) == ("2026-11-26", 0.5)
