"""Waiting until nothing is under way any more, which the histories of workflows tell."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from router.domain.errors import Unavailable

PATIENCE = 60.0
"""Seconds of real time: nothing in a story takes so long by itself."""
SOON = timedelta(seconds=1)
"""A timer of at most so long comes by itself, without time passing in the story: a run lets its
last results become durable for a millisecond before it ends."""
_LOOK_AGAIN = 0.004


def _types(*names: str) -> frozenset[int]:
    return frozenset(EventType.Value(f"EVENT_TYPE_{name}") for name in names)


_BEGIN = _types(
    "ACTIVITY_TASK_SCHEDULED",
    "START_CHILD_WORKFLOW_EXECUTION_INITIATED",
    "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED",
)
_END = _types(
    *(f"ACTIVITY_TASK_{how}" for how in ("COMPLETED", "FAILED", "TIMED_OUT", "CANCELED")),
    *("CHILD_WORKFLOW_EXECUTION_STARTED", "START_CHILD_WORKFLOW_EXECUTION_FAILED"),
    *("EXTERNAL_WORKFLOW_EXECUTION_SIGNALED", "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED"),
)
_WAYS_OUT = ("completed", "failed", "terminated", "canceled", "timed_out")
_OVER = _types(*(f"WORKFLOW_EXECUTION_{how.upper()}" for how in _WAYS_OUT))


@dataclass
class HistoryAccount:
    """What a history says, event by event, of work that comes to its end by itself."""

    task: bool = True
    """Of the workflow itself: the first is owed from the start, one that failed comes again."""
    begun: int = 0
    """Activities, and what other workflows were asked for, without an end to it."""
    timers: set[str] = field(default_factory=set)
    children: set[str] = field(default_factory=set)
    """Ids of workflows that were started and whose end wasn't heard of."""
    over: bool = False

    @classmethod
    def of(cls, events: Iterable[HistoryEvent]) -> "HistoryAccount":
        """The account after all of these."""
        account = cls()
        for event in events:
            account._note(event)
        return account

    @property
    def under_way(self) -> int:
        """How much there is of it."""
        return 0 if self.over else self.task + self.begun + len(self.timers)

    def _note(self, event: HistoryEvent) -> None:
        kind = event.event_type
        if kind == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
            self.task = True
        elif kind == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            self.task = False
        self.begun += (kind in _BEGIN) - (kind in _END)
        self.over = self.over or kind in _OVER
        begun = event.timer_started_event_attributes
        if begun.timer_id and begun.start_to_fire_timeout.ToTimedelta() <= SOON:
            self.timers.add(begun.timer_id)
        self.timers.discard(event.timer_fired_event_attributes.timer_id)
        self.timers.discard(event.timer_canceled_event_attributes.timer_id)
        child = event.child_workflow_execution_started_event_attributes.workflow_execution
        if child.workflow_id:
            self.children.add(child.workflow_id)
        for how in _WAYS_OUT:
            ended = getattr(event, f"child_workflow_execution_{how}_event_attributes")
            self.children.discard(ended.workflow_execution.workflow_id)


def due_next(events: Iterable[HistoryEvent]) -> datetime | None:
    """When the next timer of a history rings, in the server's time; None where there is none."""
    due: dict[str, datetime] = {}
    for event in events:
        begun = event.timer_started_event_attributes
        if begun.timer_id:
            at = event.event_time.ToDatetime(UTC)
            due[begun.timer_id] = at + begun.start_to_fire_timeout.ToTimedelta()
        due.pop(event.timer_fired_event_attributes.timer_id, None)
        due.pop(event.timer_canceled_event_attributes.timer_id, None)
        if event.event_type in _OVER:
            return None
    return min(due.values(), default=None)


@dataclass(frozen=True)
class Glance:
    """A workflow at one moment."""

    length: int
    busy: bool
    over: bool = False
    children: frozenset[str] = frozenset()
    """Those it has started and not heard the end of."""


Workflows = Callable[[], Awaitable[Iterable[str]]]


async def settled(client: Client, workflows: Workflows, hopeless: Collection[str] = ()) -> None:
    """Return when none of the workflows (by id), or of those they have started, is at work.

    One tells another before it is done itself, so that two looks at all of them that see the
    same, with nobody busy, have missed nothing. Nobody waits for tries of `hopeless` activities.
    Raises `Unavailable` where they don't come to rest.
    """
    before: Mapping[str, Glance] | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                now = await _look(client, await workflows(), hopeless)
                if now == before and not at_work(now):
                    return
                before = now
                await asyncio.sleep(_LOOK_AGAIN)
    except TimeoutError:
        raise Unavailable(
            f"the story's workflows are still at work after {PATIENCE:g} s "
            f"({await _busy_with(client, before or {})}): a machine with more to spare is needed, "
            "or one of them can't end"
        ) from None


def at_work(seen: Mapping[str, Glance]) -> bool:
    """True where one is busy, or is yet to hear that another which it has started is over."""
    return any(
        glance.busy or (not glance.over and any(seen[child].over for child in glance.children))
        for glance in seen.values()
    )


async def _busy_with(client: Client, seen: Mapping[str, Glance]) -> str:
    """Which of them are busy, and with what, for whoever is to find out why."""
    found = []
    for id_, glance in seen.items():
        if glance.busy:
            described = await client.get_workflow_handle(id_).describe()
            doing = [
                f"{each.activity_type.name}, try {each.attempt}"
                for each in described.raw_description.pending_activities
            ]
            found.append(f"{id_}: {'; '.join(doing) or 'its own task, or another workflow'}")
    return " and ".join(found) or "they follow one another without a rest"


async def _look(
    client: Client, workflows: Iterable[str], hopeless: Collection[str]
) -> dict[str, Glance]:
    """Each of them by id, and those they have started: a run is listed only once it says so."""
    seen: dict[str, Glance] = {}
    left = [*workflows]
    while left:
        id_ = left.pop()
        if id_ not in seen:
            seen[id_] = await _glance(client, id_, hopeless)
            left += seen[id_].children
    return seen


async def _glance(client: Client, workflow_id: str, hopeless: Collection[str]) -> Glance:
    handle = client.get_workflow_handle(workflow_id)
    try:
        history = await handle.fetch_history()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return Glance(0, busy=False)
    account = HistoryAccount.of(history.events)
    resting = await _resting(handle, hopeless) if hopeless and account.under_way else 0
    return Glance(
        len(history.events),
        busy=account.under_way > resting,
        over=account.over,
        children=frozenset(account.children),
    )


async def _resting(handle: WorkflowHandle[Any, Any], hopeless: Collection[str]) -> int:
    """How many calls wait for a try that comes to nothing; the server says that they are made."""
    described = await handle.describe()
    return sum(
        each.attempt > 1 and each.activity_type.name in hopeless
        for each in described.raw_description.pending_activities
    )
