"""What people who help do with a conversation that was handed to them, told to its workflow."""

from typing import Any

from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCStatusCode

from router.contracts.conversation import (
    ATTEND,
    WORKFLOW,
    ConversationStart,
    HandOffDeed,
    HandOffStanding,
    workflow_id,
)
from router.contracts.start_options import TASK_TIMEOUT
from router.domain.records import ConversationRecord
from router.gateway.retries import TRANSIENT, persistently, watched

_CLOSING = TRANSIENT | {RPCStatusCode.NOT_FOUND}


async def attend(
    temporal: Client,
    task_queue: str,
    share: Priority,
    record: ConversationRecord,
    deed: HandOffDeed,
) -> HandOffStanding:
    """Have it done, once, however often it is sent with its word.

    Raises `Conflict` where somebody else has it or it is over, `Unavailable` where the workflow
    is out of reach.
    """

    async def told() -> HandOffStanding:
        operation: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            WORKFLOW,
            ConversationStart(
                tenant=record.tenant,
                conversation=record.id,
                owner=record.owner,
                locale=record.locale,
            ),
            id=workflow_id(record.tenant, record.id),
            task_queue=task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            task_timeout=TASK_TIMEOUT,
            priority=share,
        )
        telling = temporal.execute_update_with_start_workflow(
            ATTEND,
            deed,
            start_workflow_operation=operation,
            id=deed.word,
            result_type=HandOffStanding,
        )
        return await watched(operation, telling)

    return await persistently(told, _CLOSING)
