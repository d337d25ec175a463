"""What a story expects, held against what was seen."""

from typing import Any

import pytest

from router.story.expectations import Mismatch, ObservedCall, Seen, Standing, judge
from router.story.story import BotSays, RunStands, ToolCalled

ASKED = Standing("badge", "collecting", "details", {"name": None, "days": 3.0}, ("name",))


def says(*patterns: str) -> BotSays:
    return BotSays(1, "", patterns)


def stands(**wanted: Any) -> RunStands:
    return RunStands(1, "", wanted)


def called(times: int | None = None, **arguments: Any) -> ToolCalled:
    return ToolCalled(1, "", "make_badge", arguments, times)


@pytest.mark.parametrize(
    "patterns",
    [("请确认",), ("请确认", "年假"), ("/确.*假/",), ("请", "确认", "吗"), ("年假\n提交",)],
)
def test_what_was_said_in_that_order_is_found(patterns: tuple[str, ...]) -> None:
    assert judge(says(*patterns), Seen(said=["请确认：年假", "提交吗"])) is None


def test_what_was_said_in_another_order_is_told_apart_from_what_never_was() -> None:
    said = ["one two"]
    assert judge(says("two", "one"), Seen(said)) == Mismatch(["one, after two"], ["one two"])
    assert judge(says("three"), Seen(said)) == Mismatch(["three"], ["one two"])
    assert judge(says("three"), Seen()) == Mismatch(["three"], ["nothing"])


def test_what_was_heard_once_is_not_found_again() -> None:
    seen = Seen(["yes"])
    assert judge(says("yes"), seen) is None
    assert judge(says("yes"), seen) is not None


@pytest.mark.parametrize(
    "wanted",
    [
        {"status": "collecting"},
        {"flow": "badge", "state": "details", "awaiting": ["name"], "approvers": []},
        {"slots": {"days": 3}},
        {"slots": {"name": None, "unheard_of": None}},
        {"slots": {}},
    ],
)
def test_a_run_that_stands_so_is_as_expected_whatever_else_there_is(
    wanted: dict[str, Any],
) -> None:
    assert judge(stands(**wanted), Seen(standings=[ASKED])) is None


@pytest.mark.parametrize(
    ("wanted", "expected", "found"),
    [
        ({"status": "completed"}, "status: completed", "status: collecting"),
        ({"slots": {"days": 4}}, "slots.days: 4", "slots.days: 3.0"),
        ({"slots": {"days": "3"}}, "slots.days: 3", "slots.days: 3.0"),
        ({"slots": {"name": "bob"}}, "slots.name: bob", "slots.name: null"),
        ({"awaiting": []}, "awaiting: []", 'awaiting: ["name"]'),
        ({"awaiting": ["days"]}, "awaiting.0: days", "awaiting.0: name"),
    ],
)
def test_what_differs_is_said_place_by_place(
    wanted: dict[str, Any], expected: str, found: str
) -> None:
    assert judge(stands(**wanted), Seen(standings=[ASKED])) == Mismatch([expected], [found])


def test_true_is_no_one() -> None:
    standing = Standing("badge", "running", "make", {"urgent": 1})
    assert judge(stands(slots={"urgent": True}), Seen(standings=[standing])) is not None


def test_of_several_runs_the_newest_of_the_flow_that_is_named_is_looked_at() -> None:
    other = Standing("leave", "confirming", "review")
    seen = Seen(standings=[other, ASKED])
    assert judge(stands(flow="badge", status="collecting"), seen) is None
    assert judge(stands(status="confirming"), seen) is None
    assert judge(stands(status="collecting"), seen) is not None


def test_without_a_run_nothing_stands_anywhere() -> None:
    assert judge(stands(status="running"), Seen()) == Mismatch(
        ["status: running"], ["no flow was started"]
    )


CALLS = [ObservedCall("make_badge", {"name": "bob", "days": 3.0}), ObservedCall("find_badge", {})]


@pytest.mark.parametrize(
    "step", [called(), called(1), called(name="bob"), called(1, days=3), called(0, name="zoe")]
)
def test_calls_are_counted_by_the_arguments_that_are_named(step: ToolCalled) -> None:
    assert judge(step, Seen(calls=list(CALLS))) is None


def test_calls_that_were_not_made_or_too_often_are_told_with_those_that_were() -> None:
    wrong = judge(called(2, name="bob"), Seen(calls=list(CALLS)))
    assert wrong == Mismatch(
        ['make_badge, called 2 times with {"name": "bob"}'],
        ["1 such calls", 'with {"name": "bob", "days": 3.0}'],
    )
    never = judge(called(), Seen(calls=CALLS[1:]))
    assert never == Mismatch(
        ["make_badge, called at least once"], ["no call; called was find_badge"]
    )
