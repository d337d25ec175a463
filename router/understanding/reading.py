"""What comes out of understanding a message."""

from router.domain.commands import Command
from router.domain.messages import Route
from router.domain.value import Value
from router.entities.extraction import Entity


class PatternHit(Value):
    """A pattern found in the message; `blocked_by` is the guard that overruled it, if any."""

    flow: str
    pattern: str
    span: tuple[int, int]
    blocked_by: str | None = None


class Reading(Value):
    """What a message means as far as rules can tell; without a `route`, the deciding goes on.

    Of several wishes `route` is the first command's, and `others` are those of the rest. `rest` are
    the clauses that no rule takes, as typed: it goes on for them alone. `unread` is where a message
    goes on, as typed, after as many values or requests as are read of one.
    """

    normalised: str
    patterns: list[PatternHit] = []
    entities: list[Entity] = []
    route: Route | None = None
    others: list[Route] = []
    commands: list[Command] = []
    rest: str = ""
    unread: str = ""
