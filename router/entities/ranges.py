"""The one stretch of time, or the one day, that a sentence's days come to.

`下周一，哦不对，下周二到周四` ends up as Tuesday to Thursday, `周四和周五` is two days in a row,
and `请假到周五，从周三起` names its ends apart. What doesn't come to one stretch is left as it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import TypeVar

from router.entities.dates import Days
from router.entities.grammar import Found, compiled
from router.lexicon import BOTH

_INSTEAD = compiled(str(BOTH.instead))
# Of what is denied nothing was taken back: 12月1号,不是周末.
_AS_WELL = compiled("是不是|还是不|不是.*而且|不是$")
_NEAR = 24

T = TypeVar("T")


def kept(found: Sequence[Found[T]], text: str) -> list[Found[T]]:
    """Those that weren't taken back: what stands after the last `哦不对` between two of them."""
    first = 0
    for place, (one, other) in enumerate(pairwise(found), 1):
        between = text[one.end : other.start]
        if len(between) <= _NEAR and _INSTEAD.search(between) and not _AS_WELL.search(between):
            first = place
    return list(found[first:])


_LISTED = compiled("^ ?(?:和|跟|与|及|以及|、|,|and|&)? ?$")
_BESIDE = compiled(r"^[ ,(]*$")
_OPEN_END = compiled("^ ?(?:开始|起|之?后|以后|onwards?|on)")
_OPEN_START = compiled(
    r"(?:^|[^a-z])(?:从|自|打|from|starting(?: from| on)?|since|as of) ?(?:the )?$"
)
_UNTIL = compiled(
    r"(?:^|[^改挪调换推迟延移报])(?:到|至|截止到?|直到) ?$"
    r"|\b(?:until|till|til|through|thru|up to) (?:the )?$"
)
_TO = compiled(r"\bto (?:the )?$")
_RETURN = compiled("^ ?(?:回来|回去|回公司|返岗|返工|上班|复工|销假|到岗)")
_RETURNING = compiled(
    r"(?:\bback(?: to work| in the office| at work)?|\breturn(?:ing)?) (?:on |by )?$"
)
_BACK = (_RETURNING, _RETURN)
_A_WEEKDAY = compiled(
    r"(?:周|星期|礼拜)[一二三四五六日天]|\b(?:mon|tues?|wed|thur?s?|fri|sat|sun)[a-z]*\b"
)
_ITS_WEEK = compiled(r"\b(?:next|last|week)\b|上|下")
_DAY, _WEEK = timedelta(days=1), timedelta(days=6)


@dataclass(frozen=True)
class Interval:
    """Days that a sentence comes to, and which of their ends it says."""

    found: Found[Days]
    starts: bool = True
    ends: bool = True


def interval(found: Iterable[Found[Days]], text: str) -> Interval | None:
    """The one stretch that is meant; None where there are none, or several."""
    # The day of coming back is none of it.
    leaving = [
        f
        for f in found
        if not any(p.search(part) for p, part in zip(_BACK, _around(f, text), strict=True))
    ]
    days = _in_their_week(_joined(kept(leaving, text), text), text)
    if len(days) == 1:
        # One day after 到 or `until` is only an end, one before 开始 only a start.
        one = days[0]
        before, after = _around(one, text)
        if one.value.first == one.value.last and _UNTIL.search(before):
            return Interval(one, starts=False)
        is_open = _OPEN_END.search(after) or _OPEN_START.search(before)
        return Interval(one, ends=not is_open)
    return _between(days[0], days[1], text) if len(days) == 2 else None  # noqa: PLR2004 - two ends


def _around(found: Found[Days], text: str) -> tuple[str, str]:
    return text[: found.start][-_NEAR:], text[found.end :][:_NEAR]


def one_day(found: Sequence[Found[Days]], text: str) -> date | None:
    """The one day that a sentence's days come to: `下周，周三`, `周三，不对，周四`; else None."""
    meant = found[0] if len(found) == 1 else None
    if meant is None and (days := interval(found, text)):
        meant = days.found
    return meant.value.first if meant and meant.value.first == meant.value.last else None


def _between(one: Found[Days], other: Found[Days], text: str) -> Interval | None:
    """A start and an end that stand apart: `从12月28号休年假到1月5号`."""
    before, between = _around(one, text)[0], _around(other, text)[0]
    opened = _OPEN_START.search(before) and _TO.search(between)
    one_ends, other_ends = _UNTIL.search(before), _UNTIL.search(between) or opened
    if bool(one_ends) == bool(other_ends):
        return None
    start, end = (other, one) if one_ends else (one, other)
    if start.value.first != start.value.last or end.value.first != end.value.last:
        return None
    last = from_weekday(end.value, start.value.first, text[end.start : end.end])
    if last.last < start.value.first:
        return None
    days = Days(start.value.first, last.last, start.value.first_half, last.last_half)
    return Interval(Found(min(one.start, other.start), max(one.end, other.end), days))


def from_weekday(days: Days, start: date, named: str) -> Days:
    """An end before its start, as the first such weekday after it where it is `named` as one."""
    if days.last >= start or not _A_WEEKDAY.search(named):
        return days
    weeks = timedelta(weeks=-((days.last - start).days // 7))
    return replace(days, first=days.first + weeks, last=days.last + weeks)


def _in_their_week(days: list[Found[Days]], text: str) -> list[Found[Days]]:
    """Weekdays with the week that they are of: `下周请三天年假，从周三开始`."""
    weeks = [f for f in days if f.value.last - f.value.first == _WEEK]
    others = [f for f in days if f not in weeks]
    if len(weeks) != 1 or not others:
        return days
    monday = weeks[0].value.first
    moved = [_moved_into(monday, f, text) for f in others]
    return days if None in moved else [f for f in moved if f is not None]


def _moved_into(monday: date, found: Found[Days], text: str) -> Found[Days] | None:
    """The same weekdays in that week, unless they would be past there; None for other days."""
    value, named = found.value, text[found.start : found.end]
    if monday <= value.first and value.last <= monday + _WEEK:
        return found
    if not _A_WEEKDAY.search(named) or _ITS_WEEK.search(named):
        return None
    # As read they are the next such days: earlier ones are over.
    away = monday - (value.first - timedelta(days=value.first.weekday()))
    if away < timedelta():
        return found
    return replace(found, value=replace(value, first=value.first + away, last=value.last + away))


def _joined(found: list[Found[Days]], text: str) -> list[Found[Days]]:
    """Days in a row, `周四和周五`, as the one stretch that they are."""
    joined: list[Found[Days]] = []
    for day in found:
        last = joined[-1] if joined else None
        between = text[last.end : day.start] if last else ""
        if last is not None and last.value == day.value and _BESIDE.search(between):
            joined[-1] = Found(last.start, day.end, last.value)
        elif last and _LISTED.search(between) and last.value.last + _DAY == day.value.first:
            end, half = day.value.last, day.value.last_half
            days = replace(last.value, last=end, last_half=half, single=False)
            joined[-1] = Found(last.start, day.end, days)
        else:
            joined.append(day)
    return joined
