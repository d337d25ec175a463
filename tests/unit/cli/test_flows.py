"""`intent-router flows validate`, and the example in docs/flows.md."""

import re
from pathlib import Path

from tests.unit.cli.conftest import Run

DOCS = Path(__file__).parents[3] / "docs"


def test_without_paths_the_flows_in_use_are_checked(run: Run) -> None:
    outcome = run("flows", "validate")
    assert (outcome.status, outcome.err) == (0, "")
    assert "ok  leave_request version 1" in outcome.out


def test_the_first_flow_of_the_docs_is_sound(run: Run, elsewhere: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", (DOCS / "flows.md").read_text(), re.DOTALL)
    assert example is not None
    (elsewhere / "new_badge.yaml").write_text(example[1])
    outcome = run("flows", "validate", "new_badge.yaml")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "ok  new_badge version 1: 5 states\n"


def test_every_problem_has_a_line(run: Run, elsewhere: Path) -> None:
    (elsewhere / "broken.yaml").write_text("flow: broken\nstates: {}\ntitel: x\n")
    outcome = run("flows", "validate", ".")
    assert outcome.status == 1
    assert all(re.match(r"(error: )?broken\.yaml:\d+: ", line) for line in outcome.err.splitlines())
    assert len(outcome.err.splitlines()) > 1


def test_a_path_that_is_not_there_is_refused(run: Run) -> None:
    outcome = run("flows", "validate", "nowhere.yaml")
    assert outcome.status == 1
    assert outcome.first_line == "error: nowhere.yaml:1: there is no such file; check the path"
