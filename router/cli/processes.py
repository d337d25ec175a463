"""The API and the worker as processes of their own, side by side with others like them."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio.client import Client
from temporalio.service import RPCError

from router.api.temporal import connect
from router.dev import tasks
from router.dev.api_server import api_server
from router.dev.observed import Observed, observed
from router.dev.ports import listening
from router.dev.registering import check_namespace, register
from router.dev.settling import settle
from router.domain.errors import MisconfiguredError
from router.settings import Settings
from router.upkeep import at_work
from router.worker import KINDS, Kind, build_workers

CLOSING = 3.0
"""Seconds for the API to close what is open after the last request has ended."""

log = logging.getLogger(__name__)


async def serve_api(settings: Settings, host: str, port: int) -> None:
    """Serve the API until cancelled.

    Raises:
        RouterError: an address, file or server that it needs can't be used.
    """
    with _opened(host, port) as opened:
        async with _seen(settings, "intent-router-api") as seen, at_work(settings) as parts:
            client = await _connected(settings, seen)
            server = api_server(parts, client, settings.shutdown_seconds)
            grace = settings.shutdown_seconds + CLOSING
            serving = tasks.running("the API", server.serve([opened]), grace, stop=server.stop)
            async with serving as task:
                settle()
                log.info("the API listens on http://%s:%d", host, port)
                await tasks.forever([task])


async def work(settings: Settings, kinds: Collection[Kind] = KINDS) -> None:
    """Run workflows and activities until cancelled; what is under way may finish.

    What isn't done after `ROUTER_SHUTDOWN_SECONDS` is done anew by the next worker.

    Of several queues those of these `kinds` of work are polled.

    Raises:
        RouterError: a file or server that it needs can't be used.
    """
    async with _seen(settings, "intent-router-worker") as seen, at_work(settings) as parts:
        seen.circuits_of(parts.ladders)
        client = await _connected(settings, seen)
        await _register_search_attributes(client)
        grace = timedelta(seconds=settings.shutdown_seconds)
        workers = build_workers(client, parts, kinds, grace)
        where = (", ".join(workers), settings.temporal_namespace, settings.temporal_address)
        log.info("the worker polls task queue %s of namespace %s at %s", *where)
        settle()
        await asyncio.gather(*(worker.run() for worker in workers.values()))


async def _connected(settings: Settings, seen: Observed) -> Client:
    client = await connect(settings, seen.plugins, seen.runtime)
    await check_namespace(client)
    return client


@asynccontextmanager
async def _seen(settings: Settings, service: str) -> AsyncIterator[Observed]:
    """What operators see of this process, and in its log where the metrics are."""
    with observed(settings, service) as seen:
        if seen.metrics:
            log.info("metrics are at %s", seen.metrics)
        yield seen


def _opened(host: str, port: int) -> socket.socket:
    try:
        return listening(host, port)
    except OSError as error:
        raise MisconfiguredError(
            f"--host {host} --port {port} can't be opened ({error.strerror}): choose others"
        ) from None


async def _register_search_attributes(client: Client) -> None:
    try:
        await register(client)
    except RPCError as error:
        log.warning(
            "search attributes can't be registered (%s); where workflows fail for want of them, "
            "have an operator run deploy/temporal-namespace.sh",
            error.message,
        )
