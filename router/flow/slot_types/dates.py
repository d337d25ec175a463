"""What is of the calendar: a day, a moment, and how long something takes."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.entities.dates import Days
from router.entities.days import Calendar, FixedDay, YearDay
from router.entities.durations import Duration
from router.entities.grammar import Found, compiled, only
from router.entities.ranges import one_day
from router.entities.utterance import Utterance
from router.flow.slot_types.numbers import only_amount
from router.flow.slot_types.slot import (
    Example,
    FileNames,
    Slot,
    SlotType,
    Unfit,
    plain,
    register_slot_type,
)

WEEKDAYS = {
    "zh": ("一", "二", "三", "四", "五", "六", "日"),
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
UNITS = {
    "days": {"zh": "天", "en": "day"},
    "weeks": {"zh": "周", "en": "week"},
    "hours": {"zh": "小时", "en": "hour"},
}
_FIGURES = compiled(
    r"^(?P<year>20\d\d)[-./]?(?P<month>0[1-9]|1[0-2])[-./]?(?P<day>0[1-9]|[12]\d|3[01])$"
    r"|^(?P<m>0?[1-9]|1[0-2])[-. ](?P<d>0?[1-9]|[12]\d|3[01])[日号]?$"
)


_ENDS, _UNTIL = 2, compiled("^ ?(?:到|至|[-~—–]|to|until|till) ?$")


@register_slot_type
class DateType(SlotType):
    """A day, as ISO has it."""

    name = "date"
    label = Localised(zh="日期", en="a day")
    about = Localised(zh="某一天，比如下周一。", en="A day, such as next Monday.")
    range_parts: ClassVar[tuple[Any, ...]] = ("start", "end")
    takes: ClassVar[type | None] = Days
    has_field = True
    fits = Localised(
        zh="请给一个日期，比如 12月1日、下周一。",
        en="Please give a date, such as 1 December or next Monday.",
    )
    stored = {"type": "string", "format": "date"}
    said = {"type": "string", "description": "the day, in the words that it was said in"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """The one day that the sentence's days come to."""
        days = only(Days, utterance.meant)
        if not days:
            return _written_day(utterance)
        meant = one_day(days, utterance.text)
        return meant.isoformat() if meant else None

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """A day of the calendar."""
        try:
            return date.fromisoformat(str(value)).isoformat()
        except ValueError:
            raise Unfit(self.fits) from None

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """With its weekday."""
        return day(value, locale)

    def in_brackets(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """Without its weekday, and without a label: it is plain what it is."""
        found = _date_of(value)
        return _without_weekday(found, locale) if found else plain(value)

    def examples(self, known: list[date], today: date) -> Iterator[Example]:
        """Days that people mean: after one that is known already, else around today."""
        for one in known:
            yield _example(one + timedelta(days=1))
            yield _example(one)
        yield (today + timedelta(days=1)).isoformat(), Localised(zh="明天", en="tomorrow")
        yield _example(today + timedelta(days=7))
        yield (today - timedelta(days=1)).isoformat(), Localised(zh="昨天", en="yesterday")
        yield _example(today - timedelta(days=7))


def _written_day(utterance: Utterance) -> JsonValue:
    """Figures that are a day only since one was asked for: `12-24`, `12.24`, `20261224`."""
    match = _FIGURES.search(utterance.text)
    if match is None:
        return None
    if match.group("year"):
        year, month, day = (int(match.group(n)) for n in ("year", "month", "day"))
        term: FixedDay | YearDay = FixedDay(year, month, day)
    else:
        term = YearDay(int(match.group("m")), int(match.group("d")))
    found = term.on(Calendar(utterance.now.date()))
    return found.isoformat() if found else None


def _example(day: date) -> Example:
    words = Localised(zh=f"{day.month}月{day.day}日", en=f"{day.day} {MONTHS[day.month - 1]}")
    return day.isoformat(), words


@register_slot_type
class DatetimeType(DateType):
    """A day and a time of day, as ISO has them, with an offset."""

    name = "datetime"
    label = Localised(zh="日期和时间", en="a day and time")
    about = Localised(
        zh="某一天的某个时间，比如明天 14:30。", en="A moment, such as 14:30 tomorrow."
    )
    range_parts = ()
    takes = None
    fits = Localised(
        zh="请给一个日期和时间，比如 12月1日 14:30。",
        en="Please give a date and time, such as 1 December 14:30.",
    )
    stored = {"type": "string", "format": "date-time"}
    said = {"type": "string", "description": "the moment, in the words that it was said in"}

    def mentions(self, utterance: Utterance) -> list[Found[JsonValue]]:
        """The day and the time of day, where there is one of each: `明天下午3点`."""
        days, clock = only(Days, utterance.meant), _clock(utterance)
        day = one_day(days, utterance.text) if days else None
        if day is None or clock is None:
            return []
        said = [*days, clock]
        start, end = min(f.start for f in said), max(f.end for f in said)
        return [Found(start, end, _at(day, clock.value, utterance.now))]

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """In the speaker's time zone; or ISO as it is."""
        try:
            moment = datetime.fromisoformat(utterance.normalised.typed.strip())
        except ValueError:
            return self._in_words(slot, utterance)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=utterance.now.tzinfo)
        return aware.isoformat()

    def _in_words(self, slot: Slot, utterance: Utterance) -> JsonValue:
        day, clock = super().read(slot, utterance), _clock(utterance)
        if not isinstance(day, str) or clock is None:
            return None
        return _at(date.fromisoformat(day), clock.value, utterance.now)

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """A moment whose offset is known."""
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            raise Unfit(self.fits)
        return found.isoformat()

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """In the zone that it is written in."""
        return moment(value, locale)

    in_brackets = SlotType.in_brackets
    examples = SlotType.examples


def _clock(utterance: Utterance) -> Found[time] | None:
    """The one time of day, or the first of two that are a start and an end: `2点到4点`."""
    clocks = only(time, utterance.things)
    if len(clocks) == _ENDS and _UNTIL.search(utterance.text[clocks[0].end : clocks[1].start]):
        return Found(clocks[0].start, clocks[1].end, clocks[0].value)
    return clocks[0] if len(clocks) == 1 else None


def _at(day: date, clock: time, now: datetime) -> str:
    """That time of that day, where whoever says it is."""
    return datetime.combine(day, clock, now.tzinfo).isoformat()


MOST = 1e9
"""Of any unit of a length of time: two thousand years of minutes."""


@register_slot_type
class DurationType(SlotType):
    """How long: `{"days": 3.5}`, or weeks, or hours."""

    name = "duration"
    label = Localised(zh="时长", en="how long")
    about = Localised(
        zh="多久，比如两天、半天、三小时。", en="How long, such as two days or three hours."
    )
    takes = Duration
    fits = Localised(
        zh="请说多久，比如两天、半天。", en="Please say how long, such as two days or half a day."
    )
    stored = {
        "type": "object",
        "properties": {unit: {"type": "number"} for unit in UNITS},
        "minProperties": 1,
        "maxProperties": 1,
    }
    said = {"type": "string", "description": "how long, in the words that it was said in"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """The one length that is named; a bare number counts days."""
        lengths = only(Duration, utterance.things)
        if len(lengths) == 1:
            return dict(lengths[0].value.value())
        number = only_amount(utterance)
        return None if number is None or lengths else dict(Duration(number, "days").value())

    def coerce(self, slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
        """Of a number, so many days."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"days": value}
        return super().coerce(slot, value, now)

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """More than nothing of one unit."""
        if isinstance(value, dict) and len(value) == 1 and set(value) <= set(UNITS):
            (length,) = value.values()
            countable = isinstance(length, int | float | Decimal) and not isinstance(length, bool)
            if countable and 0 < length < MOST:  # type: ignore[operator]
                return value
        raise Unfit(self.fits)

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """3.5 天, 3.5 days."""
        if not isinstance(value, dict):
            return plain(value)
        return " ".join(_of_unit(unit, value[unit], locale) for unit in UNITS if unit in value)


def _of_unit(unit: str, number: JsonValue, locale: Locale) -> str:
    plural = "s" if locale == "en" and number != 1 else ""
    return f"{plain(number)} {UNITS[unit][locale]}{plural}"


def day(value: JsonValue, locale: Locale) -> str:
    """A date such as `2026-11-23`, or the date of a moment, as people read it."""
    found = _date_of(value)
    if found is None:
        return plain(value)
    weekday, written = WEEKDAYS[locale][found.weekday()], _without_weekday(found, locale)
    return f"{written}（周{weekday}）" if locale == "zh" else f"{weekday} {written}"


def _date_of(value: JsonValue) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _without_weekday(found: date, locale: Locale) -> str:
    if locale == "zh":
        return f"{found.year}年{found.month}月{found.day}日"
    return f"{found.day} {MONTHS[found.month - 1]} {found.year}"


def short_date(value: JsonValue, locale: Locale) -> str:
    """A date, or the date of a moment, without its year and weekday: for titles.

    >>> short_date("2026-11-23", "zh"), short_date("2026-11-23T14:30:00+08:00", "en")
    ('11月23日', '23 Nov')
    """
    try:
        found = date.fromisoformat(str(value)[:10])
    except ValueError:
        return plain(value)
    if locale == "zh":
        return f"{found.month}月{found.day}日"
    return f"{found.day} {MONTHS[found.month - 1]}"


def moment(value: JsonValue, locale: Locale) -> str:
    """A date and time such as `2026-11-23T14:30:00+08:00`, in the zone it is written in."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return plain(value)
    return f"{day(value, locale)}{'' if locale == 'zh' else ', '}{found:%H:%M}"
