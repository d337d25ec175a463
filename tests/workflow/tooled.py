"""A house on a real server that offers nothing but a test's own tools, with scripted models."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from temporalio.client import Client

from activities.capabilities import Capabilities
from activities.tool_caller import ToolCaller
from router.domain.locale import Localised
from router.domain.messages import Turn
from router.flow.catalog import Catalog
from router.flow.definition import FlowDefinition
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains, LedRole
from router.retrieval.index import CapabilityIndex
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.skill.skill import Skill, SkillCatalog
from router.tool.hook import Hook
from router.tool.registry import Registry
from router.tool.tool import Tool
from router.understanding.reader import Reader
from tests.fakes.model_server import Behaviour, ModelServer
from tests.workflow.desk import Talk, person

MODEL = "scripted"
"""The usual model's name."""


def skill(name: str, zh: str, en: str, **more: Any) -> Skill:
    about = Localised(zh=zh, en=en)
    given = {"instructions": f"Work as a {name} does.", **more}
    return Skill(name=name, title=about, description=about, **given)


@asynccontextmanager
async def furnished(
    parts: Parts,
    tools: Iterable[Tool],
    models: Sequence[str] = (),
    skills: Iterable[Skill] = (),
    flows: Iterable[FlowDefinition] = (),
    hooks: Iterable[Hook] = (),
) -> AsyncIterator[Parts]:
    """The parts of a house that knows nothing but these; of `models`, by URL, the first is asked
    first, also under another name where a skill wants that."""
    registry = Registry()
    registry.replace("test", tools)
    registry.hooks.swap([], hooks)
    offered = Capabilities(Catalog(flows), SkillCatalog(skills), registry)
    index, store = CapabilityIndex(None), parts.store
    await index.update(offered.everything())
    chats = [ChatModel(url, MODEL) for url in models]
    chains = FallbackChains(chats, lambda _, name, __: ChatModel(models[0], name) if name else None)
    yield replace(
        parts,
        offered=offered,
        index=index,
        reader=Reader(offered.flows(), offered.phrases(), offered.listed()),
        caller=ToolCaller(registry, parts.dependencies, store.ledger, store.audit, store.results),
        chains=chains,
    )
    await chains.aclose()


Servers = Sequence[ModelServer]
Models = ModelServer | Servers | Sequence[Behaviour] | Behaviour
"""Servers, or a script for one that is started for the house."""

Tooled = Callable[..., AbstractAsyncContextManager[Talk]]
"""`talking` with its client and parts given."""


@asynccontextmanager
async def talking(
    client: Client,
    parts: Parts,
    tools: Iterable[Tool],
    models: Models = (),
    skills: Iterable[Skill] = (),
    flows: Iterable[FlowDefinition] = (),
    hooks: Iterable[Hook] = (),
    **settings: Any,
) -> AsyncIterator[Talk]:
    """A conversation of alice's with a worker of its own, which knows nothing but these."""
    parts = replace(parts, settings=parts.settings.model_copy(update=settings))
    async with AsyncExitStack() as stack:
        servers = await _served(stack, models)
        urls = [server.url for server in servers]
        offers = furnished(parts, tools, urls, skills, flows, hooks)
        house = await stack.enter_async_context(offers)
        yield await stack.enter_async_context(working(client, house, servers))


@asynccontextmanager
async def working(client: Client, house: Parts, models: Servers = ()) -> AsyncIterator[Talk]:
    """A conversation of alice's with a worker of its own for this house."""
    queue, alice = uuid4().hex, await person(house, "alice")
    async with build_worker(client, house, queue):
        yield await Talk(client, house, alice, queue=queue, models=models).open()


@asynccontextmanager
async def modelled(
    client: Client, parts: Parts, model: ModelServer, **settings: Any
) -> AsyncIterator[Talk]:
    """The same with all that the house has, which asks this server; `big` is for skills."""
    chats = [ChatModel(model.url, MODEL)]

    def lead(role: LedRole, name: str | None, _: str) -> ChatModel | None:
        own = {"skill": "big", "plan": "big", "escalate": settings.get("llm_escalate")}
        wanted = name or own.get(role)
        return ChatModel(model.url, wanted) if wanted else None

    chains = FallbackChains(chats, lead)
    set_ = parts.settings.model_copy(update=settings)
    async with working(client, replace(parts, chains=chains, settings=set_), [model]) as talk:
        yield talk
    await chains.aclose()


async def _served(stack: AsyncExitStack, models: Models) -> Servers:
    given = [models] if isinstance(models, ModelServer) or callable(models) else models
    if servers := [each for each in given if isinstance(each, ModelServer)]:
        return servers
    script = models if callable(models) else [each for each in given if callable(each)]
    return [await stack.enter_async_context(ModelServer(script))] if script else []


async def chosen(talk: Talk, tool: str, *answers: str) -> Turn:
    """The tool, chosen from what is offered without a model, and what its form asks, answered."""
    await talk.say("帮我办一下" if talk.locale == "zh" else "please do it for me")
    turn = await talk.press("choose", value=tool)
    for answer in answers:
        turn = await talk.say(answer)
    return turn
