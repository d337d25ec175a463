"""`intent-router dev`, `serve` and `worker`: the commands that stay."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from temporalio.client import Client
from temporalio.service import RPCError

from router.cli.extensions import omit_faulty_extensions
from router.domain.errors import MisconfiguredError
from router.extension import WorkKind
from router.gateway.generations import check_halves
from router.runtime import process
from router.runtime.composition import Parts
from router.runtime.data_folder import ADMISSION
from router.runtime.dev import run
from router.runtime.extension_work import KINDS
from router.runtime.extensions import (
    check_sections,
    load_configured,
    log_omissions,
    omitted_prefixes,
    setting_sections,
)
from router.runtime.garbage_collection import steady
from router.runtime.process import ProcessTelemetry, observed, until_told_to_stop
from router.runtime.process_group import PROGRAM, Parent, ProcessCommand, ProcessGroup
from router.runtime.sandbox import cached
from router.runtime.server import Ports, api_server, listening
from router.runtime.temporal import check_namespace, connect, register, temporal_says
from router.runtime.upkeep import at_work
from router.runtime.worker import build_workers, load_workload, supervised
from router.secrecy.redaction import redact_logs
from router.settings import Settings, slips
from router.telemetry import logs
from router.telemetry.crashes import registered

CLOSING = 3.0
"""Seconds for the API to close what is open after the last request has ended."""

ENDING = 2.0
"""And for its process to end then, where it is one of several."""

log = logging.getLogger(__name__)


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there, or a refusal that says what to do."""
    try:
        return listening(host, port)
    except OSError as error:
        raise MisconfiguredError(
            f"--host {host} --port {port} can't be opened ({error.strerror}): choose others"
        ) from None


async def serve_api(
    settings: Settings, opened: socket.socket, parent: Parent | None = None
) -> None:
    """Serve the API on this socket until cancelled; it is closed then."""
    with opened:
        async with _seen(settings, "intent-router-api") as seen, at_work(settings) as parts:
            client = await _connected(settings, seen, parts)
            server = api_server(parts, client, settings.shutdown_seconds)
            grace = settings.shutdown_seconds + CLOSING
            serving = process.running("the API", server.serve([opened]), grace, stop=server.stop)
            async with serving as task, steady():
                log.info("the API listens on http://%s:%d", *opened.getsockname()[:2])
                if parent:
                    parent.tell_ready()
                if settings.auth == "dev":
                    file = settings.data / ADMISSION
                    log.info("a browser opens /?token=… first, with what stands in %s", file)
                await process.forever([task])


async def work(
    settings: Settings, kinds: Collection[WorkKind] = KINDS, parent: Parent | None = None
) -> None:
    """Run work of these `kinds` until cancelled; what isn't done in time the next worker does."""
    async with _seen(settings, "intent-router-worker") as seen, at_work(settings) as parts:
        under_way = seen.closing.enter_context(registered(settings.data))
        seen.circuits_of(parts.chains, parts.caller.circuits)
        client = await _connected(settings, seen, parts)
        try:
            await register(client)
        except RPCError as error:
            log.warning(
                "search attributes can't be registered (%s); where workflows fail for want of "
                "them, have an operator run deploy/temporal-namespace.sh",
                error.message,
            )
        grace = timedelta(seconds=settings.shutdown_seconds)
        workload = load_workload(client, parts, settings.task_queue)
        workers = build_workers(client, parts, kinds, grace, under_way, workload)
        where = (", ".join(workers), settings.temporal_namespace, settings.temporal_address)
        log.info("the worker polls task queue %s of namespace %s at %s", *where)
        async with supervised(parts, kinds), workload.keep_running(), steady(cached):
            if parent:
                parent.tell_ready()
            await asyncio.gather(*(worker.run() for worker in workers.values()))


async def _connected(settings: Settings, seen: ProcessTelemetry, parts: Parts) -> Client:
    client = await connect(settings, seen.plugins, seen.runtime)
    await check_namespace(client)
    with temporal_says():
        await check_halves(client, parts.store.houses, settings.task_queue)
    return client


@asynccontextmanager
async def _seen(settings: Settings, service: str) -> AsyncIterator[ProcessTelemetry]:
    with observed(settings, service) as seen:
        if seen.metrics:
            log.info("metrics are at %s", seen.metrics)
        yield seen


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
Processes = Annotated[
    int, typer.Option(min=1, max=64, help="So many of them, which share the machine's cores.")
]
ParentLine = Annotated[int | None, typer.Option(hidden=True)]
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
    settings = Settings.load()
    _prepare(settings, "warning")
    run(Ports(port, temporal_port, ui_port), data)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: ApiPort = 8000,
    processes: Processes = 1,
    parent: ParentLine = None,
    inherited: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run the REST API alone.

    It brings its database up to date first. Needs PostgreSQL and a Temporal server.
    """
    settings = Settings.load()
    settings.check_binding(host)
    settings.check_shareable()
    _prepare(settings, "info")
    if inherited is not None:
        opened = socket.socket(fileno=inherited)
        opened.set_inheritable(False)
    else:
        opened = open_socket(host, port)
    if processes == 1:
        asyncio.run(until_told_to_stop(serve_api(settings, opened, _parent(parent))))
        return
    with opened:
        words = ("serve", "--host", host, "--port", str(port), "--inherited", str(opened.fileno()))
        _run_several("API process", words, processes, settings, opened)


def worker(
    queues: Annotated[
        str, typer.Option(help="The kinds of work that it does, where they have queues.")
    ] = ",".join(KINDS),
    processes: Processes = 1,
    parent: ParentLine = None,
) -> None:
    """Run a worker alone. Needs PostgreSQL and a Temporal server."""
    kinds = {kind.strip() for kind in queues.split(",") if kind.strip()}
    if not kinds or not kinds <= set(KINDS):
        raise typer.BadParameter(
            f"{queues!r}: choose among {', '.join(KINDS)}, with commas between"
        )
    settings = Settings.load()
    settings.check_shareable()
    _prepare(settings, "info")
    if processes > 1:
        _run_several("worker", ("worker", "--queues", queues), processes, settings)
        return
    chosen = [kind for kind in KINDS if kind in kinds]
    asyncio.run(until_told_to_stop(work(settings, chosen, _parent(parent))))


def _parent(line: int | None) -> Parent | None:
    return None if line is None else Parent(line)


def _run_several(
    name: str,
    words: Sequence[str],
    number: int,
    settings: Settings,
    shared: socket.socket | None = None,
) -> None:
    ports = numbered_ports(settings, number)
    command = ProcessCommand(name, (*PROGRAM, *words), ports.__getitem__, shared)
    group = ProcessGroup(command, number, settings.shutdown_seconds + CLOSING + ENDING)
    asyncio.run(until_told_to_stop(group.run()))


def numbered_ports(settings: Settings, number: int) -> list[dict[str, str]]:
    """What each of so many processes is told of ports for metrics: the next one, one after another.

    Raises:
        MisconfiguredError: there aren't so many ports beyond the first, or two would have one.
    """
    ours, temporals = settings.metrics_port, settings.temporal_metrics_port
    if ours and temporals and abs(ours - temporals) < number:
        raise MisconfiguredError(
            f"ROUTER_METRICS_PORT={ours} and ROUTER_TEMPORAL_METRICS_PORT={temporals} are too "
            f"close for {number} processes, each of which takes the next port of both: let them "
            f"be {number} apart"
        )
    told: list[dict[str, str]] = [{} for _ in range(number)]
    for variable, first in (
        ("ROUTER_METRICS_PORT", ours),
        ("ROUTER_TEMPORAL_METRICS_PORT", temporals),
    ):
        if first and first + number - 1 > MAX_PORT:
            raise MisconfiguredError(
                f"{variable}={first} leaves no port for each of {number} processes: choose one "
                f"up to {MAX_PORT - number + 1}"
            )
        for at in range(number if first else 0):
            told[at][variable] = str((first or 0) + at)
    return told


def _prepare(settings: Settings, level: str) -> None:
    """Decide which extensions this process uses, and say in the log which it doesn't.

    Raises:
        MisconfiguredError: A required one can't be used, or the settings of one are wrong.
    """
    omit_faulty_extensions(load_configured(settings))
    check_sections(settings)
    logs.configure(settings.log_format, settings.log_level or level)
    redact_logs()
    log_omissions(settings)
    for slip in slips(setting_sections(settings), lambda: omitted_prefixes(settings)):
        log.warning("%s", slip)
