"""How a conversation stands, and conversations that something outside has a name for."""

from datetime import UTC, datetime

from temporalio.client import Client, WorkflowQueryRejectedError
from temporalio.common import QueryRejectCondition

from router.api.dependencies import Services
from router.api.params import derived_id
from router.contracts.conversation import FORGET, STATUS, ConversationStatus, workflow_id
from router.contracts.conversation_state import ConversationState
from router.domain.errors import NotFound, Unavailable
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ConversationRecord
from router.gateway import executions
from router.gateway.executions import StillAtWork
from router.gateway.retries import RPC_TIMEOUT, own_errors
from router.store.conversations import Conversations
from workflows import standing as standings


async def standing(services: Services, tenant: str, conversation: str) -> ConversationStatus:
    """How it stands, open, closed or not begun; `Unavailable` where something is out of reach."""
    open_one = await live_standing(services.temporal, tenant, conversation)
    if open_one is not None:
        return open_one
    snapshot = await services.store.conversations.load_snapshot(tenant, conversation)
    state = ConversationState.model_validate_json(snapshot) if snapshot else ConversationState()
    return standings.describe_status(state, running=[])


async def live_standing(
    temporal: Client, tenant: str, conversation: str
) -> ConversationStatus | None:
    """How its workflow says it stands; None where none is open. Raises as `standing` does."""
    handle = temporal.get_workflow_handle(workflow_id(tenant, conversation))
    try:
        with own_errors():
            status: ConversationStatus = await handle.query(
                STATUS,
                result_type=ConversationStatus,
                reject_condition=QueryRejectCondition.NOT_OPEN,
                rpc_timeout=RPC_TIMEOUT,
            )
            return status
    except (NotFound, WorkflowQueryRejectedError):
        return None


_WORD = "forgotten: its owner had the conversation deleted"


async def forget(services: Services, tenant: str, conversation: str) -> None:
    """Have the conversation forgotten: its words, events and files, here and in Temporal.

    A turn that is under way is finished and answered first, and messages behind it are refused.
    Runs go on. What was begun may be taken up again.

    Raises:
        Conflict: a legal hold keeps it; nothing has gone.
        Unavailable: something is out of reach, or a turn isn't over after `FINISHED_WITHIN_S`.
            Nothing has gone, or its words have and the rest hasn't, as it says; asked once more,
            it is finished.
    """
    at = await services.store.erasure.erase(tenant, conversation)
    await services.store.live.tell(
        Progress(tenant=tenant, conversation=conversation, message_id="", type="forgotten", data={})
    )
    own = workflow_id(tenant, conversation)
    try:
        await executions.wind_up(services.temporal, own, FORGET, at, FINISHED_WITHIN_S)
        await _forget_workflows(services.temporal, own, at)
    except StillAtWork as error:
        raise Unavailable(_AT_WORK) from error
    except Unavailable as error:
        raise Unavailable(_UNFINISHED) from error


FINISHED_WITHIN_S = 30.0
"""Seconds that a deletion waits for the turn that is under way."""
_AT_WORK = Localised(
    zh="对话的内容已经删掉了。还有一条消息正在处理，处理完会照常回复；请过一会儿再删除一次，把后台记录清完。",
    en="What was said is gone. One message is still being worked on and will be answered as "
    "usual; delete the conversation once more in a while to clear what ran behind it.",
)

_UNFINISHED = Localised(
    zh="对话的内容已经删掉了，但它的后台记录还没有清完；请再删除一次，把它清完。",
    en="What was said is gone; what ran behind it isn't yet. Delete it once more to finish.",
)


async def _forget_workflows(temporal: Client, own: str, until: datetime) -> None:
    """End and delete what had begun by then; a thread that begins anew meanwhile goes on."""
    # Lists lag: the newest run may be in none yet.
    newest = await executions.newest(temporal, own)
    gone = [newest] if newest is not None and newest.began_at <= until else []
    for each in gone:
        await executions.terminate(temporal, own, _WORD, each.run_id)
    gone += await executions.end(temporal, executions.begun_by([own]), _WORD, until)
    await executions.delete_histories(temporal, gone)


async def thread(
    conversations: Conversations, owner: Principal, channel: str, name: str
) -> ConversationRecord:
    """The owner's conversation that `channel` (`openai`, `ag-ui`, `slack`…) calls `name`.

    The first time it is begun. Owner and channel are part of where the name leads, so a name that
    somebody else uses, guessed or by chance, leads to another conversation: it says which one is
    meant and never authorises. Asked for at once by two requests it is one conversation.
    """
    id_ = thread_id(owner, channel, name)
    known = await conversations.find(owner.tenant, id_)
    if known is not None:
        return known
    begun = ConversationRecord(
        id=id_,
        tenant=owner.tenant,
        owner=owner.id,
        locale=owner.locale,
        created_at=datetime.now(UTC),
        metadata={"channel": channel},
    )
    return await conversations.create(begun)


def thread_id(owner: Principal, channel: str, name: str) -> str:
    """The id that `thread` gives that conversation, begun or not."""
    return derived_id("thread", channel, owner.tenant, owner.id, name)
