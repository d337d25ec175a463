"""The rows of the event log that a conversation writes: of its turns, of news, of helpers' words.

A row's key makes a repeated write harmless.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from temporalio import workflow

from router.contracts.conversation import ConversationStart, Submission
from router.contracts.conversation_state import News, OpenFlows
from router.domain import messages
from router.domain.hand_offs import BACK, NamedPerson
from router.domain.progress import ProgressPlace, ToolCallProgress
from router.domain.records import LogEntry
from router.flow.paused import run_meant
from workflows.transcript import text_of


def rows_of_turn(
    conversation: str, submission: Submission, said: str, turn: messages.Turn, began: datetime
) -> list[LogEntry]:
    """The rows of a turn that is answered now: what the person `said`, the answer, and the turn.

    What was said is news for the person too, whose other windows may show other conversations.
    Before them the end of each call, for those whose worker died before it could say so.
    """
    id_, person, now = submission.message_id, submission.caller.id, workflow.now()
    place = ProgressPlace(conversation, id_)

    def row(part: str, at: datetime, recipient: str | None, **data: JsonValue) -> LogEntry:
        kind: Literal["turn", "message"] = "turn" if part == "turn" else "message"
        about = {"conversation": conversation, "message_id": id_, "recipient": recipient}
        key = f"{conversation}:{id_}:{part}"
        return LogEntry(key=key, kind=kind, at=at, data=data, **about)

    route = turn.route.model_dump(mode="json", exclude_none=True)
    usage = turn.usage.model_dump(mode="json")
    answered = _spoken(turn.replies, route=route, message_id=id_, usage=usage)
    if turn.structured is not None:
        answered["structured"] = turn.structured
    return [
        *(
            ToolCallProgress(place, call.id, call.name).finished(now, call.status)
            for call in turn.tool_calls
            if call.status != "waiting"
        ),
        row("user", began, person, role="user", text=said, message_id=id_, **_attached(submission)),
        row("assistant", now, person, **answered),
        row("turn", now, None, digest=submission.digest, turn=turn.model_dump(mode="json")),
    ]


def rows_of_model(conversation: str, message_id: str, before: str, model: str) -> list[LogEntry]:
    """The row of a turn that another model answered than the one before; none where none did."""
    if not before or not model or before == model:
        return []
    entry = LogEntry(
        key=f"{conversation}:{message_id}:model",
        kind="model",
        at=workflow.now(),
        conversation=conversation,
        message_id=message_id,
        data={"model": model, "before": before},
    )
    return [entry]


def _attached(submission: Submission) -> dict[str, JsonValue]:
    """The files of a message as the transcript has them; nothing of one without any."""
    names = submission.file_names
    files: list[JsonValue] = [
        {"id": file, "name": names.get(file, file)} for file in submission.message.files
    ]
    return {"files": files} if files else {}


def rows_of_news(conversation: str, owner: str, news: News) -> list[LogEntry]:
    """The row of what a run said without being asked; none where it said nothing."""
    entry = LogEntry(
        key=f"{conversation}:{news.view.id}:{news.view.events}",
        kind="message",
        at=news.at,
        conversation=conversation,
        recipient=owner,
        data=_spoken(news.replies, flow=news.view.summary.model_dump(mode="json")),
    )
    return [entry] if news.replies else []


def row_of_person(
    start: ConversationStart,
    key: str,
    replies: list[messages.Reply],
    author: NamedPerson | None,
    agent: str | None,
) -> LogEntry:
    """The row of what a person who helps says by name, or the desk of this `agent`."""
    by: dict[str, JsonValue] = {"author": author.model_dump(mode="json")} if author else {}
    by |= {"agent": agent} if agent else {}
    return LogEntry(
        key=f"{start.conversation}:{key}",
        kind="message",
        at=workflow.now(),
        conversation=start.conversation,
        recipient=start.owner,
        data=_spoken(replies, **by),
    )


def _spoken(replies: list[messages.Reply], **more: JsonValue) -> dict[str, JsonValue]:
    shown: list[JsonValue] = [r.model_dump(mode="json", exclude_none=True) for r in replies]
    return {"role": "assistant", "text": text_of(replies), "replies": shown, **more}


def as_text(message: messages.Message, before: OpenFlows, names: Sequence[str] = ()) -> str:
    """What a person said; what a button or form stands for; of files alone, their `names`."""
    match message.action:
        case None:
            return message.text or ", ".join(names)
        case messages.ChooseAction(value=value):
            return _label(value, before)
        case messages.ConfirmAction(value=value):
            return "✓" if value else "✗"
        case messages.FormAction(values=values):
            return "\n".join(f"{name}: {_shown(value)}" for name, value in values.items())
        case messages.StartAction(flow=flow):
            return f"▶ {flow}"
        case messages.ToolResultAction(tool_call_id=id_):
            return f"[{id_}]"


def _shown(value: JsonValue) -> JsonValue:
    """A file by its name, where the front end sent along what the upload was answered."""
    if isinstance(value, dict) and value.keys() == {"id", "name", "type", "size"}:
        return value["name"]
    return value


def _label(value: JsonValue, before: OpenFlows) -> str:
    if value == BACK:
        return "/back"
    shown = [*before.offered]
    for reply in before.active.replies if before.active else []:
        shown += getattr(reply, "options", [])
    named = next((option.label for option in shown if option.value == value), None)
    # A button of a day ago may go on with a run: shown as one that starts a flow.
    flows = {one.run: one.flow for one in before.lapsed} | {v.id: v.flow for v in before.paused}
    run = run_meant(value)
    return named or (f"▶ {flows[run]}" if run in flows else str(value))
