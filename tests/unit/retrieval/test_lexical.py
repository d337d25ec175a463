"""Words: tokens, and how well cards fit them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.retrieval.lexical import LexicalIndex, terms, tokens
from tests.table import each_row

WORDS = st.lists(st.sampled_from("abcdef"), max_size=8)


def filled(*cards: str) -> LexicalIndex:
    index = LexicalIndex()
    for slot, card in enumerate(cards):
        index.put(slot, card.split())
    return index


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    index = filled("leave balance", "leave request", "leave policy", "room")
    scores = index.search(["leave", "balance"], 4).scores
    assert scores.argmax() == 0
    assert scores[1] == scores[2] > scores[3] == 0


def test_a_short_card_is_preferred_to_a_long_one_with_the_same_word() -> None:
    scores = filled("leave", "leave and a good many other things").search(["leave"], 2).scores
    assert scores[0] > scores[1]


def test_the_share_of_known_tokens_is_told_and_of_those_that_a_card_covers() -> None:
    index = filled("annual leave", "room")
    known = [index.search(words, 2).known for words in (["annual", "年假"], ["年假"], [])]
    assert known == [0.5, 0, 0]
    assert index.search(["annual", "leave"], 2).covered.tolist() == [1.0, 0.0]


def test_a_replaced_card_is_found_by_its_new_words_only() -> None:
    index = filled("leave", "room")
    index.put(0, ["payslip"])
    assert index.search(["leave"], 2).scores.tolist() == [0, 0]
    assert index.search(["payslip"], 2).scores[0] > 0


def test_an_empty_index_finds_nothing() -> None:
    assert LexicalIndex().search(["leave"], 0).scores.tolist() == []


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 5), st.none() | WORDS), max_size=20), WORDS)
def test_any_order_of_changes_equals_building_anew(
    changes: list[tuple[int, list[str] | None]], query: list[str]
) -> None:
    index = LexicalIndex()
    last: dict[int, list[str]] = {}
    for slot, words in changes:
        if words is None:
            index.remove(slot)
            last.pop(slot, None)
        else:
            index.put(slot, words)
            last[slot] = words
    anew = LexicalIndex()
    for slot, words in last.items():
        anew.put(slot, words)
    one, other = index.search(query, 6), anew.search(query, 6)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-5)
    np.testing.assert_allclose(one.covered, other.covered, rtol=1e-5)
    assert one.known == other.known


@each_row(
    ("text", "expected"),
    [
        ("查年假", ["查年", "年假"]),
        ("假", ["假"]),
        ("ＶＰＮ 权限", ["vpn", "权限"]),
        ("get_leave_balance", ["get", "leav", "balanc"]),
        ("getLeaveBalance", ["get", "leav", "balanc"]),
        ("订meeting室", ["订", "meet", "室"]),
        ("  ,。!?  ", []),
        ("", []),
        # Forms of an English word are one token; what only looks like one stays as it is.
        ("flights", tokens("flight")),
        ("booking", tokens("book")),
        ("policies", tokens("policy")),
        ("class bus", ["class", "bus"]),
    ],
)
def test_text_falls_into_words_and_pairs_of_characters(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_what_is_indexed_of_a_text_are_its_tokens_and_single_characters() -> None:
    assert terms("查ＶＰＮ年假") == ["查", "vpn", "年假", "查", "年", "假"]
    assert terms("annual leave") == tokens("annual leave")


def test_one_character_in_common_is_enough_to_be_found() -> None:
    index = LexicalIndex()
    for slot, card in enumerate(["休假申请", "工资条"]):
        index.put(slot, terms(card))
    assert index.search(terms("请两天假"), 2).scores.argmax() == 0
    assert index.search(tokens("请两天假"), 2).scores.tolist() == [0, 0]
