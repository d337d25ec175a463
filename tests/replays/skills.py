"""Runs of a skill that later versions have to replay."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from temporalio.client import Client, WorkflowHandle, WorkflowHistory

from router.contracts.skill import STEER, SkillOutcome, Steer
from router.runtime.composition import Parts
from tests.fakes.behaviours import Behaviour, calls, says
from tests.fakes.model_server import ModelServer
from tests.workflow.long_runs import COUNTED, COUNTING, Archive, archive, histories, reads

COUNTS = calls(("count_files", {}), ("read_file", {"number": 1, "size": 100}))

Recorded = list[tuple[str, WorkflowHistory]]


async def skill_stories(client: Client, parts: Parts) -> Recorded:
    """The histories, by name."""
    stage = Stage(client, parts)
    return [
        *await stage.answered(),
        *await stage.condensed(),
        *await stage.continued(),
        *await stage.steered(),
        *await stage.cancelled(),
    ]


@dataclass(frozen=True)
class Stage:
    """Where each of them is lived through, with a model server of its own."""

    client: Client
    parts: Parts

    async def answered(self) -> Recorded:
        async with AsyncExitStack() as stack:
            house = await self._house(stack, reads(2, at_once=2, size=100))
            _, id_ = await house.run()
        return await self._named(id_, "skill-answered")

    async def condensed(self) -> Recorded:
        async with AsyncExitStack() as stack:
            house = await self._house(stack, reads(8, at_once=3, size=300))
            _, id_ = await house.run(context=3500)
        return await self._named(id_, "skill-condensed")

    async def continued(self) -> Recorded:
        async with AsyncExitStack() as stack:
            house = await self._house(stack, reads(3, size=100))
            _, id_ = await house.run(continue_after=2)
        return await self._named(id_, "skill-continued", "skill-went-on")

    async def steered(self) -> Recorded:
        async with AsyncExitStack() as stack:
            house = await self._house(stack, [COUNTS, says("先不数了。")])
            handle = await self._counting(house)
            await handle.signal(STEER, Steer(message_id="m2", text="先别数了"))
            COUNTED.set()
            await handle.result()
        return await self._named(handle.id, "skill-steered")

    async def cancelled(self) -> Recorded:
        async with AsyncExitStack() as stack:
            house = await self._house(stack, [COUNTS])
            handle = await self._counting(house)
            await handle.cancel()
            await handle.result()
        return await self._named(handle.id, "skill-cancelled")

    async def _house(self, stack: AsyncExitStack, script: list[Behaviour] | Behaviour) -> Archive:
        model = await stack.enter_async_context(ModelServer(script))
        return await stack.enter_async_context(archive(self.client, self.parts, model))

    async def _counting(self, house: Archive) -> WorkflowHandle[Any, SkillOutcome]:
        """A run that is in the middle of a call."""
        COUNTING.clear()
        COUNTED.clear()
        handle = await house.begin()
        await COUNTING.wait()
        return handle

    async def _named(self, workflow_id: str, *names: str) -> Recorded:
        return list(zip(names, await histories(self.client, workflow_id), strict=True))
