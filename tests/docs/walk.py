"""Following a tutorial as a reader would: saving, typing, and talking, exactly as printed.

- A block with a title is saved as the file that its title names.
- `sh` is typed in one terminal, whose variables stay; `make dev` (which would install) starts the
  house. `text` below it has to be in what was printed; `…` stands for anything.
- `dialogue` is said over the API: who speaks stands in the first column. What `desk` says has to
  be in its answers since the last word, or to arrive soon; `(approve)` decides what waits.

Ports are the only thing that is changed: a reader has the usual ones free, a test may not.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.snippets import ROOT, Snippet
from tests.e2e.house import Chat, House, Person

DESK = "desk"
START = "make dev"
TAKEN_UP_WITHIN = 20.0
"""The pages say two seconds, of a machine that does nothing else."""
TRIES = 5
"""How often it is typed again where that is what the answer says to do."""
_SPOKEN = re.compile(r"(?P<who>[a-z]+)\s{2,}(?P<what>.+)")
_KEPT = ".terminal"
_COPIED = ("router", "workflows", "activities", "flows", "skills", "pyproject.toml")


def clone(folder: Path) -> Path:
    """A working copy of what a clone has, with its `.venv`."""
    folder.mkdir()
    for name in _COPIED:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@dataclass
class Walk:
    """One reader with one terminal and one browser."""

    folder: Path
    ports: dict[str, str] = field(default_factory=dict)
    """What stands in the pages ▸ what it is here."""
    house: House | None = None
    printed: str = ""
    groups: list[int] = field(default_factory=list)

    def take(self, snippet: Snippet) -> None:
        """Do what the block says."""
        if snippet.title:
            self._save(snippet.title, snippet.text)
        elif snippet.language == "sh":
            self._type(snippet.text)
        elif snippet.language == "text":
            assert _pattern(snippet.text).search(self.printed), f"{snippet}: {self.printed}"
        elif snippet.language == "dialogue":
            self._talk(snippet)
        else:
            raise AssertionError(f"{snippet}: nobody can follow {snippet.language or 'this'}")

    def leave(self) -> None:
        """Stop everything that was started."""
        self._stop()
        for group in self.groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)

    def _here(self, text: str) -> str:
        for printed, port in self.ports.items():
            text = text.replace(f"127.0.0.1:{printed}", f"127.0.0.1:{port}")
            text = text.replace(f" {printed} ", f" {port} ")
        return text

    def _save(self, name: str, text: str) -> None:
        path = self.folder / name
        taken_up = self._taken_up()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._here(text), encoding="utf-8")
        if self.house is not None and path.parent == self.folder / "flows":
            deadline = time.monotonic() + TAKEN_UP_WITHIN
            while self._taken_up() == taken_up:
                assert time.monotonic() < deadline, f"{name} isn't taken up: {self.house.log()}"
                time.sleep(0.1)

    def _taken_up(self) -> int:
        """How often the house has said that it has other flows now."""
        return self.house.log().count("flows now") if self.house else 0

    def _type(self, text: str) -> None:
        typed = self._here(text)
        starts = typed.rstrip().endswith(START)
        self.printed = self._run(typed.removesuffix(f"{START}\n"))
        for _ in range(TRIES):
            if not self.printed.rstrip().endswith("try again"):
                break
            self.printed = self._run(typed)
        if starts:
            self._stop()
            self.house = House(
                self.folder / ".data",
                variables={**self._variables(), "ROUTER_LOG_LEVEL": "info"},
                folder=self.folder,
            ).start()

    def _run(self, script: str) -> str:
        kept = self.folder / _KEPT
        kept.touch()
        lines = ["set -eu -o pipefail", f". {kept}", script, f"export -p > {kept}"]
        shell = subprocess.Popen(
            ["bash", "-c", "\n".join(lines)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.groups.append(shell.pid)
        printed, _ = shell.communicate(timeout=300)
        assert shell.returncode == 0 or printed.rstrip().endswith("try again"), (
            f"{script}\n{printed}"
        )
        return printed

    def _variables(self) -> dict[str, str]:
        """What was exported in the terminal."""
        shown = subprocess.run(
            ["bash", "-c", f". {self.folder / _KEPT}; env -0"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        pairs = (line.partition("=") for line in shown.stdout.split("\0") if "=" in line)
        return {name: value for name, _, value in pairs if name != "_"}

    def _stop(self) -> None:
        if self.house is not None:
            assert self.house.stop() == 0
            self.house = None

    def _talk(self, snippet: Snippet) -> None:
        assert self.house is not None, f"{snippet}: nothing runs, say make dev first"
        chat: Chat | None = None
        seen = 0
        for who, what in lines_of(snippet):
            if who == DESK:
                assert chat is not None, f"{snippet}: the desk doesn't speak first"
                seen = _hear(chat, what, seen)
            elif what.startswith("("):
                _decide(Person(self.house, who), what.strip("()"))
            else:
                chat = chat or Person(self.house, who).chat()
                assert chat.person.user == who, f"{snippet}: one conversation, one person"
                chat.say(what)


def lines_of(snippet: Snippet) -> list[tuple[str, str]]:
    """Who says what, in order."""
    found = [_SPOKEN.fullmatch(line) for line in snippet.text.splitlines()]
    assert all(found), f"{snippet}: write `who   what`, a line each"
    return [(line["who"], line["what"]) for line in found if line]


def _hear(chat: Chat, text: str, after: int) -> int:
    """Wait until the desk has said this behind the item so numbered; gives the item's number."""
    line = chat.heard(text, after=after)
    return int(line["id"])


def _decide(person: Person, decision: str) -> None:
    (waiting,) = person.approvals()
    answer = person.decide(waiting["id"], decision)
    assert answer.status_code == 200, answer.text


def _pattern(text: str) -> re.Pattern[str]:
    """The lines in order, with anything where `…` stands."""
    return re.compile(".*?".join(map(re.escape, text.rstrip("\n").split("…"))), re.DOTALL)
