"""The composition root of the API: puts its rooms together."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from router.adapters.mounting import Platforms, platforms
from router.api import openapi, problems
from router.api.body import BodyLimit
from router.api.census import keep_counting
from router.api.cross_origin import CrossOrigin
from router.api.deps import Desk, Services
from router.api.headers import SafeHeaders
from router.api.observing import Observed
from router.api.routes import (
    acting,
    ag_ui,
    approvals,
    audit,
    capabilities,
    chat_completions,
    codec,
    conversations,
    events,
    files,
    flow_runs,
    health,
    messages,
    operating,
    page,
    people,
    routing,
    turns,
)
from router.settings import Settings

DESCRIPTION = """\
The front desk for enterprise chat: rules first, a model second, a person last.

Send `Authorization: Bearer …` with everything under `/v1`. Errors are RFC 9457
`application/problem+json`. Lists answer `{"items", "next"}`; send `next` back as `after`.
"""


_NOUNS = (
    *(health, conversations, messages, events, flow_runs, acting, operating, approvals),
    *(audit, turns, files, capabilities, routing, people, ag_ui, chat_completions, codec),
)


class Api(FastAPI):
    """FastAPI, with an OpenAPI document that knows this API's way to fail."""

    def openapi(self) -> dict[str, Any]:
        """The document behind `/openapi.json`."""
        if self.openapi_schema is None:
            self.openapi_schema = openapi.describe(super().openapi())
        return self.openapi_schema


def create_app(services: Services) -> FastAPI:
    """The API over these services, ready for any ASGI server."""
    desk = Desk.furnished(services)
    entrances = platforms(desk)
    app = _api(
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        lifespan=_lifespan(desk, entrances),
        # FastAPI's own would be a second span and a second metric of each request, and export
        # what exceptions say.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.desk = desk
    _surround(app, services.settings)
    if services.settings.auth == "dev":
        app.include_router(people.sign_in)
    for entrance in entrances.routers:
        app.include_router(entrance)
    app.include_router(page.router)
    page.mount_assets(app)
    return app


def openapi_document() -> dict[str, Any]:
    """What `/openapi.json` says, without the services that answering takes."""
    return _api().openapi()


def _api(**options: Any) -> Api:
    """The routes of every noun, and the one way to fail."""
    title, number = "intent-router", version("intent-router")
    app = Api(title=title, version=number, description=DESCRIPTION, **options)
    problems.install(app)
    for noun in _NOUNS:
        app.include_router(noun.router)
    return app


def _lifespan(
    desk: Desk, entrances: Platforms
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        temporal, kept = desk.services.temporal, desk.services.store.runs
        counting = asyncio.create_task(
            keep_counting(temporal, kept), name="counting for the metrics"
        )
        async with entrances.at_work():
            yield
        counting.cancel()
        await desk.turns.close()

    return lifespan


def _surround(app: FastAPI, settings: Settings) -> None:
    """Add what every request passes through; the last one added is the first it meets."""
    app.add_middleware(
        BodyLimit,
        read_elsewhere={("POST", files.PATH), ("POST", chat_completions.PATH)},
        limits={
            ("POST", ag_ui.PATH): ag_ui.MAX_BODY,
            **{("POST", f"{codec.PREFIX}/{way}"): codec.MAX_BODY for way in ("decode", "encode")},
        },
    )
    app.add_middleware(CrossOrigin, prefix=codec.PREFIX, origin=settings.temporal_ui)
    app.add_middleware(SafeHeaders)
    app.add_middleware(Observed)
