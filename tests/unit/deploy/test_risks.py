"""The table of risks in docs/security.md: whole, and nothing in it but what is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RISKS = [*(f"LLM{n:02}" for n in range(1, 11)), *(f"ASI{n:02}" for n in range(1, 11))]
COLUMNS = ["risk", "control", "in", "proven by", "left to the operator"]
_NAMED = re.compile(r"`([^`]+)`")


def table() -> list[list[str]]:
    """The rows below the heading, cell by cell."""
    section = (ROOT / "docs" / "security.md").read_text().split("## Risks by name\n")[1]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


ROWS = {row[0].split()[0]: row for row in table()[2:]}
PROOFS = sorted({proof for row in ROWS.values() for proof in _NAMED.findall(row[3])})


def test_every_risk_has_a_row_and_no_row_is_cut_short() -> None:
    assert table()[0] == COLUMNS
    assert list(ROWS) == RISKS
    assert {len(row) for row in ROWS.values()} == {len(COLUMNS)}


@pytest.mark.parametrize("risk", RISKS)
def test_what_holds_a_risk_off_is_there_and_has_a_proof(risk: str) -> None:
    _, control, places, proofs, _ = ROWS[risk]
    assert control
    named = _NAMED.findall(places)
    assert named
    assert [place for place in named if not (ROOT / place).exists()] == []
    assert _NAMED.findall(proofs)


@pytest.mark.parametrize("proof", PROOFS)
def test_a_proof_is_a_test_that_there_is(proof: str) -> None:
    file, *names = proof.split("::")
    body: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body
    for name in names:
        found = [node for node in body if getattr(node, "name", None) == name]
        assert found, f"{name} isn't in {file}"
        body = getattr(found[0], "body", [])
    assert names == [] or names[-1].startswith("test_")


def test_every_proof_can_be_collected() -> None:
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *PROOFS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert collected.returncode == 0, collected.stdout[-2000:] + collected.stderr
    assert [proof for proof in PROOFS if proof not in collected.stdout] == []
