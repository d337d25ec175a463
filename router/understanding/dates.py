"""Days and ranges of days in a sentence: `下周一到周三`, `Dec 24-26`, `明天下午`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from router.understanding import dates_en, dates_zh
from router.understanding.days import (
    Calendar,
    Day,
    FixedDay,
    Half,
    MonthDay,
    Shift,
    Stretch,
    Weekday,
    YearDay,
)
from router.understanding.grammar import Found, compiled, cuts_a_word, group_span, longest


@dataclass(frozen=True)
class Days:
    """One day or several, both ends included; a half says which part of an end is meant."""

    first: date
    last: date
    first_half: Half | None = None
    last_half: Half | None = None
    single: bool = False
    """True where one whole day was named, not a range that happens to be one day long."""


@dataclass(frozen=True)
class _Mention:
    """A day as it stands in the text, with the half of it that is meant."""

    start: int
    end: int
    day: Day
    half: Half | None = None


_MORNING = "上午|早上|早晨|清晨|清早|一早|早|晨|morning|am"
_HALF = compiled(
    rf"^ ?的?(?:in the )?(?:(?P<am>{_MORNING})|(?P<pm>下午|午后|傍晚|afternoon|pm))(?:[^a-z]|$)"
)
_HALF_BEFORE = compiled(r"(?:the )?(?:(?P<am>morning)|(?P<pm>afternoon)) of (?:the )?$")
_CLOCK = compiled(r"^ ?(?:\d{1,2} ?(?:[:点时]|am|pm)|[一二两三四五六七八九十]{1,2}点)")
_JOINER = (
    "^(?: ?(?:开始|起)?,? ?(?:一直|直)?(?:到|至|~|--?|–|—+|―)|,? (?:up )?(?:to|until|till|til"
    "|through|thru)"
    r"|to) ?"
)
_JOINED = compiled(rf"{_JOINER}$")
# 下周三和周五: what follows in a list is in the week and the month of what stands before.
_LISTED = compiled("^ ?(?:和|跟|与|及|以及|还有|、|,|,? ?and|&) ?(?:on |the )?$")
_BETWEEN = compiled("(?:between |介于|在)$")
_AND = compiled("^(?: and |和|与)$")
_TAIL = compiled(
    rf"{_JOINER}(?:the )?(?P<day>{dates_zh.DAY_OF_MONTH}|{dates_en.DAY_FIGURE})"
    r"(?:[日号]|(?:, ?| )(?P<year>20\d\d)\b)?"
)
_WEEKDAY_TAIL = compiled(rf"^ ?[到至-] ?(?P<day>{dates_zh.WEEKDAY_FIGURE})")
_HALF_TAIL = compiled(
    rf"{_JOINER}(?:(?P<am>{_MORNING})|(?P<pm>下午|午后|傍晚|afternoon|pm))(?:[^a-z]|$)"
)
_HEAD = compiled(
    rf"(?P<day>{dates_zh.DAY_OF_MONTH}|{dates_en.DAY_FIGURE}) ?[日号]?"
    r" ?(?:到|至|~|-|–|—|to|until|till|through) ?(?:the )?$"
)
# A figure before one of these counts something else: 12月1日到5点, 周一到三楼.
_COUNTS = compiled(r"^ ?(?:[月点:/.%个天人次元块楼号层周小时分年]|\d|[ap]m\b|people)")

# How far what belongs to a day may stand from it.
_LOOK = 12


def find_dates(text: str, calendar: Calendar) -> list[Found[Days]]:
    """Every day and range named, in order, none overlapping, none ending before it starts."""
    terms = longest(_terms(text))
    found: list[Found[Days]] = []
    reached = 0
    for position, term in enumerate(terms):
        if term.start < reached:
            continue
        following = terms[position + 1] if position + 1 < len(terms) else None
        listed = found and _LISTED.search(text[reached : term.start])
        known = calendar.starting(found[-1].value.last) if listed else calendar
        read = _read(text, term, following, known)
        if read is not None and read.start >= reached:
            found.append(read)
            reached = read.end
    return found


def _terms(text: str) -> Iterator[Found[Day | Stretch]]:
    for day in (*dates_zh.DAYS, *dates_en.DAYS):
        yield from day.find(text)
    for stretch in (*dates_zh.STRETCHES, *dates_en.STRETCHES):
        yield from stretch.find(text)


def _read(
    text: str,
    term: Found[Day | Stretch],
    following: Found[Day | Stretch] | None,
    calendar: Calendar,
) -> Found[Days] | None:
    """What stands at `term`: a stretch, the beginning of a range, or a day on its own."""
    if isinstance(term.value, Stretch):
        span = term.value.across(calendar)
        return span and Found(term.start, term.end, Days(*span))
    mention = _mention(text, term.start, term.end, term.value)
    return (
        _from_head(text, mention, calendar)
        or _to_following(text, mention, following, calendar)
        or _to_tail(text, mention, calendar)
        or _alone(mention, calendar)
    )


def _mention(text: str, start: int, end: int, day: Day) -> _Mention:
    """The day with `上午` after it, or `the morning of` before it."""
    after = _HALF.search(text[end : end + _LOOK])
    if after:
        until = end + _side_end(after)
        if not _CLOCK.search(text[until : until + _LOOK]):
            return _Mention(start, until, day, _side(after))
    before = _HALF_BEFORE.search(text[max(0, start - _LOOK) : start])
    if before:
        return _Mention(start - len(before.group()), end, day, _side(before))
    return _Mention(start, end, day)


def _side(match: Any) -> Half:
    return "am" if match.group("am") else "pm"


def _side_end(match: Any) -> int:
    return group_span(match, _side(match))[1]


def _alone(mention: _Mention, calendar: Calendar) -> Found[Days] | None:
    day = mention.day.on(calendar)
    if day is None:
        return None
    days = Days(day, day, mention.half, mention.half, single=mention.half is None)
    return Found(mention.start, mention.end, days)


def _range(start: _Mention, end: _Mention, calendar: Calendar) -> Found[Days] | None:
    """From one day to the other, read as a day after the first; None if that can't be."""
    first = start.day.on(calendar)
    if first is None:
        return None
    last = end.day.on(calendar.starting(first))
    if last is not None and last < first and isinstance(end.day, Weekday):
        # 下周五到下周一: the week was named again out of habit, and is the one after.
        last = Weekday(end.day.weekday).on(calendar.starting(first))
    if last is None or last < first:
        return None
    return Found(start.start, end.end, Days(first, last, start.half, end.half))


def _to_following(
    text: str, mention: _Mention, following: Found[Day | Stretch] | None, calendar: Calendar
) -> Found[Days] | None:
    """`下周一到周三`, `between Monday and Wednesday`."""
    if following is None or isinstance(following.value, Stretch):
        return None
    end = _mention(text, following.start, following.end, following.value)
    between = text[mention.end : end.start]
    joined = _JOINED.search(between) or (
        _AND.search(between) and _BETWEEN.search(text[: mention.start][-_LOOK:])
    )
    return _range(mention, end, calendar) if joined else None


def _to_tail(text: str, mention: _Mention, calendar: Calendar) -> Found[Days] | None:
    """An end that leaves out what the start said: `12月1日到5日`, `周一至五`, `上午到下午`."""
    rest = text[mention.end :][: 2 * _LOOK]
    half = _HALF_TAIL.search(rest) if mention.half else None
    if half:
        until = mention.end + _side_end(half)
        return _range(mention, replace(mention, end=until, half=_side(half)), calendar)
    tail = (_WEEKDAY_TAIL if isinstance(mention.day, Weekday) else _TAIL).search(rest)
    if tail is None or isinstance(mention.day, Shift) or _counts(rest, tail.end()):
        return None
    figures = tail.groupdict()
    start = replace(mention, day=_in_year(mention.day, figures.get("year")))
    end = _mention(text, start.start, start.end + tail.end(), _ended_by(start.day, figures["day"]))
    return _range(start, end, calendar)


def _in_year(day: Day, year: str | None) -> Day:
    """`Dec 24-26, 2026`: the year stands at the end and is meant for both."""
    return FixedDay(int(year), day.month, day.day) if year and isinstance(day, YearDay) else day


def _ended_by(start: Day, figure: str) -> Day:
    if isinstance(start, Weekday):
        return Weekday(dates_zh.weekday_of(figure))
    return MonthDay(_figure(figure))


def _from_head(text: str, mention: _Mention, calendar: Calendar) -> Found[Days] | None:
    """A start that leaves out what the end says: `1-5号`, `24th to 26th of December`."""
    day = mention.day
    if isinstance(day, Weekday | Shift):
        return None
    before = text[: mention.start][-2 * _LOOK :]
    head = _HEAD.search(before)
    if head is None or cuts_a_word(text, mention.start - len(before) + head.start()):
        return None
    start = mention.start - len(before) + head.start()
    first = replace(day, day=_figure(head.group("day")))
    return _range(_Mention(start, start, first), mention, calendar)


def _figure(text: str) -> int:
    return dates_en.day_number(text) if text[0].isdigit() else dates_zh.small_number(text)


def _counts(rest: str, at: int) -> bool:
    return cuts_a_word(rest, at) or bool(_COUNTS.search(rest[at:]))
