"""The `intent-router` command: how each of its commands is called, and how they fail.

What a command does is imported when it runs, so that `--help` stays quick. Exit status: 0
fine; 1 the thing checked or asked for is wrong or refused; 2 usage. Errors go to stderr.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from router.cli import (
    chat,
    doctor,
    erasing,
    evaluating,
    flows,
    mcp,
    new,
    operating,
    routing,
    schema,
    skills,
    starting,
    tokens,
    tools,
)

USAGE = 2
INTERRUPTED = 130

app = typer.Typer(
    help="The front desk for enterprise chat: rules first, a model second, a person last.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(starting.dev)
app.command()(starting.serve)
app.command()(starting.worker)
app.command()(chat.chat)
app.command()(routing.route)
app.command("eval")(evaluating.evaluate)
app.add_typer(flows.app, name="flows")
app.add_typer(skills.app, name="skills")
app.add_typer(tools.app, name="tools")
app.add_typer(new.app, name="new")
app.command()(schema.schema)
app.command()(tokens.token)
app.command()(doctor.doctor)
app.command()(mcp.mcp)
app.command()(erasing.erase)
app.add_typer(operating.app, name="runs")
app.command()(operating.audit)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    status = _status(words or ["--help"])
    sys.exit(status if words else USAGE)


def _status(words: list[str]) -> int:
    try:
        return app(words, prog_name="intent-router", standalone_mode=False) or 0
    except typer.TyperException as error:
        return _usage(error)
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


def _usage(error: typer.TyperException) -> int:
    typer.echo(f"error: {error.format_message()}", err=True)
    context = getattr(error, "ctx", None)
    if context is not None:
        typer.echo(f"try: {context.command_path} --help", err=True)
    return USAGE
