"""The REST API: its routes put together, behind a socket that is open already.

HTTP hangs up on whoever has stopped reading, or never says what they came for. An application
can't: it waits for room to write, or isn't asked, and such a peer would keep a socket and its
buffers for as long as it cares to.
"""

import asyncio
import errno
import itertools
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from math import ceil, inf
from typing import Any, NamedTuple, get_args

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from temporalio.client import Client
from temporalio.service import RPCError
from uvicorn.protocols.http.h11_impl import H11Protocol

from activities.look_up import LookUps
from router.api import errors, openapi, routes
from router.api.dependencies import AppState, Services
from router.api.dev_access import ASSETS, PARAMETER, DevAccess
from router.api.event_sources import admit
from router.api.middleware import BodyLimit, ObservabilityMiddleware, SafeHeaders, SharedOrigins
from router.api.reachability import check_reachable
from router.api.routes import codec, page, people
from router.contracts.conversation import WORKFLOW
from router.domain.errors import MisconfiguredError, RouterError
from router.domain.hand_offs import HandOffGoingOn
from router.domain.principals import Directory
from router.extension import ApiPart, Extension, Routes
from router.gateway.builds import stranded
from router.gateway.generations import advance
from router.gateway.lost_runs import FEW, counts, misfits, note_lost
from router.isolation.upkeep_threads import run_upkeep
from router.runtime.composition import Parts
from router.runtime.data_folder import page_token
from router.runtime.extensions import (
    load_configured,
    load_extensions,
)
from router.runtime.webhook_dispatcher import webhooks_at_work
from router.settings import Settings
from router.store.flow_runs import Runs
from router.store.hand_offs import HandOffStore
from router.store.store import Store
from router.telemetry.metrics import (
    APART,
    APPROVALS,
    CONVERSATIONS,
    EXPIRING_APPROVALS,
    HAND_OFFS,
    LOST_RUNS,
    OLDEST_APPROVAL,
    OLDEST_HAND_OFF,
    ORPHANED_APPROVALS,
    ORPHANED_REQUESTS,
    STRANDED,
)

EVERY = 15.0
"""Seconds: as often as Prometheus looks by default."""
COUNTING_PATIENCE = timedelta(seconds=5)

_log = logging.getLogger(__name__)


async def keep_counting(services: Services) -> None:
    """Count until cancelled. All API processes count the same: dashboards take the highest."""
    temporal, store, settings = services.temporal, services.store, services.settings
    for round_ in itertools.count():
        try:
            await store.clock.keep()
            now = store.clock()
            await count(temporal, store.runs, now)
            await count_hand_offs(store.hand_offs, now)
            # Temporal bears few questions about builds.
            if round_ % 4 == 0:
                await count_stranded(temporal, settings, now)
            orphaned = await count_orphaned(store.runs, services.directory)
            ORPHANED_APPROVALS.set(orphaned.approvals)
            ORPHANED_REQUESTS.set(orphaned.requests)
            if round_ and round_ % 4 == 0:
                await keep_generation(temporal, store, settings)
                await look_for_lost_runs(temporal, store, settings)
        except (RouterError, RPCError) as error:
            _log.warning("what is open can't be counted right now: %s", error)
        await asyncio.sleep(EVERY)


async def count(temporal: Client, runs: Runs, now: datetime) -> None:
    """Count open conversations, and approvals that wait."""
    waiting = await runs.waiting()
    oldest = (now - waiting.since).total_seconds() if waiting.since else 0.0
    APPROVALS.set(waiting.count)
    EXPIRING_APPROVALS.set(waiting.expiring)
    OLDEST_APPROVAL.set(max(0.0, oldest))
    running = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"
    found = await temporal.count_workflows(running, rpc_timeout=COUNTING_PATIENCE)
    CONVERSATIONS.set(found.count)


async def count_hand_offs(hand_offs: HandOffStore, now: datetime) -> None:
    """Count those who wait for a person: for whom nobody has come yet, and for an answer."""
    for state in get_args(HandOffGoingOn):
        waiting = await hand_offs.waiting(state)
        oldest = (now - waiting.since).total_seconds() if waiting.since else 0.0
        HAND_OFFS.labels(state).set(waiting.count)
        OLDEST_HAND_OFF.labels(state).set(max(0.0, oldest))


class OrphanCounts(NamedTuple):
    """How many approvals wait for people who have left, and how many requests are theirs."""

    approvals: int
    requests: int


async def count_orphaned(runs: Runs, directory: Directory) -> OrphanCounts:
    """Count the open approvals and requests of people who aren't in the directory."""
    return OrphanCounts(
        sum(one.count for one in await runs.orphaned(directory)),
        sum(one.count for one in await runs.left_behind(directory)),
    )


async def count_stranded(temporal: Client, settings: Settings, now: datetime) -> None:
    """Count the tasks of builds that no worker runs any more."""
    builds = await stranded(temporal, settings.worker_deployment, settings.queues, now)
    STRANDED.clear()
    for build in builds:
        _log.error("%s", build)
        STRANDED.labels(build.build).set(build.tasks)


async def keep_generation(temporal: Client, store: Store, settings: Settings) -> None:
    """Count on in both halves of the house, or say that they aren't of one moment."""
    found = await advance(temporal, store.houses, settings.task_queue)
    APART.set(bool(found.trouble))
    if found.trouble:
        _log.error("%s", found.trouble)


async def look_for_lost_runs(temporal: Client, store: Store, settings: Settings) -> None:
    """Compare runs with their workflows, and tell people of those that have none any more."""
    found = await misfits(temporal, store.runs, settings.task_queue)
    for kind, number in counts(found).items():
        LOST_RUNS.labels(kind).set(number)
    for misfit in found:
        _log.error("%s", misfit)
    lost = [each for each in found if each.kind == "lost" and each.head and not each.head.held]
    if len(lost) > FEW:
        _log.error(
            "%d runs have no workflow, which is no accident: Temporal was restored, or "
            "ROUTER_TEMPORAL_ADDRESS or _NAMESPACE is another's. Nobody is told; see "
            "`intent-router reconcile`",
            len(lost),
        )
        return
    for misfit in lost:
        await note_lost(store, misfit)


DESCRIPTION = """\
The front desk for enterprise chat: rules first, a model second, a person last.

Send `Authorization: Bearer …` with everything under `/v1`. Errors are RFC 9457
`application/problem+json`. Lists answer `{"items", "next"}`; send `next` back as `after`.
"""


class Api(FastAPI):
    """FastAPI with the routes of the core and of extensions, and an OpenAPI document of both."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._parts: list[Routes] = []
        self.state.challenges = {}
        self._include(routes.core_routes())
        self.add_route("/openapi.json", _described, include_in_schema=False)

    def include_extension(self, extension: Extension) -> None:
        """Add the routes of an extension behind those that are there.

        Raises:
            ExtensionConflict: Another route answers for the path of one of them.
        """
        part = extension.routes()
        check_reachable(part.routers, self.routes)
        self._include(part)

    def include_part(self, extension: Extension, state: AppState) -> ApiPart:
        """Add the routes that an extension has with these settings; raises the same."""
        part = extension.api_part(state)
        check_reachable(part.routers, self.routes)
        for router in part.routers:
            self.include_router(router)
        return part

    def _include(self, part: Routes) -> None:
        self._parts.append(part)
        self.state.challenges |= part.challenges
        for router in part.routers:
            self.include_router(router)

    @property
    def body_limits(self) -> dict[str, int | None]:
        """The largest body in bytes, by path, where that isn't the usual one."""
        return {path: most for part in self._parts for path, most in part.body_limits.items()}

    def openapi(self) -> dict[str, Any]:
        """Return the document behind `/openapi.json`."""
        if self.openapi_schema is None:
            schemas = [schema for part in self._parts for schema in part.schemas]
            links = [link for part in self._parts for link in part.links]
            self.openapi_schema = openapi.describe(super().openapi(), schemas, links)
        return self.openapi_schema

    def describe(self) -> asyncio.Task[bytes]:
        """Return the document as JSON, which is made once, beside whatever else is served."""
        if self._description is None:
            self._description = asyncio.create_task(
                run_upkeep(self._write_description), name="describing the API"
            )
        return self._description

    _description: asyncio.Task[bytes] | None = None

    def _write_description(self) -> bytes:
        return bytes(JSONResponse(self.openapi()).body)


def create_app(services: Services) -> FastAPI:
    """The API over these services, ready for any ASGI server."""
    state, settings = AppState.beginning(services), services.settings
    extensions = load_configured(settings)
    running: dict[str, AbstractAsyncContextManager[None]] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        counting = asyncio.create_task(keep_counting(services), name="counting for the metrics")
        monitoring = asyncio.create_task(state.failing_workflows.run(), name="failing workflows")
        app.describe()
        async with webhooks_at_work(services), extensions.keep_running(running):
            yield
        counting.cancel()
        monitoring.cancel()
        await state.turns.close()
        await services.isolated_work.close()

    app = make_api(
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        lifespan=lifespan,
        # FastAPI's own would be a second span and a second metric of each request, and export
        # what exceptions say.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.shared = state
    if settings.auth == "dev":
        app.include_router(people.sign_in)
    app.state.extensions = [each.name for each in extensions]
    extensions.collect(app.include_extension)
    running.update(
        extensions.collect(lambda each: (each.name, app.include_part(each, state).running))
    )
    # Add what every request passes through; the last one added is the first it meets.
    app.add_middleware(BodyLimit, admit=admit, others=app.body_limits)
    _share(app, settings)
    if settings.auth == "dev":
        shared = {f"{codec.PREFIX}/": [settings.temporal_ui], "/": settings.portal_origins}
        app.add_middleware(DevAccess, services.page_token, shared)
    app.add_middleware(SafeHeaders)
    app.add_middleware(ObservabilityMiddleware)
    return app


def _share(app: FastAPI, settings: Settings) -> None:
    """Let pages of Temporal's UI ask the codec, and pages that have the desk in them the desk."""
    app.add_middleware(
        SharedOrigins,
        prefixes=[f"{codec.PREFIX}/"],
        origins=[settings.temporal_ui],
        methods=["POST"],
        headers=["x-namespace"],
    )
    if settings.portal_origins:
        app.add_middleware(
            SharedOrigins,
            prefixes=["/v1/", ASSETS],
            origins=settings.portal_origins,
            methods=["GET", "POST", "DELETE"],
            headers=["x-locale", "idempotency-key", "last-event-id"],
        )


def openapi_document() -> dict[str, Any]:
    """What `/openapi.json` says, without the services that answering takes."""
    app = make_api()
    load_extensions().collect(app.include_extension)
    return app.openapi()


async def _described(request: Request) -> Response:
    return Response(await asyncio.shield(request.app.describe()), media_type="application/json")


def make_api(**options: Any) -> Api:
    """Make the application with the routes of the core, which answer once it has services."""
    title, number = "intent-router", version("intent-router")
    about = {"title": title, "version": number, "description": DESCRIPTION}
    app = Api(openapi_url=None, **about, **options)
    page.mount_assets(app)
    errors.install(app)
    return app


LOOPBACK = "127.0.0.1"
BACKLOG = 512


@dataclass(frozen=True)
class Ports:
    """Where each part listens."""

    api: int = 8000
    temporal: int = 7233
    ui: int = 8233

    @property
    def api_url(self) -> str:
        """The REST API and the chat page."""
        return f"http://{LOOPBACK}:{self.api}"

    def page_url(self, token: str) -> str:
        """The chat page, for a browser that comes for the first time."""
        return f"{self.api_url}/?{PARAMETER}={token}"

    @property
    def temporal_address(self) -> str:
        """The Temporal server, as its clients want it named."""
        return f"{LOOPBACK}:{self.temporal}"

    @property
    def ui_url(self) -> str:
        """The Temporal UI."""
        return f"http://{LOOPBACK}:{self.ui}"


def listening(host: str, port: int) -> socket.socket:
    """A socket for an HTTP server, listening from now on, that sends what it has at once.

    asyncio switches Nagle's algorithm off only for sockets that name their protocol: the last
    piece of an answer would wait up to 40 ms for an acknowledgement. Connections inherit it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.create_server((host, port), family=family, backlog=BACKLOG)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


@contextmanager
def opened(ports: Ports) -> Iterator[socket.socket]:
    """The API's socket, listening from now on, lest Temporal picks its port for an inner part.

    Temporal opens the other two itself, so those can only be tried.
    """
    with _opened(ports.api, "the API", "--port") as api:
        with (
            _opened(ports.temporal, "Temporal", "--temporal-port"),
            _opened(ports.ui, "the Temporal UI", "--ui-port"),
        ):
            pass
        yield api


def _opened(port: int, whose: str, option: str) -> socket.socket:
    try:
        return listening(LOOPBACK, port)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (")[0].lower()
        raise MisconfiguredError(
            f"port {port} for {whose} can't be opened ({reason}): choose another with {option}"
        ) from None


PATIENCE = 30.0
"""Seconds that a full buffer may stay full, and that a request's head may take to come; a reader
empties it, and a sender sends it, in a fraction of one."""
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\r\n"


class ImpatientProtocol(H11Protocol):
    """A connection that is dropped where its peer holds it for nothing for `PATIENCE`.

    It reads nothing of what is written to it, or begins no request. Nor is one kept beyond the
    number that there may be.
    """

    most = 2000
    _unread: asyncio.TimerHandle | None = None
    _unasked: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            _log.warning("there are %d connections: one more is turned away", self.most)
            self.transport.write(_FULL)
            self.transport.close()
            return
        self._expect_a_request()

    def data_received(self, data: bytes) -> None:
        """Some of a request."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._unasked = _stopped(self._unasked)
        elif self._unasked is None:
            self._expect_a_request()

    def _expect_a_request(self) -> None:
        self._unasked = self.loop.call_later(PATIENCE, self._hang_up, "asked")

    def pause_writing(self) -> None:
        """The buffer is full."""
        super().pause_writing()
        self._unread = self.loop.call_later(PATIENCE, self._hang_up, "read")

    def resume_writing(self) -> None:
        """There is room again."""
        super().resume_writing()
        self._unread = _stopped(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over anyway."""
        super().connection_lost(exc)
        self._unread, self._unasked = _stopped(self._unread), _stopped(self._unasked)

    def _hang_up(self, done: str) -> None:
        _log.info("%s has %s nothing for %s seconds and is dropped", self.client, done, PATIENCE)
        self.transport.abort()


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer is not None:
        timer.cancel()
    return None


OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}
SAID_EVERY = 10.0
"""Seconds."""


class AcceptFailures:
    """An event loop's exception handler that says now and then that nobody can be let in.

    asyncio says so for each place in the backlog, hundreds of times a second and with a traceback;
    everything else is said as ever.
    """

    def __init__(self) -> None:
        self._next = -inf

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say it, as asyncio has its handlers do."""
        error = context.get("exception")
        accepts = isinstance(error, OSError) and error.errno in OUT_OF_DESCRIPTORS
        if not (accepts and "socket" in context):
            loop.default_exception_handler(context)
        elif loop.time() >= self._next:
            self._next = loop.time() + SAID_EVERY
            _log.error(
                "no connection can be accepted: %s; let the process open more (ulimit -n, "
                "LimitNOFILE), or lower ROUTER_CONNECTIONS",
                error,
            )


GRACE = 2.0
"""Seconds for requests that are under way when the server is stopped, where nobody says more."""


class ApiServer(uvicorn.Server):
    """uvicorn, but the process's signals stay with whoever composes the process."""

    def __init__(self, app: FastAPI, grace: float) -> None:
        state: AppState = app.state.shared

        class Protocol(ImpatientProtocol):
            most = state.services.settings.connections

        # No log_config: uvicorn's would be a second format beside the process's own.
        config = uvicorn.Config(
            app,
            http=Protocol,
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=ceil(grace),
        )
        super().__init__(config)
        self._hub = state.hub

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Have `serve` end, after requests that are under way or its grace."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, as any server does, and to say so where nobody can be let in."""
        asyncio.get_running_loop().set_exception_handler(AcceptFailures())
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what would never end by itself, and then as any server does."""
        self._hub.close()
        await super().shutdown(sockets)


def api_server(parts: Parts, client: Client, grace: float = GRACE) -> ApiServer:
    """The API over these parts; requests under way when it is stopped have `grace` seconds."""
    store = parts.store
    look_ups = LookUps(parts.directory, store.files, store.documents, parts.dependencies)
    services = Services(
        working_from=look_ups.working_from,
        persona_of=parts.tenants.persona_of,
        hand_off_desk=parts.tenants.hand_off_desk,
        settings=parts.settings,
        temporal=client,
        store=store,
        directory=parts.directory,
        offered=parts.offered,
        reader=parts.reader,
        index=parts.index,
        prompts=parts.prompts,
        configuration=parts.configuration,
        page_token=page_token(parts.settings.data) if parts.settings.auth == "dev" else None,
        currency=parts.prices.currency,
        chains=parts.chains,
        systems=parts.systems,
    )
    return ApiServer(create_app(services), grace)
