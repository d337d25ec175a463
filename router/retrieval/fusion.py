"""Words and meaning, added up: how well capabilities fit a message, and how sure that is.

Both kinds of score are in standard deviations, and a weighted sum of them measures better than
adding ranks. Words weigh as much as they can be trusted: less beside examples than beside a card
alone, less in English than in Chinese, and nothing in a language that no card is written in.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.retrieval.dense import Dense
from router.retrieval.lexical import Lexical
from router.retrieval.statistics import standardised

BESIDE_EXAMPLES, BESIDE_CARDS = (0.08, 0.12), (0.3, 0.5)
"""What words weigh in the sum where the index knows all of the message: in English, and in Chinese.
By development rows. English: with examples more than 0.1 costs ToolE's first place a point; with
cards alone 0.3 finds 1.5 points more of ToolE's among the first five than 0.15. Chinese: with
examples 0.12 finds 0.7 points more of a desk's among the first five than 0.08, more loses the first
place; with cards alone 0.5 finds one more of a hundred first than 0.3, and as many as 0.6."""
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LETTERS = re.compile(r"[^\W\d_\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True)
class FusedScores:
    """What words and vectors say together."""

    scores: NDArray[np.float32]
    """By slot, in standard deviations from what is usual."""
    known: float
    """The probability that the message is for any of those allowed, 0 to 1."""
    needs_tool: float
    """The probability that it takes a tool; 1 where only words are known."""


def chinese_share(text: str) -> float:
    """How much of a text is Chinese, 0 to 1: of its characters and the words of other scripts.

    >>> chinese_share("查一下 DNS 解析")
    0.8333333333333334
    """
    han, words = len(_HAN.findall(text)), len(_LETTERS.findall(text))
    return han / max(han + words, 1)


def fused(
    text: str,
    words: Lexical,
    vectors: Dense | None,
    may: NDArray[np.bool_],
    encoded: NDArray[np.bool_],
) -> FusedScores:
    """What is to be thought of the message `text`, given how its words and its vector fit.

    Args:
        text: The message.
        words: How well cards fit by their words.
        vectors: How well they fit by their vectors; None where there are none.
        may: By slot, what may be chosen.
        encoded: By slot, whose vectors can be compared with the message's.
    """
    lexical = standardised(words.scores, may)
    covered = float(words.covered[may & ~encoded].max(initial=0))
    if vectors is None:
        return FusedScores(lexical, covered, 1.0)
    share = np.float32(words.known) * _shares(chinese_share(text), vectors.exemplified)
    scores = np.where(encoded, share * lexical + (1 - share) * vectors.scores, lexical)
    return FusedScores(scores, max(vectors.known, covered), vectors.needs_tool)


def _shares(chinese: float, exemplified: NDArray[np.bool_]) -> NDArray[np.float32]:
    beside_examples, beside_cards = (
        np.float32((1 - chinese) * english + chinese * other)
        for english, other in (BESIDE_EXAMPLES, BESIDE_CARDS)
    )
    return np.where(exemplified, beside_examples, beside_cards)
