"""The REST API behind a socket that is open already."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

import uvicorn
from fastapi import FastAPI
from temporalio.client import Client

from router.api.deps import Desk, Services
from router.app import create_app
from router.assembly import Parts
from router.dev.impatience import ImpatientProtocol

GRACE = 2.0
"""Seconds for requests that are under way when the server is stopped, where nobody says more."""


class ApiServer(uvicorn.Server):
    """uvicorn, but the process's signals stay with whoever composes the process."""

    def __init__(self, app: FastAPI, grace: float) -> None:
        # No log_config: uvicorn's would be a second format beside the process's own.
        config = uvicorn.Config(
            app,
            http=ImpatientProtocol,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=ceil(grace),
        )
        super().__init__(config)
        desk: Desk = app.state.desk
        self._hub = desk.hub

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Have `serve` end, after requests that are under way or its grace."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what would never end by itself, and then as any server does."""
        self._hub.close()
        await super().shutdown(sockets)


def api_server(parts: Parts, client: Client, grace: float = GRACE) -> ApiServer:
    """The API over these parts; `await server.serve(sockets=[…])` until it is stopped.

    Requests that are under way then have `grace` seconds, turns as streams among them.
    """
    services = Services(
        settings=parts.settings,
        temporal=client,
        store=parts.store,
        directory=parts.directory,
        offered=parts.offered,
        reader=parts.reader,
        index=parts.index,
    )
    return ApiServer(create_app(services), grace)
