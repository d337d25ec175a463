"""What can be read later of tools and models at work, on a real server with a scripted model."""

import asyncio

import pytest

from router.contracts import conversation
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import LogEntry
from router.tool.tool import Tool, tool
from tests.fakes.model_server import Behaviour, calls, says
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk
from tests.workflow.tooled import Tooled, chosen, skill

LOOKER = skill("looker", "查看", "Looker")
CHOOSE = calls(("dispatch_to_skill", {"skill_name": "looker", "request": "看看"}))
LOOK = calls(("look", {}))


def looking() -> Tool:
    @tool(permission="read")
    async def look() -> str:
        """Look."""
        return "a cat"

    return look


async def log_of(talk: Talk) -> list[LogEntry]:
    return await talk.parts.store.log.since(DEFAULT_TENANT, talk.id, 0, 1000)


def story(rows: list[LogEntry]) -> list[str]:
    """The rows in short; of a `tool_finished` or a `thinking` with its status."""
    return [f"{row.kind} {row.data.get('status', '')}".strip() for row in rows]


async def test_a_skills_steps_and_tools_are_kept_in_order_before_its_turn(tooled: Tooled) -> None:
    async with tooled([looking()], [CHOOSE, LOOK, says("一只猫。")], [LOOKER]) as talk:
        turn = await talk.say("帮我看看", "m")
        rows = await log_of(talk)
    thought = ["thinking started", "thinking finished"]
    assert story(rows) == [
        *thought,
        *thought,
        *("tool_started", "tool_finished done"),
        *thought,
        *("message", "message", "turn"),
    ]
    steps = [(row.data["skill"], row.data["step"]) for row in rows if row.kind == "thinking"]
    assert steps[::2] == [(None, 1), ("looker", 1), ("looker", 2)]
    (call,) = turn.tool_calls
    assert {row.data["id"] for row in rows if row.kind.startswith("tool")} == {call.id}


@pytest.mark.slow
@pytest.mark.parametrize("by", ["the model", "a sub-agent"])
async def test_a_stopped_turn_leaves_no_call_without_its_end(tooled: Tooled, by: str) -> None:
    at_work = asyncio.Event()

    @tool(permission="read", timeout="30s")
    async def look() -> str:
        """Look."""
        at_work.set()
        await asyncio.Event().wait()
        raise AssertionError

    script: list[Behaviour] = [LOOK] if by == "the model" else [CHOOSE, LOOK]
    async with tooled([look], script, [LOOKER]) as talk:
        asking = asyncio.create_task(talk.say("帮我看看", "m"))
        async with asyncio.timeout(HANGS_AFTER_S):
            await at_work.wait()
            while "tool_started" not in story(await log_of(talk)):
                await asyncio.wait([asking], timeout=0.01)
            await talk.handle.signal(conversation.CANCEL, "m")
            turn = await asking
        rows = [row for row in await log_of(talk) if row.kind != "thinking"]
    tools = ["tool_started", "tool_finished unknown"]
    assert story(rows) == [*tools, "message", "message", "turn"]
    assert [call.status for call in turn.tool_calls] == ["unknown"]


async def test_the_tools_of_a_flow_are_kept_as_well(tooled: Tooled) -> None:
    async with tooled([looking()]) as talk:
        turn = await chosen(talk, "look")
        rows = await log_of(talk)
    tools = [row for row in rows if row.kind.startswith("tool")]
    assert story(tools) == ["tool_started", "tool_finished done"]
    assert {row.data["id"] for row in tools} == {call.id for call in turn.tool_calls}
