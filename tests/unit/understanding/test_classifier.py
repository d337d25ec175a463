"""Requests told from talk, whatever they are about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.understanding.triggers import classifier
from tests.table import each_row


@each_row(
    ("text", "spans", "left"),
    [
        ("我要请年假", [(2, 5)], "我要◆"),
        ("sick leave, leave", [(0, 10), (12, 17)], "◆, ◆"),
        ("年假病假", [(0, 2), (2, 4)], "◆"),
        ("年休假", [(0, 3), (1, 3)], "◆"),
        ("leave", [], "leave"),
        ("", [], ""),
    ],
)
def test_what_is_named_is_blotted_out(text: str, spans: list[tuple[int, int]], left: str) -> None:
    assert classifier.blotted(text, spans) == left


def test_which_number_it_is_and_how_loud_it_ends_make_no_difference() -> None:
    assert classifier.pieces("请 3 天◆") == classifier.pieces("请 12.5 天◆")
    assert classifier.pieces("◆!!!") == classifier.pieces("◆")


def test_no_more_of_a_text_is_looked_at_than_its_beginning() -> None:
    assert classifier.pieces("帮我" * 4000) == classifier.pieces("帮我" * 300)


def test_likelihood_is_what_the_known_pieces_weigh_together() -> None:
    assert classifier.RequestClassifier({}, 0.0).likelihood("anything") == 0.5
    assert classifier.RequestClassifier({"◆": 4.0}, 0.0).likelihood(
        classifier.BLOT
    ) == pytest.approx(0.982, abs=0.001)


@each_row(
    ("asks", "talks"),
    [
        ("帮我申请◆", "◆怎么申请"),
        ("想要◆，下周一用", "◆批下来了吗"),
        ("能给我开个◆吗", "◆是谁负责的"),
        ("please get me ◆", "what is ◆"),
        ("I'd like ◆ for Friday", "my ◆ was rejected yesterday"),
        ("could you set up ◆ for me", "she cancelled ◆"),
    ],
)
def test_asking_for_something_is_likelier_than_speaking_of_it(asks: str, talks: str) -> None:
    judge = classifier.learned()
    assert judge.likelihood(asks.lower()) > 0.5 > judge.likelihood(talks.lower())


@given(st.text(max_size=500))
def test_any_text_has_a_likelihood(text: str) -> None:
    assert 0 <= classifier.learned().likelihood(text) <= 1
