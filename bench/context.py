"""Tokens of a long run of a skill: the product's bounded context beside a loop that appends all.

Both are asked through HTTP by the same scripted model, which has a few files of several KB read
at every step; what is counted is the JSON of each request that goes out, with the estimate that
budgets go by (`router.llm.request`). Ours is the skill's workflow on a Temporal server, and what
condensing costs is counted with it; the plain loop sends everything that was said and found.

    python bench/context.py [STEPS]
"""

import asyncio
import json
import sys
import tempfile
from itertools import accumulate
from pathlib import Path

import numpy as np

from router.llm.client import ChatModel
from router.llm.types import (
    AssistantMessage,
    ChatMessage,
    ChatRequest,
    Function,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.runtime.composition import assembled
from router.settings import Settings
from tests.fakes.model_server import ModelServer
from tests.temporal import dev_server
from tests.workflow.desk import register_attributes
from tests.workflow.long_runs import archive, estimate, file, is_condensing, read_file, reads

STEPS = 60
SHOWN = (5, 10, 20, 30, 40, 50, 60)
AT_ONCE, SIZE = 2, 2_000
"""Files read at a step, and characters of each: Chinese, about 6 KB."""


async def ours(steps: int) -> list[int]:
    """Tokens of each step, condensing included in the step that it is done for."""
    with tempfile.TemporaryDirectory() as data:
        async with (
            assembled(Settings.load(data=Path(data))) as parts,
            await dev_server() as temporal,
            ModelServer(reads(steps, AT_ONCE, SIZE)) as model,
        ):
            await register_attributes(temporal.client)
            async with archive(temporal.client, parts, model) as house:
                await house.run()
            return per_step(model)


async def plain(steps: int) -> list[int]:
    """The same of a loop that appends."""
    functions = (
        Function(
            name=read_file.name,
            description=read_file.description,
            parameters=dict(read_file.parameters),
        ),
    )
    said: list[ChatMessage] = [SystemMessage(text="Read the archive."), UserMessage(text="查档")]
    async with ModelServer(reads(steps, AT_ONCE, SIZE)) as server:
        model = ChatModel(server.url, "scripted")
        while True:
            request = ChatRequest(messages=tuple(said), functions=functions, must_call=False)
            answer = await model.answer(request)
            if not answer.calls:
                break
            said.append(AssistantMessage(text=answer.text, calls=answer.calls))
            for call in answer.calls:
                found = json.dumps(file(**call.arguments), ensure_ascii=False)
                said.append(ToolMessage(call_id=call.id, name=call.name, text=found))
        await model.aclose()
        return per_step(server)


def per_step(server: ModelServer) -> list[int]:
    tokens, condensing = [], 0
    for body in server.chats:
        if is_condensing(body):
            condensing += estimate(body)
        else:
            tokens.append(estimate(body) + condensing)
            condensing = 0
    return tokens


def exponent(tokens: list[int], first: int) -> float:
    """Of the power law that fits the sum best, from one step on."""
    sums = list(accumulate(tokens))
    steps = np.arange(first, len(sums) + 1)
    slope, _ = np.polyfit(np.log(steps), np.log(sums[first - 1 :]), 1)
    return float(slope)


async def measure(steps: int) -> None:
    bounded, appended = await ours(steps), await plain(steps)
    print(f"Tokens of a run (estimated), {AT_ONCE} results of {SIZE} characters at each step")
    print(f"{'':8}{'all of them':>24}{'at this step':>24}")
    print(f"{'steps':>8}{'ours':>12}{'plain':>12}{'ours':>12}{'plain':>12}{'ours/plain':>12}")
    sums = [list(accumulate(tokens)) for tokens in (bounded, appended)]
    for n in [n for n in SHOWN if n <= steps]:
        own, other = (whole[n - 1] for whole in sums)
        print(
            f"{n:>8}{own:>12,}{other:>12,}{bounded[n - 1]:>12,}{appended[n - 1]:>12,}"
            f"{own / other:>12.2f}"
        )
    for first in (5, min(20, steps // 2)):
        print(
            f"exponent from step {first:2}: ours {exponent(bounded, first):.2f}, "
            f"plain {exponent(appended, first):.2f} (1 is linear, 2 is quadratic)"
        )


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS))
