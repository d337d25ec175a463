"""A day as it stands in a sentence, with what belongs to it: `明天下午`, `Monday week`."""

from dataclasses import dataclass, replace
from typing import Any

from router.understanding.days import Day, Half, Later, Shift, Weekday
from router.understanding.grammar import compiled, group_span
from router.understanding.numbers import EN_NUMBER, parse_number


@dataclass(frozen=True)
class Mention:
    """A day as it stands in the text, with the half of it that is meant."""

    start: int
    end: int
    day: Day
    half: Half | None = None
    noon: int = 0
    """Where a noon after it ends, which is half a day only as an end of a range; else 0."""

    @property
    def end_of_range(self) -> int:
        """Where it ends as an end of a range."""
        return self.noon or self.end


_MORNING = "上午|早上|早晨|清晨|清早|一早|早|晨|morning|am|a\\.m\\."
HALF_NAME = rf"(?:(?P<am>{_MORNING})|(?P<pm>下午|午后|傍晚|afternoon|pm|p\.m\.))(?:[^a-z]|$)"
"""A half of a day, as the group `am` or `pm`."""
_HALF = compiled(rf"^ ?的?(?:in the )?{HALF_NAME}")
_HALF_BEFORE = compiled(
    r"(?:the )?(?:(?P<am>morning|first half)|(?P<pm>afternoon|second half)) (?:of|on) (?:the )?$"
)
_NOON = compiled(r"^ ?的?(?:中午|正午|(?:at )?(?:12 )?noon\b)")
_CLOCK = compiled(r"^ ?(?:\d{1,2} ?(?:[:点时]|am|pm)|[一二两三四五六七八九十]{1,2}点)")
# A week from Monday, the day before Christmas; but `three days from Monday` is how long, and when.
_FROM_DAY = compiled(
    rf"(?:^|[^a-z])(?P<n>an?|the|{EN_NUMBER}) (?:(?P<unit>week|fortnight)s? (?:from|after|on"
    r"|(?P<before>before))|days? (?:after|(?P<before_day>before))) $"
)
_HOW_LONG = compiled(
    r"\b(?:take|taking|took|need|want|for|book|request|have|having|get|of|like|leave|off) $"
)
_AND_A_WEEK = compiled(r"^ week\b(?:[^'-]|$)")
# How far what belongs to a day may stand from it.
LOOK = 12


def mentioned(text: str, start: int, end: int, day: Day) -> Mention:
    """The day with `上午` after it, or `the morning of` before it."""
    after = _HALF.search(text[end : end + LOOK])
    if after:
        until = end + half_end(after)
        if not _CLOCK.search(text[until : until + LOOK]):
            return Mention(start, until, day, half_of(after))
    noon = _NOON.search(text[end : end + LOOK])
    if noon and not _CLOCK.search(text[end + noon.end() : end + noon.end() + LOOK]):
        return Mention(start, end, day, noon=end + noon.end())
    before = _HALF_BEFORE.search(text[max(0, start - 2 * LOOK) : start])
    if before:
        return Mention(start - len(before.group()), end, day, half_of(before))
    return Mention(start, end, day)


def counted_from(text: str, mention: Mention) -> Mention:
    """`a week from Monday`, `two days before Christmas`, `Monday week`."""
    before = text[: mention.start][-2 * LOOK :]
    counted = _FROM_DAY.search(before)
    if counted and not isinstance(mention.day, Later):
        begins, _ = group_span(counted, "n")
        days = _days_away(counted.groupdict())
        if days and not _HOW_LONG.search(before[:begins]):
            start = mention.start - len(before) + begins
            return replace(mention, start=start, day=Later(mention.day, days))
    week = _AND_A_WEEK.search(text[mention.end : mention.end + LOOK])
    if week and isinstance(mention.day, Weekday | Shift):
        return replace(mention, end=mention.end + len(" week"), day=Later(mention.day, 7))
    return mention


def _days_away(groups: dict[str, str | None]) -> int | None:
    """How many days `two weeks from` or `the day before` are; None for what is no plan."""
    said = str(groups["n"])
    number = parse_number("1" if said in {"a", "an", "the"} else said)
    if number is None or number != int(number) or number > 1000:  # noqa: PLR2004 - not a plan
        return None
    unit = {"week": 7, "fortnight": 14}.get(str(groups["unit"]), 1)
    return int(number) * unit * (-1 if groups["before"] or groups["before_day"] else 1)


def half_of(match: Any) -> Half:
    """Which half a match of `HALF_NAME` is."""
    return "am" if match.group("am") else "pm"


def half_end(match: Any) -> int:
    """Where its name ends."""
    return group_span(match, half_of(match))[1]
