"""Intervals hold the true share as often as they say, and say something of a few cases too."""

import random
from math import comb

import pytest

from router.domain.rates import Difference, Rate, wilson
from tests.table import each_row


@each_row(
    ("count", "of", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
    ],
    ids=["nothing", "none-of-ten", "all-of-ten", "newcombe-1", "newcombe-2"],
)
def test_wilson_s_interval_is_that_of_the_literature(
    count: int, of: int, low: float, high: float
) -> None:
    assert wilson(count, of) == pytest.approx((low, high), abs=5e-5)


@each_row("share", [0.05, 0.3, 0.5, 0.9])
def test_wilson_s_interval_holds_the_true_share_about_as_often_as_it_says(share: float) -> None:
    of, held = 40, 0.0
    for count in range(of + 1):
        low, high = wilson(count, of)
        chance = comb(of, count) * share**count * (1 - share) ** (of - count)
        held += chance * (low <= share <= high)
    assert held == pytest.approx(0.95, abs=0.04)


def test_without_anything_counted_there_is_no_share() -> None:
    rate = Rate.of_counts(0, 0)
    assert (rate.share, rate.low, rate.high) == (None, 0.0, 1.0)


def test_versions_that_never_differ_differ_by_nothing_but_not_for_certain() -> None:
    found = Difference.paired([1, 1, 1, 0], [1, 1, 1, 0])
    assert (found.value, found.better, found.worse) == (0, 0, 0)
    assert found.low <= 0 <= found.high
    assert not found.is_clear


def test_what_is_better_in_every_case_is_clearly_better() -> None:
    found = Difference.paired([0] * 20, [1] * 20)
    assert found.is_clear
    assert (found.value, found.better, found.worse) == (1.0, 20, 0)
    assert 0.5 < found.low < 1.0 == found.high


def test_the_other_way_round_it_is_the_same_with_the_other_sign() -> None:
    first, second = [0, 0, 1, 1, 0.5], [1, 0, 1, 0, 1]
    there, back = Difference.paired(first, second), Difference.paired(second, first)
    assert there.value == pytest.approx(-back.value)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_an_interval_of_pairs_holds_the_true_difference_about_as_often_as_it_says() -> None:
    drawing, held, rounds = random.Random(7), 0, 600
    for _ in range(rounds):
        hard = [drawing.random() for _ in range(50)]  # what both find hard: the two go together
        first = [float(drawing.random() < 0.4 + 0.4 * h) for h in hard]
        second = [float(drawing.random() < 0.5 + 0.4 * h) for h in hard]
        found = Difference.paired(first, second)
        held += found.low <= 0.1 <= found.high
    assert held / rounds == pytest.approx(0.95, abs=0.03)
