"""Why a turn went where it did: what was noted then, and what rules find in the message now.

The routes, candidates with their scores, and the model with the fingerprint of its prompt were
recorded with the turn. Patterns, guards and entities are found anew, by the rules of today, as if
the message stood alone: where a flow's file has changed since, so may they.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, JsonValue

from router.api.deps import Services
from router.domain.messages import (
    Candidate,
    Message,
    Reply,
    Route,
    RouteBy,
    RouteKind,
    Turn,
    Usage,
)
from router.domain.principals import Principal
from router.domain.records import RoutedTurn
from router.flow.situation import Situation
from router.understanding.reading import PatternHit, Reading

WORDLESS: frozenset[RouteBy] = frozenset({"llm", "retrieval", "fallback"})
"""Routes whose reason quotes nobody: it names a model and its prompt, or says what was lacking."""


class Went(BaseModel):
    """One route of a turn."""

    kind: RouteKind
    target: str | None
    by: RouteBy
    confidence: float
    reason: str | None
    """Of `llm` the model and the fingerprint of its prompt; None where it would quote people."""
    candidates: list[Candidate]

    @classmethod
    def of(cls, route: Route, *, words: bool) -> "Went":
        """The route; its reason too where it quotes nobody, or may."""
        reason = route.reason if words or route.by in WORDLESS else None
        return cls(**route.model_dump(exclude={"reason"}), reason=reason)


class ListedTurn(BaseModel):
    """A turn in a list: whose it was and where it went."""

    conversation: str
    message_id: str
    at: datetime
    person: str
    status: str
    routes: list[Went]

    @classmethod
    def of(cls, found: RoutedTurn, *, words: bool = False) -> "ListedTurn":
        """The recorded turn; `words` has reasons that quote people."""
        routes = found.turn.routes or [found.turn.route]
        return cls(
            conversation=found.conversation,
            message_id=found.message_id,
            at=found.at,
            person=found.person,
            status=found.turn.status,
            routes=[Went.of(route, words=words) for route in routes],
        )


class TurnPage(BaseModel):
    """Turns, newest first."""

    items: list[ListedTurn]
    next: str | None


class FoundEntity(BaseModel):
    """Something that a message names: what kind of thing, where; and what, where that is shown."""

    type: str
    span: tuple[int, int]
    text: str | None = None
    value: JsonValue = None


class CalledTool(BaseModel):
    """A tool that the turn called."""

    name: str
    status: str


class TurnWithReasons(ListedTurn):
    """A turn, and everything that is known of why it went where it did."""

    patterns: list[PatternHit]
    entities: list[FoundEntity]
    tool_calls: list[CalledTool]
    usage: Usage
    text: str | None
    """What the person said; None where operators may not read that, or it is gone."""
    replies: list[Reply] | None
    """What they were answered, a model's words included; None likewise."""


def page_of(found: Sequence[RoutedTurn], limit: int) -> TurnPage:
    """The first `limit` of the turns, and where the next page begins if there are more."""
    shown = found[:limit]
    following = str(shown[-1].sequence) if len(found) > limit else None
    return TurnPage(items=[ListedTurn.of(turn) for turn in shown], next=following)


async def with_reasons(services: Services, found: RoutedTurn) -> TurnWithReasons:
    """The turn with its reasons, as far as operators may read them."""
    person = await _person(services, found)
    text = await services.store.routed.said(person.tenant, found.conversation, found.message_id)
    reading = _read_again(services, found, person, text)
    words = services.settings.operators_read_words
    return TurnWithReasons(
        **ListedTurn.of(found, words=words).model_dump(),
        **_rest(found.turn),
        patterns=reading.patterns,
        entities=_entities(reading, words=words),
        text=text if words else None,
        replies=found.turn.replies if words else None,
    )


async def _person(services: Services, found: RoutedTurn) -> Principal:
    """Whose turn it was, as today's directory has them; somebody who left has no role."""
    known = await services.directory.find(found.tenant, found.person)
    return known or Principal(
        id=found.person, name=found.person, tenant=found.tenant, roles=frozenset()
    )


def _read_again(
    services: Services, found: RoutedTurn, person: Principal, text: str | None
) -> Reading:
    """What rules find in the message; nothing in a button, which goes where it says."""
    if not text or found.turn.route.by == "action":
        return Reading(normalised="")
    then = found.at.astimezone(ZoneInfo(person.timezone))
    situation = Situation(now=then, locale=found.locale, roles=person.roles)
    return services.reader.read(Message(text=text), situation)


def _entities(reading: Reading, *, words: bool) -> list[FoundEntity]:
    shown = None if words else {"type", "span"}
    found = [entity.model_dump(mode="json", include=shown) for entity in reading.entities]
    return [FoundEntity.model_validate(entity) for entity in found]


def _rest(turn: Turn) -> dict[str, Any]:
    calls = [CalledTool(name=call.name, status=call.status) for call in turn.tool_calls]
    return {"tool_calls": calls, "usage": turn.usage}
