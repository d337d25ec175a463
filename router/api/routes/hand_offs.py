"""What was handed to people: the queue, and taking, answering and giving back what is in it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict

from router.api.dependencies import OPERATOR, Audited, Caller, Given, Paged, Services, known
from router.api.errors import problems
from router.api.hand_offs import attend, helps, said_in
from router.api.idempotency import IdempotencyKey, claim
from router.api.params import SaidText, StrictRoute
from router.api.routes.messages import TranscriptItem
from router.domain.errors import NotFound
from router.domain.hand_offs import (
    DeedKind,
    HandOffCause,
    HandOffEnd,
    HandOffRecord,
    HandOffState,
    NamedPerson,
)
from router.domain.principals import Principal
from router.store.event_log import LAST_SEQUENCE

router = APIRouter(prefix="/v1/handoffs", tags=["handoffs"], route_class=StrictRoute)


class HandOffView(BaseModel):
    """A conversation that was handed over, as who takes such may see it before they do."""

    id: str
    state: HandOffState
    cause: HandOffCause
    """`asked`: a person asked for a person; `gave_up`: the desk, a model or a flow gave up."""
    reason: str | None
    """Why, in a sentence of the reader's language, unless a model wrote it; None for operators who
    don't take any themselves."""
    requester: NamedPerson
    agent: NamedPerson | None
    """Who has it, or had it last."""
    since: datetime
    waiting_since: datetime | None
    """Since when the employee waits for an answer."""
    due: datetime | None
    """When somebody comes on duty, is reminded, or it goes back to the desk."""
    taken_at: datetime | None
    closed_at: datetime | None
    ending: HandOffEnd | None


class HandOffPage(BaseModel):
    """Hand-offs that stand so, newest first."""

    items: list[HandOffView]
    next: str | None


class HandOffReply(BaseModel):
    """What is said to the employee."""

    model_config = ConfigDict(extra="forbid")

    text: SaidText


class HandOffClosing(BaseModel):
    """What is said to the employee last, if anything."""

    model_config = ConfigDict(extra="forbid")

    text: SaidText | None = None


NOTHING = "There is no such hand-off."


def _reads(services: Services, caller: Principal) -> bool:
    return helps(services, caller) or OPERATOR in caller.roles


async def _reader(services: Given, caller: Caller) -> Principal:
    if not _reads(services, caller):
        raise NotFound(NOTHING)
    return caller


async def _helper(services: Given, caller: Caller) -> Principal:
    if not helps(services, caller):
        raise NotFound(NOTHING)
    return caller


HandOffReader = Annotated[Principal, Depends(_reader)]
"""The caller, who takes hand-offs or is an operator; 404 where they are neither."""
Helper = Annotated[Principal, Depends(_helper)]
"""The caller, who takes hand-offs; 404 where they don't."""


async def _handed_off(services: Given, caller: Caller, hand_off: str) -> HandOffRecord:
    found = await services.store.hand_offs.find(caller.tenant, known(hand_off, "hand-off"))
    if found is None:
        raise NotFound(NOTHING)
    return found


HandedOff = Annotated[HandOffRecord, Depends(_handed_off)]
"""The hand-off in the path, of the caller's tenant; 404 where there is none."""


async def _named(services: Services, tenant: str, person: str) -> NamedPerson:
    found = await services.directory.find(tenant, person)
    return NamedPerson(id=person, name=found.name if found else person)


async def _view(services: Services, reader: Principal, record: HandOffRecord) -> HandOffView:
    kept = record.model_dump(exclude={"requester", "agent", "reason", "why"})
    agent = await _named(services, record.tenant, record.agent) if record.agent else None
    return HandOffView(
        **kept,
        reason=record.reason_in(reader.locale) if helps(services, reader) else None,
        requester=await _named(services, record.tenant, record.requester),
        agent=agent,
    )


@router.get("", responses=problems())
async def index(
    services: Given, caller: Caller, page: Paged, state: HandOffState = "open"
) -> HandOffPage:
    """List what waits for a person (`open`), what somebody has (`taken`), or what is over.

    For those who take none, and operate nothing, that is nothing.
    """
    if not _reads(services, caller):
        return HandOffPage(items=[], next=None)
    found, following = await services.store.hand_offs.listed(
        caller.tenant, state, page.after, page.limit
    )
    items = [await _view(services, caller, record) for record in found]
    return HandOffPage(items=items, next=following)


@router.get("/{hand_off}", responses=problems(404))
async def show(services: Given, reader: HandOffReader, record: HandedOff) -> HandOffView:
    """Say how a hand-off stands."""
    return await _view(services, reader, record)


@router.get("/{hand_off}/messages", response_model_exclude_none=True, responses=problems(404))
async def transcript(
    services: Given,
    helper: Helper,
    record: HandedOff,
    after: Annotated[int | None, Query(ge=0, le=LAST_SEQUENCE)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 200,
) -> Response:
    """Read the conversation as whoever has it may: twenty things from before, and all since."""
    if record.agent != helper.id:
        raise NotFound(NOTHING)
    entries = await said_in(services, record, after, limit + 1)
    kept = {"text", "role", "files", "author", "message_id"}
    items = [
        TranscriptItem.model_validate(
            {
                **{name: value for name, value in entry.data.items() if name in kept},
                "id": str(entry.sequence),
                "at": entry.at,
            }
        )
        for entry in entries[:limit]
    ]
    shown = [item.model_dump(mode="json", exclude_none=True) for item in items]
    return JSONResponse({"items": shown, "next": items[-1].id if len(entries) > limit else None})


_MAY_FAIL = problems(400, 404, 409, 413, 415)


@router.post("/{hand_off}/take", responses=_MAY_FAIL)
async def take(
    services: Given, helper: Helper, record: HandedOff, audit: Audited, key: IdempotencyKey
) -> HandOffView:
    """Take it: from now on the employee speaks with the caller. Of two at once one gets 409."""
    await audit.note("handoff.take", record.id, whose=record.requester)
    return await _done(services, helper, record, "take", key)


@router.post("/{hand_off}/reply", responses=_MAY_FAIL)
async def reply(
    services: Given, helper: Helper, record: HandedOff, key: IdempotencyKey, body: HandOffReply
) -> HandOffView:
    """Say something to the employee, by the caller's name, on every entrance that they have.

    Without an Idempotency-Key the same words twice in a row are said once, and the second gets 409.
    """
    return await _done(services, helper, record, "reply", key, body.text)


@router.post("/{hand_off}/return", responses=_MAY_FAIL)
async def give_back(
    services: Given,
    reader: HandOffReader,
    record: HandedOff,
    audit: Audited,
    key: IdempotencyKey,
    body: HandOffClosing | None = None,
) -> HandOffView:
    """Give the conversation back to the desk; an operator may give back what anybody has."""
    await audit.note("handoff.close", record.id, whose=record.requester, detail="returned")
    text = body.text if body and body.text else ""
    return await _done(services, reader, record, "return", key, text)


@router.post("/{hand_off}/close", responses=_MAY_FAIL)
async def close(
    services: Given,
    helper: Helper,
    record: HandedOff,
    audit: Audited,
    key: IdempotencyKey,
    body: HandOffClosing | None = None,
) -> HandOffView:
    """Say that it is done; the desk answers again."""
    await audit.note("handoff.close", record.id, whose=record.requester, detail="solved")
    text = body.text if body and body.text else ""
    return await _done(services, helper, record, "close", key, text)


async def _done(
    services: Services,
    person: Principal,
    record: HandOffRecord,
    kind: DeedKind,
    key: str | None,
    text: str = "",
) -> HandOffView:
    await claim(services, person, key, f"{kind} {record.id}", text)
    operates = kind == "return" and OPERATOR in person.roles
    after = await attend(services, person, record, kind, text=text, key=key, any_agent=operates)
    return await _view(services, person, after)
