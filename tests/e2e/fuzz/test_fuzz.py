"""The API does what its document says, whatever is sent, and what holds for people in any order."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from router.runtime.server import openapi_document
from tests.e2e.fuzz.machine import Requests
from tests.e2e.house import House
from tests.table import each_row

HERE = Path(__file__).parent
METHODS = {"get", "put", "post", "delete", "patch"}
CALLERS = ("bob", "frank", "olga")
"""Who calls: bob first, who decides for frank; what they may not, olga does, an operator."""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fuzz")]


def config(folder: Path) -> Path:
    """The settings of a run: bob and frank may not see each other's things."""
    # In the format of Web Fuzzing Commons.
    caller = "  - {{name: {0}, fixedHeaders: [{{name: Authorization, value: Bearer {0}}}]}}"
    listed = "\n".join(["auth:", *(caller.format(name) for name in CALLERS), ""])
    (folder / "callers.yaml").write_text(listed)
    callers = f'[auth.wfc]\npath = "{folder}/callers.yaml"\npeers = ["bob", "frank"]\n'
    made = folder / "schemathesis.toml"
    made.write_text(callers + (HERE / "schemathesis.toml").read_text())
    return made


def schemathesis(house: House, folder: Path, *options: str) -> str:
    """What every check there is finds in every operation there is, those of authorisation too."""
    own = {"SCHEMATHESIS_HOOKS": "tests.e2e.fuzz.hooks", "PYTHONPATH": str(HERE.parents[2])}
    words = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config(folder))),
        *("run", f"{house.url}/openapi.json", "--checks", "all", "--continue-on-failure"),
        *("--request-timeout", "60", "--suppress-health-check", "all", "--no-color"),
        *options,
    ]
    environment = {**os.environ, **own}
    # It waits ten seconds for the document and not one more, and the first one is made when asked.
    httpx.get(f"{house.url}/openapi.json", timeout=60).raise_for_status()
    found = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert found.returncode == 0, found.stdout
    return found.stdout


def test_a_few_requests_to_each_operation_find_nothing(
    requests_waiting: House, tmp_path: Path
) -> None:
    found = schemathesis(
        *(requests_waiting, tmp_path, "--generation-deterministic"),
        *("--phases", "examples,fuzzing,stateful", "--max-examples", "2"),
    )
    paths = openapi_document()["paths"].values()
    total = sum(len(METHODS & path.keys()) for path in paths)
    assert f"{total} selected / {total} total" in found


@each_row("phases", [("coverage", "1"), ("fuzzing", "60"), ("stateful", "60")], ids=lambda p: p[0])
def test_many_requests_to_each_operation_find_nothing(
    requests_waiting: House, tmp_path: Path, phases: tuple[str, str]
) -> None:
    name, examples = phases
    schemathesis(
        *(requests_waiting, tmp_path, "--seed", "20261122"),
        *("--phases", name, "--max-examples", examples),
    )


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


def test_many_stories_break_nothing(fuzzed: House) -> None:
    play(fuzzed, examples=60, steps=60)
