"""What a conversation keeps outside of its workflow: its rows of the event log, and a snapshot."""

from router.contracts import activities
from router.contracts.conversation import ConversationStart, ConversationState
from router.domain.records import LogEntry, RecordedTurn
from workflows.activity import perform


class Records:
    """Those of one conversation, each read or written by a local activity."""

    def __init__(self, start: ConversationStart) -> None:
        self._tenant = start.tenant
        self._conversation = start.conversation

    async def snapshot(self) -> ConversationState | None:
        """The state in which the conversation was last put away; None where it never was."""
        asked = activities.Recall(tenant=self._tenant, conversation=self._conversation)
        return (await perform(activities.RECALL, asked, summary="snapshot")).state

    async def turn(self, message_id: str) -> RecordedTurn | None:
        """What the message was answered with; None where it never was."""
        asked = activities.Recall(
            tenant=self._tenant, conversation=self._conversation, message_id=message_id
        )
        return (await perform(activities.RECALL, asked, summary=f"message {message_id}")).turn

    async def keep(self, state: ConversationState) -> None:
        """Keep the state for the message that opens the conversation again."""
        await perform(
            activities.KEEP,
            activities.Keep(tenant=self._tenant, conversation=self._conversation, state=state),
        )

    async def write(self, entries: list[LogEntry]) -> None:
        """Append the rows to the event log, if any."""
        if entries:
            await perform(activities.WRITE, activities.Write(tenant=self._tenant, entries=entries))
