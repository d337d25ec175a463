"""Some whole days of somebody's time zone."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from router.domain.errors import InvalidInput
from router.domain.periods import Period

MON, TUE = date(2026, 11, 23), date(2026, 11, 24)
NOW = datetime(2026, 11, 24, 20, tzinfo=UTC)


class TestPeriod:
    @pytest.mark.parametrize(
        ("zone", "last"), [("Asia/Shanghai", date(2026, 11, 25)), ("America/New_York", TUE)]
    )
    def test_ends_today_where_the_reader_is_and_is_a_week(self, zone: str, last: date) -> None:
        period = Period.read(None, None, zone, NOW)
        assert (period.last, len(period.days)) == (last, 7)

    def test_of_a_day_on_which_clocks_change_has_23_hours(self) -> None:
        spring = date(2026, 3, 29)
        period = Period.read(spring, spring, "Europe/Berlin", NOW)
        since, until = period.since.astimezone(UTC), period.until.astimezone(UTC)
        assert until - since == timedelta(hours=23)
        assert since == datetime(2026, 3, 28, 23, tzinfo=UTC)

    def test_of_92_days_is_the_longest(self) -> None:
        first = MON - timedelta(days=91)
        assert len(Period.read(first, MON, "UTC", NOW).days) == 92
        with pytest.raises(InvalidInput, match="more than 92 days"):
            Period.read(first - timedelta(days=1), MON, "UTC", NOW)

    def test_begins_before_it_ends(self) -> None:
        with pytest.raises(InvalidInput, match="2026-11-24 comes after 2026-11-23"):
            Period.read(TUE, MON, "UTC", NOW)

    def test_its_moments_are_of_the_zone(self) -> None:
        period = Period(MON, TUE, ZoneInfo("Asia/Kathmandu"))
        assert period.begins(TUE).isoformat() == "2026-11-24T00:00:00+05:45"
