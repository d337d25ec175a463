"""Words and meaning added up: what words weigh, and when they speak alone."""

import numpy as np
import pytest

from router.retrieval.dense import Dense
from router.retrieval.index import BESIDE_CARDS, BESIDE_EXAMPLES, BESIDE_NAMES, chinese_share, fused
from router.retrieval.lexical import Lexical
from tests.table import each_row

ALL = np.ones(3, np.bool_)
WORDS = Lexical(np.array([4, 1, 1], np.float32), 1.0, np.array([0.8, 0.2, 0.0], np.float32))


def dense(*exemplified: bool, named: tuple[bool, ...] = (False, False, False)) -> Dense:
    scores, names = np.array([0, 2, 0], np.float32), np.array([0, 0, 4], np.float32)
    return Dense(scores, names, np.array(named), np.array(exemplified), known=0.4, needs_tool=0.7)


@each_row(
    ("text", "share"),
    [("查年假", 1.0), ("annual leave", 0.0), ("查 VPN 吗", 2 / 3), ("42 !", 0.0), ("", 0.0)],
)
def test_a_text_is_as_chinese_as_its_characters_among_its_words(text: str, share: float) -> None:
    assert chinese_share(text) == pytest.approx(share)


def test_words_weigh_more_in_chinese_and_less_beside_examples() -> None:
    def weight(text: str, *, exemplified: bool) -> float:
        """Of words, read from a slot whose vector says nothing."""
        found = fused(text, WORDS, dense(*[exemplified] * 3), ALL, ALL)
        return float(found.scores[0] / np.sqrt(2))

    assert weight("查年假", exemplified=False) == pytest.approx(BESIDE_CARDS[1])
    assert weight("annual leave", exemplified=False) == pytest.approx(BESIDE_CARDS[0])
    assert weight("查年假", exemplified=True) == pytest.approx(BESIDE_EXAMPLES[1])
    assert weight("annual leave", exemplified=True) == pytest.approx(BESIDE_EXAMPLES[0])


def test_an_identifier_is_compared_in_english_and_where_a_card_says_nothing_else_in_it() -> None:
    strange = WORDS._replace(known=0.0)
    vectors = dense(False, False, False, named=(False, False, True))
    english = fused("zzz", strange, vectors, ALL, ALL)
    np.testing.assert_allclose(english.scores, [0, 2, 4 * BESIDE_NAMES])
    chinese = fused("查年假", strange, vectors, ALL, ALL)
    np.testing.assert_allclose(chinese.scores, [0, 2, 0])


def test_words_that_no_card_has_weigh_nothing() -> None:
    strange = WORDS._replace(known=0.0)
    found = fused("zzz", strange, dense(False, False, False), ALL, ALL)
    np.testing.assert_allclose(found.scores, [0, 2, 0])


def test_what_is_not_encoded_is_judged_by_its_words() -> None:
    encoded = np.array([False, True, True])
    found = fused("查年假", WORDS, dense(False, False, False), ALL, encoded)
    assert found.scores.argmax() == 0
    assert [found.known, found.needs_tool] == pytest.approx([0.8, 0.7])


def test_without_vectors_words_say_everything() -> None:
    found = fused("查年假", WORDS, None, ALL, np.zeros(3, np.bool_))
    assert found.scores.argmax() == 0
    assert [found.known, found.needs_tool] == pytest.approx([0.8, 1.0])
