"""Rounds: what reading tools found goes back to the model that called them, a few times at most."""

import json
from typing import Any

import pytest

from router.domain.errors import ArgumentsToolError
from router.domain.messages import Turn
from router.tool.tool import Tool, tool
from tests.fakes.model_server import Behaviour, answers, calls, says
from tests.workflow.desk import flow_of, texts
from tests.workflow.tooled import Tooled


@tool(permission="read", title={"zh": "查人", "en": "Find a person"})
async def find_person(name: str) -> dict[str, str]:
    """Who somebody is."""
    if name != "Gina":
        raise ArgumentsToolError(f"name: nobody is called {name!r}; there is Gina")
    return {"name": "Gina", "team": "sales"}


@tool(permission="read", title={"zh": "查团队", "en": "Find a team"})
async def find_team(team: str) -> dict[str, int]:
    """How many a team are."""
    return {"people": 12}


done: list[str] = []


@tool(permission="write", title={"zh": "发通知", "en": "Send a note"})
async def send_note(text: str) -> str:
    """Send a note to everybody."""
    done.append(text)
    return "sent"


TOOLS: list[Tool] = [find_person, find_team, send_note]
GINA, SALES = calls(("find_person", {"name": "Gina"})), calls(("find_team", {"team": "sales"}))


async def asked(tooled: Tooled, *script: Behaviour, tools: list[Tool] = TOOLS) -> tuple[Turn, Any]:
    done.clear()
    async with tooled(tools, script) as talk:
        turn = await talk.say("Gina 的团队有多少人，帮我查一查")
        return turn, talk.model.chats


async def test_what_one_tool_found_is_what_the_next_is_called_with(tooled: Tooled) -> None:
    turn, chats = await asked(tooled, GINA, SALES, says("Gina 的团队有 12 人。"))
    assert texts(turn) == ["Gina 的团队有 12 人。"]
    assert [(c.name, c.status) for c in turn.tool_calls] == [
        ("find_person", "done"),
        ("find_team", "done"),
    ]
    assert turn.usage.llm_calls == 3
    roles = [message["role"] for message in chats[-1]["messages"]]
    assert roles[-4:] == ["assistant", "tool", "assistant", "tool"]


@pytest.mark.slow
async def test_which_argument_is_wrong_goes_back_to_the_model_and_is_mended(tooled: Tooled) -> None:
    wrong = calls(("find_person", {"name": "Gian"}))
    turn, chats = await asked(tooled, wrong, GINA, says("Gina 在 sales。"))
    assert texts(turn) == ["Gina 在 sales。"]
    assert [call.status for call in turn.tool_calls] == ["failed", "done"]
    told = chats[1]["messages"][-1]["content"]
    assert told.startswith("error: ")
    assert "nobody is called 'Gian'; there is Gina" in told


async def test_the_rules_and_what_is_offered_are_the_same_bytes_in_every_round(
    tooled: Tooled,
) -> None:
    _, chats = await asked(tooled, GINA, SALES, says("12 人。"))
    assert len({json.dumps([chat["messages"][:2], chat["tools"]]) for chat in chats}) == 1


@pytest.mark.slow
async def test_after_three_rounds_it_is_said_what_there_is(tooled: Tooled) -> None:
    again = (calls(("find_team", {"team": f"sales {n}"})) for n in "abcdefghi")
    turn, chats = await asked(tooled, GINA, *again)
    assert len(turn.tool_calls) == 3
    assert len(chats) == 4
    assert "12" in texts(turn)[0]


async def test_the_same_call_again_is_not_made(tooled: Tooled) -> None:
    turn, _ = await asked(tooled, GINA, GINA, says("Gina 在 sales。"))
    assert [call.name for call in turn.tool_calls] == ["find_person"]
    assert texts(turn) == ["Gina 在 sales。"]


@pytest.mark.slow
@pytest.mark.parametrize("round_", [1, 2, 3])
async def test_nothing_is_written_in_any_round(tooled: Tooled, round_: int) -> None:
    writes = calls(("send_note", {"text": "hello"}))
    before = [GINA, SALES][: round_ - 1]
    turn, _ = await asked(tooled, *before, writes, writes, says("好的。"))
    assert done == []
    assert [call.name for call in turn.tool_calls if call.name == "send_note"] == []


async def test_a_form_may_follow_what_was_found_and_asks_before_it_writes(tooled: Tooled) -> None:
    to_form = calls(("dispatch_to_flow", {"flow_name": "send_note", "slots": {"text": "sales"}}))
    turn, _ = await asked(tooled, GINA, to_form)
    assert (flow_of(turn).name, flow_of(turn).status) == ("send_note", "confirming")
    assert done == []


async def test_where_no_model_answers_any_more_the_tools_own_words_are_said(tooled: Tooled) -> None:
    turn, _ = await asked(tooled, GINA, says(None), says(None))
    assert "Gina" in texts(turn)[0]
    assert turn.status == "done"


async def test_what_the_model_thought_before_its_calls_goes_back_with_them(tooled: Tooled) -> None:
    function = {"name": "find_person", "arguments": '{"name": "Gina"}'}
    thinks = answers(
        {
            "content": None,
            "reasoning_content": "先看她在哪个团队",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        "tool_calls",
    )
    _, chats = await asked(tooled, thinks, SALES, says("Gina 的团队有 12 人。"))
    called = [m for m in chats[-1]["messages"] if m.get("tool_calls")]
    assert [message.get("reasoning_content") for message in called] == ["先看她在哪个团队", None]
