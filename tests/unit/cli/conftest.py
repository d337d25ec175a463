"""Running a command in this process, as the shell would see it end."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from router.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    status: int
    out: str
    err: str

    @property
    def first_line(self) -> str:
        """The line of stderr that says what is wrong."""
        return self.err.partition("\n")[0]


class Run:
    """Runs a command; `captured` is pytest's `capfd`."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *words: str) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, *self._captured.readouterr())


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return Run(capfd)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run where there is no `.env` and no `.data`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
