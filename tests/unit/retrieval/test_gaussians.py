from dataclasses import replace

import numpy as np
import pytest

from router.retrieval.dense import DenseIndex
from router.retrieval.encoders import Floats, Vectors, unit_rows
from router.retrieval.statistics import (
    Background,
    Group,
    fitted_gate,
    pooled,
    refined,
    scale_of_examples,
    scale_of_strangers,
    shrunk,
)
from tests.table import each_row

SIZE = 12
NOTHING = np.empty((0, 0), np.float32)
"""As of an encoder that doesn't know yet how long a row is."""


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def background(draw: np.random.Generator) -> Background:
    rows = unit_rows(draw.standard_normal((80, SIZE)))
    return Background(rows, rows[::4], toolless=40, chinese=np.arange(80) % 2 == 0)


def cloud(draw: np.random.Generator, direction: int, count: int = 6) -> Vectors:
    middle = np.zeros(SIZE)
    middle[direction] = 3
    return unit_rows(middle + 0.5 * draw.standard_normal((count, SIZE)))


def test_groups_scatter_about_their_own_weighted_means() -> None:
    one = Group(np.array([[0.0, 0.0], [2.0, 0.0]], np.float32), np.ones(2))
    other = Group(np.array([[5.0, 1.0], [5.0, 3.0]], np.float32), np.ones(2))
    scatter, freedom = pooled([one, other], 2)
    assert one.mean.tolist() == [1, 0]
    assert scatter.tolist() == [[2, 0], [0, 2]]
    assert freedom == 2


def test_two_halves_of_a_card_know_half_as_much_as_two_examples() -> None:
    assert Group(np.eye(2, dtype=np.float32), np.full(2, 0.5)).freedom == 0.5


def test_shrinking_keeps_the_variance() -> None:
    before = np.diag([3.0, 1.0])
    assert np.trace(shrunk(before, 0.7)) == pytest.approx(np.trace(before))


def test_messages_are_found_in_their_cloud_and_strange_ones_are_known_for_it(
    draw: np.random.Generator, background: Background
) -> None:
    index = DenseIndex(background)
    for slot in range(4):
        index.put(slot, cloud(draw, slot, 1), NOTHING, NOTHING, cloud(draw, slot))
    index.settle()
    everyone = np.ones(4, np.bool_)
    for slot in range(4):
        own = index.search(cloud(draw, slot, 1)[0], everyone)
        strange = index.search(cloud(draw, 9, 1)[0], everyone)
        assert own.scores.argmax() == slot
        assert own.known > 0.5 > strange.known


def test_a_changed_capability_is_found_before_everything_settles(
    draw: np.random.Generator, background: Background
) -> None:
    index = DenseIndex(background)
    for slot in range(40):
        index.put(slot, cloud(draw, slot % 5, 1), NOTHING, NOTHING, cloud(draw, slot % 5))
    index.settle()
    index.put(3, cloud(draw, 8, 1), NOTHING, NOTHING, cloud(draw, 8))
    assert not index.stale
    assert index.search(cloud(draw, 8, 1)[0], np.ones(40, np.bool_)).scores.argmax() == 3


def test_refining_mends_what_the_gaussians_get_wrong(draw: np.random.Generator) -> None:
    points = np.concatenate([draw.normal(0, 0.2, (60, 2)), draw.normal(0, 0.2, (60, 2))])
    points[:60, 0] += 0.4
    points[30:60, 0] += 3
    owners = np.repeat([0, 1], 60)
    means = np.stack([points[owners == i].mean(axis=0) for i in (0, 1)])

    def right(rows: Floats, biases: Floats) -> float:
        return float(((points @ rows.T + biases).argmax(axis=1) == owners).mean())

    biases = -0.5 * (means**2).sum(axis=1)
    assert right(*refined(points, owners, means, biases)) > right(means, biases)


def test_refined_rows_are_on_the_scale_of_those_they_came_from(draw: np.random.Generator) -> None:
    means = 0.3 * np.eye(SIZE)[:4]
    points = np.repeat(means, 10, axis=0) + draw.normal(0, 0.1, (40, SIZE))
    rows, biases = 50 * means, np.full(4, -7.0)
    better, shifts = refined(points, np.repeat(np.arange(4), 10), rows, biases)
    before, after = points @ rows.T + biases, points @ better.T + shifts
    assert after.std(axis=1).mean() == pytest.approx(before.std(axis=1).mean(), rel=1e-3)
    assert shifts.mean() == pytest.approx(-7)
    np.testing.assert_allclose(better.mean(axis=0), rows.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_refining_works_at_any_length(draw: np.random.Generator, size: float) -> None:
    points = np.repeat(0.5 * np.eye(SIZE)[:4], 10, axis=0) + draw.normal(0, 0.2, (40, SIZE))
    points *= size
    owners = np.repeat(np.arange(4), 10)
    means = np.stack([points[owners == i].mean(axis=0) for i in range(4)])
    rows, biases = refined(points, owners, means / size**2, -0.5 * (means**2).sum(axis=1) / size**2)
    assert ((points @ rows.T + biases).argmax(axis=1) == owners).mean() > 0.9


def test_the_gate_tells_its_two_sides_apart_and_learns(background: Background) -> None:
    rows = background.queries.copy()
    rows[:40, 0] -= 2
    rows[40:, 0] += 2
    unit = unit_rows(rows)
    parted = replace(background, queries=unit, documents=unit[::4])
    around = parted.around
    gate = fitted_gate(parted, np.empty((0, SIZE)))
    assert gate.needs_tool(around[50], 0.5) > 0.9
    assert gate.needs_tool(around[5], 0.5) < 0.1
    taught = fitted_gate(parted, np.repeat(around[5:6], 30, axis=0).astype(np.float64))
    assert taught.needs_tool(around[5], 0.5) > gate.needs_tool(around[5], 0.5)


def test_what_is_near_to_nothing_hardly_takes_a_tool_and_what_is_meant_for_one_does(
    background: Background,
) -> None:
    gate = fitted_gate(background, np.empty((0, SIZE)))
    message = background.around[30]
    strange, unsure, meant = (gate.needs_tool(message, known) for known in (0.0, 0.5, 1.0))
    assert strange < unsure < meant


def test_a_card_is_as_near_as_its_nearer_passage(
    draw: np.random.Generator, background: Background
) -> None:
    index = DenseIndex(background)
    for slot in range(4):
        index.put(slot, cloud(draw, slot, 1), cloud(draw, slot + 5, 1), NOTHING, NOTHING)
    index.settle()
    everyone = np.ones(4, np.bool_)
    for slot in range(4):
        for direction in (slot, slot + 5):
            found = index.search(cloud(draw, direction, 1)[0], everyone)
            assert found.scores.argmax() == slot
            assert not found.exemplified.any()


def test_small_talk_is_seldom_for_a_card(background: Background) -> None:
    talk = background.around[~background.needs_tool] @ background.around[50]
    scale = scale_of_strangers(talk)
    assert np.mean([scale.probability(score) > 0.5 for score in talk]) < 0.1
    assert scale.probability(float(np.median(talk))) < 0.2
    assert scale.probability(float(np.median(talk) + 4 * talk.std())) > 0.9


def test_half_way_from_examples_to_small_talk_a_message_is_as_likely_for_one_as_not() -> None:
    left_out = np.linspace(-10, 10, 41)
    low = float(np.quantile(left_out, 0.05))
    far = scale_of_examples(left_out, np.full(20, low - 8))
    assert far.probability(low - 4) == pytest.approx(0.5)
    assert far.probability(low) > 0.5 > far.probability(low - 8)


@each_row("talk", [np.empty(0), np.zeros(20)])
def test_small_talk_that_is_nearer_than_examples_moves_nothing(talk: np.ndarray) -> None:
    left_out = np.linspace(-10, 10, 41)
    scale = scale_of_examples(left_out, talk)
    assert scale.probability(float(np.quantile(left_out, 0.05))) == pytest.approx(0.5)
