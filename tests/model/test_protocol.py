"""The protocol keeps its promises wherever it can get to, and each promise can be broken."""

import pytest

from tests.model import conversation, outbox, promises, run
from tests.model.exploration import explore
from tests.model.mutants import FAR_ENOUGH, MUTANTS, Mutant, planted
from tests.model.scenarios import BY_NAME, SCENARIOS, Scenario
from tests.table import each_row


@pytest.mark.slow
@each_row("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_promise_is_kept_in_every_state_near_by(scenario: Scenario) -> None:
    seen = explore(scenario.first(), scenario.check, scenario.depth)

    assert seen.found is None, str(seen.found)


@pytest.mark.slow
@each_row("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_promise_is_kept_in_every_state_there_is(scenario: Scenario) -> None:
    seen = explore(scenario.first(), scenario.check)

    assert seen.found is None, str(seen.found)
    assert seen.whole


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_breaks_its_promise(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = BY_NAME[mutant.scenario]
    first = scenario.first()
    planted(mutant, monkeypatch.setattr)

    seen = explore(first, scenario.check, FAR_ENOUGH)

    assert seen.found is not None, f"nobody noticed: {mutant.name}"
    assert seen.found.promise == mutant.breaks, str(seen.found)


def test_every_promise_has_a_planted_fault() -> None:
    broken = {mutant.breaks for mutant in MUTANTS}

    assert len(MUTANTS) == 26
    others = {run.SAME, run.TOLD, conversation.ONE_TRUTH, *outbox.PROMISES}
    assert broken == {*promises.PROMISES, *others}


def test_a_counterexample_is_told_as_the_shortest_way_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_ledger = MUTANTS[0]
    scenario = BY_NAME[no_ledger.scenario]
    planted(no_ledger, monkeypatch.setattr)

    told = str(explore(scenario.first(), scenario.check, FAR_ENOUGH).found).splitlines()

    assert told[0].startswith(f"{no_ledger.breaks} is broken: ")
    assert told[1:] == [
        "   1. alice confirms is sent",
        "   2. alice confirms arrives",
        "   3. hold:3: the worker dies once it is sent",
        "   4. hold:3 is done",
    ]
