"""Skills that people call by name, and that no model hears of, on a real Temporal server."""

import json

import pytest
from temporalio.client import Client

from router.runtime.composition import Parts
from tests.fakes.model_server import ModelServer, calls, says
from tests.workflow.desk import flow_of, texts
from tests.workflow.skill_histories import replays
from tests.workflow.tooled import Tooled, skill, talking
from tests.workflow.trip import book_seat, find_train

TOOLS = (find_train, book_seat)
HIDDEN = skill("seeker", "找车助手", "Train finder", by_model=False)
OPEN = skill("planner", "计划助手", "Trip planner", hands_to=("seeker",))
FIND = calls(("find_train", {"to": "上海"}))


@pytest.mark.slow
@pytest.mark.parametrize("said", ["/seeker 去上海", "用找车助手看看去上海的车"])
async def test_a_hidden_skill_is_called_by_name_without_a_decision(
    tooled: Tooled, model: ModelServer, said: str
) -> None:
    async with tooled(TOOLS, model, [HIDDEN, OPEN]) as talk:
        turn = await talk.scripted(said, FIND, says("坐 G1。"))
        assert texts(turn) == ["坐 G1。"]
        route = turn.route
        assert (route.kind, route.target, route.by) == ("skill", "seeker", "pattern")
        assert turn.usage.llm_calls == 2
        assert f"<request>\n{said}\n</request>" in model.chats[0]["messages"][1]["content"]
        turn = await talk.scripted("改成明天的", says("坐 G2。"))
        assert (turn.route.target, turn.route.by) == ("seeker", "slot")


async def test_a_model_never_hears_of_a_hidden_skill_and_cannot_start_it(
    tooled: Tooled, model: ModelServer
) -> None:
    dispatch = calls(("dispatch_to_skill", {"skill_name": "seeker", "request": "去上海"}))
    async with tooled(TOOLS, model, [HIDDEN, OPEN]) as talk:
        turn = await talk.scripted("帮我看看去上海的车", dispatch, says("你好。"), says("你好。"))
    assert turn.route.target != "seeker"
    assert "planner" in json.dumps(model.chats[0])
    assert all("seeker" not in json.dumps(chat["tools"]) for chat in model.chats)


@pytest.mark.slow
async def test_another_skill_may_hand_a_part_to_a_hidden_one(
    tooled: Tooled, model: ModelServer
) -> None:
    choose = calls(("dispatch_to_skill", {"skill_name": "planner", "request": "去上海"}))
    over = calls(("hand_over", {"skill_name": "seeker", "request": "车次"}))
    async with tooled(TOOLS, model, [HIDDEN, OPEN]) as talk:
        turn = await talk.scripted("计划去上海", choose, over, FIND, says("G1"), says("坐 G1。"))
        await replays(talk)
    assert texts(turn) == ["坐 G1。"]


@pytest.mark.slow
async def test_called_while_a_form_asks_it_answers_and_the_form_asks_again(
    real_client: Client, parts: Parts, model: ModelServer
) -> None:
    async with talking(real_client, parts, TOOLS, model, [HIDDEN]) as talk:
        form = calls(("dispatch_to_flow", {"flow_name": "book_seat", "slots": {}}))
        asked = await talk.scripted("帮我订个座位", form)
        assert flow_of(asked).awaiting == ["train"]
        turn = await talk.scripted("/seeker 有哪些车", FIND, says("有 G1。"))
    assert texts(turn)[0] == "有 G1。"
    assert flow_of(turn).awaiting == ["train"]
    assert "train" not in flow_of(turn).slots
