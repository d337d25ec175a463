"""What operators look at: the audit trail, where everybody's messages went, and why.

Routes, candidates and the model with its prompt's fingerprint were recorded with the turn.
Patterns, blockers and entities are found anew, by the rules of today, as if the message stood
alone: where a flow's file has changed since, so may they.
"""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, JsonValue

from router.api.audit import in_words
from router.api.dependencies import Audited, Auditor, Given, Operator, Paged, Services, known
from router.api.errors import problems
from router.api.params import NameParameter, SinceParameter, StrictRoute
from router.domain.errors import NotFound
from router.domain.messages import Candidate, Message, Reply, RouteBy, RouteKind, Usage
from router.domain.principals import Principal
from router.domain.records import TITLES, Act, AuditFilter, RoutedTurn, TurnFilter
from router.flow.paused import Situation
from router.isolation.text_work import run_on_text
from router.store.event_log import LAST_SEQUENCE
from router.understanding.reading import PatternHit, Reading

WORDLESS: frozenset[RouteBy] = frozenset({"llm", "retrieval", "fallback"})
"""Routes whose reason quotes nobody: it names a model and its prompt, or says what was lacking."""


class Went(BaseModel):
    """One route of a turn."""

    kind: RouteKind
    target: str | None
    by: RouteBy
    confidence: float | None = None
    reason: str | None
    """Of `llm` the model and the fingerprint of its prompt; None where it would quote people."""
    candidates: list[Candidate]
    prompt: str | None = None
    """The fingerprint of what a model was asked with."""


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
        """The recorded turn; with `words` also reasons that quote people."""
        turn, routes = found.turn, list[Went]()
        for route in turn.routes or [turn.route]:
            reason = route.reason if words or route.by in WORDLESS else None
            routes.append(Went(**route.model_dump(exclude={"reason"}), reason=reason))
        place = found.model_dump(include={"conversation", "message_id", "at", "person"})
        return cls(**place, status=turn.status, routes=routes)


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


async def with_reasons(services: Services, found: RoutedTurn) -> TurnWithReasons:
    """The turn with its reasons, as far as operators may read them."""
    id_, tenant, turn = found.person, found.tenant, found.turn
    known = await services.directory.find(tenant, id_)
    person = known or Principal(id=id_, name=id_, tenant=tenant, roles=frozenset())
    text = await services.store.routed.said(tenant, found.conversation, found.message_id)
    reading = Reading(normalised="")
    if text and turn.route.by != "action":  # a button goes where it says
        then = found.at.astimezone(ZoneInfo(person.timezone))
        about = {"roles": person.roles, "entitlement": person.entitlement}
        situation = Situation(now=then, locale=found.locale, **about)
        reader = services.reader.of(tenant, id_)
        reading = await run_on_text(text, reader.read, Message(text=text), situation)
    words = services.settings.operators_read_words
    shown = None if words else {"type", "span"}
    entities = [entity.model_dump(mode="json", include=shown) for entity in reading.entities]
    return TurnWithReasons(
        **ListedTurn.of(found, words=words).model_dump(),
        tool_calls=[CalledTool(name=call.name, status=call.status) for call in turn.tool_calls],
        usage=turn.usage,
        patterns=reading.patterns,
        entities=[FoundEntity.model_validate(entity) for entity in entities],
        text=text if words else None,
        replies=turn.replies if words else None,
    )


router = APIRouter(prefix="/v1/audit", tags=["operators"], route_class=StrictRoute)


class AuditLine(BaseModel):
    """Who set about what, to what of whose, when and why."""

    id: str
    at: datetime
    who: str
    """A user id; `shell:` and an account where it was typed on the house's own machine."""
    act: Act
    title: str
    """The act in the reader's language."""
    subject: str
    """The id of the run or file, `conversation/message id`, or a pseudonym."""
    whose: str
    reason: str
    detail: str
    request_id: str
    trace_id: str


class AuditPage(BaseModel):
    """Lines, newest first."""

    items: list[AuditLine]
    next: str | None


COMINGS: tuple[Act, ...] = ("person.sign_in",)
"""Acts by which nobody has done anything yet: they are listed where they are asked for."""


async def _filter(
    who: NameParameter | None = None,
    act: Act | None = None,
    subject: NameParameter | None = None,
    whose: NameParameter | None = None,
    since: SinceParameter | None = None,
) -> AuditFilter:
    besides = () if act else COMINGS
    return AuditFilter(who=who, act=act, subject=subject, whose=whose, since=since, besides=besides)


@router.get("", responses=problems(404))
async def index(
    services: Given, caller: Auditor, page: Paged, wanted: Annotated[AuditFilter, Depends(_filter)]
) -> AuditPage:
    """Read the audit trail of one's own tenant, newest first.

    Who signed in is left out, which isn't what anybody did: `act=person.sign_in` lists that.
    """
    found, following = await services.store.trail.listed(
        caller.tenant, wanted, page.after, page.limit
    )
    items = [
        AuditLine(
            title=TITLES[deed.act].within(caller.locale), **deed.model_dump(exclude={"tenant"})
        )
        for deed in found
    ]
    return AuditPage(items=items, next=following)


turns_router = APIRouter(prefix="/v1/turns", tags=["operators"], route_class=StrictRoute)


async def _turn_filter(
    person: NameParameter | None = None,
    conversation: NameParameter | None = None,
    since: SinceParameter | None = None,
    kind: RouteKind | None = None,
    by: RouteBy | None = None,
    target: NameParameter | None = None,
) -> TurnFilter:
    return TurnFilter(
        person=person, conversation=conversation, since=since, kind=kind, by=by, target=target
    )


@turns_router.get("", responses=problems(404))
async def turns(
    services: Given,
    operator: Operator,
    audit: Audited,
    wanted: Annotated[TurnFilter, Depends(_turn_filter)],
    after: Annotated[int | None, Query(ge=0, le=LAST_SEQUENCE)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> TurnPage:
    """List where everybody's messages went, newest first; nobody's words are in it."""
    await audit.note("routes.list", detail=in_words(wanted.model_dump(mode="json")))
    found = await services.store.routed.listed(operator.tenant, wanted, after, limit + 1)
    shown = found[:limit]
    following = str(shown[-1].sequence) if len(found) > limit else None
    return TurnPage(items=[ListedTurn.of(turn) for turn in shown], next=following)


@turns_router.get("/{conversation}/{message_id}", responses=problems(404))
async def show(
    conversation: str, message_id: str, services: Given, operator: Operator, audit: Audited
) -> TurnWithReasons:
    """Say why a message went where it did.

    What was said, and what was found in it, is there where ROUTER_OPERATORS_READ_WORDS is set.
    """
    of = TurnFilter(conversation=known(conversation, "turn"), message_id=known(message_id, "turn"))
    found = await services.store.routed.listed(operator.tenant, of, None, 1)
    if not found:
        raise NotFound("There is no such turn.")
    turn = found[0]
    await audit.note("route.read", f"{conversation}/{message_id}", whose=turn.person)
    return await with_reasons(services, turn)
