"""Messages on their way to a conversation's workflow, and turns on their way back.

A message is an Update with start: the workflow is begun by its first message, and again by
the first one after it was closed. The turn runs on in Temporal whatever happens here, so
that a request may give up waiting, or be repeated, without harm.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCStatusCode

from router.api.temporal import TRANSIENT, persistently
from router.contracts.conversation import (
    MAX_OPEN_TURNS,
    SUBMIT,
    WORKFLOW,
    ConversationStart,
    Submission,
    update_id,
    workflow_id,
)
from router.domain.errors import TooManyRequests, Unavailable
from router.domain.messages import Turn
from router.domain.records import ConversationRecord

ACCEPTANCE = 5.0
"""Seconds within which a worker takes a message in, where there is one at all."""
DECODING = 0.1
"""Seconds to read an outcome that is there already."""
BUSY_RETRY = 2
NOT_TAKEN = "No worker took the message in; send it again with the same message_id."

_CLOSING = TRANSIENT | {RPCStatusCode.NOT_FOUND}
"""NOT_FOUND is a conversation that was closed while the message was on its way."""

Out = TypeVar("Out")


class Turns:
    """The turns that this process waits for: at most six of a conversation."""

    def __init__(self, temporal: Client, task_queue: str) -> None:
        self._temporal = temporal
        self._task_queue = task_queue
        self._open: dict[str, dict[str, asyncio.Task[Turn]]] = defaultdict(dict)

    async def submit(
        self, conversation: ConversationRecord, submission: Submission, wait: float
    ) -> Turn | None:
        """The turn that answers the message; None where it takes longer than `wait` seconds.

        Raises:
            TooManyRequests: six turns of the conversation wait or run already.
            Unavailable: nobody took the message in.
            RouterError: the conversation refuses it.
        """
        delivery = _Delivery(self._temporal, self._task_queue, conversation, submission)
        task = self._begin(delivery)
        done, _ = await asyncio.wait({task}, timeout=wait)
        if not done:
            await self._make_sure(delivery, task)
        return _outcome(task) if task.done() else None

    async def close(self) -> None:
        """Stop waiting; the turns go on without."""
        tasks = [task for waiting in self._open.values() for task in waiting.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, delivery: "_Delivery") -> asyncio.Task[Turn]:
        """The one task that carries this message, however often it is sent."""
        waiting = self._open[delivery.workflow_id]
        if (under_way := waiting.get(delivery.update_id)) is not None:
            return under_way
        _refuse_seventh(waiting, delivery.message_id)
        task = asyncio.create_task(delivery.complete())
        waiting[delivery.update_id] = task
        task.add_done_callback(self._forgetting(delivery))
        return task

    def _forgetting(self, delivery: "_Delivery") -> Callable[[asyncio.Task[Turn]], None]:
        def forget(task: asyncio.Task[Turn]) -> None:
            waiting = self._open[delivery.workflow_id]
            del waiting[delivery.update_id]
            if not waiting:
                del self._open[delivery.workflow_id]
            if not task.cancelled():
                task.exception()  # nobody may be left to hear of it

        return forget

    @staticmethod
    async def _make_sure(delivery: "_Delivery", task: asyncio.Task[Turn]) -> None:
        """Before a caller is told that the turn runs: that it was taken in."""
        try:
            async with asyncio.timeout(ACCEPTANCE):
                await delivery.accepted()
        except (TimeoutError, Unavailable) as error:
            task.cancel()
            raise Unavailable(NOT_TAKEN) from error


def _outcome(task: asyncio.Task[Turn]) -> Turn:
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


class _Delivery:
    """One message for one conversation, as the update that carries it."""

    def __init__(
        self,
        temporal: Client,
        task_queue: str,
        conversation: ConversationRecord,
        submission: Submission,
    ) -> None:
        self._temporal = temporal
        self._task_queue = task_queue
        self._record = conversation
        self._submission = submission
        self.workflow_id = workflow_id(conversation.tenant, conversation.id)
        self.message_id = submission.message_id
        self.update_id = update_id(submission.message_id, submission.message.digest)

    async def complete(self) -> Turn:
        """Deliver it and wait for the turn."""
        return await persistently(self._complete, _CLOSING)

    async def accepted(self) -> None:
        """Wait until the workflow has taken it in; the same update id delivers nothing twice."""
        await persistently(self._accept, _CLOSING)

    async def _complete(self) -> Turn:
        operation = self._start()
        delivering: Awaitable[Turn] = self._temporal.execute_update_with_start_workflow(
            SUBMIT,
            self._submission,
            start_workflow_operation=operation,
            id=self.update_id,
            result_type=Turn,
        )
        return await _watched(operation, delivering)

    async def _accept(self) -> None:
        operation = self._start()
        accepting = self._temporal.start_update_with_start_workflow(
            SUBMIT,
            self._submission,
            start_workflow_operation=operation,
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
            id=self.update_id,
            result_type=Turn,
        )
        handle = await _watched(operation, accepting)
        # A refusal is an outcome, not an error of this call, and has come along with it.
        with suppress(TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            async with asyncio.timeout(DECODING):
                await handle.result()

    def _start(self) -> WithStartWorkflowOperation[Any, Any]:
        record = self._record
        return WithStartWorkflowOperation(
            WORKFLOW,
            ConversationStart(
                tenant=record.tenant,
                conversation=record.id,
                owner=record.owner,
                locale=record.locale,
            ),
            id=self.workflow_id,
            task_queue=self._task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            static_summary=f"Conversation of {record.owner}",
        )


async def _watched(operation: WithStartWorkflowOperation[Any, Any], call: Awaitable[Out]) -> Out:
    """Await the call; where it fails, pick up the error that the client left in `operation` too.

    Otherwise every refused message is logged as an exception that was never retrieved.
    """
    try:
        return await call
    except Exception:
        with suppress(Exception):
            async with asyncio.timeout(ACCEPTANCE):
                await operation.workflow_handle()
        raise
