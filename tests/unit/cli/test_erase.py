"""`intent-router erase`; what it does is proven in `tests/e2e/test_secrecy.py`."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


@pytest.fixture(autouse=True)
def no_temporal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:1")


def test_without_temporal_nothing_is_done(run: Run) -> None:
    outcome = run("erase", "alice", "--yes")
    assert (outcome.status, outcome.out) == (1, "")
    assert "No Temporal server answers at ROUTER_TEMPORAL_ADDRESS=127.0.0.1:1" in outcome.err


def test_the_data_folder_can_be_named(run: Run, elsewhere: Path) -> None:
    run("erase", "alice", "--data", "some/where")
    assert (elsewhere / "some" / "where" / "router.db").exists()


@pytest.mark.parametrize("words", [(), ("alice", "bob"), ("alice", "--tenant"), ("--yes",)])
def test_somebody_has_to_be_named(run: Run, words: tuple[str, ...]) -> None:
    assert run("erase", *words).status == 2
