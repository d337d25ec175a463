"""One spelling for everything that is read by rules, with the way back to what was typed.

Rules look for `请假` and `leave`; people type `請 假` and `ＬＥＡＶＥ`. A `Normalised` holds the
one spelling and, for each of its characters, where it came from, so that whatever is found can
be shown in the person's own words.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from router.understanding.emphasis import held_down
from router.understanding.simplified import simplified

# A base character with its combining marks: the smallest piece that NFKC may be applied to on
# its own. The number of marks is bounded since sorting a long run of them is quadratic.
_CLUSTER = re.compile(
    "(?s).[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f]{0,8}"
)

_SURROGATES = re.compile("[\ud800-\udfff]")

# One ligature unfolds into eighteen characters; none that matters here into more than these.
_LONGEST_UNFOLDING = 6

# ½ would unfold into 1⁄2, which reads as two numbers: 请½天 as two days.
_FRACTION = "\N{FRACTION SLASH}"

_VARIANTS = "\u034f\u115f\u1160\u180b-\u180d\u180f\u20e3\ufe00-\ufe0f\U000e0100-\U000e01ef"
_UNSEEN = re.compile(f"[{_VARIANTS}]")
"""What has no shape of its own though Unicode calls it a letter or a mark: selectors, fillers."""

_MARKS = frozenset(",;:!?、。()")
_OF_A_DATE = frozenset("年月日号")

_PARTS_FIGURES = re.compile(r"(?<=\d)，(?=\d)(?!\d{3}(?!\d))")
"""A Chinese comma between figures, which a Western one would join: `¥99，10月的`, `58，36`."""

_PICTURES = re.compile("[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]")
_WORDS = re.compile(r"\w")


@dataclass(frozen=True)
class Normalised:
    """A text in the one spelling that rules read, aligned with the text as typed.

    >>> found = normalise("我 要 请 假")
    >>> found.text, found.span(2, 4)
    ('我要请假', (4, 7))
    """

    typed: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]` stands in the text as typed, half-open."""
        if start >= end:
            at = self.starts[start] if start < len(self.starts) else len(self.typed)
            return at, at
        return self.starts[start], self.ends[end - 1]

    def as_typed(self, start: int, end: int) -> str:
        """The person's own writing of `text[start:end]`."""
        first, last = self.span(start, end)
        return self.typed[first:last]


def normalise(typed: str) -> Normalised:
    """Everything that people do to the same words, undone.

    Compatibility forms, case, white space, invisible and traditional characters are evened out,
    and keys held down (`pleeease`, `!!!`) count once. White space runs become one space, and
    none within Chinese; a Chinese comma that parts two figures gets one. Control and zero-width
    characters go. An emoji is read only where there are no words. Lone surrogates become U+FFFD,
    so that the result is always encodable.
    """
    return _typed_once(_in_words(typed))


def _in_words(typed: str) -> Normalised:
    """The text in simplified characters, each piece of white space and emoji a gap."""
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    gap: tuple[int, int] | None = None
    pieces = list(_unfolded(typed))
    wordy = any(_WORDS.match(character) for character, _, _ in pieces)
    for character, start, end in pieces:
        if character == " " or (wordy and _PICTURES.match(character)):
            gap = (gap[0] if gap else start, end)
            continue
        if gap and characters and not _joins(characters[-1], character):
            characters.append(" ")
            starts.append(gap[0])
            ends.append(gap[1])
        gap = None
        characters.append(character)
        starts.append(start)
        ends.append(end)
    return Normalised(typed, simplified("".join(characters)), tuple(starts), tuple(ends))


def _typed_once(found: Normalised) -> Normalised:
    """The text with each run of a key that was held down as what it stands for."""
    text: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    reached = 0
    for (first, last), meant in held_down(found.text):
        text += [found.text[reached:first], meant]
        starts += [*found.starts[reached:first], *([found.starts[first]] * len(meant))]
        ends += [*found.ends[reached:first], *([found.ends[last - 1]] * len(meant))]
        reached = last
    if not reached:
        return found
    text.append(found.text[reached:])
    starts += found.starts[reached:]
    ends += found.ends[reached:]
    return Normalised(found.typed, "".join(text), tuple(starts), tuple(ends))


def _unfolded(typed: str) -> Iterator[tuple[str, int, int]]:
    parting = {mark.start() for mark in _PARTS_FIGURES.finditer(typed)}
    for cluster in _CLUSTER.finditer(typed):
        start, end = cluster.span()
        for character in _fold(cluster.group()):
            yield character, start, end
        if start in parting:
            yield " ", start, end


@lru_cache(maxsize=8192)
def _fold(cluster: str) -> str:
    """The cluster in the one spelling; empty where nobody could see it."""
    encodable = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", cluster)
    unfolded = unicodedata.normalize("NFKC", encodable)
    if len(unfolded) > _LONGEST_UNFOLDING or _FRACTION in unfolded:
        return encodable
    folded = unicodedata.normalize("NFKC", unfolded.casefold())
    return "".join(" " if c.isspace() else c for c in folded if c.isspace() or _is_visible(c))


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf"} and not _UNSEEN.match(character)


def _joins(left: str, right: str) -> bool:
    """True where a space between the two says nothing: `请 假 ， 12 月`."""
    if _is_han(right):
        return _is_han(left) or left in _MARKS or (left.isdecimal() and right in _OF_A_DATE)
    return _is_han(left) and right in _MARKS


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"
