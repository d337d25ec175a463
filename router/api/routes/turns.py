"""Where everybody's messages went and why, for operators: each look is a line of the trail."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from router.api.body import StrictRoute
from router.api.deps import Given, Operator, Witnessed, known
from router.api.plain import Name, Since
from router.api.problems import problems
from router.api.reasons import TurnPage, TurnWithReasons, page_of, with_reasons
from router.api.witness import in_words
from router.domain.errors import NotFound
from router.domain.messages import RouteBy, RouteKind
from router.domain.records import TurnFilter

router = APIRouter(prefix="/v1/turns", tags=["operators"], route_class=StrictRoute)

LAST_SEQUENCE = 2**63 - 1


async def _filter(
    person: Name | None = None,
    conversation: Name | None = None,
    since: Since | None = None,
    kind: RouteKind | None = None,
    by: RouteBy | None = None,
    target: Name | None = None,
) -> TurnFilter:
    return TurnFilter(
        person=person, conversation=conversation, since=since, kind=kind, by=by, target=target
    )


@router.get("", responses=problems(404))
async def index(
    services: Given,
    operator: Operator,
    witness: Witnessed,
    wanted: Annotated[TurnFilter, Depends(_filter)],
    after: Annotated[int | None, Query(ge=0, le=LAST_SEQUENCE)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> TurnPage:
    """List where everybody's messages went, newest first; nobody's words are in it."""
    await witness.note("routes.list", detail=in_words(wanted.model_dump(mode="json")))
    found = await services.store.routed.listed(operator.tenant, wanted, after, limit + 1)
    return page_of(found, limit)


@router.get("/{conversation}/{message_id}", responses=problems(404))
async def show(
    conversation: str, message_id: str, services: Given, operator: Operator, witness: Witnessed
) -> TurnWithReasons:
    """Say why a message went where it did.

    What was said, and what was found in it, is there where ROUTER_OPERATORS_READ_WORDS is set.
    """
    of = TurnFilter(conversation=known(conversation, "turn"), message_id=known(message_id, "turn"))
    found = await services.store.routed.listed(operator.tenant, of, None, 1)
    if not found:
        raise NotFound("There is no such turn.")
    turn = found[0]
    await witness.note("route.read", f"{conversation}/{message_id}", whose=turn.person)
    return await with_reasons(services, turn)
