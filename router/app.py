"""The composition root of the API: puts the rooms together and serves them."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from temporalio.client import Client

from router.api import problems
from router.api.body import BodyLimit
from router.api.deps import Desk, Services
from router.api.headers import SafeHeaders
from router.api.routes import (
    approvals,
    capabilities,
    conversations,
    flow_runs,
    health,
    messages,
    page,
    people,
    routing,
)
from router.api.temporal import connect
from router.domain.errors import MisconfiguredError
from router.settings import Settings

if TYPE_CHECKING:
    from router.assembly import Parts

GRACE = 5
"""Seconds for requests under way when the API is told to stop; their turns go on without."""

DESCRIPTION = """\
The front desk for enterprise chat: rules first, a model second, a person last.

Send `Authorization: Bearer …` with everything under `/v1`. Errors are RFC 9457
`application/problem+json`. Lists answer `{"items", "next"}`; send `next` back as `after`.
"""


class Api(FastAPI):
    """FastAPI, with an OpenAPI document that knows this API's way to fail."""

    def openapi(self) -> dict[str, Any]:
        """The document behind `/openapi.json`."""
        if self.openapi_schema is None:
            self.openapi_schema = problems.describe(super().openapi())
        return self.openapi_schema


def create_app(given: Services) -> FastAPI:
    """The API over these services, ready for any ASGI server."""
    desk = Desk.furnished(given)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await desk.turns.close()

    app = Api(
        title="intent-router",
        version=version("intent-router"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        lifespan=lifespan,
    )
    app.state.desk = desk
    app.add_middleware(BodyLimit)
    app.add_middleware(SafeHeaders)
    problems.install(app)
    for routes in (health, conversations, messages, flow_runs, approvals, capabilities, routing):
        app.include_router(routes.router)
    if given.settings.auth == "dev":
        app.include_router(people.router)
    app.include_router(page.router)
    page.mount_assets(app)
    return app


def services(parts: "Parts", temporal: Client) -> Services:
    """The parts that the API uses."""
    return Services(
        settings=parts.settings,
        temporal=temporal,
        store=parts.store,
        directory=parts.directory,
        catalog=parts.catalog,
        registry=parts.registry,
        reader=parts.reader,
    )


def server(app: FastAPI) -> uvicorn.Server:
    """A server for the application; give its `serve` the sockets to listen on.

    It logs as the process does, and nothing of single requests.
    """
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        MisconfiguredError: it can't, most often because the port is taken.
    """
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
        )
    except OSError as error:
        raise MisconfiguredError(
            f"can't listen on {host}:{port} ({error.strerror}): choose another --host or --port"
        ) from error


async def serve(settings: Settings, host: str, port: int) -> None:
    """Run the API on its own until it is told to stop (Ctrl-C, SIGTERM).

    Raises:
        MisconfiguredError: the settings don't allow it, or the port is taken.
        DefinitionError: a flow or directory file can't be used.
        Unavailable: the database or Temporal can't be reached.
    """
    settings.check_binding(host)
    settings.check_shareable()
    from router.assembly import assembled

    with listening(host, port) as door:
        async with assembled(settings) as parts:
            app = create_app(services(parts, await connect(settings)))
            await server(app).serve(sockets=[door])
