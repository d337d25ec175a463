"""`intent-router dev`, `serve` and `worker`: the commands that stay."""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:  # pydantic, which `--help` does without
    from router.settings import Settings

MAX_PORT = 65535


def _port(written: str | int) -> int:
    if not str(written).isdecimal() or not 1 <= int(written) <= MAX_PORT:
        raise typer.BadParameter(f"{written!r} is no port: choose one from 1 to {MAX_PORT}")
    return int(written)


def _port_option(whose: str) -> Any:
    return typer.Option(parser=_port, metavar="PORT", help=f"Where {whose} listens.")


ApiPort = Annotated[int, _port_option("the REST API")]
TemporalPort = Annotated[int, _port_option("Temporal")]
UiPort = Annotated[int, _port_option("the Temporal UI")]
Data = Annotated[Path | None, typer.Option(help="The folder of all state.", show_default=".data")]


def dev(
    port: ApiPort = 8000,
    temporal_port: TemporalPort = 7233,
    ui_port: UiPort = 8233,
    data: Data = None,
) -> None:
    """Start it all in this terminal.

    That is Temporal with its UI, the worker, the REST API and the chat page, on loopback.
    Ctrl-C stops all of it; --data keeps its state.
    """
    from router.dev.house import run
    from router.dev.ports import Ports
    from router.settings import Settings

    _log(Settings.load(), "warning")
    run(Ports(port, temporal_port, ui_port), data)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: ApiPort = 8000,
) -> None:
    """Run the REST API alone.

    It brings its database up to date first. Needs PostgreSQL and a Temporal server.
    """
    from router.settings import Settings

    settings = Settings.load()
    settings.check_binding(host)
    settings.check_shareable()

    from router.cli.processes import serve_api
    from router.dev.stopping import until_told_to_stop

    _log(settings, "info")
    asyncio.run(until_told_to_stop(serve_api(settings, host, port)))


WORK = ("turns", "models", "tools")


def _kinds(written: str) -> list[str]:
    wanted = [kind.strip() for kind in written.split(",") if kind.strip()]
    if not wanted or not set(wanted) <= set(WORK):
        raise typer.BadParameter(
            f"{written!r}: choose among {', '.join(WORK)}, with commas between"
        )
    return wanted


def worker(
    queues: Annotated[
        str, typer.Option(help="The kinds of work that it does, where they have queues.")
    ] = ",".join(WORK),
) -> None:
    """Run a worker alone. Needs PostgreSQL and a Temporal server."""
    kinds = _kinds(queues)
    from router.settings import Settings

    settings = Settings.load()
    settings.check_shareable()

    from router.cli.processes import work
    from router.dev.stopping import until_told_to_stop
    from router.worker import KINDS

    _log(settings, "info")
    asyncio.run(until_told_to_stop(work(settings, [kind for kind in KINDS if kind in kinds])))


def _log(settings: "Settings", level: str) -> None:
    from router.secrecy.redaction import redact_logs
    from router.settings import slips
    from router.telemetry import logs

    logs.configure(settings.log_format, settings.log_level or level)
    redact_logs()
    for slip in slips():
        logging.getLogger(__name__).warning("%s", slip)
