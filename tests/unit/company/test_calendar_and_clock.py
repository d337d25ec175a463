"""Days and hours: the caller's, in the caller's language."""

from typing import Any

import pytest

from router.domain.errors import ArgumentsToolError
from router.domain.principals import Principal
from tests.unit.activities.tools.conftest import ALICE, FRANK, Desk


class TestCountWorkdays:
    @pytest.mark.parametrize(
        ("start", "end", "workdays", "days", "announced"),
        [("2026-09-28", "2026-10-12", 7, 15, True), ("2040-03-05", "2040-03-05", 1, 1, False)],
    )
    async def test_holidays_are_left_out_and_swapped_days_counted(
        self, desk: Desk, start: str, end: str, workdays: int, days: int, announced: bool
    ) -> None:
        counted = {"workdays": workdays, "days": days, "announced": announced}
        found = await desk.ask("count_workdays", start=start, end=end)
        assert found == {"start": start, "end": end, **counted}

    @pytest.mark.parametrize(
        ("start", "end", "said"),
        [
            ("2026-11-25", "2026-11-23", "end: 2026-11-23 is before the start, 2026-11-25"),
            ("2026-01-01", "2036-01-01", "end: .* more than five years"),
            ("1999-12-31", "2026-01-01", "start: "),
            ("2026-01-01", "2099-01-01", "end: "),
            ("2026-02-30", "2026-03-01", "start: "),
            ("tomorrow", "2026-03-01", "start: "),
            ("2026-11-20", "", "end: "),
            ("2026-11-20", None, "end: "),
            (20261120, "2026-11-21", "start: "),
            ("2026-11-20' --", "2026-11-21", "start: "),
            ("2026-11-\x0020", "2026-11-21", "control characters"),
        ],
    )
    async def test_odd_days_are_refused(self, desk: Desk, start: Any, end: Any, said: str) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await desk.ask("count_workdays", start=start, end=end)


class TestWorkdays:
    @pytest.mark.parametrize(
        ("caller", "day", "weekday", "workday"),
        [(ALICE, "2026-11-21", "星期六", False), (FRANK, "2026-11-20", "Friday", True)],
    )
    async def test_today_is_the_callers_today(
        self, desk: Desk, caller: Principal, day: str, weekday: str, workday: bool
    ) -> None:
        today = {"day": day, "weekday": weekday, "workday": workday, "announced": True}
        assert await desk.ask("is_workday", caller) == today

    @pytest.mark.parametrize(
        ("after", "day"),
        [
            ({}, "2026-11-23"),
            ({"after": "2026-11-23"}, "2026-11-24"),
            ({"after": "2026-09-30"}, "2026-10-08"),
            ({"after": "2026-10-09"}, "2026-10-10"),
        ],
    )
    async def test_next_skips_holidays(self, desk: Desk, after: dict[str, Any], day: str) -> None:
        found = await desk.ask("next_workday", **after)
        assert (found["day"], found["workday"]) == (day, True)

    @pytest.mark.slow
    @pytest.mark.parametrize(("tool", "field"), [("is_workday", "day"), ("next_workday", "after")])
    @pytest.mark.parametrize(
        "day",
        [
            "2026-02-29", "2026-13-01", "0000-00-00", "1999-12-31", "2099-01-01", "10000-01-01",
            "10/12/2026", "2026-W47", "2026-11-20T10:00:00+08:00", "next Friday", "下周五",
            "２０２６-１１-２０", "", " ", "\u200b", "x" * 10_000, True, [], {}, -1e300, 1e12,
        ],
    )  # fmt: skip
    async def test_bad_days_are_refused(self, desk: Desk, tool: str, field: str, day: Any) -> None:
        with pytest.raises(ArgumentsToolError, match=f"{tool}: {field}: "):
            await desk.ask(tool, **{field: day})

    async def test_the_calendar_has_an_end(self, desk: Desk) -> None:
        with pytest.raises(ArgumentsToolError, match="the calendar ends with 2098"):
            await desk.ask("next_workday", after="2098-12-31")


class TestCurrentTime:
    @pytest.mark.parametrize(
        ("caller", "named", "zone", "time", "weekday"),
        [
            (ALICE, {}, "Asia/Shanghai", "2026-11-21T02:30:15+08:00", "星期六"),
            (FRANK, {}, "America/New_York", "2026-11-20T13:30:15-05:00", "Friday"),
            (
                FRANK,
                {"timezone": "Asia/Kolkata"},
                "Asia/Kolkata",
                "2026-11-21T00:00:15+05:30",
                "Saturday",
            ),
        ],
    )
    async def test_it_is_the_callers_or_another_places_where_one_is_named(
        self, desk: Desk, caller: Principal, named: Any, zone: str, time: str, weekday: str
    ) -> None:
        found = await desk.ask("get_current_time", caller, **named)
        assert found == {"time": time, "weekday": weekday, "timezone": zone}

    @pytest.mark.parametrize(
        ("timezone", "said"),
        [
            ("tokyo", r"did you mean Asia/Tokyo\?"), ("Asia/Beijing_", "isn't an IANA time zone"),
            ("New York", r"did you mean America/New_York\?"), ("UTC+8", "isn't an IANA time zone"),
            ("Asia", "isn't an IANA time zone"), ("../../etc/passwd", "isn't an IANA time zone"),
            ("/etc/localtime", "isn't an IANA time zone"), ("~", "write one like Europe/Berlin"),
            ("x" * 65, "at most 64"), ("Asia/\x00", "control characters"),
        ],
    )  # fmt: skip
    async def test_what_is_no_zone_is_refused(self, desk: Desk, timezone: str, said: str) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await desk.ask("get_current_time", timezone=timezone)
