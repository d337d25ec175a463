"""Whether what a page has people type is there: commands, options, targets, variables, modules."""

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import typer

from router.cli import app
from router.settings import OF_CLIENTS, TESTS_PREFIX, TOOL_PREFIX, Settings
from tests.docs.snippets import ROOT

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
    for words in _commands(script):
        yield from _slips_of(words)


def _commands(script: str) -> Iterator[list[str]]:
    """Each simple command, in words; comments, redirections and `$(…)` are gone."""
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


def _slips_of(words: list[str]) -> Iterator[str]:
    if words[0] == "export":
        words = words[1:]
    while words and (assigned := _ASSIGNED.fullmatch(words[0])):
        yield from _variable_slips(assigned[1])
        words = words[1:]
    if words:
        yield from _command_slips(words[0], _without_redirections(words[1:]))


def _without_redirections(words: list[str]) -> list[str]:
    at = next((n for n, word in enumerate(words) if word in {">", ">>", "<", "2>"}), len(words))
    return words[:at]


def _variable_slips(name: str) -> Iterator[str]:
    known = {f"ROUTER_{field.upper()}" for field in Settings.model_fields} | OF_CLIENTS | _OTHERS
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
