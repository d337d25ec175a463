"""Whether this process can do its work: what it needs, asked one by one and all at once."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import BaseModel
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from router.api.deps import Services
from router.domain.errors import RouterError, Unavailable
from router.domain.ports import Conversations
from router.domain.principals import DEFAULT_TENANT
from router.llm.reach import Reach
from router.settings import Settings

PATIENCE = 2.0
LATELY = timedelta(seconds=90)
"""A worker's poll stays open for a minute, and counts from when it began."""

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
        _checked(_worker(services.temporal, services.settings.task_queue)),
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


async def _worker(client: Client, task_queue: str) -> str:
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        ),
        timeout=timedelta(seconds=PATIENCE),
    )
    since = datetime.now(UTC) - LATELY
    polled = (p.last_access_time.ToDatetime(tzinfo=UTC) for p in answer.pollers)
    if not any(at > since for at in polled):
        raise Unavailable(f"none polls the task queue {task_queue!r}: start `intent-router worker`")
    return f"polls {task_queue!r}"


async def _database(conversations: Conversations) -> str:
    await conversations.find(DEFAULT_TENANT, "-")
    return "answers"
