"""When somebody may be written to: hours, days off, digests, by values alone."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from router.domain.principals import Principal
from router.extensions.notifications.preferences import (
    USUAL,
    DigestPlan,
    NotificationPreferences,
    QuietHours,
    described,
    opens,
    plan_digest,
)
from tests.table import each_row

BOB = Principal(id="bob", name="Bob")
BERLIN = Principal(id="max", name="Max", timezone="Europe/Berlin")
FRIDAY, SATURDAY, MONDAY = date(2026, 11, 27), date(2026, 11, 28), date(2026, 11, 30)
NIGHT = NotificationPreferences(quiet=QuietHours(begins="19:00", ends="08:00"))
LUNCH = NotificationPreferences(quiet=QuietHours(begins="12:00", ends="13:30"))


def at(written: str, person: Principal = BOB) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=ZoneInfo(person.timezone))


@each_row(
    ("wishes", "now", "then"),
    [
        (USUAL, "2026-11-27T10:00", "2026-11-27T10:00"),
        (USUAL, "2026-11-27T12:30", "2026-11-27T12:30"),
        (USUAL, "2026-11-27T07:00", "2026-11-27T09:00"),
        (USUAL, "2026-11-27T18:00", "2026-11-30T09:00"),
        (USUAL, "2026-11-28T10:00", "2026-11-30T09:00"),
        (NIGHT, "2026-11-27T18:59", "2026-11-27T18:59"),
        (NIGHT, "2026-11-27T19:00", "2026-11-30T08:00"),
        (NIGHT, "2026-11-27T03:00", "2026-11-27T08:00"),
        (LUNCH, "2026-11-27T12:10", "2026-11-27T13:30"),
        (LUNCH, "2026-11-27T23:10", "2026-11-27T23:10"),
        (NotificationPreferences(quiet="never"), "2026-11-27T23:59", "2026-11-27T23:59"),
        (NotificationPreferences(quiet="never"), "2026-11-28T12:00", "2026-11-30T00:00"),
        (NotificationPreferences(digest="08:30"), "2026-11-27T07:00", "2026-11-27T08:30"),
        (NotificationPreferences(digest="19:30"), "2026-11-27T19:45", "2026-11-27T19:45"),
    ],
)
def test_hours_open_when_they_do(wishes: NotificationPreferences, now: str, then: str) -> None:
    found = opens(wishes, BOB, at(now), [FRIDAY, MONDAY])
    assert found.astimezone(ZoneInfo(BOB.timezone)) == at(then)


def test_hours_are_those_of_the_reader_s_own_zone() -> None:
    noon_there = datetime(2026, 11, 27, 11, tzinfo=UTC)
    assert opens(USUAL, BERLIN, noon_there, [FRIDAY, MONDAY]) == noon_there
    assert opens(USUAL, BOB, noon_there, [FRIDAY, MONDAY]) == at("2026-11-30T09:00")


def test_hours_open_on_the_days_on_which_clocks_are_changed() -> None:
    spring = date(2026, 3, 29)
    wishes = NotificationPreferences(quiet=QuietHours(begins="20:00", ends="02:30"))
    found = opens(wishes, BERLIN, at("2026-03-29T00:30", BERLIN), [spring])
    assert found == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


times = st.times().map(lambda each: f"{each:%H:%M}")


@given(begins=times, ends=times, now=st.integers(0, 2 * 24 * 60 - 1))
def test_whenever_it_is_hours_open_and_once_open_stay_so_for_a_moment(
    begins: str, ends: str, now: int
) -> None:
    if begins == ends:
        return
    wishes = NotificationPreferences(quiet=QuietHours(begins=begins, ends=ends))
    moment = datetime(2026, 11, 27, tzinfo=UTC) + timedelta(minutes=now)
    days = [FRIDAY, SATURDAY, date(2026, 11, 29), MONDAY]
    then = opens(wishes, BERLIN, moment, days)
    assert then >= moment
    assert opens(wishes, BERLIN, then, days) == then


WISHED = NotificationPreferences(digest="08:30")


@each_row(
    ("last", "now", "plan"),
    [
        (None, "2026-11-27T07:00", (False, "2026-11-26", "2026-11-27T08:30")),
        (None, "2026-11-27T15:00", (False, "2026-11-27", "2026-11-30T08:30")),
        ("2026-11-26", "2026-11-27T08:30", (True, "2026-11-27", "2026-11-30T08:30")),
        # Whoever was away at half past eight sends it at eleven, and not twice.
        ("2026-11-26", "2026-11-27T11:00", (True, "2026-11-27", "2026-11-30T08:30")),
        ("2026-11-27", "2026-11-27T11:01", (False, "2026-11-27", "2026-11-30T08:30")),
        ("2026-11-20", "2026-11-27T08:31", (True, "2026-11-27", "2026-11-30T08:30")),
    ],
)
def test_a_digest_is_sent_once_a_day(
    last: str | None, now: str, plan: tuple[bool, str, str]
) -> None:
    sends, then, due = plan
    before = None if last is None else date.fromisoformat(last)
    found = plan_digest(WISHED, BOB, before, at(now), [FRIDAY, MONDAY])
    assert found == DigestPlan(sends, date.fromisoformat(then), at(due).astimezone(UTC))


def test_on_a_day_off_none_is_sent() -> None:
    found = plan_digest(WISHED, BOB, FRIDAY, at("2026-11-28T09:00"), [MONDAY, date(2026, 12, 1)])
    assert found == DigestPlan(False, FRIDAY, at("2026-11-30T08:30").astimezone(UTC))


def test_nobody_who_wished_for_none_gets_one() -> None:
    assert plan_digest(USUAL, BOB, None, at("2026-11-27T09:00"), [FRIDAY, MONDAY]) is None


@each_row(
    "body",
    [
        {"quiet": {"begins": "19:00", "ends": "19:00"}},
        {"quiet": {"begins": "25:00", "ends": "19:00"}},
        {"quiet": {"begins": "19:00"}},
        {"quiet": {"begins": "19:00", "ends": "08:00", "more": 1}},
        {"quiet": "always"},
        {"digest": "9"},
        {"digest": "09:00Z"},
        {"channels": ["Mail"]},
        {"channels": ["a" * 40]},
        {"channels": [f"c{n}" for n in range(9)]},
        {"channels": "mail"},
        {"days_off": "perhaps"},
        {"unknown": True},
    ],
)
def test_what_can_t_be_wished_for_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        NotificationPreferences.model_validate(body)


def test_preferences_are_said_in_both_languages() -> None:
    wishes = NIGHT.model_copy(update={"channels": ("mail", "slack"), "digest": "09:00"})
    zh, en = (described(wishes, BOB, locale) for locale in ("zh", "en"))
    assert len(zh) == len(en) == 6
    assert "mail、slack" in zh[0]
    assert "19:00–08:00" in zh[1]
    assert "19:00–08:00" in en[1]
    assert "09:00" in en[4]
    assert "09:00–18:00" in described(USUAL, BOB, "en")[1]
