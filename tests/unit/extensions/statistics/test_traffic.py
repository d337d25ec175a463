"""Figures of some days, from what was counted."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from router.domain.locale import Localised
from router.domain.messages import Route, Turn
from router.extensions.statistics.traffic import (
    AwaitedCount,
    RunCount,
    TurnCount,
    Unfinished,
    approval_traffic,
    flow_traffic,
    is_abandoned,
    overall_median,
    percentile,
    turn_days,
)

MON, TUE = date(2026, 11, 23), date(2026, 11, 24)
LEAVE = Localised(zh="请假", en="Leave")
NOW = datetime(2026, 11, 24, 20, tzinfo=UTC)


class TestTurns:
    def test_are_added_up_by_day_and_days_without_any_are_there(self) -> None:
        first, second = turn_days(
            [MON, TUE],
            [
                TurnCount(MON, "flow", "pattern", missed=False, number=3),
                TurnCount(MON, "flow", "llm", missed=False, number=2),
                TurnCount(MON, "clarify", "fallback", missed=True, number=4),
                TurnCount(MON, "clarify", "retrieval", missed=False, number=1),
                TurnCount(MON, "handoff", "fallback", missed=False, number=1),
            ],
        )
        assert first.model_dump() == {
            "day": MON,
            "turns": 11,
            "routes": {"flow": 5, "clarify": 5, "handoff": 1},
            "by": {"pattern": 3, "llm": 2, "fallback": 5, "retrieval": 1},
            "misses": 4,
            "handoffs": 1,
        }
        assert (second.turns, second.routes, second.misses) == (0, {}, 0)

    @pytest.mark.parametrize(
        ("about", "missed"),
        [
            ({"kind": "clarify", "by": "fallback"}, True),
            ({"kind": "clarify", "by": "retrieval", "target": "leave_request"}, False),
            ({"kind": "reply", "by": "fallback"}, False),
            ({"kind": "handoff", "by": "fallback"}, False),
            ({"kind": "flow", "by": "slot", "target": "leave_request"}, False),
        ],
    )
    def test_miss_where_nothing_was_chosen(self, about: dict[str, Any], missed: bool) -> None:
        turn = Turn(message_id="m", turn=1, route=Route.model_validate(about))
        assert turn.missed is missed
        assert turn.model_copy(update={"status": "failed"}).missed


class TestFlows:
    def test_say_how_what_was_begun_stands_the_most_begun_first(self) -> None:
        trip = Localised(zh="出差", en="Trip")
        leave, other = reversed(
            flow_traffic(
                [
                    RunCount("leave", LEAVE, "completed", 2),
                    RunCount("leave", LEAVE, "waiting_approval", 1),
                    RunCount("trip", trip, "cancelled", 5),
                    RunCount("trip", trip, "collecting", 3),
                ],
                {"trip": 4},
                "en",
            )
        )
        counted = {"begun": 3, "completed": 2, "under_way": 1, "abandoned": 0, "failed": 0}
        assert leave.model_dump().items() >= ({"flow": "leave", "title": "Leave"} | counted).items()
        assert (other.begun, other.cancelled, other.under_way, other.abandoned) == (8, 5, 3, 4)

    @pytest.mark.parametrize(
        ("way", "abandoned"),
        [
            ([("details", "began"), ("details", "withdrawn")], True),
            ([("details", "began"), ("confirm", "next"), ("confirm", "expired")], True),
            ([("details", "began"), ("manager", "confirmed"), ("manager", "withdrawn")], False),
            ([("details", "began"), ("record", "next"), ("details", "on_error")], False),
            ([("renamed since", "began")], True),
        ],
    )
    def test_a_form_is_abandoned_that_was_never_handed_in(
        self, way: list[tuple[str, str]], abandoned: bool
    ) -> None:
        assert is_abandoned(Unfinished("leave", way), {"manager", "record"}) is abandoned


class TestApprovals:
    def test_say_how_long_decisions_took(self) -> None:
        taken = {"leave": [float(hours) for hours in range(1, 11)], "trip": [0.25]}
        asked = [AwaitedCount("trip", LEAVE, 0), AwaitedCount("leave", LEAVE, 2)]
        leave, trip = approval_traffic(asked, taken, "zh")
        assert (leave.title, leave.decided, leave.waiting) == ("请假", 10, 2)
        assert (leave.median_hours, leave.p90_hours) == (5, 9)
        assert (trip.median_hours, trip.p90_hours) == (0.25, 0.25)
        assert overall_median(taken) == 5

    def test_of_nothing_there_is_no_median(self) -> None:
        (line,) = approval_traffic([AwaitedCount("leave", LEAVE, 3)], {}, "en")
        assert (line.decided, line.waiting, line.median_hours, line.p90_hours) == (0, 3, None, None)
        assert overall_median({}) is None

    @pytest.mark.parametrize(
        ("share", "value"), [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.9, 4.0), (1.0, 4.0)]
    )
    def test_a_percentile_is_one_of_the_values(self, share: float, value: float) -> None:
        assert percentile([3.0, 1.0, 4.0, 2.0], share) == value
