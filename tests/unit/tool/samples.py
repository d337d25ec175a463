"""Tools to try the machinery on, and people to call them."""

import logging
from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from router.domain.principals import FLOW_ROLE, Principal
from router.tool.context import Depends, Provider, ToolContext
from router.tool.registry import Registry
from router.tool.results import KeepFiles, not_kept
from router.tool.tool import tool

ALICE = Principal(id="alice", name="Alice", roles=frozenset({"employee"}))
DAVE = Principal(id="dave", name="Dave", roles=frozenset({"employee", "hr"}))
MALLORY = Principal(id="mallory", name="Mallory", roles=frozenset({"employee", FLOW_ROLE}))

NOW = datetime(2026, 11, 18, 10, 0, tzinfo=ZoneInfo("Asia/Shanghai"))

greeting: Provider[str] = Provider("greeting")


class Guest(BaseModel):
    """Somebody to greet."""

    name: Annotated[str, Field(min_length=1, max_length=20)]
    age: int | None = None


@tool(permission="read")
async def greet(
    guests: Annotated[list[Guest], Field(description="Whom to greet", min_length=1)],
    ctx: ToolContext,
    word: Annotated[str, Depends(greeting)],
    tone: Literal["warm", "cool"] = "warm",
) -> dict[str, str | list[str]]:
    """Greet people."""
    return {"by": ctx.caller.id, "tone": tone, "said": [f"{word} {g.name}" for g in guests]}


@tool(permission="write", title={"zh": "存", "en": "Save"})
async def save(text: str) -> None:
    """Save a text."""


@tool(permission="read", confirm=True)
async def reveal() -> str:
    """Reveal something that the caller should have asked for."""
    return "it"


@tool(permission="write", roles=[FLOW_ROLE])
async def record(days: float) -> float:
    """Record what a flow has had approved."""
    return days


@tool(permission="write", roles=[FLOW_ROLE], approval=True)
async def pay(amount: float) -> float:
    """Pay what somebody has approved."""
    return amount


@tool(permission="admin", roles=["hr"])
async def adjust(person: str, days: float) -> str:
    """Adjust somebody's balance."""
    return f"{person}: {days}"


def sample_registry() -> Registry:
    registry = Registry()
    for each in (greet, save, reveal, record, pay, adjust):
        registry.add(each)
    return registry


def context(caller: Principal = ALICE, key: str = "", keep: KeepFiles = not_kept) -> ToolContext:
    logger = logging.LoggerAdapter(logging.getLogger("test"), {})
    return ToolContext(caller=caller, now=NOW, logger=logger, key=key, keep=keep)
