"""A tool's own rules met before the confirmation: the real form, on a real server."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from router.domain.errors import ArgumentsToolError, PermanentToolError, TransientToolError
from router.domain.messages import ConfirmReply
from router.runtime.composition import Parts
from router.tool.context import ToolContext
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls
from tests.workflow.desk import Talk, flow_of
from tests.workflow.tooled import Tooled, chosen, talking

taken: set[str] = set()
booked: list[str] = []
hiccups: list[str] = []


@pytest.fixture(autouse=True)
def _empty() -> None:
    for kept in (taken, booked, hiccups):
        kept.clear()


async def is_free(room: str, ctx: ToolContext) -> None:
    if hiccups:
        raise TransientToolError(hiccups.pop())
    if room == "cellar":
        raise PermanentToolError(f"the cellar is nothing for {ctx.caller.id}")
    if room in taken:
        raise ArgumentsToolError(f"room: {room} is taken")


@tool(permission="write", check=is_free, title={"zh": "订会议室", "en": "Book a room"})
async def book_room(room: str) -> str:
    """Book a meeting room."""
    booked.append(room)
    return room


@pytest.fixture
async def talk(real_client: Client, parts: Parts) -> AsyncIterator[Talk]:
    async with talking(real_client, parts, [book_room]) as talk:
        yield talk


async def decisions(parts: Parts) -> list[str]:
    rows = await parts.store.audit.of_person("default", "alice", 50)
    return [row.decision for row in reversed(rows) if row.tool == "book_room"]


@pytest.mark.slow
async def test_what_is_free_is_checked_confirmed_and_booked(talk: Talk, parts: Parts) -> None:
    before = len(await decisions(parts))
    turn = await chosen(talk, "book_room", "A1")
    assert isinstance(turn.replies[-1], ConfirmReply)
    assert (turn.tool_calls, booked) == ([], [])
    done = await talk.say("确认")
    assert [call.status for call in done.tool_calls] == ["done"]
    assert booked == ["A1"]
    assert (await decisions(parts))[before:] == ["checked", "admitted"]


@pytest.mark.slow
async def test_what_is_taken_is_said_and_another_asked_for_at_once(talk: Talk) -> None:
    taken.add("A1")
    turn = await chosen(talk, "book_room", "A1")
    assert (flow_of(turn).status, flow_of(turn).awaiting) == ("collecting", ["change"])
    assert "room: A1 is taken" in turn.replies[0].text
    await talk.say("room")
    assert isinstance((await talk.say("B2")).replies[-1], ConfirmReply)
    await talk.say("确认")
    assert booked == ["B2"]


async def test_what_can_never_be_done_ends_before_anything_is_confirmed(talk: Talk) -> None:
    turn = await chosen(talk, "book_room", "cellar")
    assert (flow_of(turn).status, turn.tool_calls, booked) == ("failed", [], [])
    assert [reply.text for reply in turn.replies] == ["没办成：the cellar is nothing for alice"]


@pytest.mark.slow
async def test_what_changes_between_confirmation_and_call_is_met_in_the_call(talk: Talk) -> None:
    await chosen(talk, "book_room", "A1")
    taken.add("A1")
    turn = await talk.press("confirm", value=True)
    assert (flow_of(turn).status, booked) == ("failed", [])
    assert "room: A1 is taken" in turn.replies[0].text


@pytest.mark.slow
async def test_a_check_that_fails_for_the_moment_is_tried_again(talk: Talk) -> None:
    hiccups.append("the calendar is away")
    assert isinstance((await chosen(talk, "book_room", "A1")).replies[-1], ConfirmReply)
    assert hiccups == []


async def test_what_a_model_fills_in_is_checked_as_well(tooled: Tooled, model: ModelServer) -> None:
    slots = {"flow_name": "book_room", "slots": {"room": "cellar"}}
    model.then(calls(("dispatch_to_flow", slots)))
    async with tooled([book_room], model) as talk:
        turn = await talk.say("please put the board meeting into the cellar")
    assert turn.route.by == "llm"
    assert "the cellar is nothing for alice" in turn.replies[0].text
    assert not any(isinstance(reply, ConfirmReply) for reply in turn.replies)
