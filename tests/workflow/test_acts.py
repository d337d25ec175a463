"""Words about the dialogue, in a conversation on a real server: no model is there."""

import pytest

from router.domain.messages import ChoicesReply, ConfirmReply
from tests.workflow.desk import Talk, flow_of, run_of, texts, words


@pytest.mark.slow
async def test_what_is_said_about_the_question_answers_it_and_asks_it_again(talk: Talk) -> None:
    """Help, repetition, and a skip of what is needed, which never gives up."""
    asked = await talk.say("我要请假")
    turn = await talk.say("怎么填？")
    assert (turn.route.kind, turn.route.target, turn.route.by) == ("flow", "leave_request", "slot")
    assert "这是“请假申请”" in words(turn)
    assert "年假、病假" in words(turn)
    assert turn.replies[-1] == asked.replies[-1]
    assert turn.flow == asked.flow
    assert (await talk.say("什么？")).replies == asked.replies
    assert (await talk.say("come again?")).replies == asked.replies
    for _ in range(4):
        turn = await talk.say("跳过")
        assert "“假别”是必填的" in words(turn)
        assert turn.flow == asked.flow


async def test_outside_of_flows_help_names_what_there_is_and_is_said_again(talk: Talk) -> None:
    assert "还什么都没说" in words(await talk.say("再说一遍"))
    turn = await talk.say("你能做什么")
    assert (turn.route.kind, turn.route.by, turn.usage.llm_calls) == ("reply", "pattern", 0)
    assert "请假申请" in words(turn)
    assert "费用报销" in words(turn)
    again = await talk.say("再说一遍")
    assert (again.route.kind, again.route.by) == ("reply", "pattern")
    assert again.replies == turn.replies


async def test_what_was_offered_can_still_be_chosen_once_it_was_said_again(talk: Talk) -> None:
    offered = await talk.say("云彩真好看")
    assert isinstance(offered.replies[-1], ChoicesReply)
    assert (await talk.say("没看清")).replies == offered.replies
    assert (await talk.say(offered.replies[-1].options[0].label)).flow is not None


@pytest.mark.slow
async def test_how_a_request_stands_is_looked_up_in_the_middle_of_another(talk: Talk) -> None:
    talk = await talk.another("gina")
    run = await talk.waiting_leave()
    asked = await talk.say("我要报销")
    turn = await talk.say("我的请假批了吗")
    route = turn.route
    assert (route.kind, route.target, route.by) == ("tool", "get_my_requests", "pattern")
    assert [(call.name, call.status) for call in turn.tool_calls] == [("get_my_requests", "done")]
    assert "请假申请" in words(turn)
    assert turn.replies[-1] == asked.replies[-1]
    assert turn.flow == asked.flow
    await talk.say("取消")
    assert (await run_of(talk.parts, run)).status == "waiting_approval"
    await talk.say("撤回")


async def test_a_balance_is_told_for_the_kind_that_is_named(talk: Talk) -> None:
    turn = await talk.say("年假还剩几天")
    route = turn.route
    assert (route.kind, route.target, route.by) == ("tool", "get_leave_balance", "pattern")
    assert turn.tool_calls[0].arguments == {"leave_type": "annual"}
    assert "的年假还剩 " in texts(turn)[0]
    assert "| 年假 | " in texts(await talk.say("我还剩几天"))[0]


@pytest.mark.parametrize("said", ["撤回吧", "take it back"])
async def test_what_waits_for_approval_is_withdrawn(talk: Talk, said: str) -> None:
    run = await talk.waiting_leave()
    turn = await talk.say(said)
    assert (turn.route.kind, turn.route.target) == ("cancel", "leave_request")
    assert (flow_of(turn).id, flow_of(turn).status) == (run, "cancelled")
    assert (await run_of(talk.parts, run)).status == "cancelled"
    assert (await talk.say(said)).route.kind != "cancel"


@pytest.mark.slow
async def test_another_kind_that_is_named_is_asked_about_first(talk: Talk) -> None:
    talk = await talk.another("erin")
    leave = await talk.waiting_leave("我要请事假，12月9日到10日，搬家")
    await talk.say("我要报销")
    turn = await talk.say("取消我的请假")
    assert isinstance(turn.replies[-1], ConfirmReply), turn.replies
    assert (flow_of(turn).name, flow_of(turn).slots["request"]) == ("withdraw_request", "请假")
    assert "我们回到费用报销" in words(await talk.say("不"))
    assert (await talk.status()).active_flow is not None
    assert (await run_of(talk.parts, leave)).status == "waiting_approval"
    await talk.say("取消")
    assert (await talk.say("撤回")).route.kind == "cancel"
    assert (await run_of(talk.parts, leave)).status == "cancelled"
