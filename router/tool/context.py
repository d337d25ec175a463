"""What a tool knows of the call it serves, beside its arguments."""

from dataclasses import dataclass
from datetime import datetime
from logging import Logger, LoggerAdapter

from router.domain.principals import Principal

ToolLogger = LoggerAdapter[Logger]


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
    key: str = ""
    """The idempotency key of a write: the same on every retry; empty for a read."""
    undoes: str = ""
    """The key of the earlier call that this one takes back; empty where it takes none back."""
    flow_run: str | None = None
    """The workflow id of the flow run that calls; None where a person does."""
    conversation: str | None = None
    """The conversation the call comes from, where it comes from one."""
