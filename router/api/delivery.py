"""One message on its way to its conversation's workflow: an Update with start."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCStatusCode

from router.contracts.conversation import (
    SUBMIT,
    WORKFLOW,
    ConversationStart,
    Submission,
    update_id,
    workflow_id,
)
from router.contracts.reaching import TRANSIENT, persistently
from router.contracts.timeouts import TASK_TIMEOUT
from router.domain.messages import Turn
from router.domain.records import ConversationRecord

AT_HAND = 0.1
"""Seconds to take up an outcome, or an error, that is there already."""

_CLOSING = TRANSIENT | {RPCStatusCode.NOT_FOUND}
"""NOT_FOUND is a conversation that was closed while the message was on its way."""

Out = TypeVar("Out")


class Delivery:
    """A message, its conversation, and the update that takes one to the other.

    A conversation that the message begins has this `share` of the workers.
    """

    def __init__(
        self,
        temporal: Client,
        task_queue: str,
        conversation: ConversationRecord,
        submission: Submission,
        share: Priority = Priority.default,
    ) -> None:
        self._share = share
        self._temporal = temporal
        self._task_queue = task_queue
        self._record = conversation
        self._submission = submission
        self.workflow_id = workflow_id(conversation.tenant, conversation.id)
        self.conversation = conversation.id
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
            async with asyncio.timeout(AT_HAND):
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
            task_timeout=TASK_TIMEOUT,
            priority=self._share,
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
            async with asyncio.timeout(AT_HAND):
                await operation.workflow_handle()
        raise
