"""The tutorials, walked as they are printed."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from router.cli import app
from router.runtime.extensions import setting_sections
from router.settings import Settings
from router.settings.environment import OF_CLIENTS, TESTS_PREFIX, TOOL_PREFIX
from tests.docs.snippets import ROOT, Snippet, snippets_of
from tests.e2e.house import COMMAND, Chat, House, Person
from tests.fakes.model_server import Behaviour, ModelServer, calls, says
from tests.ports import free_ports
from tests.unit.cli.conftest import serving
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow

ROUTER = re.compile(r"(?:\.venv/bin/)?intent-router")
_ASSIGNED = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
_TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\s)# .*$", re.MULTILINE)
_BETWEEN = {"|", "||", "&&", ";", "&", "(", ")"}
_OTHERS = frozenset({"ROUTER_TEST_LLM"})
"""Variables of the project's own tests."""
_SHELL = frozenset({"echo", "mkdir"})
"""Words that need no proof."""


def slips(script: str) -> Iterator[str]:
    """What is wrong with it, a line each."""
    for command in _commands(script):
        words = command[1:] if command[0] == "export" else command
        while words and (assigned := _ASSIGNED.fullmatch(words[0])):
            yield from _variable_slips(assigned[1])
            words = words[1:]
        if words:
            redirected = (n for n, word in enumerate(words) if word in {">", ">>", "<", "2>"})
            yield from _command_slips(words[0], words[1 : next(redirected, None)])


def _commands(script: str) -> Iterator[list[str]]:
    plain = re.sub(r"\$\([^()]*\)", "made", script.replace("\\\n", " ").replace(" 2>&1", ""))
    plain = _COMMENT.sub("", plain)
    lexer = shlex.shlex(plain.replace("\n", " ; "), posix=True, punctuation_chars="|&;()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    for word in [*lexer, ";"]:
        if word in _BETWEEN or set(word) <= set("|&;()"):
            if command:
                yield command
            command = []
        else:
            command.append(word)


def _variable_slips(name: str) -> Iterator[str]:
    sections = setting_sections(Settings(_env_file=None))
    known = Settings.variables().union(
        OF_CLIENTS, _OTHERS, *(each.variables() for each in sections)
    )
    ours = name.startswith("ROUTER_") and not name.startswith((TOOL_PREFIX, TESTS_PREFIX))
    if ours and name not in known:
        yield f"there is no setting {name}"


def _command_slips(command: str, words: list[str]) -> Iterator[str]:
    if ROUTER.fullmatch(command):
        yield from _router_slips(words)
    elif command == "make":
        targets = _TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
        yield from (f"there is no target {word}" for word in words if word not in targets)
    elif command.endswith(("/python", "python3")) and words[:1] == ["-m"]:
        if find_spec(words[1]) is None:
            yield f"there is no module {words[1]}"
    elif command not in _SHELL:
        yield f"nobody checks {command}; say above the block why it isn't run"


def _router_slips(words: list[str]) -> Iterator[str]:
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        if not rest or rest[0] not in command.commands:
            yield f"there is no command {' '.join(words)}"
            return
        command = command.commands[rest.pop(0)]
    try:
        command.make_context("intent-router", rest)
    except typer.TyperException as error:
        yield f"intent-router {' '.join(words)}: {error.format_message()}"


DESK = "desk"
STARTS = ("make dev\n", ".venv/bin/intent-router dev\n")
HANDS_IN = "/file "
TRIES = 5
"""How often it is typed again where that is what the answer says to do."""
_SPOKEN = re.compile(r"(?P<who>[a-z]+)\s{2,}(?P<what>.+)")
_KEPT = ".terminal"
_COPIED = ("router", "workflows", "activities", "company", "flows", "skills", "pyproject.toml")


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
    program: Sequence[str] = tuple(COMMAND)
    """The program that is at work where the page says to start it."""

    def take(self, snippet: Snippet) -> None:
        """Do what the block says."""
        if snippet.title:
            self._save(snippet.title, snippet.text)
        elif snippet.language == "sh":
            self._type(snippet.text)
        elif snippet.language == "text":
            shown = re.escape(snippet.text.rstrip("\n")).replace("…", ".*?")
            assert re.search(shown, self.printed, re.DOTALL), f"{snippet}: {self.printed}"
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
        taken_up = self._log().count("flows now")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._here(text), encoding="utf-8")
        if self.house is not None and path.parent == self.folder / "flows":
            deadline = time.monotonic() + HANGS_AFTER_S
            while self._log().count("flows now") == taken_up:
                assert time.monotonic() < deadline, f"{name} isn't taken up: {self.house.log()}"
                time.sleep(0.1)

    def _log(self) -> str:
        return self.house.log() if self.house else ""

    def _type(self, text: str) -> None:
        typed = self._here(text)
        starting = next((each for each in STARTS if typed.endswith(each)), "")
        self.printed = self._run(typed.removesuffix(starting))
        for _ in range(TRIES):
            if not self.printed.rstrip().endswith("try again"):
                break
            self.printed = self._run(typed)
        if starting:
            self._stop()
            exported = ["bash", "-c", f". {self.folder / _KEPT}; env -0"]
            shown = subprocess.check_output(exported, cwd=self.folder, text=True)
            pairs = (line.partition("=") for line in shown.split("\0") if "=" in line)
            variables = {name: value for name, _, value in pairs if name != "_"}
            variables["ROUTER_LOG_LEVEL"] = "info"
            self.house = House(
                self.folder / ".data",
                variables=variables,
                folder=self.folder,
                program=self.program,
            )
            self.house.start()
            self.ports[DESK_PORT] = str(self.house.ports[0])

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
                seen = int(chat.heard(what, after=seen)["id"])  # behind what was heard before
            elif what.startswith("("):
                approver = Person(self.house, who)
                (waiting,) = approver.approvals()
                answer = approver.decide(waiting["id"], what.strip("()"))
                assert answer.status_code == 200, answer.text
            else:
                chat = chat or Person(self.house, who).chat()
                assert chat.person.user == who, f"{snippet}: one conversation, one person"
                if what.startswith(HANDS_IN):
                    chat.hand_in(self.folder / what.removeprefix(HANDS_IN))
                else:
                    chat.say(what)


def lines_of(snippet: Snippet) -> list[tuple[str, str]]:
    """Who says what, in order."""
    found = [_SPOKEN.fullmatch(line) for line in snippet.text.splitlines()]
    assert all(found), f"{snippet}: write `who   what`, a line each"
    return [(line["who"], line["what"]) for line in found if line]


TUTORIALS = ROOT / "docs" / "tutorials"
MODEL_PORT = "8101"
"""Where the pages have their model."""
DESK_PORT = "8000"
"""Where they have the desk, once it runs."""
SERVICE_PORT = "9000"
"""Where they have a service of somebody else's."""


def dispatched(request: str) -> Behaviour:
    """A model that chooses the skill of the tutorial."""
    return calls(("dispatch_to_skill", {"skill_name": "bill-splitter", "request": request}))


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    walk = Walk(clone(tmp_path / "intent-router"))
    yield walk
    walk.leave()


BY_TUTORIAL = "the tutorial does"
"""How the reason begins for which a block is run here alone."""


def follow(walk: Walk, page: str) -> None:
    for snippet in snippets_of(TUTORIALS / page):
        if not snippet.why_not or snippet.why_not.startswith(BY_TUTORIAL):
            walk.take(snippet)


def test_the_first_flow_asks_is_approved_and_is_tested(walk: Walk) -> None:
    follow(walk, "first-flow.md")
    drawn = (walk.folder / "parking.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "images" / "parking.svg").read_text(encoding="utf-8")


def test_a_type_of_documents_is_read_and_begins_its_flow(walk: Walk) -> None:
    pytest.importorskip("pypdfium2", reason="the extra [documents] isn't installed")
    follow(walk, "document-type.md")


def test_the_first_tools_are_called_whatever_their_kind(walk: Walk) -> None:
    walk.ports[SERVICE_PORT] = str(free_ports(1)[0])
    follow(walk, "first-tool.md")


def test_a_platform_of_one_s_own_is_an_extension_and_its_test(walk: Walk) -> None:
    walk.ports[SERVICE_PORT] = str(free_ports(1)[0])
    # What `pip install --editable` does, in a folder that is on the path.
    (walk.folder / "pigeon").symlink_to("acme-pigeon/pigeon")
    info = walk.folder / "acme_pigeon-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: acme-pigeon\nVersion: 0.1.0\n")
    points = "[intent_router.extensions]\npigeon = pigeon:PigeonExtension\n"
    (info / "entry_points.txt").write_text(points)
    follow(walk, "platform.md")


def test_an_erp_is_joined_by_a_tool_an_event_and_a_webhook(walk: Walk) -> None:
    walk.ports[SERVICE_PORT] = str(free_ports(1)[0])
    follow(walk, "erp.md")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap isn't installed")
def test_the_first_skill_does_its_sums_by_a_tool_and_by_a_script(walk: Walk) -> None:
    script = {"path": "scripts/split.py", "arguments": ["100.00", "3"]}
    server = ModelServer(
        [
            dispatched("328.50, five people, Gina paid"),
            calls(("calculate", {"expression": "328.50 / 5"})),
            says("Everybody owes Gina 65.70."),
            dispatched("100.00, three people, Frank paid"),
            calls(("run_skill_script", script)),
            says("You get 33.33 from each of the two others."),
        ]
    )
    with serving(server):
        walk.ports[MODEL_PORT] = server.url.rpartition(":")[2].removesuffix("/v1")
        follow(walk, "first-skill.md")
    told = [
        [m["content"] for m in chat["messages"] if m["role"] == "tool"] for chat in server.chats
    ]
    assert "65.7" in told[2][-1]
    assert "33.34 33.33 33.33" in told[5][-1]
