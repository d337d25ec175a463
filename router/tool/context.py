"""What a tool knows of the call it serves, beside its arguments."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from logging import Logger, LoggerAdapter

from pydantic import JsonValue

from router.domain.principals import Principal
from router.domain.skill_files import SkillFile
from router.domain.texts import Locale
from router.tool.files import Keep, not_kept

ToolLogger = LoggerAdapter[Logger]

LONGEST_PROGRESS = 500
"""Characters."""


async def _to_nobody(_: str) -> None:
    """Where nobody watches."""


def needless() -> None:
    """Where nobody waits for a sign of life."""


@dataclass(frozen=True)
class ToolContext:
    """Who calls, on whose authority, when. Neither the model nor the caller can set any of it.

    A tool asks for it with a parameter of this type, of whatever name.
    """

    caller: Principal
    """The person on whose behalf the tool acts; what it does belongs to them."""
    now: datetime
    """The moment of the call, in the caller's time zone. The same on every retry."""
    logger: ToolLogger
    """Says which tool and which call a line is about."""
    spoken: Locale | None = None
    """What is spoken where the call comes from, where it comes from a conversation or a run."""
    key: str = ""
    """The idempotency key of a write: the same on every retry; empty for a read."""
    undoes: str = ""
    """The key of the earlier call that this one takes back; empty where it takes none back."""
    flow_run: str | None = None
    """The workflow id of the flow run that calls; None where a person does."""
    conversation: str | None = None
    """The conversation the call comes from, where it comes from one."""
    answers: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the person said to questions that earlier tries of the call came back with."""
    skill_files: Mapping[str, SkillFile] = field(default_factory=dict)
    """The files of the skill that calls, as its run began with them, by path."""
    tell: Callable[[str], Awaitable[None]] = _to_nobody
    keep: Keep = not_kept
    """Where the files of a result go; a tool returns them, and has no need of it."""
    beat: Callable[[], None] = needless

    @property
    def locale(self) -> Locale:
        """The language that whatever the tool says to people is in: by default the caller's."""
        return self.spoken or self.caller.locale

    async def progress(self, text: str) -> None:
        """Tell whoever watches how far it is; never waits for them, and never fails the call."""
        await self.tell(text[:LONGEST_PROGRESS])

    def heartbeat(self) -> None:
        """Give a sign of life before something that holds up everything else for seconds.

        What awaits needs none: a sign is given for it twice a second.
        """
        self.beat()
