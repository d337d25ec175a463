"""Other systems that tell runs what happened: signed as a standard webhook, without a token.

A request that brings a token is its bearer's, whatever else it brings. One that is signed may be
sent again with the same `webhook-id` and body: it is answered as it was, and does nothing twice.

A signature covers the id, the time and the body, and no address. So the id begins with what the
address ends with, or an event that somebody overheard could be told another run, or as another one.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials
from pydantic.json_schema import SkipJsonSchema

from router.api.dependencies import AppState, admitted_caller, authenticate, bearer
from router.api.idempotency import IdempotencyKey
from router.domain.errors import Unauthenticated
from router.domain.principals import Principal
from router.webhook.signature import (
    ID,
    SIGNATURE,
    TIMESTAMP,
    NotSigned,
    signed_headers,
    signer_of,
)
from router.webhook.webhook_files import EventSource

_EVENTS = re.compile(r"/v1/flow-runs/(?P<run>[^/]+)/events/(?P<name>[^/]+)")


@dataclass(frozen=True)
class EventTeller:
    """Who tells it: somebody with a token, or a `source` that signed it; and the request's key."""

    principal: Principal
    key: str | None
    source: EventSource | None = None

    def may_tell(self, flow: str) -> bool:
        """True of runs of this flow; whose token it is, the run's flow says."""
        return self.source is None or self.source.may_tell(flow)


def is_signed(request: Request) -> bool:
    """True of an event that its sender signs instead of bringing a token."""
    told = request.method == "POST" and _EVENTS.fullmatch(request.url.path)
    return bool(told) and SIGNATURE in request.headers and "authorization" not in request.headers


async def admit(request: Request) -> object:
    """Let a body be read that somebody with a token sends, or that may turn out to be signed."""
    if is_signed(request) and AppState.of(request).services.systems.telling:
        return _announced(request)
    return await authenticate(request)


def _announced(request: Request) -> str:
    """The id of what is said to be signed, for this run and event; raises `Unauthenticated`."""
    try:
        id_ = signed_headers(request.headers, datetime.now(UTC))[ID]
    except NotSigned as error:
        raise Unauthenticated(f"The event isn't signed: {error}.") from None
    told = _EVENTS.fullmatch(request.url.path)
    whose = "{run}/{name}/".format_map(told.groupdict()) if told else ""
    if not id_.startswith(whose) or id_ == whose:
        raise Unauthenticated(
            f"The event isn't signed for this run and name: its {ID} has to begin with {whose}, "
            "and end with an id of your own."
        )
    return id_


_Text = str | SkipJsonSchema[None]


async def _teller(
    request: Request,
    key: IdempotencyKey,
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    __: Annotated[
        _Text, Header(alias=ID, description="In place of a token: Standard Webhooks.")
    ] = None,
    ___: Annotated[_Text, Header(alias=TIMESTAMP, description="Of the same.")] = None,
    ____: Annotated[_Text, Header(alias=SIGNATURE, description="Of the same.")] = None,
) -> EventTeller:
    sources = AppState.of(request).services.systems.telling
    if not is_signed(request) or not sources:
        return EventTeller(await admitted_caller(request), key)
    _announced(request)
    known = [(source.name, source.secrets) for source in sources]
    try:
        name, id_ = signer_of(known, request.headers, await request.body())
    except NotSigned as error:
        raise Unauthenticated(f"The event isn't signed by anybody known here: {error}.") from None
    source = next(source for source in sources if source.name == name)
    AppState.of(request).rates.admit(source.principal)
    return EventTeller(source.principal, id_, source)


Teller = Annotated[EventTeller, Depends(_teller)]
"""Whoever tells a run what happened outside."""
