"""What goes into understanding a message, and what comes out."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from router.domain.commands import Command
from router.domain.entities import Entity
from router.domain.messages import Option, Route
from router.domain.texts import Locale
from router.flow.view import FlowView


class Situation(BaseModel):
    """Everything besides the message that its meaning may depend on.

    `now` is aware and in the user's time zone. `offered` are the options of a question that
    the router itself asked last (which flow is meant?); `active` is the run being talked
    about, if any.
    """

    model_config = ConfigDict(frozen=True)

    now: datetime
    locale: Locale
    roles: frozenset[str]
    active: FlowView | None = None
    offered: list[Option] = []


class PatternHit(BaseModel):
    """A pattern found in the message; `blocked_by` is the guard that overruled it, if any."""

    model_config = ConfigDict(frozen=True)

    flow: str
    pattern: str
    span: tuple[int, int]
    blocked_by: str | None = None


class Reading(BaseModel):
    """What a message means as far as rules can tell.

    `route` is None, and `commands` empty, where they can't: then the deciding goes on.
    """

    model_config = ConfigDict(frozen=True)

    normalised: str
    patterns: list[PatternHit] = []
    entities: list[Entity] = []
    route: Route | None = None
    commands: list[Command] = []
