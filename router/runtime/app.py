"""The composition root of the API: puts its routes together, and counts what is open."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from temporalio.client import Client
from temporalio.service import RPCError

from router.api import errors, openapi, routes
from router.api.dependencies import AppState, Services
from router.api.middleware import CodecOrigin, ObservabilityMiddleware, SafeHeaders
from router.api.params import BodyLimit
from router.api.routes import codec, page, people
from router.channels.registry import MountedPlatforms, mounted
from router.contracts.conversation import WORKFLOW
from router.domain.errors import RouterError
from router.settings import Settings
from router.store.flow_runs import Runs
from router.telemetry.metrics import APPROVALS, CONVERSATIONS, OLDEST_APPROVAL

EVERY = 15.0
"""Seconds: as often as Prometheus looks by default."""
PATIENCE = timedelta(seconds=5)

_log = logging.getLogger(__name__)


async def keep_counting(temporal: Client, runs: Runs) -> None:
    """Count until cancelled. All API processes count the same: dashboards take the highest."""
    while True:
        try:
            await count(temporal, runs)
        except (RouterError, RPCError) as error:
            _log.warning("what is open can't be counted right now: %s", error)
        await asyncio.sleep(EVERY)


async def count(temporal: Client, runs: Runs) -> None:
    """Count open conversations, and approvals that wait.

    Raises:
        RouterError, RPCError: the database or Temporal doesn't answer.
    """
    waiting = await runs.waiting()
    oldest = (datetime.now(UTC) - waiting.since).total_seconds() if waiting.since else 0.0
    APPROVALS.set(waiting.count)
    OLDEST_APPROVAL.set(max(0.0, oldest))
    running = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
    found = await temporal.count_workflows(running, rpc_timeout=PATIENCE)
    CONVERSATIONS.set(found.count)


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
            self.openapi_schema = openapi.describe(super().openapi())
        return self.openapi_schema


def create_app(services: Services) -> FastAPI:
    """The API over these services, ready for any ASGI server."""
    state = AppState.beginning(services)
    platforms = mounted(state)
    app = _api(
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        lifespan=_lifespan(state, platforms),
        # FastAPI's own would be a second span and a second metric of each request, and export
        # what exceptions say.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.shared = state
    _surround(app, services.settings)
    if services.settings.auth == "dev":
        app.include_router(people.sign_in)
    for router in platforms.routers:
        app.include_router(router)
    page.mount_assets(app)
    return app


def openapi_document() -> dict[str, Any]:
    """What `/openapi.json` says, without the services that answering takes."""
    return _api().openapi()


def _api(**options: Any) -> Api:
    title, number = "intent-router", version("intent-router")
    app = Api(title=title, version=number, description=DESCRIPTION, **options)
    errors.install(app)
    for router in routes.routers():
        app.include_router(router)
    return app


def _lifespan(
    state: AppState, platforms: MountedPlatforms
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        temporal, kept = state.services.temporal, state.services.store.runs
        counting = asyncio.create_task(
            keep_counting(temporal, kept), name="counting for the metrics"
        )
        async with platforms.at_work():
            yield
        counting.cancel()
        await state.turns.close()

    return lifespan


def _surround(app: FastAPI, settings: Settings) -> None:
    """Add what every request passes through; the last one added is the first it meets."""
    app.add_middleware(BodyLimit, others=routes.bodies())
    app.add_middleware(CodecOrigin, prefix=codec.PREFIX, origin=settings.temporal_ui)
    app.add_middleware(SafeHeaders)
    app.add_middleware(ObservabilityMiddleware)
