"""A worker that dies on command: `live` is what its process runs.

Everything in it is real but what it offers: tools, which have their effects at the bank of the
test, and a skill where there is a model server to lead it. A file in the folder `deaths` that is
named like a point of a call has the process die there, once.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, JsonValue
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from activities.capabilities import Capabilities
from activities.tool_caller import ToolCaller
from router.domain.budgets import Budget, Budgets
from router.domain.messages import Message
from router.domain.records import EffectRecord
from router.flow.catalog import Catalog
from router.flow.paused import Situation
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.llm.types import ChatAnswer, ChatRequest, OnText
from router.retrieval.index import CapabilityIndex
from router.runtime.composition import Parts, assembled
from router.runtime.worker import build_worker
from router.settings import Settings
from router.store.database import Database
from router.store.idempotency import EffectsLedger
from router.telemetry.crashes import registered
from router.tool.context import Depends, Provider, ToolContext
from router.tool.registry import Registry
from router.tool.tool import tool
from router.understanding.reader import Reader
from router.understanding.reading import Reading
from tests.e2e.mortal import KILLED


class Plan(BaseModel):
    """Where everything is that the worker needs."""

    temporal: str
    queue: str
    data: Path
    bank: str
    deaths: Path
    model: str = ""
    """The base URL of the server that leads skills."""


@dataclass(frozen=True)
class Fate:
    """When this worker is to die."""

    deaths: Path

    def at(self, point: str) -> None:
        """Die here and now if that is still to come: no `finally`, no farewell to anybody."""
        try:
            (self.deaths / point).unlink()
        except FileNotFoundError:
            return
        os._exit(KILLED)


@dataclass(frozen=True)
class Teller:
    """The bank, as tools reach it."""

    http: httpx.AsyncClient
    fate: Fate

    async def order(self, path: str, order: str, key: str) -> JsonValue:
        """The receipt, for an order that the bank has carried out."""
        self.fate.at("before")
        headers = {"Idempotency-Key": key}
        async with self.http.stream("POST", path, json={"order": order}, headers=headers) as answer:
            self.fate.at("during")
            receipt: JsonValue = json.loads(await answer.aread())
        self.fate.at("after")
        return receipt


class MortalLedger(EffectsLedger):
    """The real ledger; the worker may die on its threshold."""

    def __init__(self, database: Database, fate: Fate) -> None:
        super().__init__(database)
        self._fate = fate

    async def begin(
        self,
        key: str,
        tool: str,
        digest: str,
        at: datetime | None = None,
        claims: Sequence[datetime] = (),
    ) -> EffectRecord | None:
        self._fate.at("unnoted")
        return await super().begin(key, tool, digest, at, claims)

    async def finish(self, key: str, result: JsonValue) -> None:
        await super().finish(key, result)
        self._fate.at("noted")


teller: Provider[Teller] = Provider("teller")


@tool(permission="write", timeout="1500ms", retries=3, title={"zh": "付款", "en": "Pay"})
async def pay(order: str, ctx: ToolContext, bank: Annotated[Teller, Depends(teller)]) -> Any:
    """Pay an order."""
    return await bank.order("/pay", order, ctx.key)


@tool(
    permission="write",
    timeout="1500ms",
    retries=3,
    idempotent=False,
    title={"zh": "划账", "en": "Shoot"},
)
async def shoot(order: str, ctx: ToolContext, bank: Annotated[Teller, Depends(teller)]) -> Any:
    """Transfer an order by a wire that knows no keys."""
    return await bank.order("/shoot", order, ctx.key)


@tool(permission="write", timeout="1500ms", retries=3, title={"zh": "崩付", "en": "Burst"})
async def burst(order: str, ctx: ToolContext, bank: Annotated[Teller, Depends(teller)]) -> Any:
    """Burst an order: whoever has it sent breaks."""
    await bank.order("/pay", order, ctx.key)
    os.abort()


DEADLY = "一句要命的话"
"""Whoever reads it breaks."""


class MortalReader(Reader):
    """The real reader, of whom the worker dies where it reads `DEADLY`."""

    def read(
        self, message: Message, situation: Situation, papers: Mapping[str, str] | None = None
    ) -> Reading:
        if message.text == DEADLY:
            os.abort()
        return super().read(message, situation, papers)


@tool(permission="read", per_minute=None, timeout="1500ms", title={"zh": "查单", "en": "Check"})
async def check(order: str, bank: Annotated[Teller, Depends(teller)]) -> Any:
    """Check an order. The bank notes under the order's own name that it was."""
    return await bank.order("/pay", order, order)


class MortalModel(ChatModel):
    """A real model's client; the worker may die with an answer that nobody has heard of yet."""

    def __init__(self, url: str, fate: Fate) -> None:
        super().__init__(url, "scripted")
        self._fate = fate

    async def answer(
        self, request: ChatRequest, seconds: float = 60.0, on_text: OnText | None = None
    ) -> ChatAnswer:
        answer = await super().answer(request, seconds, on_text)
        self._fate.at("answered")
        return answer


@asynccontextmanager
async def furnished(plan: Plan) -> AsyncIterator[Parts]:
    """The real parts, offering nothing but these tools, and led by no other model."""
    fate = Fate(plan.deaths)
    registry = Registry()
    registry.replace("bank", [pay, shoot, check] if plan.model else [pay, shoot, burst])
    async with (
        assembled(Settings.load(data=plan.data)) as parts,
        httpx.AsyncClient(base_url=plan.bank, trust_env=False) as http,
    ):
        parts.dependencies.provide(teller, Teller(http, fate))
        offered = Capabilities(Catalog([]), parts.offered.skills, registry)
        index, store = CapabilityIndex(None), parts.store
        await index.update(offered.everything())
        ledger = MortalLedger(store.ledger._database, fate)
        unbounded = parts.settings.model_copy(update={"llm_budgets": Budgets(turn=Budget())})
        yield replace(
            parts,
            settings=unbounded,
            chains=FallbackChains([MortalModel(plan.model, fate)] if plan.model else []),
            offered=offered,
            index=index,
            reader=MortalReader(offered.forms()),
            caller=ToolCaller(registry, parts.dependencies, ledger, store.audit, store.results),
        )


async def work(plan: Plan, ready: Connection) -> None:
    """Work for good, having said that it does."""
    client = await Client.connect(plan.temporal, data_converter=pydantic_data_converter)
    with registered(plan.data) as register:
        async with (
            furnished(plan) as parts,
            build_worker(client, parts, plan.queue, register=register),
        ):
            ready.send("ready")
            await asyncio.Event().wait()


def live(plan: Plan, ready: Connection) -> None:
    """All of the process's life, which only a kill ends."""
    asyncio.run(work(plan, ready))
