"""A house on a real server that offers nothing but a test's own tools, with a scripted model."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

from temporalio.client import Client

from activities.calling import ToolCaller
from activities.capabilities import Capabilities
from router.assembly import Parts
from router.domain.messages import ChooseAction, Message, Turn
from router.flow.catalog import Catalog
from router.flow.model import FlowDefinition
from router.llm.ladders import Ladders
from router.llm.model import ChatModel
from router.selection.index import CapabilityIndex
from router.skill.catalog import SkillCatalog
from router.skill.skill import Skill
from router.tool.registry import Registry
from router.tool.tool import Tool
from router.understanding.reader import Reader
from router.worker import build_worker
from tests.fakes.model_server import ModelServer
from tests.workflow.conftest import person
from tests.workflow.desk import Talk


@asynccontextmanager
async def talking(
    client: Client,
    parts: Parts,
    tools: Iterable[Tool],
    model: ModelServer | None = None,
    skills: Iterable[Skill] = (),
    flows: Iterable[FlowDefinition] = (),
) -> AsyncIterator[Talk]:
    """A conversation of alice's with a worker of its own, which knows nothing but these."""
    registry = Registry()
    registry.replace("test", tools)
    offered = Capabilities(Catalog(flows), SkillCatalog(skills), registry)
    index, store, queue = CapabilityIndex(None), parts.store, uuid4().hex
    await index.update(offered.everything())
    chat = ChatModel(model.url, "scripted") if model else None
    house = replace(
        parts,
        offered=offered,
        index=index,
        reader=Reader(offered.flows()),
        caller=ToolCaller(registry, parts.dependencies, store.ledger, store.audit, store.results),
        ladders=Ladders([chat] if chat else []),
    )
    async with build_worker(client, house, queue):
        yield await Talk(client, house, await person(parts, "alice"), queue=queue).open()
    if chat:
        await chat.aclose()


async def chosen(talk: Talk, tool: str, *answers: str) -> Turn:
    """The tool, chosen from what is offered without a model, and what its form asks, answered."""
    await talk.say("帮我办一下")
    turn = await talk.send(Message(action=ChooseAction(type="choose", value=tool)))
    for answer in answers:
        turn = await talk.say(answer)
    return turn
