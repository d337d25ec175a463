"""What the stories of the leave request leave open."""

from typing import Any

from tests.table import each_row
from tests.unit.flow.world import World, sample

MONDAY = "2026-11-23"


def leave(user: str = "alice", **slots: Any) -> World:
    return World(sample("leave_request"), user).begin(leave_type="annual", **slots)


@each_row(("start_half", "end_half"), [("am", "am"), ("pm", None)])
@each_row("days", [0.5, 2.5])
def test_half_a_day_asks_which_half_and_counts_it(
    start_half: str, end_half: str | None, days: float
) -> None:
    world = leave(start=MONDAY, duration={"days": days}, reason="x")
    assert world.run.question.path == "start_half"
    world.answer(start_half=start_half)
    assert (world.run.status, world.run.form.slots["days"]) == ("confirming", days)
    assert world.run.form.slots.get("end_half") == end_half


@each_row(
    ("known", "given", "said", "asked"),
    [
        ({}, {"start": "2026-09-01"}, "", "start"),
        ({}, {"start": "2028-01-03"}, "", "start"),
        ({"start": MONDAY}, {"end": "2026-11-20"}, "不能早于", "end"),
        ({"start": MONDAY}, {"duration": {"hours": 3}}, "半天", "end"),
        ({"start": MONDAY}, {"duration": {"days": 0.3}}, "半天", "end"),
    ],
)
def test_what_no_leave_can_be_is_refused_and_asked_for_again(
    known: dict[str, Any], given: dict[str, Any], said: str, asked: str
) -> None:
    world = leave(**known, reason="x").answer(given)
    assert (world.run.question.path, world.run.form.slots.keys() & given.keys()) == (asked, set())
    assert said in world.said[-1]


@each_row("days", [1, 1.0, 0.5])
def test_a_single_day_at_a_weekend_is_not_moved(days: float) -> None:
    world = leave(start="2026-11-28", duration={"days": days}, reason="x")
    assert world.run.question.path == "start"
    assert any("没有工作日" in said for said in world.said)


@each_row(("user", "approver"), [("bob", "carol"), ("carol", "dave")])
def test_whose_manager_has_none_asks_them_and_who_has_none_hr(user: str, approver: str) -> None:
    world = leave(user, start=MONDAY, end="2026-11-27", reason="x").confirm()
    assert world.awaited == [approver]
    assert world.decide(approver).run.status == "completed"


def test_what_is_said_to_be_wrong_is_asked_for_anew() -> None:
    world = leave(start=MONDAY, duration={"days": 2.5}, reason="x")
    world.answer(start_half="am").answer(change="start")
    assert (world.run.state, world.run.question.path) == ("details", "start")
    world.answer(start="2026-11-24")
    assert (world.run.status, world.run.form.slots["end"]) == ("confirming", "2026-11-26")


def test_which_half_of_a_day_can_be_said_before_it_is_asked() -> None:
    world = leave(start="2026-11-26", duration={"days": 0.5})
    world.answer(start_half="pm").answer(reason="搬家")
    assert world.run.status == "confirming"
    assert (world.run.form.slots["end"], world.run.form.slots["days"]) == ("2026-11-26", 0.5)
