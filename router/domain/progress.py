"""What happens in a turn and to a run: told while it happens, kept as rows of the event log.

Whoever makes a row again, after a crash or on another worker, makes it under the same key, and
the log keeps the first. A run's own notices (`asked`, `reminded`…) come from its flow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Self

from pydantic import JsonValue, model_validator

from router.domain.messages import Usage, ValueObject
from router.domain.records import LOST, ApprovalRecord, LogEntry, RunRecord

ProgressType = Literal[
    "text_delta",
    "tool_started",
    "tool_finished",
    "thinking",
    "plan",
    "recorded",
    "forgotten",
    "answered",
]
ToolStatus = Literal["done", "failed", "skipped", "unknown"]


class Progress(ValueObject):
    """One thing that happened in a conversation.

    | type            | data                                                |
    | --------------- | --------------------------------------------------- |
    | `text_delta`    | `{text, attempt}`                                   |
    | `tool_started`  | `{id, name, arguments?, progress?}`                 |
    | `tool_finished` | `{id, name, status, milliseconds?, result?}`        |
    | `thinking`      | `{status, task, skill, step, attempt}`, at its end  |
    |                 | `{…, milliseconds, prompt_tokens, completion_tokens, model}` |
    | `plan`          | `{status, skill, id, number, steps, title}`, at its |
    |                 | end `{…, fate}`: a step of a plan                   |
    | `recorded`      | `{}`: the event log has more of the conversation,   |
    |                 | or for the `person`                                 |
    | `forgotten`     | `{}`: its owner had the conversation forgotten      |
    | `answered`      | `{result}` or `{error}`: what an assistant's        |
    |                 | program says to what it was asked                   |

    A text is its deltas put together. An `attempt` above the one before begins it anew; one
    below is a straggler's, of a text that was begun anew meanwhile. `message_id` is empty
    where it happened without a message, as when a flow goes on after an approval. A tool that
    says how far it is has started once more, with its words as `progress`. `person` is set, and
    `conversation` empty, where it is of nobody's conversation but for somebody.
    """

    tenant: str
    conversation: str
    message_id: str
    person: str = ""
    type: ProgressType
    data: dict[str, JsonValue]

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.type == "text_delta":
            text, attempt = self.data.get("text"), self.data.get("attempt")
            if not isinstance(text, str) or not isinstance(attempt, int):
                raise ValueError(f"a text_delta has a text and an attempt, not {list(self.data)}")
        return self


Closing = Literal["decided", "withdrawn", "changed", "expired", "passed_on", "lost"]
"""Why a decision is no longer awaited of somebody.

`decided`, by them or by others; `withdrawn`, for its requester or an operator took the request
back or begins anew; `changed`, by its requester, who has it approved anew; `expired`; `passed_on`:
somebody else decides, or decides first;
`lost`: the run can't go on.
"""
_VERDICTS = frozenset({"approve", "reject", "return"})


def of_change(before: RunRecord | None, after: RunRecord, key: str) -> list[LogEntry]:
    """The requester's row, where a whole run stands elsewhere; `key` tells changes apart."""
    stood = (before.status, before.state) if before else None
    if stood == (after.status, after.state) or after.is_branch:
        return []
    return [
        LogEntry(
            key=f"{after.id}:{key}:flow",
            kind="flow",
            at=after.updated_at,
            recipient=after.requester,
            data={
                "flow_run": after.id,
                "flow": after.flow,
                "title": after.title.model_dump(),
                "status": after.status,
                "state": after.state,
                "conversation": after.conversation,
            },
        )
    ]


def of_closed(
    before: RunRecord | None,
    after: RunRecord,
    open_before: Sequence[ApprovalRecord],
    approvals: Sequence[ApprovalRecord],
) -> Iterator[LogEntry]:
    """A row for everyone whose decision was awaited, and by these `approvals` no longer is."""
    now = {approval.id: approval for approval in approvals}
    happened = {line.event for line in after.history[len(before.history) if before else 0 :]}
    for was in open_before:
        stands = now.get(was.id)
        if stands is None or not stands.active or stands.verdict is not None:
            yield LogEntry(
                key=f"{after.id}:{after.events}:closed:{was.id}",
                kind="approval",
                at=after.updated_at,
                recipient=was.person,
                data={
                    "approval": was.id,
                    "flow_run": after.id,
                    "flow": after.flow,
                    "reason": _why(stands, happened),
                    "title": was.title.model_dump(),
                    "requester": after.requester,
                },
            )


def _why(stands: ApprovalRecord | None, happened: set[str]) -> Closing:
    """By what they said or, where they said nothing, by what has `happened` to the run."""
    if stands is not None and stands.verdict is not None:
        fates: dict[str, Closing] = {"changed": "changed", **dict.fromkeys(_VERDICTS, "decided")}
        return fates.get(stands.verdict, "passed_on")
    if "withdrawn" in happened:
        return "withdrawn"
    if "expired" in happened:
        return "expired"
    if LOST in happened:
        return "lost"
    if happened & _VERDICTS:
        return "decided"
    return "withdrawn" if stands is None else "passed_on"


LONGEST_ID = 200
"""Characters of a call's id within a key: models make ids up, and indexes have limits."""
_STARTED, _FINISHED = ":started", ":finished"


@dataclass(frozen=True)
class ProgressPlace:
    """Where something happens: for a message of a conversation, or for a run, by workflow id."""

    conversation: str
    message_id: str = ""
    run: str = ""

    def entry(
        self,
        kind: Literal["tool_started", "tool_finished", "thinking", "plan"],
        what: str,
        at: datetime,
        data: dict[str, JsonValue],
    ) -> LogEntry:
        """The row of something that is named `what`, once and for all, within this place."""
        return LogEntry(
            key=f"{self.conversation}:{self.run or self.message_id}:{what}",
            kind=kind,
            at=at,
            conversation=self.conversation,
            message_id=self.message_id or None,
            data=data,
        )


@dataclass(frozen=True)
class ToolCallProgress:
    """A call of a tool, over all its tries."""

    place: ProgressPlace
    id: str
    name: str

    def started(self, at: datetime, arguments: JsonValue = None) -> LogEntry:
        """The row of its beginning, with what it is called with, as far as that may be shown."""
        about: dict[str, JsonValue] = {"id": self.id, "name": self.name}
        if arguments is not None:
            about["arguments"] = arguments
        return self.place.entry("tool_started", f"{self._key}{_STARTED}", at, about)

    def finished(
        self, at: datetime, status: ToolStatus, milliseconds: int | None = None, result: str = ""
    ) -> LogEntry:
        """The row of its end; `milliseconds` is None where nobody knows how long it took.

        `result` is the beginning of what it came to, or why it failed, as far as may be shown.
        """
        about: dict[str, JsonValue] = {"id": self.id, "name": self.name, "status": status}
        if milliseconds is not None:
            about["milliseconds"] = milliseconds
        if result:
            about["result"] = result
        return self.place.entry("tool_finished", f"{self._key}{_FINISHED}", at, about)

    @property
    def _key(self) -> str:
        return f"tool:{self.id[:LONGEST_ID]}"


def begun_by(key: str) -> str:
    """The key of the `tool_started` that goes with the key of a `tool_finished`."""
    return key.removesuffix(_FINISHED) + _STARTED


@dataclass(frozen=True)
class Thinking:
    """One question to a model, for `task`; a higher `attempt` replaces what came before.

    `skill` is whose `step` it is, or None where the router itself asks.
    """

    place: ProgressPlace
    question: str
    task: str
    skill: str | None
    step: int
    attempt: int

    def started(self, at: datetime) -> LogEntry:
        """The row of its being asked."""
        return self._entry(_STARTED, at, {})

    def finished(self, at: datetime, milliseconds: int, cost: Usage, model: str | None) -> LogEntry:
        """The row of its being answered by `model`; None where none answered."""
        tokens = cost.model_dump(include={"prompt_tokens", "completion_tokens"})
        return self._entry(_FINISHED, at, {"milliseconds": milliseconds, **tokens, "model": model})

    def _entry(self, part: str, at: datetime, data: dict[str, JsonValue]) -> LogEntry:
        about: dict[str, JsonValue] = {
            "status": part.removeprefix(":"),
            "task": self.task,
            "skill": self.skill,
            "step": self.step,
            "attempt": self.attempt,
        }
        return self.place.entry("thinking", f"thinking:{self.question}{part}", at, about | data)


@dataclass(frozen=True)
class PlannedStep:
    """A step of a skill's plan, the `number`th of its `steps`; `attempt` tells its tries apart."""

    place: ProgressPlace
    attempt: str
    skill: str
    id: str
    title: str
    number: int
    steps: int

    def started(self, at: datetime) -> LogEntry:
        """The row of its beginning."""
        return self._entry(_STARTED, at, {})

    def finished(self, at: datetime, fate: str) -> LogEntry:
        """The row of its end, with what became of it."""
        return self._entry(_FINISHED, at, {"fate": fate})

    def _entry(self, part: str, at: datetime, data: dict[str, JsonValue]) -> LogEntry:
        about: dict[str, JsonValue] = {
            "status": part.removeprefix(":"),
            "skill": self.skill,
            "id": self.id,
            "number": self.number,
            "steps": self.steps,
            "title": self.title,
        }
        return self.place.entry("plan", f"plan:{self.attempt}{part}", at, about | data)
