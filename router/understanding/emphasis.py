"""Keys held down: `请请请假`, `pleeease`, `!!!` as if they had been typed once.

Only what is certain. Three of a Chinese character or a mark are one: words double (谢谢, 看看,
天天), and across words so do 告诉我|我的 and 重要|要求, but nothing is said three times. Of a
letter no English word has three, and a few have two. Figures count: `1000`, `二〇〇〇` stay.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby, product

Span = tuple[int, int]
"""A run to be read as something shorter, half-open."""

_THREE = re.compile(r"([^\W\d]|[^\w\s])\1\1")
_RUNS = re.compile(r"(?P<word>[a-z]+)|(?P<one>[^\W\da-z]|[^\w\s])(?P=one){2,}")
_HAN_FIGURES = frozenset("零〇一二三四五六七八九十百千万亿两")

_LONGEST_WORD = 40
_MOST_RUNS = 4
"""Letters of a word, and how many of them may have been held down; what has more is no word."""

_DOUBLED = re.compile(
    "add|address|agree|agreed|all|annually|application|applied|apply|appointment|approval"
    "|approve|approved|arrange|attend|been|better|bill|billing|book|booked|booking"
    "|business|call|cancelled|cancelling|coffee|cool|correct|current|currently|different"
    "|dinner|dollar|dollars|error|fee|feel|feeling|fees|fell|fill|free|full|getting|good"
    "|goodbye|greetings|happen|happened|happy|hello|ill|illness|immediately|issue|keep"
    "|less|little|look|looking|matter|meet|meeting|meetings|miss|missed|need|needed|needs"
    "|off|office|pass|pool|process|room|see|seen|sleep|soon|sorry|still|street|success"
    "|supplies|supply|tell|three|till|tomorrow|too|tool|traffic|travelling|unless|week"
    "|weekend|weekly|weeks|well|will|worry"
)
"""Words of a desk that have a letter twice where a careless finger puts it more often."""


def held_down(text: str) -> Iterator[tuple[Span, str]]:
    """Every run of a normalised text that stands for less, with what is read in its place.

    >>> list(held_down("pleeease 请请请假!!!"))
    [((2, 5), 'e'), ((9, 12), '请'), ((13, 16), '!')]
    """
    if _THREE.search(text) is None:
        return
    for found in _RUNS.finditer(text):
        start, end = found.span()
        if found["word"]:
            yield from _in_word(text, start, end)
        elif _counts_once(found["one"]) and not _parts_figures(text, start, end):
            yield (start, end), found["one"]


def _counts_once(character: str) -> bool:
    if "\u3400" <= character <= "\u9fff":
        return character not in _HAN_FIGURES
    return unicodedata.category(character)[0] in "PS"


def _parts_figures(text: str, start: int, end: int) -> bool:
    """`36...50` are two numbers, and `36.50` is one."""
    return text[max(0, start - 1) : start].isdigit() and text[end : end + 1].isdigit()


def _in_word(text: str, start: int, end: int) -> Iterator[tuple[Span, str]]:
    """The runs of a word; none of `www`, nor of what is part of a code such as `aaa7`."""
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    if end - start > _LONGEST_WORD or any(c.isalnum() and c.isascii() for c in around):
        return
    runs = _letters(text[start:end])
    held = [place for place, run in enumerate(runs) if len(run) > 2]  # noqa: PLR2004 - see above
    if not held or len(runs) == 1:
        return
    for place, meant in zip(held, _meant(runs, held), strict=True):
        first = start + sum(map(len, runs[:place]))
        yield (first, first + len(runs[place])), meant


def _letters(word: str) -> list[str]:
    return ["".join(run) for _, run in groupby(word)]


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
