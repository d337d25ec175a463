"""Stories: dialogues with a flow, and what is to come of each of their steps.

A story's file is read by `router.story.loader`; nothing here touches a disk. Steps of two
sorts alternate as they like: acts, by which something happens (someone says or decides
something, time passes), and expectations, which hold or don't.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import JsonValue

from router.domain.messages import Message
from router.domain.texts import Locale
from router.flow.run import Verdict

Failing = Literal["permanent", "arguments", "unknown", "transient", "no"]
"""How a tool fails, in the project's own kinds of error; `no`: it works again."""

BEGINS = datetime.fromisoformat("2026-11-18T10:00+08:00")
"""A Wednesday morning. Stories begin then unless they say otherwise, so that dates in them
mean the same for ever."""


@dataclass(frozen=True)
class Step:
    """Base of all steps: where it stands in its file, and how it reads there."""

    line: int
    written: str = field(compare=False)

    def __str__(self) -> str:
        return self.written


@dataclass(frozen=True)
class UserActs(Step):
    """Whoever talks says something, or presses a button."""

    message: Message


@dataclass(frozen=True)
class ApproverDecides(Step):
    """Someone decides on what waits for them."""

    approver: str
    verdict: Verdict
    comment: str | None = None
    to: str | None = None


@dataclass(frozen=True)
class TimePasses(Step):
    """So much time goes by, with all that is due in it."""

    duration: timedelta


@dataclass(frozen=True)
class ToolsFail(Step):
    """From here on these tools fail, each in its way."""

    failing: Mapping[str, Failing]


@dataclass(frozen=True)
class UserWithdraws(Step):
    """The requester takes the request back, outside the conversation."""

    comment: str | None = None


@dataclass(frozen=True)
class UserNudges(Step):
    """The requester has the approvers reminded."""


@dataclass(frozen=True)
class EventHappens(Step):
    """Something happens outside that the run was waiting for."""

    name: str
    payload: Mapping[str, JsonValue]


@dataclass(frozen=True)
class BotSays(Step):
    """The desk has said these, in this order, since the last act."""

    patterns: tuple[str, ...]


@dataclass(frozen=True)
class RunStands(Step):
    """The run stands so, as far as it is said here: its flow, status, state, slots."""

    wanted: Mapping[str, Any]


@dataclass(frozen=True)
class ToolCalled(Step):
    """A tool was called in this story, with these arguments at least; `times` None is ever."""

    tool: str
    arguments: Mapping[str, JsonValue]
    times: int | None = None


Act = (
    UserActs | ApproverDecides | TimePasses | ToolsFail | UserWithdraws | UserNudges | EventHappens
)
Expectation = BotSays | RunStands | ToolCalled
AnyStep = Act | Expectation


@dataclass(frozen=True)
class Story:
    """One dialogue: who has it, when it begins, and its steps."""

    name: str
    file: str
    line: int
    steps: tuple[AnyStep, ...]
    user: str = "alice"
    locale: Locale | None = None
    """What is spoken; None is the user's own language."""
    now: datetime = BEGINS
    """When it begins; without a time zone, in the user's."""
    failing: Mapping[str, Failing] = field(default_factory=dict)
    """The tools that fail from the beginning."""
