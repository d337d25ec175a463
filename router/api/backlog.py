"""How far the workers are behind, so that nobody's message is added to what they can't do.

Temporal knows how long the oldest task of a queue has waited. It is asked in the background, at
most once a second and only while messages come: none of them waits for the answer.

Tasks of conversations that a worker has in its cache go to that worker first. One that has no time
for them loses them to this queue after a second (`router.worker.MISSED_AFTER`), so a worker that
is overloaded shows here like one that is gone.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from time import monotonic

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from router.domain.errors import Unavailable
from router.domain.texts import Localised
from router.telemetry.metrics import BACKLOG, REFUSED

FRESH = 1.0
"""Seconds that a measurement is good for."""
STALE = 10.0
"""Seconds after which it says nothing any more: nobody is refused for what was long ago."""
PATIENCE = timedelta(seconds=2)
BUSY = Localised(
    zh="现在太忙了，消息没有收下，请稍后再发一次",
    en="It is too busy right now and the message wasn't taken; send it again in a moment.",
)

_log = logging.getLogger(__name__)


class Backlog:
    """Refuses messages while the oldest task has waited for `most` seconds or longer."""

    def __init__(
        self,
        temporal: Client,
        task_queue: str,
        most: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._temporal = temporal
        self._task_queue = task_queue
        self._most = most
        self._clock = clock
        self._age = 0.0
        self._at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Return where one more message can be taken; never waits.

        Raises:
            Unavailable: the workers are too far behind.
        """
        since = self._clock() - self._at
        if since > FRESH and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self.look(), name="looking at the backlog")
        if since <= STALE and self._age >= self._most:
            REFUSED.labels("backlog").inc()
            raise Unavailable(BUSY)

    async def look(self) -> None:
        """Measure it. Where Temporal doesn't tell, nobody is refused for it."""
        try:
            self._age = await self._oldest()
        except RPCError as error:
            _log.warning("the backlog of %s isn't known: %s", self._task_queue, error.message)
            self._age = 0.0
        self._at = self._clock()
        BACKLOG.set(self._age)

    async def _oldest(self) -> float:
        """Seconds that the oldest task of a workflow has waited; 0 where none waits."""
        answer = await self._temporal.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=self._temporal.namespace,
                task_queue=TaskQueue(name=self._task_queue),
                task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
                report_stats=True,
            ),
            timeout=PATIENCE,
        )
        if not answer.stats.approximate_backlog_count:
            return 0.0
        return answer.stats.approximate_backlog_age.ToTimedelta().total_seconds()
