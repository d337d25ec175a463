"""The REST API behind a socket that is open already."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from temporalio.client import Client

from router.api.deps import Services
from router.app import create_app
from router.assembly import Parts

GRACE = 2
"""Seconds for requests that are under way; event streams never end by themselves."""


class ApiServer(uvicorn.Server):
    """uvicorn, but the process's signals stay with whoever composes the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Have `serve` end, after requests that are under way or `GRACE`."""
        self.should_exit = True


def api_server(parts: Parts, client: Client) -> ApiServer:
    """The API over these parts; `await server.serve(sockets=[…])` until it is stopped."""
    services = Services(
        settings=parts.settings,
        temporal=client,
        store=parts.store,
        directory=parts.directory,
        offered=parts.offered,
        reader=parts.reader,
        index=parts.index,
    )
    # No log_config: uvicorn's would be a second format beside the process's own.
    config = uvicorn.Config(
        create_app(services), log_config=None, access_log=False, timeout_graceful_shutdown=GRACE
    )
    return ApiServer(config)
