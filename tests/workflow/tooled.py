"""A house on a real server that offers nothing but a test's own tools, with scripted models."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

from temporalio.client import Client

from activities.capabilities import Capabilities
from activities.tool_caller import ToolCaller
from router.domain.messages import ChooseAction, Message, Turn
from router.flow.catalog import Catalog
from router.flow.definition import FlowDefinition
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.retrieval.index import CapabilityIndex
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.skill.skill import Skill, SkillCatalog
from router.tool.registry import Registry
from router.tool.tool import Tool
from router.understanding.reader import Reader
from tests.fakes.model_server import ModelServer
from tests.workflow.conftest import person
from tests.workflow.desk import Talk

MODEL = "scripted"
"""The usual model's name."""


@asynccontextmanager
async def furnished(
    parts: Parts,
    tools: Iterable[Tool],
    models: Sequence[str] = (),
    skills: Iterable[Skill] = (),
    flows: Iterable[FlowDefinition] = (),
) -> AsyncIterator[Parts]:
    """The parts of a house that knows nothing but these; of `models`, by URL, the first is asked
    first, also under another name where a skill wants that."""
    registry = Registry()
    registry.replace("test", tools)
    offered = Capabilities(Catalog(flows), SkillCatalog(skills), registry)
    index, store = CapabilityIndex(None), parts.store
    await index.update(offered.everything())
    chats = [ChatModel(url, MODEL) for url in models]
    ladders = FallbackChains(chats, (lambda name: ChatModel(models[0], name)) if models else None)
    yield replace(
        parts,
        offered=offered,
        index=index,
        reader=Reader(offered.flows(), offered.phrases(), offered.listed()),
        caller=ToolCaller(registry, parts.dependencies, store.ledger, store.audit, store.results),
        ladders=ladders,
    )
    await ladders.aclose()


@asynccontextmanager
async def talking(
    client: Client,
    parts: Parts,
    tools: Iterable[Tool],
    model: ModelServer | Sequence[ModelServer] | None = None,
    skills: Iterable[Skill] = (),
    flows: Iterable[FlowDefinition] = (),
) -> AsyncIterator[Talk]:
    """A conversation of alice's with a worker of its own, which knows nothing but these."""
    servers = [model] if isinstance(model, ModelServer) else model or []
    urls, queue = [server.url for server in servers], uuid4().hex
    async with (
        furnished(parts, tools, urls, skills, flows) as house,
        build_worker(client, house, queue),
    ):
        yield await Talk(client, house, await person(parts, "alice"), queue=queue).open()


async def chosen(talk: Talk, tool: str, *answers: str) -> Turn:
    """The tool, chosen from what is offered without a model, and what its form asks, answered."""
    await talk.say("帮我办一下")
    turn = await talk.send(Message(action=ChooseAction(type="choose", value=tool)))
    for answer in answers:
        turn = await talk.say(answer)
    return turn
