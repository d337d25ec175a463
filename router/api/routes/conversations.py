"""Conversations: begun, listed, looked at, and the turn that runs in one stopped."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from router.api.conversations import forget, live_standing, standing
from router.api.dependencies import (
    Audited,
    Caller,
    Given,
    OwnConversation,
    Owned,
    Paged,
    Person,
    known,
)
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey, claim
from router.api.params import PlainObject, StrictRoute, derived_id, fresh_id
from router.contracts.conversation import CANCEL, PausedFlow, WithPerson, workflow_id
from router.domain.errors import Conflict, NotFound
from router.domain.locale import Locale
from router.domain.messages import FlowSummary, Usage
from router.domain.records import ConversationRecord
from router.gateway.retries import RPC_TIMEOUT, own_errors

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=StrictRoute)

MOST_FIELDS = 32
"""Of a conversation's metadata."""


class NewConversation(BaseModel):
    """What may be said of a conversation when it begins; all of it may be left out."""

    model_config = ConfigDict(extra="forbid")

    locale: Locale | None = None
    """The language that the router speaks in it; the caller's own where it isn't given."""
    metadata: Annotated[
        PlainObject, Field(max_length=MOST_FIELDS, json_schema_extra={"maxProperties": MOST_FIELDS})
    ] = {}


class ConversationView(BaseModel):
    """A conversation as it was begun."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    locale: Locale
    created_at: datetime


TITLE = 80
"""Characters of a conversation's first words that a list shows."""


class ListedConversation(ConversationView):
    """A conversation in a list, so that it can be told from the others."""

    title: str
    """Its first words; empty where nothing was said yet."""
    latest: str | None
    """The id of the transcript's last item: higher than the last one seen, there is news."""
    latest_at: datetime | None


class ConversationPage(BaseModel):
    """The caller's conversations, newest first."""

    items: list[ListedConversation]
    next: str | None


class SkillInPlay(BaseModel):
    """The skill that isn't done; the next message goes to it where it is `asking`."""

    name: str
    title: str
    """In the conversation's language."""
    asking: bool


class ConversationStanding(BaseModel):
    """How a conversation stands right now."""

    id: str
    locale: Locale
    status: Literal["idle", "running"]
    turns: int
    active_flow: FlowSummary | None
    paused_flows: list[PausedFlow]
    pending_confirmation: dict[str, JsonValue] | None
    active_skill: SkillInPlay | None
    with_person: WithPerson | None
    """The person who has the conversation, or the queue that it waits in."""
    usage: Usage


class Cancelling(BaseModel):
    """The turns that were under way when the running one was told to stop."""

    status: Literal["cancelling"] = "cancelling"
    message_ids: list[str]


@router.post("", status_code=201, responses=problems(400, 403, 413, 415))
async def create(
    services: Given, caller: Person, key: IdempotencyKey, body: NewConversation | None = None
) -> ConversationView:
    """Begin a conversation. It costs nothing until something is said in it."""
    wanted = body or NewConversation()
    await claim(services, caller, key, "create conversation", wanted.model_dump(mode="json"))
    record = ConversationRecord(
        id=derived_id("conversation", caller.tenant, caller.id, key) if key else fresh_id(),
        tenant=caller.tenant,
        owner=caller.id,
        locale=wanted.locale or caller.locale,
        created_at=datetime.now(UTC),
        metadata=wanted.metadata,
    )
    created = await services.store.conversations.create(record)
    return ConversationView.model_validate(created)


@router.get("", responses=problems())
async def index(services: Given, caller: Caller, page: Paged) -> ConversationPage:
    """List the caller's own conversations, newest first."""
    found, following = await services.store.conversations.owned_by(
        caller.tenant, caller.id, page.after, page.limit
    )
    previews = await services.store.log.previews(caller.tenant, [record.id for record in found])
    items: list[ListedConversation] = []
    for record in found:
        preview = previews.get(record.id)
        listed = ListedConversation(
            **ConversationView.model_validate(record).model_dump(),
            title=" ".join(preview.opening.split())[:TITLE] if preview else "",
            latest=str(preview.latest) if preview else None,
            latest_at=preview.latest_at if preview else None,
        )
        items.append(listed)
    return ConversationPage(items=items, next=following)


@router.get("/{conversation}", responses=problems(404))
async def show(services: Given, record: OwnConversation) -> ConversationStanding:
    """Say how the conversation stands: what is asked, what waits, what it cost so far."""
    now = await standing(services, record.tenant, record.id)
    skill = None
    if active := now.active_skill:
        title = active.title.within(record.locale)
        skill = SkillInPlay(name=active.name, title=title, asking=active.asking)
    return ConversationStanding(
        id=record.id,
        locale=record.locale,
        status="running" if now.running else "idle",
        active_skill=skill,
        **now.model_dump(exclude={"running", "active_skill", "asked"}),
    )


@router.delete("/{conversation}", status_code=204, responses=problems(404, 409))
async def delete(
    services: Given, caller: Caller, owned: Owned, audit: Audited, conversation: str
) -> Response:
    """Have one's own conversation forgotten for good: messages, events and files of it alone.

    Requests that were begun in it go on and stay; what happens to them later is news of the
    caller's. What one asked to have remembered stays too. A repeat does nothing.
    """
    id_ = known(conversation, "conversation")
    if await services.store.conversations.forgotten_by(caller.tenant, id_) != caller.id:
        await owned.owned(caller, id_)
        await audit.note("conversation.forget", id_)
    owned.forget(caller.tenant, id_)
    await forget(services, caller.tenant, id_)
    owned.forget(caller.tenant, id_)
    return Response(status_code=204)


@router.post("/{conversation}/cancel", status_code=202, responses=problems(404, 409))
async def cancel(
    services: Given, caller: Caller, record: OwnConversation, key: IdempotencyKey
) -> Cancelling:
    """Stop the turn that runs; those that wait behind it go on.

    A repeat with the same Idempotency-Key never stops a later turn.
    """
    now = await live_standing(services.temporal, record.tenant, record.id)
    if now is None or not now.running:
        raise Conflict("No turn of this conversation is running.")
    await claim(services, caller, key, f"cancel {record.id}", now.running[0])
    handle = services.temporal.get_workflow_handle(workflow_id(record.tenant, record.id))
    try:
        with own_errors():
            await handle.signal(CANCEL, now.running[0], rpc_timeout=RPC_TIMEOUT)
    except NotFound as error:
        raise Conflict("No turn of this conversation is running any more.") from error
    return Cancelling(message_ids=now.running)
