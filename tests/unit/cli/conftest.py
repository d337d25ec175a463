"""Running a command in this process, as the shell would see it end."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from router.cli import main
from tests.fakes.model_server import MODEL, ModelServer
from tests.fakes.web_server import WebServer


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

    def printed(self, *words: str) -> str:
        """What a command prints that ends well and says nothing aside."""
        outcome = self(*words)
        assert (outcome.status, outcome.err) == (0, "")
        return outcome.out

    def json(self, *words: str) -> Any:
        """The same, as JSON."""
        return json.loads(self.printed(*words))

    def refused(self, *words: str) -> str:
        """The first line of why a command refuses: it ends with 1 and prints nothing."""
        outcome = self(*words)
        assert (outcome.status, outcome.out) == (1, "")
        return outcome.first_line


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Commands in this process, whose log goes to the standard error of this test alone."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Run(capfd)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run where there is no `.env` and no `.data`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server that gives vectors at once, where the embedded encoder would take seconds.

    It runs on a thread with a loop of its own, for a command has its own loop too.
    """
    server = ModelServer()
    with serving(server):
        monkeypatch.setenv("ROUTER_LLM_BASE_URL", server.url)
        monkeypatch.setenv("ROUTER_EMBEDDER", "openai:scripted")
        yield server


@pytest.fixture
def model(vectors: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """The same with a model, which has no behaviours until it is given some."""
    monkeypatch.setenv("ROUTER_LLM_MODEL", MODEL)
    return vectors


@contextmanager
def serving(server: ModelServer | WebServer) -> Iterator[None]:
    """Run a server on a thread with a loop of its own, for a command has its own loop too."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    assert ready.wait(10)
    yield
    loop.call_soon_threadsafe(over.set)
    thread.join(10)
    loop.close()
