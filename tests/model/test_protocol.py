"""The protocol keeps its promises wherever it can get to, and each promise can be broken."""

import pytest

from tests.model.exploration import Exploration, explore
from tests.model.mutants import MUTANTS, Mutant, planted
from tests.model.promises import check
from tests.model.scenarios import SCENARIOS, Scenario

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
FAR_ENOUGH = 12
"""Moves within which every mutant is caught."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_promise_is_kept_in_every_state_near_by(scenario: Scenario) -> None:
    seen = explore(scenario.first(), check, scenario.depth)

    assert seen.found is None, str(seen.found)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_promise_is_kept_in_every_state_further_on(scenario: Scenario) -> None:
    seen = explore(scenario.first(), check, scenario.depth + 4)

    assert seen.found is None, str(seen.found)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_breaks_its_promise(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = BY_NAME[mutant.scenario].first()
    planted(mutant, monkeypatch.setattr)

    seen = explore(first, check, FAR_ENOUGH)

    assert seen.found is not None, f"nobody noticed: {mutant.name}"
    assert seen.found.promise == mutant.breaks, str(seen.found)


def test_a_counterexample_is_told_as_the_shortest_way_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted(MUTANTS[0], monkeypatch.setattr)

    told = str(_seen(MUTANTS[0]).found).splitlines()

    assert told[0].startswith(f"{MUTANTS[0].breaks} is broken: ")
    assert told[1:] == [
        "   1. alice confirms is sent",
        "   2. alice confirms arrives",
        "   3. hold:3: the worker dies once it is sent",
        "   4. hold:3 is done",
    ]


def _seen(mutant: Mutant) -> Exploration:
    return explore(BY_NAME[mutant.scenario].first(), check, FAR_ENOUGH)
