"""`intent-router dev`, `serve` and `worker`: the commands that stay."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from temporalio.client import Client
from temporalio.service import RPCError

from router.channels.platforms import PREFIXES
from router.channels.registry import configured
from router.domain.errors import MisconfiguredError
from router.gateway.generations import check_halves
from router.runtime import process
from router.runtime.composition import Parts
from router.runtime.data_folder import ADMISSION
from router.runtime.dev import run
from router.runtime.process import ProcessTelemetry, observed, steady, until_told_to_stop
from router.runtime.sandbox import cached
from router.runtime.server import Ports, api_server, listening
from router.runtime.temporal import check_namespace, connect, register, temporal_says
from router.runtime.upkeep import at_work
from router.runtime.worker import KINDS, Kind, build_workers, supervised
from router.secrecy.redaction import redact_logs
from router.settings import Settings, slips
from router.telemetry import logs
from router.telemetry.crashes import registered

CLOSING = 3.0
"""Seconds for the API to close what is open after the last request has ended."""

log = logging.getLogger(__name__)


async def serve_api(settings: Settings, host: str, port: int) -> None:
    """Serve the API until cancelled."""
    try:
        opened = listening(host, port)
    except OSError as error:
        raise MisconfiguredError(
            f"--host {host} --port {port} can't be opened ({error.strerror}): choose others"
        ) from None
    with opened:
        async with _seen(settings, "intent-router-api") as seen, at_work(settings) as parts:
            client = await _connected(settings, seen, parts)
            server = api_server(parts, client, settings.shutdown_seconds)
            grace = settings.shutdown_seconds + CLOSING
            serving = process.running("the API", server.serve([opened]), grace, stop=server.stop)
            async with serving as task, steady():
                log.info("the API listens on http://%s:%d", host, port)
                if settings.auth == "dev":
                    file = settings.data / ADMISSION
                    log.info("a browser opens /?token=… first, with what stands in %s", file)
                await process.forever([task])


async def work(settings: Settings, kinds: Collection[Kind] = KINDS) -> None:
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
        workers = build_workers(client, parts, kinds, grace, under_way)
        where = (", ".join(workers), settings.temporal_namespace, settings.temporal_address)
        log.info("the worker polls task queue %s of namespace %s at %s", *where)
        async with supervised(parts, kinds), steady(cached):
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
    configured(settings)
    _log(settings, "warning")
    run(Ports(port, temporal_port, ui_port), data)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: ApiPort = 8000,
) -> None:
    """Run the REST API alone.

    It brings its database up to date first. Needs PostgreSQL and a Temporal server.
    """
    settings = Settings.load()
    settings.check_binding(host)
    settings.check_shareable()
    configured(settings)
    _log(settings, "info")
    asyncio.run(until_told_to_stop(serve_api(settings, host, port)))


def worker(
    queues: Annotated[
        str, typer.Option(help="The kinds of work that it does, where they have queues.")
    ] = ",".join(KINDS),
) -> None:
    """Run a worker alone. Needs PostgreSQL and a Temporal server."""
    kinds = {kind.strip() for kind in queues.split(",") if kind.strip()}
    if not kinds or not kinds <= set(KINDS):
        raise typer.BadParameter(
            f"{queues!r}: choose among {', '.join(KINDS)}, with commas between"
        )
    settings = Settings.load()
    settings.check_shareable()
    _log(settings, "info")
    asyncio.run(until_told_to_stop(work(settings, [kind for kind in KINDS if kind in kinds])))


def _log(settings: Settings, level: str) -> None:
    logs.configure(settings.log_format, settings.log_level or level)
    redact_logs()
    for slip in slips(others=PREFIXES):
        log.warning("%s", slip)
