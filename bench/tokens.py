"""Tokens of a decision with and without preselection, at 20, 200 and 2,000 tools.

The very request that goes out is counted: the decider of the product is asked, and a scripted
model server keeps what it received. ToolE's tools are the pool, each with five example requests
and the same two parameters; beyond its 199, tools whose descriptions are those of two of them,
without examples. Counted is the JSON of messages and functions, with the estimate that budgets
go by (`router.llm.request`): it is within about a third of any tokenizer's count, so take the
ratios, not the numbers.

    python bench/tokens.py [REQUESTS]
"""

import asyncio
import json
import random
import re
import sys
from datetime import UTC, datetime
from typing import Annotated

import numpy as np
import public_sets
from public_sets import Known
from pydantic import Field
from routing import KEPT

from activities.capabilities import Capabilities
from activities.decide import Decider
from activities.models import Models
from router.contracts.activities import Account, Decide
from router.domain.budgets import Budget, Budgets
from router.domain.messages import Message
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.flow.paused import Situation
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.llm.request import estimated_tokens
from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.index import CapabilityIndex
from router.retrieval.selection import Selection
from router.retrieval.vector_cache import VectorFile
from router.runtime.prompts import load_prompts
from router.settings import Settings
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from router.tool.tool import Tool, tool
from tests.fakes.model_server import ModelServer, calls

REQUESTS = 100
OF_ALL = 10
"""Requests that are enough where everything is offered: they differ by the message alone."""

SIZES = (20, 200, 2000)
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
UNBOUNDED = Budgets(turn=Budget())
"""All of 2,000 tools are more than a turn may spend."""
ANSWER = calls(("respond_message", {"text": "…"}))


class Everything(CapabilityIndex):
    """Selects whatever there is: a router without preselection."""

    async def select(self, text: str, **more) -> Selection:
        return await super().select(text, **more | {"budget": 10**9, "most": 10**6})


def made(known: Known) -> Tool:
    async def function(
        query: Annotated[str, Field(description="What is wanted, in the person's own words.")],
        limit: Annotated[int, Field(description="How many results, at most.", ge=1, le=50)] = 10,
    ) -> str:
        return f"{query} {limit}"

    function.__name__ = identifier(known.name)
    function.__doc__ = known.descriptions["en"]
    return tool(permission="read", examples=known.examples)(function)


def identifier(name: str) -> str:
    return "t_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def pool(known: tuple[Known, ...], size: int, shuffle: random.Random) -> list[Known]:
    """The tools themselves, first; then mixtures of two."""
    tools = list(known[:size])
    while len(tools) < size:
        one, other = shuffle.sample(known, 2)
        text = f"{one.descriptions['en']} {other.descriptions['en']}"
        name = f"{one.name}_{other.name}"[:48] + f"_{len(tools)}"
        tools.append(Known(name, {"zh": text, "en": text}, {}, ()))
    return tools


async def sizes_of(
    tools: list[Tool], requests: list[tuple[str, str]], index: CapabilityIndex, server: ModelServer
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of each request's decision, and whether the right tool was offered."""
    registry = Registry()
    for one in tools:
        registry.add(one)
    model = ChatModel(server.url, "scripted", "-")
    offered = Capabilities(Catalog([]), SkillCatalog(), registry)
    settings = Settings.load()
    prompts = load_prompts(settings)
    decider = Decider(offered, index, FallbackChains([model]), prompts, Models(UNBOUNDED))
    await index.update(offered.everything())
    counted, right = [], []
    for text, label in requests:
        await decider.decided(asked(text), refuse)
        sent = server.chats[-1]
        names = [one["function"]["name"] for one in sent["tools"]]
        written = json.dumps([sent["messages"], sent["tools"]], ensure_ascii=False)
        counted.append(estimated_tokens(written))
        right.append(identifier(label) in names)
        server.requests.clear()
    await model.aclose()
    return np.array(counted), np.array(right)


def refuse(error: Exception) -> None:
    raise error


def asked(text: str) -> Decide:
    caller = Principal(id="alice", tenant="default", name="Alice", locale="en")
    return Decide(
        message=Message(text=text),
        situation=Situation(now=NOW, locale="en", roles=caller.roles),
        account=Account(caller=caller, now=NOW),
    )


async def measure(count: int) -> None:
    split = public_sets.toole(public_sets.folder())
    encoder, shuffle = EmbeddedEncoder(), random.Random(public_sets.SEED)
    known = tuple(shuffle.sample(split.known, len(split.known)))
    print(f"Tokens of a decision (estimated), {count} requests of ToolE for tools in the pool")
    print(f"{'tools':>8}{'':24}{'mean':>10}{'p95':>10}{'right tool offered':>22}")
    for size in SIZES:
        chosen = pool(known, size, shuffle)
        names = {one.name for one in chosen}
        requests = [row for row in split.requests if row[1] in names][:count]
        tools = [made(one) for one in chosen]
        for title, kind, some in (
            ("all of them", Everything, requests[:OF_ALL]),
            ("preselected", CapabilityIndex, requests),
        ):
            async with ModelServer(ANSWER) as server:
                index = kind(encoder, VectorFile(KEPT))
                counted, right = await sizes_of(tools, some, index, server)
            print(
                f"{size:>8,}  {title:22}{counted.mean():10,.0f}{np.quantile(counted, 0.95):10,.0f}"
                f"{100 * right.mean():20.1f} %  ({len(some)} requests)"
            )


def main() -> int:
    if public_sets.folder() is None:
        print(public_sets.REMEDY.replace("routing.py", "tokens.py"), file=sys.stderr)
        return 0
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
