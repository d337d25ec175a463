"""Where and when a person is written to unasked: their channels, hours, days off, and digest.

Everything here is a function of its arguments: which days are worked is looked up by whoever asks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from router.domain.locale import Locale, Localised
from router.domain.principals import Principal
from router.domain.value import Value

DIGEST_CHANNEL = "mail"
"""Where a digest and news come: the one channel that people only read."""
USUAL_DIGEST = "09:00"
MOST_CHANNELS = 8
_DAY = timedelta(days=1)
_DIGEST_HOUR = timedelta(hours=1)

ClockTime = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
"""A time of day in the person's own time zone, such as `19:00`."""
ChannelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
"""A platform, as the directory names the accounts there: `mail`, `slack`."""


class QuietHours(Value):
    """From when until when nobody is written to; what ends before it begins ends the next day."""

    model_config = ConfigDict(extra="forbid")

    begins: ClockTime
    ends: ClockTime

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.begins == self.ends:
            raise ValueError("write quiet hours that end at another time than they begin")
        return self

    def open_spans(self) -> Sequence[tuple[time, time | None]]:
        """The spans of a day that aren't quiet; None stands for its end."""
        begins, ends = time.fromisoformat(self.begins), time.fromisoformat(self.ends)
        if begins > ends:
            return [(ends, begins)]
        return [(time(), begins), (ends, None)] if begins > time() else [(ends, None)]


def _distinct(channels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(channels))


class NotificationPreferences(Value):
    """How a person wishes to be written to unasked; what they leave out is as for everybody.

    Answers to what somebody says come where and when they say it, whatever stands here.
    """

    model_config = ConfigDict(extra="forbid")

    channels: Annotated[
        tuple[ChannelName, ...], Field(max_length=MOST_CHANNELS), AfterValidator(_distinct)
    ] = ()
    """Where approvals come: platforms on which the directory has an account of theirs.
    None: on all of those."""
    quiet: QuietHours | Literal["never"] | None = None
    """When reminders wait: outside of the shifts of their working day, where they don't say."""
    days_off: bool = False
    """Whether reminders and digests come on days that aren't worked, too."""
    requests_wait: bool = False
    """Whether new requests wait for the hours as well; else they come as they are made."""
    digest: ClockTime | None = None
    """When a list of what waits comes by mail; None: never."""
    news: bool = False
    """Whether news of their own requests come by mail too."""


USUAL = NotificationPreferences()
"""Those of whoever has said nothing."""


def local_day(person: Principal, at: datetime) -> date:
    """Which day it is for the person."""
    return at.astimezone(ZoneInfo(person.timezone)).date()


def beginning(person: Principal, day: date) -> datetime:
    """When the day begins for the person, in UTC."""
    return datetime.combine(day, time(), ZoneInfo(person.timezone)).astimezone(UTC)


def opens(
    preferences: NotificationPreferences, person: Principal, at: datetime, days: Sequence[date]
) -> datetime:
    """The first moment from `at` on at which the person may be written to, in UTC.

    `days` are those on which they may be at all, the next few of them, in order. What falls on
    none of them may be sent at once: nothing is held back for ever.

    >>> from datetime import date, datetime, UTC
    >>> bob = Principal(id="bob", name="Bob", timezone="UTC")
    >>> friday, monday = date(2026, 11, 27), date(2026, 11, 30)
    >>> opens(USUAL, bob, datetime(2026, 11, 27, 21, tzinfo=UTC), [friday, monday]).isoformat()
    '2026-11-30T09:00:00+00:00'
    """
    for day in days:
        for begins, ends in _open_on(preferences, person, day):
            if at < ends:
                return max(at.astimezone(UTC), begins)
    return at.astimezone(UTC)


def _open_on(
    preferences: NotificationPreferences, person: Principal, day: date
) -> Iterator[tuple[datetime, datetime]]:
    zone = ZoneInfo(person.timezone)
    tomorrow = beginning(person, day + _DAY)
    if preferences.quiet == "never":
        yield beginning(person, day), tomorrow
    elif preferences.quiet is not None:
        for begins, ends in preferences.quiet.open_spans():
            until = tomorrow if ends is None else _moment(day, ends, zone)
            yield _moment(day, begins, zone), until
    else:
        first = _moment(day, person.hours[0].begins, zone)
        last = _moment(day, person.hours[-1].ends, zone)
        if (wished := digest_on(preferences, person, day)) is not None:
            # Whoever wishes for a digest at half past eight is written to at half past eight.
            first, last = min(first, wished), max(last, wished + _DIGEST_HOUR)
        yield first, last


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, at, zone).astimezone(UTC)


def digest_on(
    preferences: NotificationPreferences, person: Principal, day: date
) -> datetime | None:
    """When the day's digest is due, in UTC; None where none is wished for."""
    if preferences.digest is None:
        return None
    return _moment(day, time.fromisoformat(preferences.digest), ZoneInfo(person.timezone))


@dataclass(frozen=True)
class DigestPlan:
    """Whether a digest is to be sent now, the day that the last one then was of, and the next."""

    sends: bool
    last: date
    due: datetime


def plan_digest(
    preferences: NotificationPreferences,
    person: Principal,
    last: date | None,
    now: datetime,
    days: Sequence[date],
) -> DigestPlan | None:
    """What is to be done about digests now: there is one a day; None where none is wished for.

    `last` is the day of the last one; None for whoever has just wished for them, whose first one
    is never that of an hour gone by. `days` are the next two on which they may be written to.
    """
    today = local_day(person, now)
    if (due := digest_on(preferences, person, today)) is None:
        return None
    if last is None:
        last = today if due <= now else today - _DAY
    due = _digest_after(preferences, person, last, days)
    if due > now:
        return DigestPlan(sends=False, last=last, due=due)
    return DigestPlan(sends=True, last=today, due=_digest_after(preferences, person, today, days))


def _digest_after(
    preferences: NotificationPreferences, person: Principal, last: date, days: Sequence[date]
) -> datetime:
    day = next((day for day in days if day > last), last + _DAY)
    due = digest_on(preferences, person, day) or beginning(person, day)
    return opens(preferences, person, due, [day, *(each for each in days if each > day)])


_WHERE = Localised(zh="渠道：{channels}", en="Channels: {channels}")
_EVERYWHERE = Localised(zh="有账号的地方都发", en="wherever you have an account")
_QUIET = Localised(
    zh="不打扰时段：{begins}–{ends}（提醒和汇总到点再发）",
    en="Quiet hours: {begins}–{ends} (reminders and digests wait until they end)",
)
_SHIFTS = Localised(
    zh="不打扰时段：上班时间以外（{begins}–{ends} 之外，提醒到上班再发）",
    en="Quiet hours: outside of your working hours ({begins}–{ends}; reminders wait for them)",
)
_NEVER_QUIET = Localised(zh="不打扰时段：没有", en="Quiet hours: none")
_DAYS_OFF = {
    False: Localised(zh="周末和节假日：不打扰", en="Weekends and holidays: left alone"),
    True: Localised(zh="周末和节假日：照常提醒", en="Weekends and holidays: written to as ever"),
}
_REQUESTS = {
    False: Localised(zh="新的审批：随时发", en="New requests: at any time"),
    True: Localised(zh="新的审批：也等到时段开始", en="New requests: wait for the hours too"),
}
_NO_DIGEST = Localised(zh="每日汇总邮件：不发", en="Daily digest by mail: none")
_DIGEST = Localised(zh="每日汇总邮件：{at}", en="Daily digest by mail: at {at}")
_NEWS = {
    False: Localised(zh="申请的进展：不发邮件", en="News of your requests: not by mail"),
    True: Localised(zh="申请的进展：也发邮件", en="News of your requests: by mail too"),
}


def described(preferences: NotificationPreferences, person: Principal, locale: Locale) -> list[str]:
    """The preferences in words, a line each, as the person reads them."""
    channels = ("、" if locale == "zh" else ", ").join(preferences.channels)
    quiet = preferences.quiet
    if isinstance(quiet, QuietHours):
        hours = _QUIET.within(locale).format(begins=quiet.begins, ends=quiet.ends)
    elif quiet == "never":
        hours = _NEVER_QUIET.within(locale)
    else:
        begins, ends = person.hours[0].begins, person.hours[-1].ends
        hours = _SHIFTS.within(locale).format(begins=f"{begins:%H:%M}", ends=f"{ends:%H:%M}")
    digest = _NO_DIGEST if preferences.digest is None else _DIGEST
    return [
        _WHERE.within(locale).format(channels=channels or _EVERYWHERE.within(locale)),
        hours,
        _DAYS_OFF[preferences.days_off].within(locale),
        _REQUESTS[preferences.requests_wait].within(locale),
        digest.within(locale).format(at=preferences.digest),
        _NEWS[preferences.news].within(locale),
    ]
