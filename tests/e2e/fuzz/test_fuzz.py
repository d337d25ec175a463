"""The API does what its document says, whatever is sent, and what holds for people in any order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.e2e.fuzz.machine import Requests
from tests.e2e.house import House

HERE = Path(__file__).parent
CALLERS = ("bob", "frank", "olga")
"""Who calls: bob first, who decides for frank; what they may not, olga does, an operator."""

pytestmark = pytest.mark.xdist_group("fuzz")


def identities() -> str:
    """The callers in the format of Web Fuzzing Commons, which Schemathesis reads."""
    line = "  - {{name: {0}, fixedHeaders: [{{name: Authorization, value: Bearer {0}}}]}}"
    return "\n".join(["auth:", *(line.format(name) for name in CALLERS), ""])


def config(folder: Path) -> Path:
    """The settings of a run: bob and frank may not see each other's things."""
    (folder / "callers.yaml").write_text(identities())
    callers = f'[auth.wfc]\npath = "{folder}/callers.yaml"\npeers = ["bob", "frank"]\n'
    made = folder / "schemathesis.toml"
    made.write_text(callers + (HERE / "schemathesis.toml").read_text())
    return made


def schemathesis(house: House, folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Every check there is, those of authorisation included, over every operation there is."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config(folder))),
            *("run", f"{house.url}/openapi.json", "--checks", "all", "--continue-on-failure"),
            *("--request-timeout", "60", "--suppress-health-check", "all", "--no-color"),
            *options,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.e2e.fuzz.hooks",
            "PYTHONPATH": str(HERE.parents[2]),
        },
    )


def test_a_few_requests_to_each_operation_find_nothing(
    requests_waiting: House, tmp_path: Path
) -> None:
    found = schemathesis(
        *(requests_waiting, tmp_path, "--generation-deterministic"),
        *("--phases", "examples,fuzzing,stateful", "--max-examples", "2"),
    )
    assert found.returncode == 0, found.stdout
    assert "37 selected / 37 total" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "phases", [("coverage", "1"), ("fuzzing", "60"), ("stateful", "60")], ids=lambda p: p[0]
)
def test_many_requests_to_each_operation_find_nothing(
    requests_waiting: House, tmp_path: Path, phases: tuple[str, str]
) -> None:
    name, examples = phases
    found = schemathesis(
        *(requests_waiting, tmp_path, "--seed", "20261122"),
        *("--phases", name, "--max-examples", examples),
    )
    assert found.returncode == 0, found.stdout


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
