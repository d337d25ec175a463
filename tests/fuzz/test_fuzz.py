"""Every entrance has something to begin with, which breaks nothing; and what is broken is seen."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from router.domain.errors import InvalidInput
from router.llm.protocols import chat_completions
from router.store.conversations import Conversations
from router.store.memories import Memories
from tests.fuzz import __main__ as command
from tests.fuzz import costs
from tests.fuzz.desk import Desk, desk
from tests.fuzz.entrance import CORPUS, Entrance, Form, Outcome, as_bytes, entrances
from tests.fuzz.faces import request
from tests.fuzz.findings import keep, replay
from tests.fuzz.mutation import changed
from tests.fuzz.trial import Broken, Promise
from tests.table import each_row

ALL = entrances()
MOST = 1024 * 1024
"""Bytes of all corpora."""


@pytest.fixture(scope="module", autouse=True)
async def here() -> AsyncIterator[Desk]:
    """One desk for all entrances of HTTP."""
    async with desk() as one:
        yield one


@pytest.mark.slow
def test_every_entrance_has_a_corpus_and_no_corpus_is_nobodys() -> None:
    assert command.names() == sorted(ALL)
    assert all(any(entrance.folder.iterdir()) for entrance in ALL.values())
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < MOST


@pytest.mark.slow
@each_row("name", ALL)
async def test_what_an_entrance_begins_with_breaks_nothing(name: str) -> None:
    assert await replay(ALL[name], ALL[name].seeds()) == []


def _first(value: Any) -> Any:
    """As who never had an answer without choices."""
    return value[0]


def _busy(content: Any) -> str:
    until = time.thread_time() + 0.4
    while time.thread_time() < until:
        pass
    return str(content)


def _greedy(content: Any) -> str:
    return (b"x" * 400 * 2**20)[:1].decode()


async def _forgetful(*_: Any) -> Any:
    raise KeyError("a fault of ours")


def _hasty(create: Callable[..., Any]) -> Callable[..., Any]:
    async def created(*given: Any) -> Any:
        await create(*given)
        raise InvalidInput("too late")

    return created


COMPLETION = as_bytes({"choices": [{"message": {"content": "hi"}}]})
PLANTED: dict[Promise, tuple[str, Any, str, Any, bytes]] = {
    "documented": ("model-answers", chat_completions, "first", _first, b'{"choices": []}'),
    "going on": ("model-answers", chat_completions, "_content", _busy, COMPLETION),
    "bounded": ("model-answers", chat_completions, "_content", _greedy, COMPLETION),
    "answered": (
        *("rest", Memories, "keep", _forgetful),
        request("POST", "/v1/memory", "alice", {"text": "my desk is on the third floor"}),
    ),
    "whole or not at all": (
        *("rest", Conversations, "create", _hasty(Conversations.create)),
        request("POST", "/v1/conversations", "alice", {}),
    ),
}
"""By promise: where, whose, what and by what is replaced in the product, and what meets it."""


@pytest.mark.slow
@pytest.mark.parametrize("promise", PLANTED)
async def test_a_fault_that_is_planted_is_found(
    promise: Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, owner, what, fault, data = PLANTED[promise]
    assert await replay(ALL[name], [data, data]) == []
    monkeypatch.setattr(owner, what, fault)
    found = await replay(ALL[name], [data, data])
    assert promise in {broken.promise for _, broken in found}


def _burns(data: bytes) -> Outcome:
    return Outcome(said=_busy(data))


def _eats(data: bytes) -> Outcome:
    return Outcome(said=(data * 80 * 2**20)[:1].decode())


def _dies(data: bytes) -> Outcome:
    if data:
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome()


def _is_harmless(_: bytes) -> Outcome:
    return Outcome()


@pytest.mark.slow
@each_row(
    ("take", "promises"),
    [
        (_burns, ["going on"]),
        (_eats, ["bounded"]),
        (_dies, ["going on"]),
        (_is_harmless, []),
    ],
)
async def test_what_an_input_costs_in_a_child_process_is_its_cost(
    take: Callable[[bytes], Outcome], promises: list[Promise]
) -> None:
    entrance = Entrance("planted", "", costs.in_a_child(take), memory=costs.MAX_INPUT_MEMORY)
    found = await replay(entrance, [b"x"])
    assert [broken.promise for _, broken in found] == promises


async def test_an_exception_that_is_only_logged_is_found_too(
    here: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memories, "keep", _forgetful)
    sent = request("POST", "/v1/memory", "alice", {"text": "my desk is on the third floor"})
    found = await replay(ALL["rest"], [sent])
    assert {broken.promise for _, broken in found} == {"answered", "documented"}
    (logged,) = [broken for _, broken in found if broken.promise == "documented"]
    assert "KeyError" in logged.said


@each_row("form", ["json", "text", "request"])
def test_a_change_is_another_input_of_the_form_and_the_same_for_the_same_seed(form: Form) -> None:
    whole = as_bytes({"text": "hello", "files": [{"id": 1}]})
    data = request("POST", "/v1/x", "alice", whole) if form == "request" else whole
    made = [changed(data, form, seed, 400) for seed in range(200)]
    assert made == [changed(data, form, seed, 400) for seed in range(200)]
    assert len(set(made)) > 100
    assert max(map(len, made)) <= 400


@pytest.mark.slow
def test_any_bytes_can_be_changed_in_any_form() -> None:
    chance = Random(7)
    for seed in range(300):
        data = chance.randbytes(chance.randrange(60))
        for form in ("json", "text", "request"):
            for words in ((), costs.EXPRESSION_WORDS):
                assert len(changed(data, form, seed, 100, words)) <= 100


@each_row("form", ["json", "text"])
def test_a_change_puts_words_of_the_language_into_the_input(form: Form) -> None:
    data = as_bytes({"schema": {"type": "object"}, "value": {}} if form == "json" else "a|b")
    made = b"".join(changed(data, form, seed, 400, ("pattern", "anyOf")) for seed in range(40))
    assert b"pattern" in made
    assert b"anyOf" in made


@pytest.mark.slow
def test_a_finding_is_a_file_that_says_how_to_see_it_again(tmp_path: Path) -> None:
    path = keep(tmp_path, "slack", b"{", Broken("going on", "300 ms"))
    assert path.read_bytes() == b"{"
    said = path.with_name(f"{path.name}.txt").read_text("utf-8")
    assert said.startswith("going on: 300 ms\n")
    assert f"--entrance slack --replay {path}" in said


@pytest.mark.slow
def test_a_few_seconds_of_it_print_a_line_and_find_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="make .venv/.fuzz installs it")
    words = [sys.executable, "-m", "tests.fuzz", "--entrance", "story-files"]
    words += ["--minutes", "0.1", "--findings", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stdout + done.stderr
    line = done.stdout.splitlines()[1].split()
    assert line[0] == "story-files"
    assert int(line[1].replace(",", "")) > 100
    assert int(line[3].replace(",", "")) > 100
    assert list(tmp_path.iterdir()) == []
