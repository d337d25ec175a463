"""Messages on their way to a conversation's workflow, and turns on their way back.

A message is an Update with start: the workflow is begun by its first message, and again by
the first one after it was closed. The turn runs on in Temporal whatever happens here, so
that a request may give up waiting, or be repeated, without harm.
"""

import asyncio
from asyncio import FIRST_COMPLETED
from collections import defaultdict
from collections.abc import Callable
from time import monotonic
from typing import Any

from temporalio.client import Client

from router.api.backlog import Backlog
from router.api.delivery import Delivery
from router.contracts.conversation import MAX_OPEN_TURNS, WORKFLOW, Submission
from router.contracts.fairness import Fairness
from router.domain.errors import TooManyRequests, Unavailable
from router.domain.messages import Turn
from router.domain.records import ConversationRecord
from router.telemetry import spans
from router.telemetry.about import about
from router.telemetry.metrics import ROUTES, TURNS

ACCEPTANCE = 5.0
"""Seconds within which a worker takes a message in, where there is one at all."""
AT_ONCE = 0.1
"""Seconds within which most turns are over; only of a longer one it is asked if it was begun."""
SURE_AFTER = 1.0
"""Seconds that somebody waits for a turn before it is asked if it was begun: where no worker is
left they hear so, rather than wait for nothing as long as they would for an answer."""
BUSY_RETRY = 2
NOT_TAKEN = "No worker took the message in; send it again with the same message_id."


class Turns:
    """The turns that this process waits for: at most six of a conversation.

    None is begun while the `backlog`, where there is one, is too long.
    """

    def __init__(
        self,
        temporal: Client,
        task_queue: str,
        backlog: Backlog | None = None,
        fairness: Fairness | None = None,
    ) -> None:
        self._temporal = temporal
        self._task_queue = task_queue
        self._backlog = backlog
        self._fairness = fairness or Fairness()
        self._open: dict[str, dict[str, asyncio.Task[Turn]]] = defaultdict(dict)

    async def submit(
        self, conversation: ConversationRecord, submission: Submission, wait: float
    ) -> Turn | None:
        """The turn that answers the message; None where it takes longer than `wait` seconds.

        Raises:
            TooManyRequests: six turns of the conversation wait or run already.
            Unavailable: nobody took the message in, or the workers are too far behind to try.
            RouterError: the conversation refuses it.
        """
        delivery = self._delivery(conversation, submission)
        task = self._begin(delivery)
        done, _ = await asyncio.wait({task}, timeout=min(wait, SURE_AFTER))
        if not done:
            await self._make_sure(delivery, task)
            await asyncio.wait({task}, timeout=max(0.0, wait - SURE_AFTER))
        return outcome(task) if task.done() else None

    async def take(
        self,
        conversation: ConversationRecord,
        submission: Submission,
        sign: "asyncio.Future[Any]",
    ) -> asyncio.Task[Turn]:
        """The turn while it runs, as soon as it is certain that the message was taken in.

        `sign` is done when anything is heard of the turn, which is certainty enough. Raises
        what `submit` raises, where that comes out before.
        """
        delivery = self._delivery(conversation, submission)
        turn = self._begin(delivery)
        await asyncio.wait({turn, sign}, timeout=AT_ONCE, return_when=FIRST_COMPLETED)
        if not turn.done() and not sign.done():
            sure = asyncio.create_task(self._make_sure(delivery, turn))
            try:
                await asyncio.wait({turn, sign, sure}, return_when=FIRST_COMPLETED)
                if sure.done():
                    sure.result()
            finally:
                sure.cancel()
        if turn.done():
            outcome(turn)
        return turn

    async def close(self) -> None:
        """Stop waiting; the turns go on without."""
        tasks = [task for waiting in self._open.values() for task in waiting.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _delivery(self, conversation: ConversationRecord, submission: Submission) -> Delivery:
        share = self._fairness.share(conversation.tenant, conversation.owner)
        return Delivery(self._temporal, self._task_queue, conversation, submission, share)

    def _begin(self, delivery: Delivery) -> asyncio.Task[Turn]:
        """The one task that carries this message, however often it is sent."""
        waiting = self._open.get(delivery.workflow_id, {})
        if (under_way := waiting.get(delivery.update_id)) is not None:
            return under_way
        _refuse_seventh(waiting, delivery.message_id)
        if self._backlog is not None:
            self._backlog.check()
        task = asyncio.create_task(_observed(delivery))
        self._open[delivery.workflow_id][delivery.update_id] = task
        task.add_done_callback(self._forgetting(delivery))
        return task

    def _forgetting(self, delivery: Delivery) -> Callable[[asyncio.Task[Turn]], None]:
        def forget(task: asyncio.Task[Turn]) -> None:
            waiting = self._open[delivery.workflow_id]
            del waiting[delivery.update_id]
            if not waiting:
                del self._open[delivery.workflow_id]
            if not task.cancelled():
                task.exception()  # nobody may be left to hear of it

        return forget

    @staticmethod
    async def _make_sure(delivery: Delivery, task: asyncio.Task[Turn]) -> None:
        """Before a caller is told that the turn runs: that it was taken in."""
        try:
            async with asyncio.timeout(ACCEPTANCE):
                await delivery.accepted()
        except (TimeoutError, Unavailable) as error:
            task.cancel()
            raise Unavailable(NOT_TAKEN) from error


async def _observed(delivery: Delivery) -> Turn:
    """The turn, as operators see it: a span and a measurement, from here to its end."""
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": WORKFLOW,
        "gen_ai.conversation.id": delivery.conversation,
        "router.message.id": delivery.message_id,
    }
    began = monotonic()
    with (
        about(delivery.conversation, delivery.message_id),
        spans.span(f"invoke_workflow {WORKFLOW}", attributes=attributes) as span,
    ):
        turn = await delivery.complete()
        route = turn.route
        span.set_attributes({"router.route.kind": route.kind, "router.route.by": route.by})
    TURNS.labels(route.kind, route.by, turn.status).observe(monotonic() - began)
    for each in turn.routes or [route]:
        ROUTES.labels(each.kind, each.by).inc()
    return turn


def outcome(task: asyncio.Task[Turn]) -> Turn:
    """What the finished task came to; raises what the conversation, or its absence, did."""
    if task.cancelled():
        raise Unavailable(NOT_TAKEN)
    return task.result()


def _message_of(update: str) -> str:
    return update.rpartition(":")[0]


def _refuse_seventh(waiting: dict[str, asyncio.Task[Turn]], message_id: str) -> None:
    messages = {_message_of(update) for update in waiting}
    if message_id not in messages and len(messages) >= MAX_OPEN_TURNS:
        raise TooManyRequests(
            f"{MAX_OPEN_TURNS} turns of this conversation wait or run; wait for one to end.",
            retry_after=BUSY_RETRY,
        )
