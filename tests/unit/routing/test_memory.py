"""What a sub-agent keeps in its head, and how it learns what a server counts."""

import pytest

from router.routing.skill_memory import LONGEST_EARLIER, LONGEST_NOTES, AgentMemory, Measure


def measured(*counted: int | None) -> float:
    memory = AgentMemory()
    for count in counted:
        memory = memory.measured(Measure(estimated=1000, fixed=400, counted=count))
    return memory.ratio


@pytest.mark.parametrize(
    ("counted", "ratio"),
    [
        ((), 1.0),
        ((3000,), 3.0),
        ((333,), 0.333),
        ((2000, 1000), 1.5),
        ((90_000,), 3.0),
        ((1,), 0.3),
        ((0,), 1.0),
        ((None,), 1.0),
        ((2000, None, None), 2.0),
    ],
)
def test_the_ratio_follows_what_the_server_counts_within_bounds(
    counted: tuple[int | None, ...], ratio: float
) -> None:
    assert measured(*counted) == pytest.approx(ratio)


def test_one_odd_count_is_soon_forgotten() -> None:
    assert measured(1000, 9000, *[1000] * 5) == pytest.approx(1.0, abs=0.1)


def test_a_question_without_functions_does_not_make_the_others_seem_smaller() -> None:
    memory = AgentMemory().measured(Measure(estimated=3000, fixed=2000))
    assert memory.measured(Measure(estimated=1000, fixed=200)).fixed == 2000


def test_notes_are_bounded_together_and_the_oldest_go() -> None:
    memory = AgentMemory()
    for n in range(30):
        memory = memory.noting({f"key {n}": "字" * 900})
    assert sum(len(k) + len(v) for k, v in memory.notes.items()) <= LONGEST_NOTES
    assert list(memory.notes) == [f"key {n}" for n in range(24, 30)]


def test_what_is_told_of_the_past_is_bounded() -> None:
    assert len(AgentMemory().recalling("字" * 10_000).earlier) == LONGEST_EARLIER
