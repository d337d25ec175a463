"""Waiting until nothing is under way any more, which the histories of workflows tell."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from router.domain.errors import Unavailable

PATIENCE = 20.0
"""Seconds of real time: nothing in a story takes so long by itself."""
_LOOK_AGAIN = 0.004

_BEGIN = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    }
)
_END = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
        EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
        EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
    }
)
_OVER = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
    }
)


@dataclass(frozen=True)
class Glance:
    """A workflow at one moment."""

    length: int
    """Events of its history."""
    busy: bool


Workflows = Callable[[], Awaitable[Iterable[str]]]


async def settled(client: Client, workflows: Workflows, hopeless: Collection[str] = ()) -> None:
    """Return when none of the workflows (by id) has anything under way.

    One tells another before it is done itself, so that two looks at all of them that see the
    same, with nobody busy, have missed nothing. Tries of `hopeless` activities, by type, come
    to nothing, and nobody waits for the next one.

    Raises:
        Unavailable: they don't come to rest.
    """
    before: list[Glance] | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                now = [await _glance(client, id_, hopeless) for id_ in await workflows()]
                if now == before and not any(glance.busy for glance in now):
                    return
                before = now
                await asyncio.sleep(_LOOK_AGAIN)
    except TimeoutError:
        raise Unavailable(
            f"the story's workflows are still at work after {PATIENCE:g} s: a machine with "
            "more to spare is needed, or one of them can't end"
        ) from None


async def _glance(client: Client, workflow_id: str, hopeless: Collection[str]) -> Glance:
    handle = client.get_workflow_handle(workflow_id)
    try:
        described = await handle.describe()
        history = await handle.fetch_history()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return Glance(0, busy=False)
    # The test server says of a call that waits for its next try that it is being made.
    resting = sum(
        each.attempt > 1 and each.activity_type.name in hopeless
        for each in described.raw_description.pending_activities
    )
    return Glance(len(history.events), under_way(history.events) > resting)


def under_way(events: Iterable[HistoryEvent]) -> int:
    """Tasks of the workflow, and activities of its, that were begun and haven't ended."""
    begun = 0
    for event in events:
        begun += (event.event_type in _BEGIN) - (event.event_type in _END)
        if event.event_type in _OVER:
            return 0
    return begun
