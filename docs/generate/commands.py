"""The reference of the command line, from the commands themselves."""

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import typer

from docs.generate.markdown import code, page, table
from router.cli import app

INTRODUCTION = """\
`.venv/bin/intent-router`, or `python -m router`. Exit status: 0 fine; 1 the thing checked or asked
for is wrong or refused; 2 usage. Errors go to stderr, one line first, which names the value and
the remedy. Every command has `--help`."""


def commands_page() -> str:
    """A section for each command."""
    root: Any = typer.main.get_command(app)
    parts = [_section(name, command) for name, command in commands(root)]
    return page("Command line", INTRODUCTION, *parts)


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Each command that does something, with its full name: `flows validate`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _section(name: str, command: Any) -> str:
    arguments = [p for p in command.params if not p.opts[0].startswith("-")]
    usage = " ".join([f"intent-router {name}", "[OPTIONS]", *map(_placeholder, arguments)])
    rows = [_row(p) for p in command.params if p.opts != ["--help"] and not _hidden(p)]
    options = table(("", "", "otherwise"), rows)
    return f"## `{name}`\n\n{cleandoc(command.help or '')}\n\n    {usage}\n\n{options}".rstrip()


def _placeholder(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper() + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _hidden(parameter: Any) -> bool:
    """Whether it is what processes tell each other."""
    return bool(getattr(parameter, "hidden", False))


def _row(parameter: Any) -> tuple[str, str, str]:
    is_option = parameter.opts[0].startswith("-")
    names = [*parameter.opts, *parameter.secondary_opts] if is_option else [_placeholder(parameter)]
    return ", ".join(map(code, names)), parameter.help or "", _otherwise(parameter)


def _otherwise(parameter: Any) -> str:
    if parameter.required:
        return "**required**"
    shown = parameter.show_default
    value = shown if isinstance(shown, str) else parameter.default
    return code(str(value)) if value not in (None, False, "", ()) else ""
