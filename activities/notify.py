"""Telling a conversation what happened to a run: a signal, which wakes a closed one."""

from temporalio import activity
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from activities.execution import heartbeating
from activities.tell_flow import own_share
from router.contracts import activities, conversation
from router.contracts.conversation import ConversationStart
from router.contracts.start_options import task_timeout
from router.store.conversations import Conversations
from router.telemetry.loop_stalls import LATENESS


class Notifier:
    """Passes news of runs to the conversations they came from."""

    def __init__(self, client: Client, task_queue: str, conversations: Conversations) -> None:
        self._client = client
        self._task_queue = task_queue
        self._conversations = conversations

    @activity.defn(name=activities.NOTIFY.name)
    async def notify(self, given: activities.Notify) -> None:
        """Signal the conversation, starting it again where it was put away, if it is known."""
        async with heartbeating():
            await self._signal(given)

    async def _signal(self, given: activities.Notify) -> None:
        tenant = given.tenant
        known = await self._conversations.find(tenant, given.conversation)
        if known is None:
            activity.logger.warning("no conversation %s to tell", given.conversation)
            return
        await self._client.start_workflow(
            conversation.WORKFLOW,
            ConversationStart(
                tenant=tenant, conversation=known.id, owner=known.owner, locale=known.locale
            ),
            id=conversation.workflow_id(tenant, known.id),
            task_queue=self._task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            task_timeout=task_timeout(LATENESS.seconds),
            priority=own_share(),
            start_signal=conversation.NEWS,
            start_signal_args=[given.news],
        )
