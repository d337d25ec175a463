"""What there is right now, counted now and then for the metrics."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.service import RPCError

from router.contracts.conversation import WORKFLOW
from router.domain.errors import RouterError
from router.domain.ports import Runs
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
