"""Is it alive, is it ready: for load balancers and people."""

import asyncio
import shutil
from collections.abc import Awaitable
from datetime import timedelta
from time import monotonic
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, BaseModel
from temporalio.client import Client
from temporalio.service import RPCError

from router.api.dependencies import AppState, Services
from router.domain.errors import RouterError, Unavailable
from router.gateway.builds import is_polled, waiting_seconds
from router.gateway.failing_workflows import FailingWorkflowMonitor, describe_briefly
from router.gateway.generations import halves
from router.llm.health import ModelAddress, ModelHealth
from router.secrecy.redaction import bare_addresses

PATIENCE = 2.0
MEBIBYTE = 2**20
LITTLE = 256 * MEBIBYTE
"""Free space below which somebody has to make room: some days of a busy house."""
FRESH = 1.0
"""Seconds that an answer counts: whoever asks more often gets the same, and nobody is asked."""

HealthState = Literal["ready", "degraded", "down"]
_WORST_FIRST: tuple[HealthState, ...] = ("down", "degraded", "ready")


class ReadinessCheck(BaseModel):
    """One thing that is needed, and how it is."""

    status: HealthState
    detail: Annotated[str, AfterValidator(bare_addresses)]


class Checks(BaseModel):
    """Everything that is needed."""

    temporal: ReadinessCheck
    worker: ReadinessCheck
    database: ReadinessCheck
    llm: ReadinessCheck
    embedder: ReadinessCheck
    workflows: ReadinessCheck
    """Degraded where the tasks of some fail again and again, or where that can't be told."""


class Readiness(BaseModel):
    """How ready the process is: as ready as the worst of its checks."""

    status: HealthState
    checks: Checks


class Probe:
    """Asks everything that this process needs, all at once and for two seconds at most."""

    def __init__(self, services: Services, failing_workflows: FailingWorkflowMonitor) -> None:
        self._services = services
        self._failing_workflows = failing_workflows
        models = services.settings.models
        self._models = ModelHealth(
            [ModelAddress(m.base_url, m.api_key, m.protocol) for m in models]
        )
        self._asking = asyncio.Lock()
        self._found: Readiness | None = None
        self._at = -FRESH

    async def readiness(self) -> Readiness:
        """How it all is, as of a second ago at most."""
        async with self._asking:
            if self._found is None or monotonic() - self._at >= FRESH:
                self._found, self._at = await self._asked(), monotonic()
            return self._found

    async def _asked(self) -> Readiness:
        services = self._services
        temporal, worker, database, llm, workflows = await asyncio.gather(
            _checked(_temporal(services.temporal)),
            _checked(_worker(services)),
            self._database(),
            self._llm(),
            _check_workflows(self._failing_workflows),
        )
        embedder = ReadinessCheck(status="ready", detail=services.settings.embedder)
        if trouble := services.index.trouble:
            detail = f"words alone are searched: {trouble}"
            embedder = ReadinessCheck(status="degraded", detail=detail)
        checks = Checks(
            temporal=temporal,
            worker=worker,
            database=database,
            llm=llm,
            embedder=embedder,
            workflows=workflows,
        )
        states = {check.status for _, check in checks}
        return Readiness(status=next(s for s in _WORST_FIRST if s in states), checks=checks)

    async def _database(self) -> ReadinessCheck:
        check = await _checked(self._written())
        if check.status == "down":
            check = await self._overloaded() or check
        folder = self._services.settings.data
        free = shutil.disk_usage(folder if folder.exists() else ".").free
        if check.status == "ready" and free < LITTLE:
            detail = f"answers, but {free // MEBIBYTE} MiB are left where ROUTER_DATA is: make room"
            return ReadinessCheck(status="degraded", detail=detail)
        return check

    async def _overloaded(self) -> ReadinessCheck | None:
        """Return a degraded check if the database answers, but has no connection left for us.

        Sending the load of this process to others would only make them as busy.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                detail = await self._services.store.health_checks.overload()
        except (TimeoutError, Unavailable):
            return None
        return ReadinessCheck(status="degraded", detail=detail) if detail else None

    async def _written(self) -> str:
        services = self._services
        await services.store.health_checks.write("readyz")
        queue = services.settings.task_queue
        if trouble := (await halves(services.temporal, services.store.houses, queue)).trouble:
            raise Unavailable(trouble)
        return "takes rows"

    async def _llm(self) -> ReadinessCheck:
        models = self._services.settings.models
        if not models:
            detail = "none configured: rules decide, and offer what can be done"
            return ReadinessCheck(status="degraded", detail=detail)
        trouble = [one for one in await self._models.trouble() if one]
        named = [f"{m.model} at {m.base_url}" for m in models]
        states = self._services.chains.states
        alone = [
            f"{name} is left alone until it answers a trial and has read ahead"
            for name, state in states.items()
            if state != "closed"
        ]
        if len(trouble) == len(models) or (alone and len(alone) == len(states)):
            return ReadinessCheck(status="degraded", detail="; ".join(trouble or alone))
        return ReadinessCheck(
            status="ready", detail="; ".join([", then ".join(named), *trouble, *alone])
        )


async def _checked(asking: Awaitable[str]) -> ReadinessCheck:
    try:
        async with asyncio.timeout(PATIENCE):
            return ReadinessCheck(status="ready", detail=await asking)
    except TimeoutError:
        return ReadinessCheck(status="down", detail=f"no answer within {PATIENCE:g} s")
    except (RouterError, RPCError) as error:
        return ReadinessCheck(status="down", detail=str(error))


async def _check_workflows(failing_workflows: FailingWorkflowMonitor) -> ReadinessCheck:
    """Report the last look, which costs nothing; never down, since other workflows continue."""
    try:
        async with asyncio.timeout(PATIENCE):
            state = await failing_workflows.latest()
    except TimeoutError:
        detail = f"can't be told: no answer within {PATIENCE:g} s"
        return ReadinessCheck(status="degraded", detail=detail)
    detail = "; ".join(part for part in (state.trouble, describe_briefly(state.found)) if part)
    if detail:
        return ReadinessCheck(status="degraded", detail=detail)
    return ReadinessCheck(status="ready", detail="no workflow's task fails again and again")


async def _temporal(client: Client) -> str:
    if not await client.service_client.check_health(timeout=timedelta(seconds=PATIENCE)):
        raise Unavailable("the server says that it isn't serving")
    return client.service_client.config.target_host


async def _worker(services: Services) -> str:
    client, settings = services.temporal, services.settings
    # Whoever counts for the metrics keeps the clock.
    queues, now = settings.queues, services.store.clock()
    polled = await asyncio.gather(*(is_polled(client, queue, now) for queue in queues))
    idle = [repr(queue) for queue, is_so in zip(queues, polled, strict=True) if not is_so]
    if idle:
        raise Unavailable(
            f"none that takes new work polls the task queue {', '.join(idle)}: start "
            "`intent-router worker`, and make its build current where it has one"
        )
    waited = await waiting_seconds(client, settings.task_queue)
    if waited >= settings.backlog_seconds:
        raise Unavailable(
            f"work waits for {waited:.0f} s: workers are too few, or stopped in the middle"
        )
    return f"polls {', '.join(map(repr, queues))}"


router = APIRouter(tags=["health"])


class Alive(BaseModel):
    """The process answers."""

    status: str = "ok"


@router.get("/healthz")
async def healthz() -> Alive:
    """Answer as long as the process runs; it asks nothing of anything else."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def readyz(request: Request, response: Response) -> Readiness:
    """Say what works, what works less well, and what doesn't; 503 where nothing can be done."""
    kept = request.app.state
    if not hasattr(kept, "probe"):
        state = AppState.of(request)
        kept.probe = Probe(state.services, state.failing_workflows)
    found: Readiness = await kept.probe.readiness()
    if found.status == "down":
        response.status_code = 503
    return found
