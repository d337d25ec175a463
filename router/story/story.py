"""Stories: dialogues with a flow, and what is to come of each of their steps.

Steps of two sorts alternate as they like: acts, by which something happens (someone says or decides
something, time passes), and expectations, which hold or don't.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

import re2
from pydantic import JsonValue

from router.domain.locale import Locale
from router.domain.messages import Message
from router.flow.definition import FlowDefinition
from router.flow.engine.run import Verdict


@dataclass(frozen=True)
class StoryNames:
    """Who and what there is."""

    users: Collection[str]
    tools: Collection[str]
    flows: Mapping[str, FlowDefinition]


_SHORTEST_EXPRESSION = 3


def is_expression(pattern: str) -> bool:
    """True for `/…/`, which is RE2; anything else is looked for as it is written."""
    slashes = pattern.startswith("/") and pattern.endswith("/")
    return slashes and len(pattern) >= _SHORTEST_EXPRESSION


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """The expression between the slashes; `.` takes line breaks too. Raises `re2.error`."""
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    return re2.compile(pattern[1:-1], options)


def end_of(pattern: str, said: str, start: int) -> int | None:
    """Where the first match from `start` on ends; None where there is none."""
    if not is_expression(pattern):
        found = said.find(pattern, start)
        return None if found < 0 else found + len(pattern)
    match = compiled(pattern).search(said[start:])
    return None if match is None else start + int(match.end())


Failing = Literal["permanent", "arguments", "unknown", "transient", "no"]
"""How a tool fails, in the project's own kinds of error; `no`: it works again."""

BEGINS = datetime.fromisoformat("2026-11-18T10:00+08:00")
"""A Wednesday morning. Stories begin then unless they say otherwise, so that dates in them
mean the same for ever."""


@dataclass(frozen=True)
class StoryStep:
    """Base of all steps: where it stands in its file, and how it reads there."""

    line: int
    written: str = field(compare=False)

    def __str__(self) -> str:
        return self.written


@dataclass(frozen=True)
class UserActs(StoryStep):
    """Whoever talks says something, or presses a button."""

    message: Message


@dataclass(frozen=True)
class ApproverDecides(StoryStep):
    """Someone decides on what waits for them."""

    approver: str
    verdict: Verdict
    comment: str | None = None
    to: str | None = None


@dataclass(frozen=True)
class TimePasses(StoryStep):
    """So much time goes by, with all that is due in it."""

    duration: timedelta


@dataclass(frozen=True)
class ToolsFail(StoryStep):
    """From here on these tools fail, each in its way."""

    failing: Mapping[str, Failing]


@dataclass(frozen=True)
class UserWithdraws(StoryStep):
    """The requester takes the request back, outside the conversation."""

    comment: str | None = None


@dataclass(frozen=True)
class UserNudges(StoryStep):
    """The requester has the approvers reminded."""


@dataclass(frozen=True)
class EventHappens(StoryStep):
    """Something happens outside that the run was waiting for."""

    name: str
    payload: Mapping[str, JsonValue]


@dataclass(frozen=True)
class BotSays(StoryStep):
    """The desk has said these, in this order, since the last act."""

    patterns: tuple[str, ...]


@dataclass(frozen=True)
class RunStands(StoryStep):
    """The run stands so, as far as it is said here: its flow, status, state, slots."""

    wanted: Mapping[str, Any]


@dataclass(frozen=True)
class ToolCalled(StoryStep):
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
