"""Conversations whose workflow is gone, and with it what they knew since they were last put away.

What was said stands in the event log; what was asked, offered and half filled in doesn't. While the
workflow's history is there, it still says so, whoever ended it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowQueryFailedError

from router.contracts.conversation import STATE, workflow_id
from router.contracts.conversation_state import ConversationState
from router.domain.errors import Unavailable
from router.domain.locale import Localised
from router.domain.messages import TextReply
from router.domain.records import LogEntry
from router.gateway import lost_runs
from router.gateway.lost_runs import at_once, status_of
from router.gateway.retries import RPC_TIMEOUT, WorkflowOver, own_errors
from router.store.consistency import CutOff
from router.store.store import Store

FORGOTTEN = Localised(
    zh="系统出过故障，我忘了这个对话里问到哪一步、填了一半的内容。已经提交的申请不受影响，在“我的申请”里能看到；"
    "没提交的请重新说一遍。",
    en="After a fault I no longer know what was asked here, or half filled in. What you had handed "
    "in isn't touched: see \"My requests\". Say anew whatever you hadn't.",
)


@dataclass(frozen=True)
class LostConversation:
    """One that nothing carries on; `why` is what became of its workflow."""

    known: CutOff
    why: str
    has_history: bool

    @property
    def workflow_id(self) -> str:
        """The Temporal id that it had."""
        return workflow_id(self.known.tenant, self.known.id)


async def lost_conversations(client: Client, store: Store) -> AsyncIterator[list[LostConversation]]:
    """Those in which something was said that nobody knows any more, a few hundred looked at a time.

    One in which something was said within `QUIET` isn't looked at. `RPCError`: Temporal is away.
    """
    async for page in store.consistency.cut_off(datetime.now(UTC) - lost_runs.QUIET):
        found = await at_once(page, lambda each: _looked_at(client, each))
        yield [each for each in found if each is not None]


async def _looked_at(client: Client, known: CutOff) -> LostConversation | None:
    status = await status_of(client, workflow_id(known.tenant, known.id))
    if status in {WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW}:
        return None
    gone = f"was {status.name.lower()}" if status else "isn't in Temporal"
    return LostConversation(known, f"its workflow {gone}", has_history=status is not None)


async def recover(client: Client, store: Store, lost: LostConversation) -> ConversationState:
    """Have it go on at its next word, by what its workflow knew, else by its last snapshot.

    Its owner is told where something is forgotten. Raises `Unavailable` where no worker says what
    the workflow knew.
    """
    tenant, id_ = lost.known.tenant, lost.known.id
    state = await _last_known(client, lost) if lost.has_history else None
    if state is None:
        kept = await store.conversations.load_snapshot(tenant, id_)
        state = ConversationState.model_validate_json(kept) if kept else ConversationState()
        # What was answered since is known to the log alone.
        state = state.replace(transcript=state.transcript.replace(has_older=True))
        await store.log.append(tenant, [_told(lost.known)])
    await store.conversations.save_snapshot(tenant, id_, state.model_dump_json())
    return state


async def _last_known(client: Client, lost: LostConversation) -> ConversationState | None:
    try:
        with own_errors():
            state: ConversationState = await client.get_workflow_handle(lost.workflow_id).query(
                STATE, result_type=ConversationState, rpc_timeout=RPC_TIMEOUT
            )
    except WorkflowOver:
        return None
    except WorkflowQueryFailedError as error:
        raise Unavailable(f"its worker can't say what it knew: {error}") from error
    # One that was ended before it had recalled anything knows nothing.
    return state if state.transcript.turn_count else None


def _told(known: CutOff) -> LogEntry:
    reply = TextReply(text=FORGOTTEN.within("zh" if known.locale == "zh" else "en"))
    data = {"role": "assistant", "text": reply.text}
    return LogEntry(
        key=f"{known.id}:{known.sequence}:forgotten",
        kind="message",
        at=datetime.now(UTC),
        conversation=known.id,
        recipient=known.owner,
        data={**data, "replies": [reply.model_dump(mode="json", exclude_none=True)]},
    )
