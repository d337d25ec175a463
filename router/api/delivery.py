"""One message on its way to its conversation's workflow: an Update with start."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

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
from router.contracts.reaching import AT_HAND, TRANSIENT, persistently, watched
from router.contracts.timeouts import TASK_TIMEOUT
from router.domain.messages import Turn
from router.domain.records import ConversationRecord

_CLOSING = TRANSIENT | {RPCStatusCode.NOT_FOUND}
"""NOT_FOUND is a conversation that was closed while the message was on its way."""


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
        return await watched(operation, delivering)

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
        handle = await watched(operation, accepting)
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
