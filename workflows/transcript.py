"""What a conversation keeps outside of its workflow: its rows of the event log, and a snapshot.

A row's key makes a repeated write harmless.
"""

from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from router.contracts import activities
from router.contracts.conversation import ConversationStart, ConversationState, News, Submission
from router.domain.messages import (
    ChooseAction,
    ConfirmAction,
    FormAction,
    Message,
    Reply,
    StartAction,
    ToolResultAction,
    Turn,
)
from router.domain.progress import ProgressPlace, ToolCallProgress
from router.domain.records import LogEntry, RecordedTurn
from router.flow.paused import run_meant
from workflows.activity import perform


@dataclass(frozen=True)
class Times:
    """When a message came in, and when it was answered."""

    asked: datetime
    answered: datetime


def of_turn(
    conversation: str, submission: Submission, before: ConversationState, turn: Turn, at: Times
) -> list[LogEntry]:
    """The rows of a turn: what the person said, what was answered, and the turn whole.

    What was said is news for the person too, whose other windows may show other conversations.
    Before them the end of each call, for those whose worker died before it could say so.
    """
    id_, person = submission.message_id, submission.caller.id
    said: dict[str, JsonValue] = {
        "role": "user",
        "text": as_text(submission.message, before),
        "message_id": id_,
    }
    answered: dict[str, JsonValue] = {
        "role": "assistant",
        "text": text_of(turn.replies),
        "replies": [r.model_dump(mode="json", exclude_none=True) for r in turn.replies],
        "route": turn.route.model_dump(mode="json", exclude_none=True),
        "message_id": id_,
    }
    whole: dict[str, JsonValue] = {
        "digest": submission.message.digest,
        "turn": turn.model_dump(mode="json"),
    }
    return [
        *_ends_of_calls(ProgressPlace(conversation, id_), turn, at.answered),
        _entry(conversation, id_, "user", at.asked, said, person),
        _entry(conversation, id_, "assistant", at.answered, answered, person),
        _entry(conversation, id_, "turn", at.answered, whole),
    ]


def _entry(
    conversation: str,
    message_id: str,
    part: str,
    at: datetime,
    data: dict[str, JsonValue],
    recipient: str | None = None,
) -> LogEntry:
    return LogEntry(
        key=f"{conversation}:{message_id}:{part}",
        kind="turn" if part == "turn" else "message",
        at=at,
        conversation=conversation,
        recipient=recipient,
        message_id=message_id,
        data=data,
    )


def _ends_of_calls(place: ProgressPlace, turn: Turn, at: datetime) -> list[LogEntry]:
    return [
        ToolCallProgress(place, call.id, call.name).finished(at, call.status)
        for call in turn.tool_calls
        if call.status != "waiting"
    ]


def of_news(conversation: str, owner: str, news: News) -> list[LogEntry]:
    """The row of what a run said without being asked; none where it said nothing."""
    if not news.replies:
        return []
    return [
        LogEntry(
            key=f"{conversation}:{news.view.id}:{news.view.events}",
            kind="message",
            at=news.at,
            conversation=conversation,
            recipient=owner,
            data={
                "role": "assistant",
                "text": text_of(news.replies),
                "replies": [r.model_dump(mode="json", exclude_none=True) for r in news.replies],
                "flow": news.view.summary.model_dump(mode="json"),
            },
        )
    ]


def text_of(replies: list[Reply]) -> str:
    """Replies as plain text, a paragraph each."""
    return "\n".join(reply.text for reply in replies)


def as_text(message: Message, before: ConversationState) -> str:
    """What a person said; of a button or form, what it stands for."""
    match message.action:
        case None:
            return message.text or ""
        case ChooseAction(value=value):
            return _label(value, before)
        case ConfirmAction(value=value):
            return "✓" if value else "✗"
        case FormAction(values=values):
            return "\n".join(f"{name}: {_shown(value)}" for name, value in values.items())
        case StartAction(flow=flow):
            return f"▶ {flow}"
        case ToolResultAction(tool_call_id=id_):
            return f"[{id_}]"


def _shown(value: JsonValue) -> JsonValue:
    """A file by its name, where the front end sent along what the upload was answered."""
    if isinstance(value, dict) and value.keys() == {"id", "name", "type", "size"}:
        return value["name"]
    return value


def _label(value: JsonValue, before: ConversationState) -> str:
    shown = [*before.offered]
    for reply in before.active.replies if before.active else []:
        shown += getattr(reply, "options", [])
    named = next((option.label for option in shown if option.value == value), None)
    return named or _taken_up(value, before) or str(value)


def _taken_up(value: JsonValue, before: ConversationState) -> str | None:
    """What a button of a day ago goes on with, as one that starts a flow is shown."""
    run = run_meant(value)
    flows = {one.run: one.flow for one in before.lapsed} | {v.id: v.flow for v in before.paused}
    return f"▶ {flows[run]}" if run in flows else None


class ConversationRecords:
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
