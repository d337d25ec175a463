"""Explores the protocol and prints a table: python -m tests.model [depth]."""

import sys

from tests.model.exploration import explore
from tests.model.promises import check
from tests.model.scenarios import SCENARIOS

if __name__ == "__main__":
    deepest = int(sys.argv[1]) if len(sys.argv) > 1 else None
    print(f"{'scenario':44}{'states':>9}{'moves':>9}{'depth':>6}{'s':>7}")
    for scenario in SCENARIOS:
        seen = explore(scenario.first(), check, deepest)
        whole = "" if seen.whole else " +"
        print(
            f"{scenario.name:44}{seen.states:9,}{seen.moves:9,}{seen.depth:6}{seen.seconds:7.1f}"
            f"{whole}",
            flush=True,
        )
        if seen.found is not None:
            print(seen.found)
