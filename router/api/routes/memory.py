"""What the caller asked to have remembered: theirs alone, to be seen, added to and deleted."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, WithJsonSchema

from router.api.dependencies import Given, Person, known
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey, claim
from router.api.params import IS_SCHEMA, SAID_TEXT, SaidText, StrictRoute
from router.domain.errors import NotFound
from router.domain.locale import Locale
from router.domain.records import LONGEST_MEMORY, MemoryRecord
from router.understanding.memory_wishes import to_remember

router = APIRouter(prefix="/v1/memory", tags=["memory"], route_class=StrictRoute)


class MemoryView(BaseModel):
    """One thing that is remembered, in the words and the language it was said in."""

    id: str
    text: str
    locale: Locale
    created_at: datetime

    @classmethod
    def of(cls, memory: MemoryRecord) -> "MemoryView":
        """It, as its owner sees it."""
        return cls(**memory.model_dump())


class MemoryPage(BaseModel):
    """All of them, newest first, a hundred at most; there is never a next page."""

    items: list[MemoryView]
    next: str | None = None


_SCHEMA = {IS_SCHEMA: SAID_TEXT, "maxLength": LONGEST_MEMORY}


class MemoryBody(BaseModel):
    """What is to be remembered, in up to 500 characters; nothing that looks like a secret."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[SaidText, WithJsonSchema(_SCHEMA)]


class MemoriesGone(BaseModel):
    """How many were forgotten."""

    forgotten: int


@router.get("", responses=problems())
async def index(services: Given, caller: Person) -> MemoryPage:
    """List what the caller asked to have remembered."""
    found = await services.store.memories.listed(caller.tenant, caller.id)
    return MemoryPage(items=[MemoryView.of(memory) for memory in found])


@router.post("", status_code=201, responses=problems(400, 409, 413, 415))
async def create(
    services: Given, caller: Person, key: IdempotencyKey, body: MemoryBody
) -> MemoryView:
    """Have something remembered; the same once more is the one that is there."""
    memory = MemoryRecord.of(caller, to_remember(body.text), caller.locale, datetime.now(UTC))
    await claim(services, caller, key, "memory", body.model_dump())
    memories = services.store.memories
    if await memories.keep(caller.tenant, caller.id, memory):
        return MemoryView.of(memory)
    there = await memories.listed(caller.tenant, caller.id)
    return MemoryView.of(next((each for each in there if each.id == memory.id), memory))


@router.delete("", responses=problems())
async def clear(services: Given, caller: Person) -> MemoriesGone:
    """Have all of it forgotten."""
    return MemoriesGone(forgotten=await services.store.memories.forget(caller.tenant, caller.id))


@router.delete("/{memory}", status_code=204, responses=problems(404))
async def delete(services: Given, caller: Person, memory: str) -> Response:
    """Have one thing forgotten."""
    id_ = known(memory, "memory")
    if not await services.store.memories.forget(caller.tenant, caller.id, id_):
        raise NotFound("There is no such memory.")
    return Response(status_code=204)
