"""What of a turn's progress is kept: rows of the event log, made in one place.

Whoever makes a row again, after a crash or on another worker, makes it under the same key, and
the log keeps the first.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from router.domain.messages import Usage
from router.domain.progress import ToolStatus
from router.domain.records import LogEntry

LONGEST_ID = 200
"""Characters of a call's id within a key: models make ids up, and indexes have limits."""
_STARTED, _FINISHED = ":started", ":finished"


@dataclass(frozen=True)
class Place:
    """Where something happens: for a message of a conversation, or for a flow's run.

    `run` is that one's workflow id. A run goes on without any message, and then `message_id`
    is empty.
    """

    conversation: str
    message_id: str = ""
    run: str = ""

    def entry(
        self,
        kind: Literal["tool_started", "tool_finished", "thinking"],
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
class Call:
    """A call of a tool, over all its tries.

    >>> from datetime import UTC
    >>> Call(Place("c1", "m1"), "c0", "get_weather").started(datetime(2026, 11, 22, tzinfo=UTC)).key
    'c1:m1:tool:c0:started'
    """

    place: Place
    id: str
    name: str

    def started(self, at: datetime) -> LogEntry:
        """The row of its beginning."""
        return self._entry("tool_started", _STARTED, at, {})

    def finished(
        self, at: datetime, status: ToolStatus, milliseconds: int | None = None
    ) -> LogEntry:
        """The row of its end; `milliseconds` is None where nobody knows how long it took."""
        took: dict[str, JsonValue] = {} if milliseconds is None else {"milliseconds": milliseconds}
        return self._entry("tool_finished", _FINISHED, at, {"status": status, **took})

    def _entry(
        self,
        kind: Literal["tool_started", "tool_finished"],
        part: str,
        at: datetime,
        data: dict[str, JsonValue],
    ) -> LogEntry:
        about: dict[str, JsonValue] = {"id": self.id, "name": self.name}
        return self.place.entry(kind, f"tool:{self.id[:LONGEST_ID]}{part}", at, about | data)


def begun_by(key: str) -> str:
    """The key of the `tool_started` that goes with the key of a `tool_finished`.

    >>> begun_by("c1:m1:tool:c0:finished")
    'c1:m1:tool:c0:started'
    """
    return key.removesuffix(_FINISHED) + _STARTED


@dataclass(frozen=True)
class Thinking:
    """One question to a model.

    `question` tells it apart from all others; `task` is what it is asked for, such as `decide`;
    `skill` is whose `step` it is, or None where the router itself asks. A higher `attempt` at
    the same step replaces what came before.
    """

    place: Place
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
        return self._entry(
            _FINISHED,
            at,
            {
                "milliseconds": milliseconds,
                "prompt_tokens": cost.prompt_tokens,
                "completion_tokens": cost.completion_tokens,
                "model": model,
            },
        )

    def _entry(self, part: str, at: datetime, data: dict[str, JsonValue]) -> LogEntry:
        about: dict[str, JsonValue] = {
            "status": part.removeprefix(":"),
            "task": self.task,
            "skill": self.skill,
            "step": self.step,
            "attempt": self.attempt,
        }
        return self.place.entry("thinking", f"thinking:{self.question}{part}", at, about | data)
