"""How a text would be routed, and why, as `POST /v1/route` and `route --json` answer it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from pydantic import BaseModel, JsonValue

from router.domain.commands import CallTool, Command, Confirm, FillSlots, StartFlow
from router.domain.messages import Candidate, Message, Route, RouteBy, RouteKind
from router.entities.extraction import Entity
from router.flow.paused import Situation
from router.isolation.text_work import TextWork
from router.understanding.reading import PatternHit, Reading

DecideMessage = Callable[[Message, Situation], Awaitable[tuple[Route, list[Command]]]]
"""What decides where rules can't."""


class Reads(Protocol):
    """What understands messages by rules."""

    def of(self, tenant: str, person: str | None = None) -> "Reads":
        """What does so for people of the tenant."""

    def read(self, message: Message, situation: Situation) -> Reading:
        """What the message means as far as rules can tell."""


class ExplainedDecision(BaseModel):
    """Where a text would go, by which means and with what."""

    kind: RouteKind
    target: str | None = None
    by: RouteBy
    slots: dict[str, JsonValue] | None = None
    confidence: float | None = None
    reason: str | None = None


class Explanation(BaseModel):
    """A text, what was found in it, what was considered, and where it would go.

    Of several wishes `decision` is the first's, `decisions` are all of them, and `rest` is what
    rules left to be decided.
    """

    text: str
    normalised: str
    patterns: list[PatternHit]
    entities: list[Entity]
    candidates: list[Candidate]
    decision: ExplainedDecision
    decisions: list[ExplainedDecision] | None = None
    rest: str | None = None


async def explain(
    reader: Reads, work: TextWork, text: str, situation: Situation, decide: DecideMessage
) -> dict[str, Any]:
    """How the text would be routed: by rules, or by `decide` where they can't tell."""
    message = Message(text=text)
    reading = await work.run(text, reader.read, message, situation)
    if reading.route is None:
        route, commands = await decide(message, situation)
        return explanation(text, reading, [route], commands)
    routes, commands = [reading.route, *reading.others], reading.commands
    if reading.rest:
        route, more = await decide(Message(text=reading.rest), situation)
        routes, commands = [*routes, route], [*commands, *more]
    return explanation(text, reading, routes, commands)


def explanation(
    text: str, reading: Reading, routes: Sequence[Route], commands: Sequence[Command]
) -> dict[str, Any]:
    """The explanation as JSON: of empty optional keys, only a pattern's `blocked_by` is there."""
    decisions = [_explained(route, commands) for route in routes]
    if len(routes) == 1:
        decisions[0].slots = values_of(commands) or None
    whole = Explanation(
        text=text,
        normalised=reading.normalised,
        patterns=reading.patterns,
        entities=reading.entities,
        candidates=[candidate for route in routes for candidate in route.candidates],
        decision=decisions[0],
        decisions=decisions if len(decisions) > 1 else None,
        rest=reading.rest or None,
    )
    shown = whole.model_dump(mode="json", exclude_none=True)
    shown["patterns"] = [hit.model_dump(mode="json") for hit in reading.patterns]
    return shown


def _explained(route: Route, commands: Iterable[Command]) -> ExplainedDecision:
    """The route with the values of its own command."""
    aim = {"start_flow": "flow", "call_tool": "tool"}
    own = [c for c in commands if getattr(c, aim.get(c.type, "type")) == route.target]
    return ExplainedDecision(
        kind=route.kind,
        target=route.target,
        by=route.by,
        slots=values_of(own) or None,
        confidence=route.confidence,
        reason=route.reason or None,
    )


def values_of(commands: Iterable[Command]) -> dict[str, JsonValue]:
    """What the first command that carries values says: a flow's slots, a tool's arguments."""
    for command in commands:
        if isinstance(command, StartFlow | FillSlots | Confirm):
            return dict(command.slots)
        if isinstance(command, CallTool):
            return dict(command.arguments)
    return {}
