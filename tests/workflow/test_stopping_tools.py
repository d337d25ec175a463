"""Who stops a turn stops what only looks; what was confirmed goes on, and is still told."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.call_tool import ToolActivity
from activities.progress import ProgressPublisher
from activities.tool_caller import ToolCaller
from router.contracts import conversation
from router.contracts.activities import ToolCall
from router.contracts.flow import workflow_id
from router.domain.errors import UnknownOutcome
from router.domain.messages import Turn
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from router.tool.registry import Registry
from router.tool.tool import Tool, tool
from tests.fakes.model_server import Call, calls
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, defined, flow_of, person, run_of, withdrawn, words
from tests.workflow.test_progress import LOOKER
from tests.workflow.tooled import Tooled, chosen

pytestmark = pytest.mark.usefixtures("usual_patience")

"""Seconds; one is promised, and this machine has others at work."""

LOOKING = defined("""
flow: looking
title: {zh: 看, en: Looking}
description: {zh: 看一看, en: Looks}
start: look
states:
  look: {call: look, save: found, next: tell}
  tell: {say: {zh: "{{ results.found }}", en: "{{ results.found }}"}, end: completed}
""")


@dataclass
class World:
    """A system that takes its time; it says when it was asked, and when it was left alone."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    async def work(self) -> JsonValue:
        self.asked.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.left.set()
            raise
        if self.error is not None:
            raise self.error
        return "done at the bank"

    def tools(self) -> list[Tool]:
        async def look() -> JsonValue:
            """Look."""
            return await self.work()

        async def send(amount: int) -> JsonValue:
            """Send money."""
            del amount
            return await self.work()

        return [
            tool(permission="read", timeout="30s")(look),
            tool(permission="write", timeout="30s", title={"zh": "汇款", "en": "Send"})(send),
        ]


@workflow.defn
class CallsOne:
    """Calls a tool, as conversations and flows do."""

    @workflow.run
    async def run(self, call: ToolCall) -> None:
        await workflow.execute_activity(
            call.tool,
            call,
            start_to_close_timeout=timedelta(seconds=30),
            heartbeat_timeout=timedelta(seconds=3),
        )


@pytest.fixture
def world() -> World:
    return World()


async def stopped(talk: Talk, asking: "asyncio.Task[Turn]", world: World) -> Turn:
    """The turn, stopped once the world is asked."""
    async with asyncio.timeout(HANGS_AFTER_S):
        await world.asked.wait()
        await talk.handle.signal(conversation.CANCEL, "m")
        return await asking


@pytest.mark.parametrize("permission", ["read", "write"])
async def test_who_watches_hears_that_nobody_knows_what_a_stop_leaves(
    real_client: Client, parts: Parts, world: World, permission: str
) -> None:
    (named,) = [each for each in world.tools() if each.permission == permission]
    registry, store = Registry(), parts.store
    registry.replace("test", [named])
    calling = ToolActivity(
        ToolCaller(registry, parts.dependencies, store.ledger, store.audit, store.results),
        ProgressPublisher(store.live),
    )
    call = ToolCall(
        tool=named.name,
        arguments={"amount": 5} if named.writes else {},
        caller=await person(parts, "alice"),
        key=uuid4().hex,
        flow_run="r",
        conversation="watched",
        message_id="m",
        call_id="c",
        now=datetime.now(UTC),
    )
    queue = uuid4().hex
    async with (
        Worker(
            real_client,
            task_queue=queue,
            workflows=[CallsOne],
            activities=[calling.call_tool],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
        store.live.listen(DEFAULT_TENANT, "watched") as heard,
        asyncio.timeout(HANGS_AFTER_S),
    ):
        run = await real_client.start_workflow(CallsOne.run, call, id=queue, task_queue=queue)
        await world.asked.wait()
        await run.cancel()
        told = [await anext(heard), await anext(heard)]
    assert [one.type for one in told] == ["tool_started", "tool_finished"]
    assert told[-1].data["status"] == "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["the model", "a sub-agent"])
async def test_a_stopped_turn_reaches_its_tool(tooled: Tooled, world: World, by: str) -> None:
    chooses = calls(("dispatch_to_skill", {"skill_name": "looker", "request": "看看"}))
    script = [calls(("look", {}))] if by == "the model" else [chooses, calls(("look", {}))]
    async with tooled(world.tools(), script, [LOOKER]) as talk:
        asking = asyncio.create_task(talk.say("帮我看看", "m"))
        turn = await stopped(talk, asking, world)
        await let_alone(world)
    assert turn.status == "cancelled"


async def confirming(talk: Talk) -> str:
    """Up to the question; the run's id."""
    turn = await chosen(talk, "send", "58")
    assert flow_of(turn).status == "confirming"
    return flow_of(turn).id


async def confirm(talk: Talk) -> Turn:
    return await talk.press("confirm", "m", value=True)


async def ended(talk: Talk, run: str) -> list[str]:
    """Everything said in the conversation once the run has ended and its news were told."""
    await over(talk, "send", run)
    await talk.say("你好")
    return await talk.texts()


async def over(talk: Talk, tool: str, run: str) -> None:
    handle: Any = talk.client.get_workflow_handle(workflow_id(tool, DEFAULT_TENANT, run))
    async with asyncio.timeout(HANGS_AFTER_S):
        await handle.result()


@pytest.mark.slow
@pytest.mark.parametrize("patient", [True, False])
async def test_confirmed_writes_outlive_a_turn(tooled: Tooled, world: World, patient: bool) -> None:
    async with tooled(world.tools()) as talk:
        run = await confirming(talk)
        asking = asyncio.create_task(confirm(talk))
        async with asyncio.timeout(HANGS_AFTER_S):
            await world.asked.wait()
            await talk.handle.signal(conversation.CANCEL, "m")
            if patient:
                assert "正在处理" in (await asking).replies[-1].text
            world.let_go.set()
            turn = await asking
        said = await ended(talk, run)
        assert (await run_of(talk.parts, run)).status == "completed"
    assert turn.status == "done"
    assert not world.left.is_set()
    assert "\n".join(said).count("done at the bank") == 1


async def test_a_stopped_turn_tells_what_was_done(tooled: Tooled, world: World) -> None:
    names = ("looking", "send")
    both: list[Call] = [("dispatch_to_flow", {"flow_name": n, "slots": {}}) for n in names]
    async with tooled(world.tools(), [calls(*both)], flows=[LOOKING]) as talk:
        asking = asyncio.create_task(talk.say("看一下，再汇一笔款", "m"))
        async with asyncio.timeout(HANGS_AFTER_S):
            await world.asked.wait()
            await talk.handle.signal(conversation.CANCEL, "m")
            world.let_go.set()
            turn = await asking
        status = await talk.status()
    assert turn.status == "cancelled"
    assert [reply.text for reply in turn.replies] == ["done at the bank", "好的，停下了。"]
    assert status.active_flow is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (None, "取消晚了一步：send 已经办成"),
        (UnknownOutcome("the bank hung up"), "没法确认它生效了没有"),
    ],
)
async def test_who_takes_back_a_form_at_work_hears_what_became_of_it(
    tooled: Tooled, world: World, error: Exception | None, told: str
) -> None:
    world.error = error
    async with tooled(world.tools()) as talk:
        run = await confirming(talk)
        confirmed = asyncio.create_task(confirm(talk))
        async with asyncio.timeout(HANGS_AFTER_S):
            await world.asked.wait()
        assert (await withdrawn(talk, run)).status == "running"
        world.let_go.set()
        await confirmed
        said = await ended(talk, run)
        assert (await run_of(talk.parts, run)).status == "cancelled"
    assert told in "\n".join(said)
    assert not [line for line in said if line.startswith("好的，已取消")]


async def looked(talk: Talk, world: World) -> str:
    """Into the middle of the form's call; the run's id."""
    asking = asyncio.create_task(chosen(talk, "look"))
    async with asyncio.timeout(HANGS_AFTER_S):
        await world.asked.wait()
        turn = await asking
    assert flow_of(turn).status == "running"
    return flow_of(turn).id


async def let_alone(world: World) -> None:
    """Return once the tool was left alone."""
    async with asyncio.timeout(HANGS_AFTER_S):
        await world.left.wait()


async def test_taken_back_a_form_that_looks_stops_its_call(tooled: Tooled, world: World) -> None:
    async with tooled(world.tools()) as talk:
        assert (await withdrawn(talk, await looked(talk, world))).status == "cancelled"
        await let_alone(world)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["取消", "cancel", "算了"])
async def test_a_word_cancels_the_run_at_work(tooled: Tooled, world: World, word: str) -> None:
    async with tooled(world.tools()) as talk:
        run = await looked(talk, world)
        at_work = (await talk.status()).active_flow
        assert at_work is not None
        assert (at_work.id, at_work.status) == (run, "running")
        turn = await talk.say(word)
        assert (turn.route.kind, turn.route.by, turn.route.target) == ("cancel", "slot", "look")
        assert (flow_of(turn).id, flow_of(turn).status) == (run, "cancelled")
        assert [reply.text for reply in turn.replies] == ["好的，已取消。"]
        assert [call.status for call in turn.tool_calls] == ["skipped"]
        assert (await talk.status()).active_flow is None
        await let_alone(world)


@pytest.mark.slow
async def test_a_write_that_is_cancelled_says_that_it_runs_on(tooled: Tooled, world: World) -> None:
    async with tooled(world.tools()) as talk:
        run = await confirming(talk)
        await confirm(talk)
        turn = await talk.say("取消")
        world.let_go.set()
        said = await ended(talk, run)
        assert words(turn) == "好的，正在取消。有一步已经在办了，一有结果就告诉你。"
        assert (await run_of(talk.parts, run)).status == "cancelled"
    assert not world.left.is_set()
    assert "取消晚了一步：send 已经办成" in "\n".join(said)


@pytest.mark.slow
async def test_a_word_after_the_work_is_done_cancels_nothing(tooled: Tooled, world: World) -> None:
    async with tooled(world.tools()) as talk:
        run = await looked(talk, world)
        world.let_go.set()
        await over(talk, "look", run)
        turn = await talk.say("取消")
        assert (await run_of(talk.parts, run)).status == "completed"
        assert (await talk.status()).active_flow is None
    assert turn.flow is None
