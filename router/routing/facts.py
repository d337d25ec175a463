"""What a text or a result states that can be right or wrong: numbers, days, times, addresses.

Numbers are found however they are written: `1,580`, `一千五百八十`, `¥58.00`. One that is said in
characters has to count something: `三天`, but not the 十 of `十分`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal
from unicodedata import normalize

from pydantic import JsonValue

from router.entities.dates import Days
from router.entities.durations import Duration
from router.entities.grammar import Found, compiled, cuts_a_word
from router.entities.money import Money
from router.entities.numbers import DIGITS, EN_NUMBER, ZH_NUMBER, parse_number
from router.entities.utterance import Utterance

FigureKind = Literal["number", "percent", "place", "day", "month", "year"]


@dataclass(frozen=True)
class Figure:
    """A number, and what it is besides: a share, a place in a row, or part of a date."""

    number: Decimal
    kind: FigureKind = "number"


@dataclass(frozen=True)
class Address:
    """An e-mail address, a URL, a host or a path, as it is written."""

    written: str


@dataclass(frozen=True)
class Code:
    """What something is called by in figures and letters: `ORD-0012`, `G1`, a telephone number."""

    written: str


Readings = tuple[Days, ...]
"""What a day or a stretch may mean, for one who looks ahead and one who looks back."""
Fact = Figure | Money | Duration | time | Readings | Address | Code


@dataclass(frozen=True)
class StatedFact:
    """A fact, in the words that state it."""

    words: str
    fact: Fact


_PIECE = 300
"""Characters of a text that are read at once: no sentence of anybody's is longer."""
_SENTENCE_ENDS = re.compile(r"[。！？!?；;\n]|\. |，(?=\D)|, (?!\d{4}\b)")
_ITEM = compiled(r"(?m)^[ \t]*(?:[-*•] ?)?\(?\d{1,2}[.、)）](?:[ \t]|[^\d])")
_ADDRESS = compiled(
    r"(?P<it>\b(?:https?://|www\.)[^\s<>\"'()\[\]（）【】，。；、“”]+"
    r"|[\w.+-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+"
    r"|\b[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,24}\b(?:/[^\s，。；、）)]*)?)"
)
_CODE = compiled(r"[a-z0-9]+(?:[-_/.#][a-z0-9]+)*")
_OF_LETTERS = re.compile("[a-z]", re.IGNORECASE)
_OF_FIGURES = re.compile(r"\d")
_MEASURED = compiled(
    r"^\d+(?:[.,]\d+)*(?:st|nd|rd|th|am|pm|d|h|hrs?|hours?|min|mins|s|ms|k|w|m|km|cm|mm|g|kg|t|kb|mb|gb"
    r"|tb|c|f|x|z|px|cny|rmb|usd|eur|gbp|hkd|jpy|yuan|days?)$"
)
_OF_DAYS = compiled(
    r"^(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2}(?:t\d\d.*)?)?|\d{1,2}[-/.:]\d{1,2}(?:[-/:.]\d{2,4})?)$"
)
_MOMENT = re.compile(r"(?<=\d)[Tt](?=\d\d:\d\d)")
_FIGURES = compiled(DIGITS)
_NUMBER = compiled(f"{ZH_NUMBER}|{EN_NUMBER}")
_COUNTED = compiled(
    "^ ?[多余]?(?:[个天日号秒条封份次元块角人位项间张笔周月年岁件家种类页里米度名场台辆本步班趟票"
    "点倍股晚夜门套栋层楼行段章节级把处]|小时|钟头|分钟|星期|礼拜|公里|季度)"
)
_UNITS = compiled("[十百千万亿拾佰仟]")
_NOT_COUNTED = frozenset({"一", "one", "a", "an"})


def statements(text: str, now: datetime) -> Iterator[StatedFact]:
    """What a text states, in no particular order; days as one would mean them who speaks `now`."""
    yield from _stated_on(text, now.date())


@lru_cache(maxsize=512)
def _stated_on(text: str, day: date) -> tuple[StatedFact, ...]:
    """What a text states, said on that day; what was said before is read again in every turn."""
    marked = _ITEM.sub(" ", _MOMENT.sub(" ", text))
    plain, named = _blanked(marked)
    noon = datetime.combine(day, time(12), UTC)
    stated = (each for piece in _pieces(plain) for each in _stated(Utterance.of(piece, noon)))
    return (*named, *stated)


def _pieces(text: str) -> Iterator[str]:
    """The sentences, short ones together: each piece is read by every grammar there is."""
    piece = ""
    for sentence in _SENTENCE_ENDS.split(text):
        for start in range(0, len(sentence), _PIECE):
            part = sentence[start : start + _PIECE].strip()
            if len(piece) + len(part) > _PIECE:
                yield piece
                piece = ""
            piece += f"{part}。" if part else ""
    if piece:
        yield piece


def _blanked(text: str) -> tuple[str, list[StatedFact]]:
    """The text with blanks for what is an address or a code, and those."""
    found: list[StatedFact] = []

    def address(match: re.Match[str]) -> str:
        written = match.group().rstrip(".,:;!?…")
        found.append(StatedFact(written, Address(written)))
        return " " * len(match.group())

    def code(match: re.Match[str]) -> str:
        written = match.group()
        if not _is_code(written):
            return written
        found.append(StatedFact(written, Code(written)))
        return " " * len(written)

    return _CODE.sub(code, _ADDRESS.sub(address, text)), found


def _is_code(word: str) -> bool:
    """Whether it is a name of something: figures among letters, or many figures in groups."""
    if not _OF_FIGURES.search(word) or _MEASURED.search(word) or _OF_DAYS.search(word):
        return False
    groups = re.split("[-_/#]", word)
    of_figures = all(group.replace(".", "").isdigit() for group in groups)
    if of_figures:
        return len(groups) > 2 or word.count(".") > 1  # noqa: PLR2004 - 10-12 are two numbers
    # In 3-day and 15-minute the figure is a number; in ORD-12 and G1 it is part of a name.
    return not (groups[0].isdigit() and not _OF_FIGURES.search("".join(groups[1:])))


def _stated(utterance: Utterance) -> Iterator[StatedFact]:
    text = utterance.text
    taken = []
    for span, readings in _days(utterance).items():
        taken.append(span)
        yield StatedFact(text[slice(*span)], tuple(readings))
    for thing in utterance.things:
        if isinstance(thing.value, Money | Duration | time) and not thing.touches(taken):
            taken.append(thing.span)
            yield StatedFact(text[slice(*thing.span)], thing.value)
    yield from _bare(text, taken)


def _days(utterance: Utterance) -> dict[tuple[int, int], list[Days]]:
    """Days by where they stand, in both readings; of two spans that overlap the first one."""
    spans: dict[tuple[int, int], list[Days]] = {}
    for thing in (*utterance.things, *utterance.spent):
        if isinstance(thing.value, Days):
            same = next((span for span in spans if thing.touches([span])), thing.span)
            spans.setdefault(same, []).append(thing.value)
    return spans


def _bare(text: str, taken: list[tuple[int, int]]) -> Iterator[StatedFact]:
    """Numbers that no grammar took for more than that."""
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        written = match.group()
        if written[0].isdigit() and cuts_a_word(text, end):
            written = _FIGURES.search(written).group()  # 10km is no ten thousand metres
        if Found(start, end, "").touches(taken) or not _counts(written, text, start, end):
            continue
        number = parse_number(written)
        if number is not None:
            yield StatedFact(written, _figure(text, start, start + len(written), number))


def _counts(written: str, text: str, start: int, end: int) -> bool:
    if written[0].isdigit():
        return not text[start - 1 : start].isdigit()
    if written in _NOT_COUNTED:
        return False
    if written.isascii():
        return not (cuts_a_word(text, start) or cuts_a_word(text, end))
    composed = len(written) > 2 and _UNITS.search(written) is not None  # noqa: PLR2004 - 千万 isn't
    return (
        composed
        or text[:start].endswith(("第", "百分之"))
        or _COUNTED.search(text[end:]) is not None
    )


def _figure(text: str, start: int, end: int, number: Decimal) -> Figure:
    before, after = text[:start].rstrip(), text[end:].lstrip()
    if before.endswith(("第", "no.", "#")) or after.startswith(("st ", "nd ", "rd ", "th ")):
        return Figure(number, "place")
    if after.startswith(("%", "percent")) or before.endswith("百分之"):
        return Figure(number, "percent")
    if after.startswith("月"):
        return Figure(number, "month")
    if _MONTH.search(before):
        return Figure(number, "day")
    return Figure(number, "year" if after.startswith("年") and number > _A_YEAR else "number")


_A_YEAR = 1900
_MONTH = compiled(r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?$")


def within(value: JsonValue) -> Iterable[JsonValue]:
    """What stands directly in an object or a list."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def scalars(value: JsonValue) -> Iterator[str | int | float | bool | None]:
    """All that stands in a result, keys and all."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    else:
        yield value


def counts(value: JsonValue) -> Iterator[int]:
    """What can be counted in a result: how long its lists are, and how many have what in common."""
    if isinstance(value, dict):
        kinds = {type(inner) for inner in value.values()}
        if len(kinds) == 1 and len(value) > 1:
            yield len(value)
        for inner in value.values():
            yield from counts(inner)
    elif isinstance(value, list):
        yield len(value)
        yield from _in_common(value)
        for inner in value:
            yield from counts(inner)


def _in_common(several: list[JsonValue]) -> Iterator[int]:
    alike: Counter[tuple[str, str]] = Counter()
    for each in several:
        fields = each.items() if isinstance(each, dict) else [("", each)]
        alike.update((key, repr(v)) for key, v in fields if not isinstance(v, dict | list))
    yield from alike.values()


def exact(value: float | str) -> Decimal | None:
    """The number that a scalar is, or that a text is by itself."""
    try:
        number = Decimal(str(value).replace(",", "").strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def day_of(text: str) -> date | None:
    """The day that a text is by itself."""
    try:
        return date.fromisoformat(text) if len(text) == len("2026-11-23") else None
    except ValueError:
        return None


def moment_of(text: str) -> datetime | None:
    """The moment that a text is by itself."""
    try:
        return datetime.fromisoformat(text) if len(text) > len("2026-11-23") else None
    except ValueError:
        return None


def squeezed(text: str) -> str:
    """A text as names are looked up in it: in one spelling, without spaces."""
    return "".join(normalize("NFKC", text).casefold().split())
