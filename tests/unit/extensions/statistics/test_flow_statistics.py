"""How a flow goes, counted from what its runs went through."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.messages import FlowStatus
from router.domain.periods import Period
from router.domain.run_history import HistoryEntry
from router.extensions.statistics.flow_statistics import (
    FEW,
    DecisionTime,
    FlowTally,
    RunPath,
    VersionCount,
    approver_figures,
    stays_of,
    version_figures,
)

MON = datetime(2026, 11, 23, 9, tzinfo=UTC)
NOW = MON + timedelta(days=3)
DAY = MON.date()


def history(*steps: tuple[float, str, str] | tuple[float, str, str, str]) -> list[HistoryEntry]:
    """Lines: after so many hours, the state, the event, and what was said."""
    return [
        HistoryEntry(
            at=MON + timedelta(hours=step[0]),
            state=step[1],
            event=step[2],
            comment=step[3] if len(step) > 3 else None,
        )
        for step in steps
    ]


SENT_BACK_ONCE = history(
    (0, "details", "began"),
    (1, "review", "next"),
    (1, "manager", "confirmed"),
    (4, "manager", "remind"),
    (5, "manager", "return", "  which\n project? "),
    (5, "details", "returned"),
    (6, "review", "next"),
    (6, "manager", "confirmed"),
    (16, "manager", "approve"),
    (16, "tell", "approved"),
    (16, "tell", "completed"),
)


def path(
    lines: list[HistoryEntry],
    status: FlowStatus = "completed",
    *,
    updated: datetime = MON,
    asked: dict[str, int] | None = None,
) -> RunPath:
    return RunPath(status, MON, updated, lines, asked or {})


def tally(*runs: RunPath) -> FlowTally:
    counted = FlowTally(NOW)
    for run in runs:
        counted.add(run, DAY)
    return counted


class TestStates:
    def test_are_entered_and_left_and_lines_that_only_tell_of_something_move_nothing(self) -> None:
        states = {each.state: each for each in tally(path(SENT_BACK_ONCE)).states}
        assert {name: each.entered for name, each in states.items()} == {
            "details": 2,
            "review": 2,
            "manager": 2,
            "tell": 1,
        }
        manager = states["manager"]
        assert (manager.median_hours, manager.p90_hours, manager.returned) == (4.0, 10.0, 1)
        assert states["tell"].median_hours is None

    @pytest.mark.parametrize("status", ["cancelled", "expired", "failed"])
    def test_know_what_was_given_up_there(self, status: FlowStatus) -> None:
        counted = tally(path(history((0, "details", "began"), (2, "details", status)), status))
        (details,) = counted.states
        assert getattr(details, status) == 1
        assert details.here == 0

    def test_that_nobody_decided_in_have_what_expired_not_the_state_that_says_so(self) -> None:
        lines = history((0, "manager", "began"), (9, "tell", "expired"), (9, "tell", "expired"))
        states = {each.state: each.expired for each in tally(path(lines, "expired")).states}
        assert states == {"manager": 1, "tell": 0}

    @pytest.mark.parametrize(
        ("status", "silent"), [("collecting", 1), ("confirming", 1), ("waiting_approval", 0)]
    )
    def test_know_whose_requester_has_been_silent(self, status: FlowStatus, silent: int) -> None:
        (state,) = tally(path(history((0, "details", "began")), status)).states
        assert (state.here, state.silent) == (1, silent)

    def test_know_nobody_silent_who_spoke_a_moment_ago(self) -> None:
        (state,) = tally(path(history((0, "a", "began")), "collecting", updated=NOW)).states
        assert (state.here, state.silent) == (1, 0)

    def test_there_are_none_of_a_run_without_a_history(self) -> None:
        assert tally(path([])).states == []


class TestWays:
    def test_have_shares_only_where_they_aren_t_few(self) -> None:
        run = path(history((0, "a", "began"), (1, "b", "next"), (1, "b", "completed")))
        (few,) = tally(*[run] * (FEW - 1)).ways
        (many,) = tally(*[run] * FEW).ways
        assert (few.taken, few.share) == (FEW - 1, None)
        assert (many.source, many.event, many.target, many.share) == ("a", "next", "b", 1.0)


class TestSlots:
    def test_are_asked_again_once_for_each_run(self) -> None:
        counted = tally(
            path([], asked={"start": 1, "reason": 3}),
            path([], asked={"start": 2}),
        )
        found = {each.slot: (each.runs, each.again, each.times) for each in counted.slots}
        assert found == {"start": (2, 1, 3), "reason": (1, 1, 3)}


class TestReasons:
    def test_are_what_was_said_on_sending_back_on_one_line(self) -> None:
        (reason,) = tally(path(SENT_BACK_ONCE)).reasons
        assert (reason.state, reason.reason, reason.times) == ("manager", "which project?", 1)

    def test_of_an_approval_are_none(self) -> None:
        assert tally(path(history((0, "a", "began"), (1, "a", "approve", "fine")))).reasons == []


def test_versions_are_told_newest_first_with_how_their_runs_stand() -> None:
    counted = [
        VersionCount(2, "completed", 3),
        VersionCount(10, "collecting", 2),
        VersionCount(2, "waiting_approval", 1),
    ]
    newest, older = version_figures(counted)
    assert (newest.version, newest.begun, newest.under_way) == (10, 2, 2)
    assert (older.version, older.begun, older.completed, older.under_way) == (2, 4, 3, 1)


def test_approvers_are_told_by_how_much_they_decided() -> None:
    decided = [
        DecisionTime("carol", "reject", 1.0),
        DecisionTime("bob", "approve", 2.0),
        DecisionTime("bob", "return", 8.0),
    ]
    bob, carol = approver_figures(decided)
    assert (bob.person, bob.approved, bob.sent_back, bob.median_hours) == ("bob", 1, 1, 2.0)
    assert (carol.decided, carol.p90_hours) == (1, 1.0)


STATUSES: list[FlowStatus] = ["completed", "cancelled", "expired", "collecting", "rejected"]


@st.composite
def runs(draw: st.DrawFn) -> RunPath:
    steps = draw(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["next", "return"]))))
    lines = history(*((n, state, event) for n, (state, event) in enumerate(steps)))
    asked = draw(st.dictionaries(st.sampled_from(["x", "y"]), st.integers(1, 5)))
    return path(lines, draw(st.sampled_from(STATUSES)), asked=asked)


@pytest.mark.slow
@given(st.lists(runs()), st.lists(runs()))
def test_figures_of_two_halves_add_up(one: list[RunPath], other: list[RunPath]) -> None:
    halves, whole = [tally(*one), tally(*other)], tally(*one, *other)
    for state in whole.states:
        parts = [each for half in halves for each in half.states if each.state == state.state]
        for name in ("entered", "here", "returned", "cancelled", "expired", "silent"):
            assert getattr(state, name) == sum(getattr(each, name) for each in parts)
    for way in whole.ways:
        assert way.taken == sum(
            each.taken
            for half in halves
            for each in half.ways
            if (each.source, each.event, each.target) == (way.source, way.event, way.target)
        )
    for slot in whole.slots:
        asked = [each for half in halves for each in half.slots if each.slot == slot.slot]
        assert slot.again == sum(each.again for each in asked)


@pytest.mark.slow
@given(runs())
def test_stays_follow_each_other_without_a_gap(run: RunPath) -> None:
    stays = [*stays_of(run.history)]
    assert all(a.until == b.since for a, b in pairwise(stays))
    assert not stays or stays[-1].until is None


def test_days_without_a_run_are_there_too() -> None:
    period = Period(DAY, date(2026, 11, 24), ZoneInfo("UTC"))
    first, second = tally(path(SENT_BACK_ONCE), path([], "cancelled")).days(period)
    assert (first.begun, first.completed, first.given_up) == (2, 1, 1)
    assert second.begun == 0
