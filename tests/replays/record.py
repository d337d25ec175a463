"""Record anew the histories that the workflows have to replay: python -m tests.replays.record

Until the first release a change of what workflows command, or of a shipped flow's version, has
them recorded anew, all of them. From then on those of a release stay as they are.
"""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from router.contracts.flow import workflow_id
from router.contracts.skill_run import STEER, SkillOutcome, Steer
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import RunRecord
from router.flow.engine.events import Arrived, Cancelled
from router.gateway.run_updates import happen, tell
from router.gateway.withdrawals import Withdrawals
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.model_server import PlanningModel, calls, drawn, says
from tests.replays.histories import FOLDER, keep
from tests.temporal import dev_server, register_attributes
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import QUEUE, Approver, Talk, becomes, flow_of, heard, person, run_of
from tests.workflow.long_runs import COUNTED, COUNTING, Archive, archive, histories, reads
from tests.workflow.skill_histories import runs
from tests.workflow.test_plans import CHOOSE, PLANNER, STEPS, TOOLS, accepts, found_by_steps
from tests.workflow.tooled import talking

COUNTS = calls(("count_files", {}), ("read_file", {"number": 1, "size": 100}))


@dataclass(frozen=True)
class FlowStories:
    """Runs of the shipped flows; each story gives its histories' names and workflows."""

    client: Client
    parts: Parts

    async def leave(self) -> dict[str, str]:
        """Returned, corrected, approved, and taken back when it was complete."""
        talk = await self._talk()
        turn = await talk.say("你好")
        asked = ("我要请假", "今天天气怎么样", "年假", "12月7日", "12月8日", "家里有事", "确认")
        for text in asked:
            turn = await talk.say(text)
        await self._decide(flow_of(turn).id, "return", comment="日期不对")
        await heard(talk, "日期不对")
        for text in ("结束日期改成12月9日", "确认"):
            await talk.say(text)
        await self._decide(flow_of(turn).id, "approve")
        run = await becomes(self.parts, flow_of(turn).id, lambda r: r.remedy is not None)
        withdrawal = await self._withdrawn(run)
        approved = {"conversation": talk.handle.id, "leave-approved": run.workflow_id}
        return approved | {"leave-withdrawn": withdrawal}

    async def claim(self) -> dict[str, str]:
        """Rejected."""
        answers = ("我要报销", "酒店", "300元", "昨天", "R-1", "没有了", "出差")
        talk, run = await self._confirmed(*answers)
        await self._decide(run.id, "reject", comment="超标")
        await heard(talk, "超标")
        return {"claim-rejected": run.workflow_id}

    async def trip(self) -> dict[str, str]:
        """Approved, and cancelled while it goes on: what was done is undone."""
        answers = ("我要去杭州出差", "后天", "大后天", "见客户", "高铁", "2000元", "跳过")
        talk, run = await self._confirmed(*answers)
        await self._decide(run.id, "approve")
        await heard(talk, "批准")
        await tell(self.client, run, talk.person, Cancelled(by=talk.person.id), "cancelled")
        async with asyncio.timeout(HANGS_AFTER_S):
            await self.client.get_workflow_handle(run.workflow_id).result()
        return {"trip-cancelled": run.workflow_id}

    async def equipment(self) -> dict[str, str]:
        """Approved, and delivered: somebody outside says so."""
        answers = ("申请办公设备", "显示器", "2", "没有了", "看图纸", "一个月后")
        talk, run = await self._confirmed(*answers)
        await self._decide(run.id, "approve")
        await heard(talk, "库房")
        olga = await person(self.parts, "olga")
        await happen(self.client, run, olga, Arrived(by="olga", name="delivered", value={}))
        await heard(talk, "送到了")
        return {"equipment-delivered": run.workflow_id}

    async def _talk(self) -> Talk:
        return await Talk(self.client, self.parts, await person(self.parts, "alice")).open()

    async def _confirmed(self, *said: str) -> tuple[Talk, RunRecord]:
        talk = await self._talk()
        for text in said:
            await talk.say(text)
        turn = await talk.say("确认")
        return talk, await run_of(self.parts, flow_of(turn).id)

    async def _decide(self, run: str, verdict: str, **more: str) -> None:
        await Approver(self.client, self.parts, "bob").decide(run, verdict, **more)

    async def _withdrawn(self, run: RunRecord) -> str:
        alice = await person(self.parts, "alice")
        withdrawals = Withdrawals(self.client, QUEUE, self.parts.store.runs)
        begun = await withdrawals.begin(run, alice, "zh", "提前回来", "withdrawn")
        await becomes(self.parts, begun.id, lambda r: r.status == "waiting_approval")
        await self._decide(begun.id, "approve")
        await becomes(self.parts, begun.id, lambda r: r.status == "completed")
        return workflow_id(run.flow, DEFAULT_TENANT, begun.id)


@dataclass(frozen=True)
class SkillStories:
    """Runs of skills, each with a model server of its own; what each gives has its name."""

    client: Client
    parts: Parts

    async def condensed(self) -> None:
        async with archive(self.client, self.parts, reads(8, at_once=3, size=300)) as house:
            _, id_ = await house.run(context=3500)
        await self._keep(id_, "skill-condensed")

    async def continued(self) -> None:
        async with archive(self.client, self.parts, reads(3, size=100)) as house:
            _, id_ = await house.run(continue_after=2)
        await self._keep(id_, "skill-continued", "skill-went-on")

    async def steered(self) -> None:
        async with archive(self.client, self.parts, [COUNTS, says("先不数了。")]) as house:
            handle = await self._counting(house)
            await handle.signal(STEER, Steer(message_id="m2", text="先别数了"))
            COUNTED.set()
            await handle.result()
        await self._keep(handle.id, "skill-steered")

    async def cancelled(self) -> None:
        async with archive(self.client, self.parts, [COUNTS]) as house:
            handle = await self._counting(house)
            await handle.cancel()
            await handle.result()
        await self._keep(handle.id, "skill-cancelled")

    async def planned(self) -> None:
        model = PlanningModel()
        model.others.append(CHOOSE)
        model.plans.append(drawn(*STEPS))
        found_by_steps(model)
        model.reflections.append(accepts("G1 加和平饭店，共 1300。"))
        async with talking(self.client, self.parts, TOOLS, model, [PLANNER]) as talk:
            await talk.say("帮我安排去上海")
            (run,) = await runs(talk)
            keep("skill-planned", await run.fetch_history())

    async def _counting(self, house: Archive) -> WorkflowHandle[Any, SkillOutcome]:
        COUNTING.clear()
        COUNTED.clear()
        handle = await house.begin()
        await COUNTING.wait()
        return handle

    async def _keep(self, workflow: str, *names: str) -> None:
        for name, history in zip(names, await histories(self.client, workflow), strict=True):
            keep(name, history)


async def record() -> None:
    """Live through everything on a real server and keep what Temporal wrote down."""
    for file in FOLDER.glob("*.json"):
        file.unlink()
    async with AsyncExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory())
        parts = await stack.enter_async_context(at_work(Settings.load(data=Path(data))))
        environment = await stack.enter_async_context(await dev_server())
        client = environment.client
        await register_attributes(client)
        flows, skills = FlowStories(client, parts), SkillStories(client, parts)
        async with build_worker(client, parts, QUEUE):
            for story in (flows.leave, flows.claim, flows.trip, flows.equipment):
                for name, id_ in (await story()).items():
                    keep(name, await client.get_workflow_handle(id_).fetch_history())
        for lived in (skills.condensed, skills.continued, skills.steered, skills.cancelled):
            await lived()
        await skills.planned()


if __name__ == "__main__":
    asyncio.run(record())
