"""Explores the protocol and prints two tables: python -m tests.model [moves].

The first says how much was seen of each scenario, all there is or at most `moves` away; the second
which planted faults are caught, by which promise, after how many moves.
"""

import sys

import pytest

from tests.model.exploration import explore
from tests.model.mutants import FAR_ENOUGH, MUTANTS, planted
from tests.model.scenarios import BY_NAME, SCENARIOS


def scenarios(deepest: int | None) -> bool:
    """Print what was seen; True where every promise is kept."""
    print(f"{'scenario':44}{'states':>9}{'moves':>9}{'depth':>6}{'s':>7}")
    kept = True
    for scenario in SCENARIOS:
        seen = explore(scenario.first(), scenario.check, deepest)
        figures = f"{seen.states:9,}{seen.moves:9,}{seen.depth:6}{seen.seconds:7.1f}"
        print(f"{scenario.name:44}{figures}{'  all there are' if seen.whole else ''}", flush=True)
        if seen.found is not None:
            kept = False
            print(seen.found)
    return kept


def mutants() -> bool:
    """Print what catches each planted fault; True where everything is caught."""
    print(f"\n{'planted fault':64}{'moves':>6}  broken promise")
    caught = True
    for mutant in MUTANTS:
        scenario = BY_NAME[mutant.scenario]
        first = scenario.first()
        with pytest.MonkeyPatch.context() as patch:
            planted(mutant, patch.setattr)
            found = explore(first, scenario.check, FAR_ENOUGH).found
        caught &= found is not None
        moves = len(found.trace) if found else 0
        print(f"{mutant.name:64}{moves:6}  {found.promise if found else 'NOT CAUGHT'}", flush=True)
    return caught


if __name__ == "__main__":
    good = scenarios(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    sys.exit(0 if mutants() and good else 1)
