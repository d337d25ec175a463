"""Record the histories that later versions of the workflows have to replay.

What is recorded stays for ever, and is never recorded anew. With each version of a flow that
ships, a run of every flow whose version has none yet:

    python -m tests.replays.record

and once for each release, everything under its name:

    python -m tests.replays.record 0.1
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client, WorkflowHistory

from router.domain.principals import DEFAULT_TENANT, Principal
from router.flow.engine.events import Arrived, Cancelled
from router.gateway.runs import happen, tell
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.replays.shipped import recorded
from tests.replays.skills import skill_stories
from tests.temporal import dev_server
from tests.workflow.desk import QUEUE, Approver, Talk, register_attributes, run_of

FOLDER = Path(__file__).parent

Story = Callable[[Client, Parts, Principal, Approver], Awaitable[list[tuple[str, str]]]]


async def record(version: str) -> None:
    """Live through the stories on a real server and keep what Temporal wrote down."""
    async with desk() as (client, parts):
        async with build_worker(client, parts, QUEUE):
            for name, id_ in await stories(client, parts):
                history = await client.get_workflow_handle(id_).fetch_history()
                keep(f"{version}-{name}", history)
        for name, history in await skill_stories(client, parts):
            keep(f"{version}-{name}", history)


async def record_flows() -> None:
    """Live through a run of every shipped flow whose version has no history yet."""
    async with desk() as (client, parts):
        alice = await parts.directory.find(DEFAULT_TENANT, "alice")
        assert alice is not None
        bob = Approver(client, parts, "bob")
        known = recorded()
        new = [flow for flow in parts.offered.catalog if (flow.flow, flow.version) not in known]
        async with build_worker(client, parts, QUEUE):
            for flow in new:
                if flow.flow not in STORIES:
                    sys.exit(f"{flow.flow} has no story yet: add one to STORIES in {__file__}")
                lived = await STORIES[flow.flow](client, parts, alice, bob)
                id_ = next(id_ for _, id_ in lived if id_.startswith(f"{flow.flow}/"))
                history = await client.get_workflow_handle(id_).fetch_history()
                keep(f"flow-{flow.flow}-v{flow.version}", history)


@asynccontextmanager
async def desk() -> AsyncIterator[tuple[Client, Parts]]:
    """A real server without a worker, and everything that one is made of."""
    with tempfile.TemporaryDirectory() as data:
        async with (
            at_work(Settings.load(data=Path(data))) as parts,
            await dev_server() as environment,
        ):
            await register_attributes(environment.client)
            yield environment.client, parts


def keep(name: str, history: WorkflowHistory) -> None:
    """Write it down, unless that was done before."""
    file = FOLDER / f"{name}.json"
    if not file.exists():
        file.write_text(history.to_json())


async def stories(client: Client, parts: Parts) -> list[tuple[str, str]]:
    """The histories' names, with the ids of the workflows that lived through them."""
    alice = await parts.directory.find(DEFAULT_TENANT, "alice")
    assert alice is not None
    bob = Approver(client, parts, "bob")
    return [
        *await approved(client, parts, alice, bob),
        *await returned_and_withdrawn(client, parts, alice, bob),
        *await claimed(client, parts, alice, bob),
    ]


async def approved(
    client: Client, parts: Parts, alice: Principal, bob: Approver
) -> list[tuple[str, str]]:
    talk = await Talk(client, parts, alice).open()
    for text in ("你好", "我要请假", "今天天气怎么样", "年假", "12月7日", "12月8日", "家里有事"):
        await talk.say(text)
    turn = await talk.say("确认")
    assert turn.flow is not None
    await bob.decide(await bob.waiting(turn.flow.id), "approve")
    await told(talk, "批准")
    return [
        ("conversation", talk.handle.id),
        ("leave-approved", (await run_of(parts, turn.flow.id)).workflow_id),
    ]


async def returned_and_withdrawn(
    client: Client, parts: Parts, alice: Principal, bob: Approver
) -> list[tuple[str, str]]:
    talk = await Talk(client, parts, alice).open()
    run = await talk.waiting_leave()
    await bob.decide(await bob.waiting(run), "return", comment="日期不对")
    await told(talk, "日期不对")
    await talk.say("结束日期改成12月9日")
    await talk.say("取消")
    return [("leave-returned", (await run_of(parts, run)).workflow_id)]


async def claimed(
    client: Client, parts: Parts, alice: Principal, bob: Approver
) -> list[tuple[str, str]]:
    talk = await Talk(client, parts, alice).open()
    for text in ("我要报销", "酒店", "300元", "昨天", "R-1", "没有了", "出差"):
        await talk.say(text)
    turn = await talk.say("确认")
    assert turn.flow is not None
    await bob.decide(await bob.waiting(turn.flow.id), "reject", comment="超标")
    await told(talk, "超标")
    return [("claim-rejected", (await run_of(parts, turn.flow.id)).workflow_id)]


async def travelled(
    client: Client, parts: Parts, alice: Principal, bob: Approver
) -> list[tuple[str, str]]:
    talk = await Talk(client, parts, alice).open()
    answers = ("我要去杭州出差", "后天", "大后天", "见客户", "高铁", "2000元", "跳过")
    for text in answers:
        await talk.say(text)
    turn = await talk.say("确认")
    assert turn.flow is not None
    await bob.decide(await bob.waiting(turn.flow.id), "approve")
    await told(talk, "批准")
    run = await run_of(parts, turn.flow.id)
    await tell(client, run, alice, Cancelled(by=alice.id), "cancelled")
    async with asyncio.timeout(20):
        await client.get_workflow_handle(run.workflow_id).result()
    return [("trip-cancelled", run.workflow_id)]


async def equipped(
    client: Client, parts: Parts, alice: Principal, bob: Approver
) -> list[tuple[str, str]]:
    talk = await Talk(client, parts, alice).open()
    for text in ("申请办公设备", "显示器", "2", "没有了", "看图纸", "一个月后"):
        await talk.say(text)
    turn = await talk.say("确认")
    assert turn.flow is not None
    await bob.decide(await bob.waiting(turn.flow.id), "approve")
    await told(talk, "库房")
    run, olga = await run_of(parts, turn.flow.id), await parts.directory.find("default", "olga")
    assert olga is not None
    await happen(client, run, olga, Arrived(by=olga.id, name="delivered", value={}))
    await told(talk, "送到了")
    return [("equipment-delivered", run.workflow_id)]


async def told(talk: Talk, text: str) -> None:
    async with asyncio.timeout(20):
        while not any(text in line for line in await talk.texts()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


STORIES: dict[str, Story] = {
    "leave_request": approved,
    "reimbursement": claimed,
    "business_trip": travelled,
    "equipment_request": equipped,
}
"""By flow, what its history tells: a whole run, to its end."""


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1]) if sys.argv[1:] else record_flows())
