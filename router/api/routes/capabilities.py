"""What can be done here, for this caller, and how a text would be routed."""

import re
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, JsonValue

from router.api.dependencies import Caller, Given, Offers, Rates
from router.api.errors import problems
from router.api.explanation import Explanation, explain
from router.api.idempotency import IdempotencyKey
from router.api.params import SaidText, StrictRoute
from router.api.runs import schema_of_fillable
from router.domain.commands import Command
from router.domain.messages import Message, Route
from router.domain.principals import Capability, CapabilityKind, Principal
from router.flow.paused import Situation
from router.isolation.text_work import TextWork
from router.routing import decider

router = APIRouter(prefix="/v1/capabilities", tags=["capabilities"])

_HAN = re.compile("[\u4e00-\u9fff]")


class CapabilityView(BaseModel):
    """A flow, skill or tool in the reader's language."""

    kind: CapabilityKind
    name: str
    title: str
    description: str
    permission: Literal["read", "write", "admin"] | None = None
    """Of a tool: whether it changes something, and whose."""
    parameters: dict[str, JsonValue] | None = None
    """JSON Schema: a tool's arguments, or the slots that a flow may be started with."""
    examples: list[str] | None = None
    """Sentences to begin with, in their language: of flows, and of tools that suggest some."""
    client: Literal[True] | None = None
    """Of a tool that the front end calls when a turn says so: it can't be started by name."""
    command: str | None = None
    """Of a skill: what a message begins with that is for it, whatever else it says."""
    hint: str | None = None
    """Of a skill: what may be said after that."""
    named_only: Literal[True] | None = None
    """Of a skill that people call by name alone: no model chooses it."""

    @classmethod
    def of(cls, capability: Capability, offered: Offers, caller: Principal) -> "CapabilityView":
        """The capability in the caller's language."""
        locale, kind = caller.locale, capability.kind
        parameters: dict[str, JsonValue] | None = capability.parameters
        if kind != "tool":
            flow = offered.startable(capability.name, caller) if kind == "flow" else None
            parameters = schema_of_fillable(flow.slots, locale) if flow else None
        spoken = [e for e in capability.examples if bool(_HAN.search(e)) == (locale == "zh")]
        return cls(
            kind=kind,
            name=capability.name,
            title=capability.title.within(locale),
            description=capability.description.within(locale),
            permission=capability.permission,
            parameters=parameters,
            examples=(spoken or None) if kind == "flow" or capability.suggested else None,
            client=capability.client or None,
            command=f"/{capability.name}" if kind == "skill" else None,
            hint=capability.hint or None,
            named_only=None if capability.by_model else True,
        )


class CapabilityPage(BaseModel):
    """All of them; there is never a next page."""

    items: list[CapabilityView]
    next: str | None = None


@router.get("", response_model_exclude_none=True, responses=problems())
async def index(
    services: Given, caller: Caller, kind: CapabilityKind | None = None
) -> CapabilityPage:
    """List what the caller may use; what they may not use isn't there."""
    offered = services.offered.of(caller.tenant, caller.id)
    visible = (c for c in offered.visible_to(caller) if c.by_name)
    wanted = (c for c in visible if kind in {None, c.kind})
    return CapabilityPage(items=[CapabilityView.of(c, offered, caller) for c in wanted])


route_router = APIRouter(prefix="/v1/route", tags=["route"], route_class=StrictRoute)


class TextBody(BaseModel):
    """A text to explain."""

    model_config = ConfigDict(extra="forbid")

    text: SaidText


@route_router.post(
    "", response_model=None, responses={200: {"model": Explanation}, **problems(400, 413, 415)}
)
async def route(
    services: Given, caller: Caller, rates: Rates, _key: IdempotencyKey, body: TextBody
) -> dict[str, Any]:
    """Explain how the text would be routed if the caller said it now; nothing is executed."""

    async def nearest(message: Message, situation: Situation) -> tuple[Route, list[Command]]:
        usable = services.offered.of(*place).choosable_by(caller)
        words = decider.words_of(message)
        found = await decider.find(services.index.of(*place), usable, words, situation)
        return decider.decide_by_nearness(situation, found)

    place = (caller.tenant, caller.id)
    now = datetime.now(ZoneInfo(caller.timezone))
    situation = Situation(
        now=now, locale=caller.locale, roles=caller.roles, entitlement=caller.entitlement
    )
    reader, work = services.reader.of(*place), TextWork(*place)
    try:
        return await explain(reader, work, body.text, situation, nearest)
    finally:
        rates.charge(caller, work.seconds)
