"""How tools are called for a message: told as they are, remembered, or left to the front end."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from router.domain.messages import Message, ToolResultAction
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls, says
from tests.workflow.desk import Talk, texts
from tests.workflow.tooled import Tooled, chosen, skill


@tool(permission="read", client=True, title={"zh": "定位", "en": "Locate"})
async def locate(precise: bool = False) -> dict[str, str]:
    """Where the employee is, as their device knows."""
    raise AssertionError("the front end makes this call")


@tool(permission="read", return_direct=True, title={"zh": "菜单", "en": "Menu"})
async def get_menu() -> list[str]:
    """What the canteen serves today."""
    return ["宫保鸡丁", "番茄炒蛋"]


@tool(permission="read", title={"zh": "天气", "en": "Weather"})
async def get_sky() -> str:
    """What the sky looks like."""
    return "clear"


@pytest.fixture
async def talk(tooled: Tooled, model: ModelServer) -> AsyncIterator[Talk]:
    async with tooled([locate, get_menu, get_sky], model) as talk:
        yield talk


def found(id_: str, value: Any) -> Message:
    action = ToolResultAction(type="tool_result", tool_call_id=id_, result=value)
    return Message(action=action)


ARGUMENTS: list[dict[str, Any]] = []


@tool(permission="read", return_direct=True, title={"zh": "车次", "en": "Trains"})
async def get_trains(to: str, most: int = 3, sort: str | None = None) -> str:
    """Trains that go to a place."""
    ARGUMENTS.append({"to": to, "most": most, "sort": sort})
    return "G1"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["the model", "its form", "a skill"])
async def test_a_call_is_shown_with_the_defaults_of_what_is_not_given(
    tooled: Tooled, by: str
) -> None:
    to_skill = calls(("dispatch_to_skill", {"skill_name": "guide", "request": "去上海"}))
    asks = calls(("get_trains", {"to": "上海"}))
    script = {"the model": [asks], "its form": [], "a skill": [to_skill, asks, says("G1")]}[by]
    async with tooled([get_trains], script, [skill("guide", "向导", "Guide")]) as talk:
        if by == "its form":
            await chosen(talk, "get_trains")
            turn = await talk.say("上海")
            turn = turn if turn.tool_calls else await talk.say("跳过")
        else:
            turn = await talk.say("去上海有什么车")
    (call,) = turn.tool_calls
    assert call.arguments == {"to": "上海", "most": 3}
    assert ARGUMENTS[-1] == {"to": "上海", "most": 3, "sort": None}


async def test_a_result_that_is_the_answer_costs_no_second_call(talk: Talk) -> None:
    talk.model.then(calls(("get_menu", {})))
    turn = await talk.say("食堂今天有什么")
    assert texts(turn) == ["- 宫保鸡丁\n- 番茄炒蛋"]
    assert turn.usage.llm_calls == 1


async def test_beside_another_tool_it_is_put_into_words_with_it(talk: Talk) -> None:
    talk.model.then(calls(("get_menu", {}), ("get_sky", {})), says("两个菜，天晴。"))
    assert texts(await talk.say("食堂有什么，天气怎么样")) == ["两个菜，天晴。"]


async def test_a_call_of_the_front_end_waits_for_its_result(talk: Talk) -> None:
    talk.model.then(calls(("locate", {"precise": True})), says("你在浦东。"))
    turn = await talk.say("我在哪里")
    (call,) = turn.tool_calls
    assert (call.name, call.status, call.arguments) == ("locate", "waiting", {"precise": True})
    assert texts(turn) == ["这一步要由你的设备来做，做完我接着说。"]
    waiting = (await talk.status()).waiting_calls
    assert waiting == {call.id: "locate"}
    problems = talk.parts.offered.result_problems
    assert problems("locate", {"district": 7}) == ["district: Input should be a valid string"]
    assert problems("locate", None) == ["result: Input should be an object"]
    assert problems("locate", {"district": "浦东"}) == problems("nothing_such", 7) == []
    turn = await talk.send(found(call.id, {"district": "浦东"}))
    assert (turn.route.kind, turn.route.target, turn.route.by) == ("tool", "locate", "action")
    assert [(c.id, c.status) for c in turn.tool_calls] == [(call.id, "done")]
    assert (await talk.status()).waiting_calls == {}
    assert texts(turn) == ["你在浦东。"]
    asked = talk.model.chats[-1]["messages"]
    assert "我在哪里" in asked[-3]["content"]
    assert asked[-1] == {"role": "tool", "tool_call_id": call.id, "content": '{"district": "浦东"}'}


async def test_two_calls_of_one_message_are_waited_for_together(talk: Talk) -> None:
    talk.model.then(calls(("locate", {}), ("locate", {"precise": True})), says("在上海浦东。"))
    first, second = (await talk.say("我在哪里，精确到区")).tool_calls
    assert (await talk.send(found(second.id, "浦东"))).usage.llm_calls == 0
    assert texts(await talk.send(found(first.id, "上海"))) == ["在上海浦东。"]


@pytest.mark.slow
async def test_a_call_survives_what_is_said_in_between(talk: Talk) -> None:
    talk.model.then(calls(("locate", {})), says("你好。"), says("你在浦东。"))
    (call,) = (await talk.say("我在哪里")).tool_calls
    await talk.say("你好")
    assert texts(await talk.send(found(call.id, "浦东"))) == ["你在浦东。"]


async def test_a_result_that_nobody_waits_for_changes_nothing(talk: Talk) -> None:
    turn = await talk.send(found("nobody", {"x": 1}))
    assert (turn.route.kind, turn.tool_calls) == ("reply", [])
    assert texts(turn) == ["没有在等这个结果。"]
    assert talk.model.chats == []


async def test_the_same_result_sent_twice_is_taken_once(talk: Talk) -> None:
    talk.model.then(calls(("locate", {})), says("你在浦东。"))
    (call,) = (await talk.say("我在哪里")).tool_calls
    first = await talk.send(found(call.id, "浦东"), "result-1")
    assert await talk.send(found(call.id, "浦东"), "result-1") == first
    assert texts(await talk.send(found(call.id, "浦东"), "result-2")) == ["没有在等这个结果。"]


async def test_a_call_of_the_front_end_is_nothing_that_a_form_could_make(talk: Talk) -> None:
    assert talk.parts.offered.startable("get_sky", talk.person) is not None
    assert talk.parts.offered.startable("locate", talk.person) is None
