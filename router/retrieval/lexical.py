"""BM25 over capabilities' cards, changed one capability at a time.

Tokens are words, and pairs of Chinese characters: Chinese is written without spaces, and pairs
of neighbours find words without a dictionary, measured 5 to 6 points better than segmenting
with jieba on short requests. Beside the pairs single characters are indexed: whoever asks for
leave says 请假 where the card says 休假, and one character of each is the same.

S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
with the inverse document frequency that never falls below zero.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[^\W_\u3400-\u9fff\uf900-\ufaff]+")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")

_ENDINGS = (("ies", "y", 5), ("ing", "", 6), ("ed", "", 5), ("s", "", 4), ("e", "", 5))
"""An English ending, what stands for it, and the shortest word that it is taken from.

Not a stemmer, only enough for `flights` to meet `flight` and `booking` to meet `book`: worth
4 points of recall@1 on ToolE's development requests.
"""


def tokens(text: str) -> list[str]:
    """The tokens in the order that they stand in, repeated as often as they do.

    Compatibility forms and case don't count, and identifiers fall into their words.
    """
    split = _HUMP.sub(" ", unicodedata.normalize("NFKC", text)).casefold()
    found: list[str] = []
    for run in _RUN.findall(split):
        # A single Chinese character stands for itself.
        pairs = ["".join(pair) for pair in pairwise(run)] or [run]
        found += pairs if _CJK.match(run) else [_stem(run)]
    return found


def terms(text: str) -> list[str]:
    """What is indexed of a text and searched for: its tokens, then each Chinese character."""
    return [*tokens(text), *_CJK.findall(unicodedata.normalize("NFKC", text))]


def _stem(word: str) -> str:
    for ending, instead, shortest in _ENDINGS:
        if len(word) >= shortest and word.endswith(ending) and not word.endswith("ss"):
            word = word.removesuffix(ending) + instead
    return word


K1, B = 1.5, 0.75
"""Where a repeated word stops counting, and how much a long card is discounted: the values
that most engines ship. Nothing between 0.8 and 2.0 and between 0.3 and 0.75 moved recall@5 on
ToolE's development requests by a point."""
_ROOM = 4

_Kind = TypeVar("_Kind", bound=np.generic)


class Lexical(NamedTuple):
    """How well each card fits the query by its words."""

    scores: NDArray[np.float32]
    """BM25 by slot; 0 where no word is shared, or the slot is empty."""
    known: float
    """The share of the query's tokens that some card has, 0 to 1. In a language that no card
    is written in it is close to 0, and the scores mean little."""
    covered: NDArray[np.float32]
    """By slot, the share of the query's weight (by rarity) that the card has, 0 to 1."""


class LexicalIndex:
    """An inverted index. Slots are small integers that the caller gives out and reuses."""

    def __init__(self) -> None:
        self._postings: dict[str, _Posting] = {}
        self._held: dict[int, tuple[str, ...]] = {}
        self._lengths = np.zeros(_ROOM, np.float32)
        self._total = 0

    def put(self, slot: int, tokens: Sequence[str]) -> None:
        """Let `slot` hold these tokens, instead of what it held."""
        self.remove(slot)
        if slot >= len(self._lengths):
            self._lengths = _grown(self._lengths, slot + 1)
        counts = Counter(tokens)
        for token, count in counts.items():
            self._postings.setdefault(token, _Posting()).add(slot, count)
        self._held[slot] = tuple(counts)
        self._lengths[slot] = len(tokens)
        self._total += len(tokens)

    def remove(self, slot: int) -> None:
        """Empty the slot, if there is anything in it."""
        for token in self._held.pop(slot, ()):
            posting = self._postings[token]
            posting.remove(slot)
            if not posting.size:
                del self._postings[token]
        if slot < len(self._lengths):
            self._total -= int(self._lengths[slot])
            self._lengths[slot] = 0

    def search(self, tokens: Sequence[str], slots: int) -> Lexical:
        """How well the cards in slots 0 to `slots` fit; arrays have the length `slots`."""
        wanted = [self._postings.get(token) for token in dict.fromkeys(tokens)]
        # The inverse document frequency; a token that no card has is the rarest there is.
        sizes = np.array([posting.size if posting else 0 for posting in wanted])
        weights = np.log(1 + (len(self._held) - sizes + 0.5) / (sizes + 0.5))
        entries = [posting.entries() for posting in wanted if posting is not None]
        if not entries:
            return Lexical(np.zeros(slots, np.float32), 0.0, np.zeros(slots, np.float32))
        # All postings at once: of single characters some are in every other card.
        held = np.concatenate([those for those, _ in entries])
        counts = np.concatenate([those for _, those in entries])
        weight = np.repeat(weights[sizes > 0], sizes[sizes > 0])
        average = self._total / len(self._held)
        against = (K1 * (1 - B + B * self._lengths / average))[held]
        scores = np.bincount(held, weight * counts * (K1 + 1) / (counts + against), slots)
        covered = np.bincount(held, weight, slots) / weights.sum()
        return Lexical(
            scores.astype(np.float32), len(entries) / len(wanted), covered.astype(np.float32)
        )


class _Posting:
    """The slots that a token is in and how often, in no order, with room to grow."""

    __slots__ = ("_counts", "_slots", "size")

    def __init__(self) -> None:
        self._slots = np.zeros(_ROOM, np.int32)
        self._counts = np.zeros(_ROOM, np.float32)
        self.size = 0

    def entries(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return self._slots[: self.size], self._counts[: self.size]

    def add(self, slot: int, count: int) -> None:
        if self.size == len(self._slots):
            self._slots = _grown(self._slots, self.size + 1)
            self._counts = _grown(self._counts, self.size + 1)
        self._slots[self.size], self._counts[self.size] = slot, count
        self.size += 1

    def remove(self, slot: int) -> None:
        """The last entry takes the place of the one that goes."""
        place = int(np.flatnonzero(self._slots[: self.size] == slot)[0])
        self.size -= 1
        self._slots[place] = self._slots[self.size]
        self._counts[place] = self._counts[self.size]


def _grown(array: NDArray[_Kind], least: int) -> NDArray[_Kind]:
    """The array with room for `least` and as much again, so that growing stays cheap."""
    larger = np.zeros(max(least, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
