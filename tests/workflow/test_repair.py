"""Dialogues that go wrong and are put right, on a real server: no model is there."""

from typing import Any

import pytest

from router.domain.messages import ChoicesReply
from tests.workflow.conftest import Passing
from tests.workflow.desk import Talk, becomes, closed, flow_of, heard, run_of, withdrawn, words


async def active(talk: Talk) -> str | None:
    active_flow = (await talk.status()).active_flow
    return active_flow.name if active_flow else None


async def three_deep(talk: Talk) -> tuple[str, str]:
    """A leave and a claim put aside, and another leave being talked about; the first two's ids."""
    leave = await talk.say("我要请假")
    claim = await talk.say("我要报销")
    await talk.say("我要请病假")
    return flow_of(leave).id, flow_of(claim).id


@pytest.mark.slow
async def test_a_day_alone_puts_right_the_end_that_was_just_given(talk: Talk) -> None:
    for said in ("我要请年假", "2026年12月7日开始", "到2026年12月8日"):
        await talk.say(said)
    turn = await talk.say("不对，是2026年12月9日")
    assert turn.replies[0].text == "结束改为2026年12月9日（周三）。"
    assert flow_of(turn).awaiting == ["reason"]
    await talk.say("取消")


@pytest.mark.slow
async def test_it_is_asked_which_of_several_to_resume(talk: Talk) -> None:
    leave, claim = await three_deep(talk)
    turn = await talk.say("取消")
    which = turn.replies[-1]
    assert isinstance(which, ChoicesReply)
    assert [option.label for option in which.options] == ["请假申请", "费用报销", "都先放着"]
    assert turn.routes is not None
    assert [route.kind for route in turn.routes] == ["cancel", "clarify"]
    status = await talk.status()
    assert (status.active_flow, [p.id for p in status.paused_flows]) == (None, [leave, claim])
    turn = await talk.say("请假申请")
    assert (flow_of(turn).id, turn.replies[0].text) == (leave, "我们回到请假申请。")
    assert "我们回到费用报销" in words(await talk.say("取消"))


@pytest.mark.slow
async def test_none_of_several_is_an_answer_and_each_can_still_be_taken_up(talk: Talk) -> None:
    leave, claim = await three_deep(talk)
    await talk.say("取消")
    assert "都先放着" in words(await talk.say("都先放着"))
    assert await active(talk) is None
    turn = await talk.say("回到报销")
    assert (turn.route.kind, turn.route.target) == ("flow", "reimbursement")
    assert flow_of(turn).id == claim
    assert flow_of(await talk.say("接着刚才的请假")).id == leave
    assert [p.id for p in (await talk.status()).paused_flows] == [claim]


@pytest.mark.slow
async def test_a_button_takes_up_what_it_names(talk: Talk) -> None:
    _, claim = await three_deep(talk)
    which = (await talk.say("取消")).replies[-1]
    assert isinstance(which, ChoicesReply)
    turn = await talk.press("choose", value=which.options[1].value, question=which.question)
    assert (flow_of(turn).id, turn.route.by) == (claim, "action")


@pytest.mark.slow
async def test_what_ended_behind_its_back_is_not_taken_up(talk: Talk) -> None:
    leave, claim = await three_deep(talk)
    where = (await run_of(talk.parts, leave)).workflow_id
    await talk.client.get_workflow_handle(where).terminate("by an operator")
    await talk.say("取消")
    turn = await talk.say("请假申请")
    assert "已经结束了" in words(turn)
    assert flow_of(turn).id == claim


@pytest.mark.slow
async def test_it_is_asked_which_too_where_the_one_talked_about_ends_by_itself(talk: Talk) -> None:
    _, claim = await three_deep(talk)
    current = (await talk.status()).active_flow
    assert current is not None
    await withdrawn(talk, current.id)
    await heard(talk, "还有几件没办完")
    assert flow_of(await talk.say("费用报销")).id == claim


@pytest.mark.slow
async def test_the_fourth_miss_names_a_person_and_leaves_the_question_for_later(talk: Talk) -> None:
    await talk.say("我要请年假")
    turns = [await talk.say("呜啦啦呜啦啦") for _ in range(5)]
    assert "没看明白" in words(turns[0])
    assert "比如可以说" in words(turns[1])
    ways = turns[2].replies[-1]
    assert isinstance(ways, ChoicesReply)
    assert [o.label for o in ways.options] == ["怎么填？", "从头来", "取消", "找人工"]
    assert [turn.route.kind for turn in turns] == ["flow", "flow", "flow", "handoff", "flow"]
    assert "请找人事、财务或管理员" in words(turns[3])
    assert "从哪天开始" not in words(turns[3])
    assert "从哪天开始" in words(turns[4])
    assert flow_of(await talk.press("choose", value=ways.options[1].value)).slots == {}
    turn = await talk.say("找人工")
    assert (turn.route.kind, await active(talk)) == ("handoff", "leave_request")


@pytest.mark.slow
async def test_after_a_day_a_message_hears_where_we_were(passing: Passing, talk: Talk) -> None:
    await talk.say("我要请年假")
    asked = await talk.say("12月7日开始")
    await passing(hours=20)
    assert "上次" not in words(await talk.say("你好"))
    await passing(hours=25)
    await closed(talk)
    turn = await talk.say("你好")
    assert turn.replies[0].text.startswith("我们上次办到请假申请（假别 年假，开始 ")
    assert turn.replies[1:] == asked.replies[-1:], words(turn)
    assert "上次" not in words(await talk.say("你好"))


async def test_an_answer_after_a_day_needs_a_line_alone(passing: Passing, talk: Talk) -> None:
    talk = await talk.another("frank", "en")
    await talk.say("I want annual leave")
    await passing(hours=25)
    turn = await talk.say("7 December")
    assert turn.replies[0].text == "On with: Leave request."
    assert flow_of(turn).awaiting == ["end"]


async def silent(passing: Passing, talk: Talk, run: str) -> None:
    """Have the run hear nothing until it expires."""
    await passing(hours=73)
    await heard(talk, "还没办完，还在等你回答")
    assert (await run_of(talk.parts, run)).status == "collecting"
    await passing(hours=25)
    await becomes(talk.parts, run, lambda record: record.status == "expired")
    await heard(talk, "先收起来了")


async def begun(talk: Talk) -> str:
    await talk.say("我要请年假")
    turn = await talk.say("12月7日开始")
    return flow_of(turn).id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("继续刚才的请假", "我们回到请假申请。"),
        ("接着办", "我们回到请假申请。"),
        ("continue my leave request", "Back to: Leave request."),
    ],
)
async def test_what_fell_silent_is_taken_up(
    passing: Passing, talk: Talk, said: str, back: str
) -> None:
    run = await begun(talk)
    await silent(passing, talk, run)
    assert await active(talk) is None
    turn = await talk.say(said)
    assert flow_of(turn).id != run
    assert flow_of(turn).slots.keys() == {"leave_type", "start"}
    assert (flow_of(turn).awaiting, turn.replies[0].text) == (["end"], back)
    await talk.say("取消")
    assert (await talk.say("继续刚才的请假")).route.by != "slot"


@pytest.mark.slow
async def test_its_notice_has_a_button_that_works_meanwhile(passing: Passing, talk: Talk) -> None:
    run = await begun(talk)
    await silent(passing, talk, run)
    lines: list[Any] = [line.data for line in await talk.transcript()]
    (told,) = [line["replies"] for line in lines if "一直没等到回答" in line["text"]]
    (button,) = told[-1]["options"]
    assert button["label"] == "接着办请假申请"
    await talk.say("我要报销")
    turn = await talk.press("choose", value=button["value"])
    assert flow_of(turn).name == "leave_request"
    assert [*flow_of(turn).slots] == ["leave_type", "start"]
    assert "我们回到费用报销" in words(await talk.say("取消"))


@pytest.mark.slow
async def test_a_paused_flows_silence_has_no_question(passing: Passing, talk: Talk) -> None:
    await begun(talk)
    await passing(hours=48)
    await talk.say("我要报销")
    await passing(hours=25)
    await heard(talk, "还没办完")
    (notice,) = [text for text in await talk.texts() if "还没办完" in text]
    assert "到哪天为止" not in notice
    assert await active(talk) == "reimbursement"


@pytest.mark.slow
async def test_three_deep_every_question_comes_back(talk: Talk) -> None:
    talk = await talk.another("gina")
    handed_in = await talk.waiting_leave("我要请年假，12月14日到15日，家里有事")
    first = await talk.say("我要请病假")
    second = await talk.say("我要报销")
    turn = await talk.say("我的请假批了吗")
    assert turn.route.target == "get_my_requests"
    assert turn.replies[-1] == second.replies[-1]
    assert (await talk.say("取消")).replies[-1] == first.replies[-1]
    await talk.say("取消")
    assert (await run_of(talk.parts, handed_in)).status == "waiting_approval"
    await talk.say("撤回")
