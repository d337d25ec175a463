"""Tools of a real MCP server that ask something back: the conversation asks, and calls anew."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from temporalio.client import Client

from router.domain.messages import ChoicesReply
from router.extensions.mcp.file import ToolEntry
from router.runtime.composition import Parts
from tests.fakes.model_server import ModelServer, calls
from tests.integration.extensions.mcp.conftest import house_of, program
from tests.workflow.desk import Talk, flow_of, words
from tests.workflow.tooled import Models, chosen, talking

READS = ToolEntry(permission="read")
WRITES = ToolEntry()


Opened = Callable[..., Awaitable[Talk]]


@pytest.fixture
async def opened(real_client: Client, parts: Parts, tmp_path: Path) -> AsyncIterator[Opened]:
    """A talk whose only tools are these of the server."""
    async with AsyncExitStack() as stack:

        async def open_(model: Models = (), **tools: ToolEntry) -> Talk:
            entry = program("--notes", str(tmp_path / "notes"), tools=tools, only=frozenset(tools))
            house = await stack.enter_async_context(house_of(it=entry))
            await house.has("it")
            found = house.tools["it"].values()
            return await stack.enter_async_context(talking(real_client, parts, found, model))

        yield open_


@pytest.mark.slow
async def test_a_question_of_a_tool_is_asked_and_its_answer_handed_on(opened: Opened) -> None:
    talk = await opened(ask=WRITES)
    asked = await chosen(talk, "it__ask", "确认")
    assert "Which seat for" in words(asked)
    assert (flow_of(asked).status, flow_of(asked).awaiting) == ("collecting", ["seat"])
    assert [call.status for call in asked.tool_calls] == ["skipped"]
    done = await talk.say("12A")
    assert flow_of(done).status == "completed"
    assert '"content": {"seat": "12A"}' in words(done)


async def test_a_read_asks_back_in_the_conversation(opened: Opened, model: ModelServer) -> None:
    talk = await opened(model, ask=READS)
    model.then(calls(("it__ask", {"text": "Ada"})))
    asked = await talk.say("is there a seat for Ada?")
    assert "Which seat for Ada?" in words(asked)
    assert flow_of(asked).slots == {"text": "Ada"}
    assert '"seat": "12A"' in words(await talk.say("12A"))


@pytest.mark.slow
async def test_each_field_is_asked_and_what_the_server_refuses_asked_anew(opened: Opened) -> None:
    talk = await opened(order=WRITES)
    asked = await chosen(talk, "it__order", "确认")
    (which,) = [reply for reply in asked.replies if isinstance(reply, ChoicesReply)]
    assert [option.label for option in which.options] == ["Cup", "Mug"]
    await talk.say("Mug")
    again = await talk.say("9")
    assert "Which, and how many" in words(again)
    assert flow_of(again).status == "collecting"
    await talk.say("Cup")
    assert '"content": {"size": "s", "count": 2}' in words(await talk.say("2"))


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "action"), [("是", "accept"), ("否", "decline")])
async def test_an_empty_form_is_answered_by_yes(opened: Opened, answer: str, action: str) -> None:
    talk = await opened(agree=WRITES)
    assert "It costs 5 yuan." in words(await chosen(talk, "it__agree", "确认"))
    assert json.dumps({"action": action}) in words(await talk.say(answer))


@pytest.mark.slow
async def test_cancelled_when_asked_it_is_not_called_again(opened: Opened, tmp_path: Path) -> None:
    talk = await opened(ask=WRITES)
    await chosen(talk, "it__ask", "确认")
    assert flow_of(await talk.say("取消")).status == "cancelled"
    assert len((tmp_path / "notes").read_text().splitlines()) == 1
