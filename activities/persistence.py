"""What workflows have kept and recalled, as local activities: one transaction each."""

from temporalio import activity

from activities.capabilities import stubs
from activities.execution import temporal_failures
from router.contracts import activities
from router.contracts.activities import Keep, Publish, Published, Recall, Recalled, Write
from router.contracts.conversation import Written
from router.contracts.conversation_state import ConversationState
from router.gateway.lost_runs import publish
from router.store.store import Store
from router.telemetry.metrics import CUT_OFF, FLOW_STEPS
from router.tool.hook import Hooks


class Records:
    """The activities `recall`, `keep`, `write` and `publish`; run again, they leave the same."""

    def __init__(self, store: Store, hooks: Hooks | None = None) -> None:
        self._store = store
        self._hooks = hooks or Hooks()

    @activity.defn(name=activities.RECALL.name)
    async def recall(self, asked: Recall) -> Recalled:
        """What a message id was answered with, or without one a conversation's snapshot."""
        with temporal_failures():
            if asked.message_id is not None:
                turn = await self._store.log.turn(
                    asked.tenant, asked.conversation, asked.message_id
                )
                return Recalled(turn=turn)
            conversations, place = self._store.conversations, (asked.tenant, asked.conversation)
            if await conversations.forgotten_by(*place) is not None:
                return Recalled(gone=True)
            kept = await conversations.load_snapshot(*place)
            state = ConversationState.model_validate_json(kept) if kept else None
            if await conversations.is_cut_off(*place):
                CUT_OFF.inc()
                activity.logger.error("conversation %s goes on without what it last knew", place)
                # A message that comes again was answered: the log has it.
                state = state or ConversationState()
                transcript = state.transcript.replace(has_older=True)
                state = state.replace(transcript=transcript)
            return Recalled(state=state)

    @activity.defn(name=activities.KEEP.name)
    async def keep(self, closed: Keep) -> None:
        """Keep a closed conversation's state, for the message that opens it again."""
        with temporal_failures():
            await self._store.conversations.save_snapshot(
                closed.tenant, closed.conversation, closed.state.model_dump_json()
            )

    @activity.defn(name=activities.WRITE.name)
    async def write(self, rows: Write) -> Written:
        """Append to the event log what isn't there yet; a turn only as the conversation's last."""
        with temporal_failures():
            if all(entry.kind != "turn" for entry in rows.entries):
                await self._store.log.append(rows.tenant, rows.entries)
                return Written()
            unknown = await self._store.log.append_turn(rows.tenant, rows.entries)
            return Written(unknown=unknown)

    @activity.defn(name=activities.PUBLISH.name)
    async def publish(self, news: Publish) -> Published:
        """Make a run, its approvals and the news of them known, all at once."""
        with temporal_failures():
            ahead = await publish(self._store.runs, news)
        FLOW_STEPS.labels(news.run.flow, news.run.state, news.run.status).inc()
        hooks = self._hooks.at("before_verdict", "on_approval", "on_error")
        return Published(hooks=stubs(hooks), ahead=ahead)
