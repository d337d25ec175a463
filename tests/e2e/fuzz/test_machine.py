"""What holds for people and their requests, in whatever order things are done."""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.e2e.fuzz.machine import Requests
from tests.e2e.house import House

pytestmark = pytest.mark.xdist_group("fuzz")


def play(house: House, examples: int, steps: int) -> None:
    """So many stories of so many steps, the same ones each time."""
    chosen = settings(
        derandomize=True,
        database=None,
        max_examples=examples,
        stateful_step_count=steps,
        phases=[Phase.generate, Phase.shrink],
    )
    in_the_house = type("InTheHouse", (Requests,), {"house": house})
    run_state_machine_as_test(in_the_house, settings=chosen)


def test_a_few_stories_break_nothing(fuzzed: House) -> None:
    play(fuzzed, examples=4, steps=20)


@pytest.mark.slow
def test_many_stories_break_nothing(fuzzed: House) -> None:
    play(fuzzed, examples=60, steps=60)
