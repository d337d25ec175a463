"""How a text would be routed, without doing it."""

from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from router.api.body import StrictRoute
from router.api.deps import Caller, Given, Services
from router.api.explanation import Explanation, explain
from router.api.idempotency import IdempotencyKey
from router.api.plain import SaidText
from router.api.problems import problems
from router.deciding import nearest
from router.domain.commands import Command
from router.domain.messages import Message, Route
from router.domain.principals import Principal
from router.flow.situation import Situation

router = APIRouter(prefix="/v1/route", tags=["route"], route_class=StrictRoute)


class TextBody(BaseModel):
    """A text to explain."""

    model_config = ConfigDict(extra="forbid")

    text: SaidText


@router.post(
    "",
    response_model=None,
    responses={200: {"model": Explanation}, **problems(400, 413, 415)},
)
async def route(
    services: Given, caller: Caller, _key: IdempotencyKey, body: TextBody
) -> dict[str, Any]:
    """Explain how the text would be routed if the caller said it now; nothing is executed."""
    situation = Situation(
        now=datetime.now(ZoneInfo(caller.timezone)), locale=caller.locale, roles=caller.roles
    )
    deciding = partial(_decide, services, caller)
    return await explain(services.reader, body.text, situation, deciding)


async def _decide(
    services: Services, caller: Principal, message: Message, situation: Situation
) -> tuple[Route, list[Command]]:
    usable = services.offered.visible_to(caller)
    found = await nearest.find(services.index, usable, nearest.words_of(message), situation)
    return nearest.decide(message, situation, found)
