"""Where values stand: behind a label, right of it in its row, or below it.

Forms are read by geometry, since the order of a file's text is that of the program that wrote it,
and a picture's that of its columns. A `PageLayout` holds a bounded number of cells with their rows
found once; asking what stands by a label looks at a few neighbours, so that time is linear in the
lines of a document, whoever made it.

What is read more than once is believed more: `settled` puts readings of one field together, of
which those that agree raise the confidence and those that contradict lower it.
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Generic, TypeVar

from pydantic import JsonValue

from router.documents.page import Material, TextLine
from router.documents.values import PrintedAmount, PrintedDate, amounts, folded
from router.domain.documents import Place, ReadField, Source
from router.entities.money import DEFAULT_CURRENCY
from router.entities.normalisation import simplified

MOST_CELLS = 3_000
"""Lines of a document that are looked at."""
_MOST_HITS = 24
"""Places of one label that are looked at."""
_MOST_BESIDE = 8
"""Neighbours of a label in its row."""
_FARTHEST_BELOW = 4.0
"""How many times its own height below a label its value may begin."""
_CURRENCY = re.compile(r"(?<![a-z])(?:usd|eur|gbp|hkd|sgd|aud|cad|cny)(?![a-z])")
_HALF = re.compile("[\u3400-\u9fff]")
_OTHER_HALF = re.compile("[\u3400-\u9fff](?:$| ?[:;.])")
_WIDEST_GAP = 12
"""How many heights of a line may stand between the two characters of a label."""
_SAME_ROW = 0.45
"""The share of the lower one's height by which two of a row overlap."""

T = TypeVar("T")


@dataclass(frozen=True)
class Spot:
    """A line in one spelling; `plain` is the same in lower case and simplified, for labels."""

    text: str
    plain: str
    place: Place
    source: Source
    confidence: float

    @classmethod
    def of(cls, line: TextLine) -> "Spot":
        """The cell of a line."""
        text = folded(line.text)
        plain = simplified(text).lower()
        return cls(
            text,
            plain if len(plain) == len(text) else text,
            line.place,
            line.source,
            line.confidence,
        )

    def with_rest(self, other: "Spot") -> "Spot":
        """The same with the text of its right neighbour."""
        place, rest = self.place, other.place
        return Spot(
            self.text + other.text,
            self.plain + other.plain,
            Place(
                page=place.page,
                left=place.left,
                top=min(place.top, rest.top),
                right=rest.right,
                bottom=max(place.bottom, rest.bottom),
            ),
            self.source,
            min(self.confidence, other.confidence),
        )

    @property
    def middle(self) -> float:
        """Its middle, from the top, in shares of the page."""
        return (self.place.top + self.place.bottom) / 2

    @property
    def height(self) -> float:
        """How high it is, in shares of the page."""
        return max(self.place.bottom - self.place.top, 1e-4)


@dataclass(frozen=True)
class Beside(Generic[T]):
    """What was read beside a label: where, and behind which words."""

    value: T
    cell: Spot
    label: Spot
    word: str
    """The words of the label, as they stand there."""

    @property
    def confidence(self) -> float:
        """How surely both were read: a label that is misread is still a label."""
        return self.cell.confidence


LabelPattern = re.Pattern[str]


def label(*words: str) -> LabelPattern:
    """An expression for any of these words, the longest first; English ones stand alone.

    Args:
        words: Labels in lower case and simplified Chinese; `?` and the like have no meaning. A
            space in an English one may also be a full stop, a dash, or nothing.
    """
    alternatives = "|".join(_word(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(alternatives)


def _word(word: str) -> str:
    if not word.isascii():
        return re.escape(word)
    return "(?<![a-z])" + r"[ .\-/]?".join(map(re.escape, word.split())) + "(?![a-z])"


class PageLayout:
    """The lines of a document, as they stand around each other."""

    def __init__(self, material: Material) -> None:
        """Lay out the first lines of the material; what has more of them is no form."""
        lines = (line for line in islice(material.lines, MOST_CELLS) if line.text.strip())
        self.cells = tuple(Spot.of(line) for line in lines)
        if joined := self._labels_joined():
            self.cells = joined
            del self._by_middle

    def _labels_joined(self) -> tuple[Spot, ...]:
        """The cells with labels of two characters in one, `名        称:`; none where none is."""
        whole: dict[int, Spot] = {}
        halves: set[int] = set()
        for cell in self.cells:
            if id(cell) in halves or not _HALF.fullmatch(cell.text):
                continue
            following = next(iter(self.right_of(cell)), None)
            if following is None or not _OTHER_HALF.match(following.text):
                continue
            if following.place.left - cell.place.right < _WIDEST_GAP * cell.height:
                whole[id(cell)] = cell.with_rest(following)
                halves.add(id(following))
        if not whole:
            return ()
        return tuple(whole.get(id(one), one) for one in self.cells if id(one) not in halves)

    @cached_property
    def plain(self) -> str:
        """Everything in lower case and simplified, a line each."""
        return "\n".join(cell.plain for cell in self.cells)

    @cached_property
    def is_chinese(self) -> bool:
        """True where it is written in Chinese, if only in part."""
        return any("\u3400" <= character <= "\u9fff" for character in self.plain)

    @cached_property
    def currency(self) -> str | None:
        """What its amounts are in: what most of them name; yuan where it is in Chinese."""
        most = self._named_currencies.most_common(1)
        return most[0][0] if most else DEFAULT_CURRENCY if self.is_chinese else None

    @property
    def names_currency(self) -> bool:
        """True where some amount of it has a currency: one without may have lost its sign."""
        return bool(self._named_currencies)

    @cached_property
    def _named_currencies(self) -> Counter[str]:
        named = Counter(
            amount.currency
            for cell in self.cells
            for amount in amounts(cell.text)
            if amount.currency is not None
        )
        written = _CURRENCY.findall(self.plain)
        named.update(each.upper() for each in written)
        return named

    @cached_property
    def _by_middle(self) -> tuple[list[tuple[int, float]], list[Spot]]:
        cells = sorted(self.cells, key=lambda cell: (cell.place.page, cell.middle))
        return [(cell.place.page, cell.middle) for cell in cells], cells

    def _between(self, page: int, top: float, bottom: float) -> Iterator[Spot]:
        keys, cells = self._by_middle
        for at in range(bisect_left(keys, (page, top)), len(cells)):
            if keys[at] > (page, bottom):
                return
            yield cells[at]

    def row(self, cell: Spot) -> list[Spot]:
        """What stands in the row of a cell, from left to right, itself included; at most 40."""
        around = islice(
            self._between(cell.place.page, cell.place.top, cell.place.bottom), 5 * _MOST_BESIDE
        )
        return sorted(
            (one for one in around if one is cell or _overlap(one, cell) >= _SAME_ROW),
            key=lambda one: one.place.left,
        )

    def right_of(self, cell: Spot) -> list[Spot]:
        """The next few to the right of a cell, the nearest first."""
        begin = cell.place.left + (cell.place.right - cell.place.left) / 2
        return [one for one in self.row(cell) if one.place.left >= begin and one is not cell][
            :_MOST_BESIDE
        ]

    def below(self, cell: Spot, rows: float = _FARTHEST_BELOW) -> list[Spot]:
        """What stands under a cell, the nearest first, within so many of its heights."""
        bottom = cell.place.bottom + rows * cell.height
        under = islice(self._between(cell.place.page, cell.place.bottom, bottom), 5 * _MOST_BESIDE)
        return [
            one
            for one in under
            if one is not cell
            and one.place.left < cell.place.right
            and one.place.right > cell.place.left
        ]

    def above(self, cell: Spot, rows: float = 2.5) -> list[Spot]:
        """What stands over a cell and begins near where it does, the nearest first."""
        top = cell.place.top - rows * cell.height
        over = islice(self._between(cell.place.page, top, cell.place.top), 5 * _MOST_BESIDE)
        near = (
            one
            for one in over
            if one.place.left < cell.place.right and one.place.right > cell.place.left
        )
        return sorted((one for one in near if one is not cell), key=lambda one: -one.middle)

    def hits(self, words: LabelPattern) -> Iterator[tuple[Spot, re.Match[str]]]:
        """The cells in which such a label stands, with where."""
        found = ((cell, words.search(cell.plain)) for cell in self.cells)
        yield from islice(((cell, hit) for cell, hit in found if hit), _MOST_HITS)

    def beside(
        self,
        words: LabelPattern,
        parse: Callable[[str], list[T]],
        *,
        below: bool = True,
        reach: int = _MOST_BESIDE,
    ) -> list[Beside[T]]:
        """What stands by each place of a label: behind it, else right of it, else below it.

        Args:
            words: The label.
            parse: What of a text is a value: none, one or several.
            below: Whether to look below as well.
            reach: How many neighbours to the right are looked at, those without a value included.
        """
        found: list[Beside[T]] = []
        for cell, hit in self.hits(words):
            behind = cell.text[hit.end() :]
            values = parse(behind.lstrip(" :.-_)"))
            if values:
                found += [Beside(value, cell, cell, hit[0]) for value in values]
                continue
            candidates = self.right_of(cell)[:reach] if _is_open(behind) else []
            candidates = [*candidates, *(self.below(cell) if below else [])]
            for other in candidates:
                values = parse(other.text)
                if values:
                    found += [Beside(value, other, cell, hit[0]) for value in values]
                    break
        return found

    def first(self, words: LabelPattern) -> Spot | None:
        """The first cell in which such a label stands."""
        return next((cell for cell, _ in self.hits(words)), None)


def _is_open(behind: str) -> bool:
    """True where hardly anything but the label stands in its cell: its value stands elsewhere."""
    longest = 24
    return len(behind) <= longest


def _overlap(one: Spot, other: Spot) -> float:
    """The share of the lower one's height that the two have in common."""
    shared = min(one.place.bottom, other.place.bottom) - max(one.place.top, other.place.top)
    return shared / min(one.height, other.height)


def likelihood(form: PageLayout, words: Mapping[str, float]) -> float:
    """How much of what tells of a type stands in the text, at most 1.

    Args:
        form: The document's.
        words: Expressions with their weights, which may be below zero.
    """
    weights = (weight for words, weight in words.items() if re.search(words, form.plain))
    return min(1.0, max(0.0, sum(weights)))


@dataclass(frozen=True)
class Clue:
    """One way in which a field was read."""

    value: JsonValue
    source: Source
    trust: float
    """How surely this alone makes the value right, from 0 to 1."""
    place: Place | None = None
    way: str = "label"
    """How it was found; of several readings in the same way the best counts."""


def trusted(cell: Spot, of_text: float, of_picture: float) -> float:
    """How much a reading at a cell is worth.

    Args:
        cell: Where it stands.
        of_text: What it's worth in the file's own text.
        of_picture: What it's worth in a picture that was read without doubt.
    """
    if cell.source != "picture":
        return of_text
    # Fitted on the development half of `bench/document_set.py`: below nine tenths a line of a
    # picture is more often wrong than not.
    sharp = min(1.0, max(0.0, (cell.confidence - 0.6) / 0.36))
    return of_picture * sharp


@dataclass(frozen=True)
class Trust:
    """How much a way of finding a field is worth, by where it stood."""

    text: float
    """In the file's own text."""
    picture: float
    """In a picture that was read without doubt."""
    way: str = "label"

    def reading(self, found: Beside[T], value: JsonValue, share: float = 1.0) -> Clue:
        """The reading of what stood there, worth this share of it."""
        worth = trusted(found.cell, self.text, self.picture) * share
        return Clue(value, found.cell.source, worth, found.cell.place, self.way)

    def money(self, found: Beside[PrintedAmount], form: PageLayout) -> Clue:
        """The reading of an amount; one in no currency that is known is worth less."""
        amount, currency = found.value, found.value.currency or form.currency
        share = (_MENDED if amount.mended else 1.0) * (1.0 if currency else _DOUBTFUL)
        if found.cell.source == "picture" and form.currency != currency:
            # A pound that looks like a euro, among pounds.
            amount, currency = replace(amount, currency=None), form.currency
            share *= _MENDED
        elif found.cell.source == "picture" and amount.currency is None and form.names_currency:
            # $82.38 is read as 582.38 where it has faded.
            share *= _MENDED
        return self.reading(found, amount.money(currency), share)

    def day(self, found: Beside[PrintedDate]) -> Clue:
        """The reading of a date; one that could be another is worth less."""
        share = (_MENDED if found.value.mended else 1.0) * (
            _DOUBTFUL if found.value.doubtful else 1.0
        )
        return self.reading(found, found.value.value.isoformat(), share)


_MENDED = 0.75
_DOUBTFUL = 0.6
_CERTAIN = 0.99
_LEAST = 0.15
"""Less is no reading, but a guess."""
_DOUBT = 0.65
"""How much of the runner-up's weight is lost by who contradicts it."""


def settled_fields(readings: Mapping[str, Iterable[Clue]]) -> dict[str, ReadField]:
    """What each field comes to, of those for which anything was found."""
    found = ((name, settled(each)) for name, each in readings.items())
    return {name: field for name, field in found if field is not None}


def settled(readings: Iterable[Clue]) -> ReadField | None:
    """The value that most speaks for, less sure for what speaks against it; None for none."""
    ways: dict[str, dict[tuple[str, str], Clue]] = {}
    for reading in readings:
        same = ways.setdefault(json.dumps(reading.value, sort_keys=True), {})
        way = (reading.way, reading.source)
        if way not in same or same[way].trust < reading.trust:
            same[way] = reading
    if not ways:
        return None
    ranked = sorted(((_weight(w.values()), w) for w in ways.values()), key=lambda r: -r[0])
    weight, supporters = ranked[0]
    if weight < _LEAST:
        return None
    against = ranked[1][0] if len(ranked) > 1 else 0.0
    best = max(supporters.values(), key=lambda reading: reading.trust)
    return ReadField(
        value=best.value,
        source=best.source,
        confidence=round(min(_CERTAIN, weight) * (1 - _DOUBT * against), 2),
        place=best.place,
    )


def _weight(readings: Iterable[Clue]) -> float:
    doubt = 1.0
    for reading in readings:
        doubt *= 1 - reading.trust
    return 1 - doubt
