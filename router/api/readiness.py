"""Whether this process can do its work: what it needs, asked one by one and all at once."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import timedelta
from typing import Literal

from pydantic import BaseModel
from temporalio.client import Client
from temporalio.service import RPCError

from router.api.deps import Services
from router.api.polled import is_polled
from router.domain.errors import RouterError, Unavailable
from router.domain.ports import Conversations
from router.domain.principals import DEFAULT_TENANT
from router.llm.reach import Reach
from router.settings import Settings

PATIENCE = 2.0

State = Literal["ready", "degraded", "down"]
_WORST_FIRST: tuple[State, ...] = ("down", "degraded", "ready")


class Check(BaseModel):
    """One thing that is needed, and how it is."""

    status: State
    detail: str


class Checks(BaseModel):
    """Everything that is needed."""

    temporal: Check
    worker: Check
    database: Check
    llm: Check
    embedder: Check


class Readiness(BaseModel):
    """How ready the process is: as ready as the worst of its checks."""

    status: State
    checks: Checks


async def readiness(services: Services, reach: Reach) -> Readiness:
    """Ask everything that this process needs, for two seconds at most."""
    temporal, worker, database, llm = await asyncio.gather(
        _checked(_temporal(services.temporal)),
        _checked(_worker(services.temporal, services.settings.queues)),
        _checked(_database(services.store.conversations)),
        _llm(services.settings, reach),
    )
    checks = Checks(
        temporal=temporal,
        worker=worker,
        database=database,
        llm=llm,
        embedder=_embedder(services),
    )
    states = {check.status for _, check in checks}
    return Readiness(status=next(s for s in _WORST_FIRST if s in states), checks=checks)


def _embedder(services: Services) -> Check:
    """Which encoder there is, and how it fared when it was last asked."""
    if trouble := services.index.trouble:
        return Check(status="degraded", detail=f"words alone are searched: {trouble}")
    return Check(status="ready", detail=services.settings.embedder)


async def _llm(settings: Settings, reach: Reach) -> Check:
    """Which models would be asked, and whether the server of one of them can be."""
    models = ", then ".join(f"{m.model} at {m.base_url}" for m in settings.models)
    if not models:
        detail = "none configured: rules decide, and offer what can be done"
        return Check(status="degraded", detail=detail)
    trouble = await reach.trouble()
    if all(trouble):
        return Check(status="degraded", detail="; ".join(map(str, trouble)))
    return Check(status="ready", detail=models)


async def _checked(asking: Awaitable[str]) -> Check:
    try:
        async with asyncio.timeout(PATIENCE):
            return Check(status="ready", detail=await asking)
    except TimeoutError:
        return Check(status="down", detail=f"no answer within {PATIENCE:g} s")
    except (RouterError, RPCError) as error:
        return Check(status="down", detail=str(error))


async def _temporal(client: Client) -> str:
    if not await client.service_client.check_health(timeout=timedelta(seconds=PATIENCE)):
        raise Unavailable("the server says that it isn't serving")
    return client.service_client.config.target_host


async def _worker(client: Client, queues: Sequence[str]) -> str:
    polled = await asyncio.gather(*(is_polled(client, queue) for queue in queues))
    idle = [repr(queue) for queue, is_so in zip(queues, polled, strict=True) if not is_so]
    if idle:
        raise Unavailable(
            f"none polls the task queue {', '.join(idle)}: start `intent-router worker`"
        )
    return f"polls {', '.join(map(repr, queues))}"


async def _database(conversations: Conversations) -> str:
    await conversations.find(DEFAULT_TENANT, "-")
    return "answers"
