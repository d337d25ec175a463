"""What comes out of understanding a message."""

from pydantic import BaseModel, ConfigDict

from router.domain.commands import Command
from router.domain.messages import Route
from router.entities.extraction import Entity


class PatternHit(BaseModel):
    """A pattern found in the message; `blocked_by` is the guard that overruled it, if any."""

    model_config = ConfigDict(frozen=True)

    flow: str
    pattern: str
    span: tuple[int, int]
    blocked_by: str | None = None


class Reading(BaseModel):
    """What a message means as far as rules can tell; without a `route`, the deciding goes on.

    Of several wishes `route` is the first command's, and `others` are those of the rest. `rest` are
    the clauses that no rule takes, as typed: it goes on for them alone. `unread` is where a message
    goes on, as typed, after as many values or requests as are read of one.
    """

    model_config = ConfigDict(frozen=True)

    normalised: str
    patterns: list[PatternHit] = []
    entities: list[Entity] = []
    route: Route | None = None
    others: list[Route] = []
    commands: list[Command] = []
    rest: str = ""
    unread: str = ""
