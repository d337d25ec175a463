"""How a conversation stands: asked of its workflow, or of what a closed one left behind."""

from temporalio.client import Client, WorkflowQueryRejectedError
from temporalio.common import QueryRejectCondition

from router.contracts.conversation import (
    STATUS,
    ConversationState,
    ConversationStatus,
    workflow_id,
)
from router.contracts.reaching import RPC_TIMEOUT, speaking_ours
from router.domain.errors import NotFound
from router.domain.ports import Conversations
from workflows import memory


async def standing(
    temporal: Client, conversations: Conversations, tenant: str, conversation: str
) -> ConversationStatus:
    """How the conversation stands, open, closed or not yet begun.

    Raises:
        Unavailable: Temporal, its worker or the database is out of reach.
    """
    open_one = await live_standing(temporal, tenant, conversation)
    if open_one is not None:
        return open_one
    return _left_behind(await conversations.load_snapshot(tenant, conversation))


async def live_standing(
    temporal: Client, tenant: str, conversation: str
) -> ConversationStatus | None:
    """How the conversation's workflow says it stands; None where none is open.

    Raises:
        Unavailable: Temporal or its worker is out of reach.
    """
    handle = temporal.get_workflow_handle(workflow_id(tenant, conversation))
    try:
        with speaking_ours():
            status: ConversationStatus = await handle.query(
                STATUS,
                result_type=ConversationStatus,
                reject_condition=QueryRejectCondition.NOT_OPEN,
                rpc_timeout=RPC_TIMEOUT,
            )
            return status
    except (NotFound, WorkflowQueryRejectedError):
        return None


def _left_behind(snapshot: str | None) -> ConversationStatus:
    state = ConversationState.model_validate_json(snapshot) if snapshot else ConversationState()
    return memory.status(state, running=[])
