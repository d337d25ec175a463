"""The `intent-router` command: how each of its commands is called, and how they fail.

What a command does is imported when it runs, so that `--help` stays quick. Exit status: 0
fine; 1 the thing checked or asked for is wrong or refused; 2 usage. Errors go to stderr.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from router.extension import Command, Extension, ExtensionConflict
from router.runtime.extensions import load_configured, load_extensions

USAGE = 2
INTERRUPTED = 130

COMMANDS: Mapping[str, Command] = {
    "dev": Command("router.cli.processes:dev", "Start it all in this terminal."),
    "serve": Command("router.cli.processes:serve", "Run the REST API alone."),
    "worker": Command("router.cli.processes:worker", "Run a worker alone."),
    "chat": Command("router.cli.terminal.session:chat", "Chat with the desk in this terminal."),
    "route": Command("router.cli.route:route", "Explain where a text would go."),
    "prompts": Command(
        "router.cli.prompt_versions:app", "Compare versions of prompts, and share traffic."
    ),
    "read": Command("router.cli.read:read", "Read FILE as papers are read that people hand in."),
    "flows": Command("router.cli.flows:app", "Look after flow files."),
    "skills": Command("router.cli.skills:app", "Look after skill folders."),
    "config": Command(
        "router.cli.config:app", "Move documents of configuration between a folder and a server."
    ),
    "tools": Command("router.cli.tools:app", "List tools, check their files, and call one."),
    "hooks": Command("router.cli.hooks:hooks", "List the hooks of one's own."),
    "extensions": Command(
        "router.cli.extensions:extensions",
        "List the installed extensions, and why some aren't loaded.",
    ),
    "new": Command(
        "router.cli.new:app",
        "Begin a project, a flow, a skill, a tool or a hook that works at once.",
    ),
    "schema": Command(
        "router.cli.schema:schema", "Print the JSON Schema of a kind of file, or copy all."
    ),
    "token": Command("router.cli.token:token", "Mint a signed bearer token."),
    "doctor": Command("router.cli.doctor:doctor", "Check settings and what they need."),
    "migrate": Command(
        "router.cli.migration:migrate", "Bring the database up to date, and start nothing."
    ),
    "erase": Command(
        "router.cli.erase:erase", "Erase a person: conversations, files, what is under way."
    ),
    "legal-hold": Command(
        "router.cli.retention:legal_hold",
        "Keep what is a person's, or a run's, from expiring and erasing.",
    ),
    "expire": Command(
        "router.cli.retention:expire", "Delete what is older than ROUTER_RETENTION_DAYS."
    ),
    "reconcile": Command(
        "router.cli.reconcile:reconcile",
        "Compare the database with Temporal, and put right what doesn't fit.",
    ),
    "runs": Command(
        "router.cli.runs:app", "Find anybody's runs and put them right, as an operator."
    ),
    "webhooks": Command(
        "router.cli.webhooks:app",
        "List events that other systems haven't heard of, and send them again.",
    ),
    "size": Command(
        "router.cli.size:size",
        "Compute the processes, memory, rows and Temporal actions that so many employees take.",
    ),
    "audit": Command(
        "router.cli.runs:audit", "Read what operators did and looked at, newest first."
    ),
}
"""The commands of the core."""


def _intent_router() -> None:
    """The front desk for enterprise chat: rules first, a model second, a person last."""


class CommandTable(dict[str, Command]):
    """The commands of the core, and those of extensions that are added."""

    def __init__(self) -> None:
        super().__init__(COMMANDS)

    def add_extension(self, extension: Extension) -> None:
        """Add the commands of an extension.

        Raises:
            ExtensionConflict: There is a command of that name.
        """
        added = extension.commands()
        for name in added:
            if name in self:
                raise ExtensionConflict(
                    f"its command {name} has the name of {self[name].target}: choose another name"
                )
        self.update(added)


@cache
def installed_commands() -> CommandTable:
    """Return the commands of the core and of all extensions, also of those that are switched off.

    The settings aren't read, so that `--help` stays quick.
    """
    table = CommandTable()
    load_extensions().collect(table.add_extension)
    return table


class _Imported(Mapping[str, Any]):
    """The commands by name, each imported when it is called or asked for its own help."""

    def __getitem__(self, name: str) -> Any:
        command = COMMANDS.get(name) or installed_commands()[name]
        found = _import(name, command)
        around = typer.Typer(add_completion=False, rich_markup_mode=None)
        around.callback()(_intent_router)
        if isinstance(found, typer.Typer):
            _add_subcommands(name, found)
            around.add_typer(found, name=name)
        else:
            around.command(name)(found)
        return get_group(around).commands[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in installed_commands() if " " not in name)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _add_subcommands(group: str, app: typer.Typer) -> None:
    """Add the commands that extensions have in a group of the core."""
    known = {each.name for each in app.registered_commands}
    for name, command in installed_commands().items():
        first, _, second = name.partition(" ")
        if first == group and second and second not in known:
            app.command(second)(_import(name, command))


def _import(name: str, command: Command) -> Any:
    """Import a command. One of an extension says if the settings leave the extension out."""
    module, _, attribute = command.target.partition(":")
    found = getattr(import_module(module), attribute)
    if name in COMMANDS:
        return found
    if isinstance(found, typer.Typer):
        _check_enabled(name)
        return found

    @wraps(found)
    def run(*arguments: Any, **options: Any) -> Any:
        _check_enabled(name)
        return found(*arguments, **options)

    return run


def _check_enabled(command: str) -> None:
    """Raise `MisconfiguredError` if the settings leave out the extension of this command."""
    from router.domain.errors import MisconfiguredError
    from router.settings import Settings

    enabled = load_configured(Settings.load())
    if not any(command in each.commands() for each in enabled):
        raise MisconfiguredError(
            f"{command} is a command of an extension that isn't loaded: `intent-router extensions` "
            "says why"
        )


class LazyGroup(TyperGroup):
    """The installed commands, none of which is imported for `--help`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _Imported()

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The list that `--help` shows, for which no command has to be imported."""
        with formatter.section("Commands"):
            rows = [(name, installed_commands()[name].summary) for name in self.commands]
            formatter.write_dl(rows)


app = typer.Typer(
    cls=LazyGroup,
    help="The front desk for enterprise chat: rules first, a model second, a person last.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.callback()(_intent_router)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its status."""
    # Read when numpy is loaded. With several, a product was seen that waits for ever for a thread
    # that had gone, keeps a core meanwhile, and the process from ending; ours are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = list(sys.argv[1:] if arguments is None else arguments)
    status = _status(words or ["--help"])
    sys.exit(status if words else USAGE)


def _status(words: list[str]) -> int:
    try:
        return app(words, prog_name="intent-router", standalone_mode=False) or 0
    except typer.TyperException as error:
        typer.echo(f"error: {error.format_message()}", err=True)
        context = getattr(error, "ctx", None)
        if context is not None:
            typer.echo(f"try: {context.command_path} --help", err=True)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`… | head`). Nothing may be flushed to it at exit.
        sys.stdout = None
        return 1
    except Exception as error:
        from router.domain.errors import RouterError  # pydantic, which `--help` does without

        if not isinstance(error, RouterError):
            raise
        typer.echo(f"error: {error}", err=True)
        return 1
