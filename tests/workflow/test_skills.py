"""Skills on a real Temporal server, with a scripted model over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from router.contracts import conversation
from router.domain.budgets import Budget, Budgets
from router.llm.fallback import FallbackChains
from router.runtime.composition import Parts
from tests.fakes.model_server import Behaviour, ModelServer, calls, fails, hangs, reaches, says
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, texts
from tests.workflow.tooled import MODEL, modelled, working

REQUEST = "试用期的人能不能休年假，能休几天？"
CHOOSE = calls(("dispatch_to_skill", {"skill_name": "policy-advisor", "request": "试用期年假"}))
SEARCH = ("search_policies", {"question": "试用期 年假"})


def adds(*numbers: int) -> list[Behaviour]:
    """Steps that calculate something, each something else."""
    return [calls(("calculate", {"expression": f"{n}+1"})) for n in numbers]


@pytest.fixture
async def talk(real_client: Client, parts: Parts, model: ModelServer) -> AsyncIterator[Talk]:
    async with modelled(real_client, parts, model) as talk:
        yield talk


@pytest.mark.slow
async def test_a_skill_works_in_steps_and_its_answer_is_the_reply(talk: Talk) -> None:
    turn = await talk.scripted(
        REQUEST, CHOOSE, calls(SEARCH, ("calculate", {"expression": "5*0.5"})), says("两天半。")
    )
    assert (turn.route.kind, turn.route.target, turn.route.by) == ("skill", "policy-advisor", "llm")
    assert texts(turn) == ["两天半。"]
    assert [call.name for call in turn.tool_calls] == ["search_policies", "calculate"]
    assert {call.status for call in turn.tool_calls} == {"done"}
    assert turn.usage.llm_calls == 3
    assert [chat["model"] for chat in talk.model.chats] == [MODEL, "big", "big"]


async def test_a_skill_may_call_only_what_it_allows_and_its_caller_may(talk: Talk) -> None:
    turn = await talk.scripted(
        REQUEST,
        CHOOSE,
        calls(("find_colleague", {"name": "bob"}), ("record_leave", {}), SEARCH),
        calls(("done", {"result": "查过了。"})),
    )
    assert texts(turn) == ["查过了。"]
    assert [(call.name, call.status) for call in turn.tool_calls] == [
        ("search_policies", "done"),
        ("find_colleague", "failed"),
        ("record_leave", "failed"),
    ]
    offered = {function["function"]["name"] for function in talk.model.chats[-1]["tools"]}
    assert {"find_colleague", "record_leave"}.isdisjoint(offered)
    refused = [m["content"] for m in talk.model.chats[-1]["messages"] if m["role"] == "tool"]
    assert [text.startswith("error: there is no tool") for text in refused] == [True, True, False]


@pytest.mark.slow
async def test_a_skill_that_never_ends_is_stopped_and_says_what_it_has(talk: Talk) -> None:
    turn = await talk.scripted(REQUEST, CHOOSE, *adds(*range(6)))
    (said,) = texts(turn)
    assert said.startswith("步数用完了，还没有得出结论。\n到目前为止查到：\n- 计算")
    assert "{" not in said
    assert [call.status for call in turn.tool_calls] == ["done"] * 5 + ["failed"]
    assert turn.usage.llm_calls == 7
    assert "This is your last step" in talk.model.chats[-1]["messages"][-1]["content"]


async def test_a_skill_that_goes_round_in_circles_is_stopped(talk: Talk) -> None:
    turn = await talk.scripted(REQUEST, CHOOSE, *adds(1, 1, 1))
    assert texts(turn)[0].startswith("一直在重复同样的步骤，先停下了。")
    assert [call.status for call in turn.tool_calls] == ["done", "done", "failed"]


async def test_steps_whose_calls_all_fail_lead_nowhere(talk: Talk) -> None:
    turn = await talk.scripted(REQUEST, CHOOSE, *[calls((f"nope{n}", {})) for n in range(3)])
    assert texts(turn) == ["连续几步都没有进展，先停下了。"]
    assert [call.status for call in turn.tool_calls] == ["failed"] * 3


@pytest.mark.slow
async def test_the_same_question_for_the_third_time_ends_it(talk: Talk) -> None:
    await talk.scripted(REQUEST, CHOOSE, *[calls(("ask_user", {"text": "哪个城市？"}))] * 3)
    assert texts(await talk.say("上海")) == ["哪个城市？"]
    assert texts(await talk.say("上海市")) == ["一直在重复同样的步骤，先停下了。"]


async def test_calls_beyond_the_most_are_told_to_the_model_as_left_out(talk: Talk) -> None:
    many = [("calculate", {"expression": f"{n}+1"}) for n in range(9)]
    assert len((await talk.scripted(REQUEST, CHOOSE, calls(*many), says("好了。"))).tool_calls) == 6
    told = talk.model.chats[-1]["messages"][-1]["content"]
    assert told.startswith("Of your answer was left out: ")


async def test_where_the_budget_of_a_turn_ends_a_skill_says_what_it_has(
    real_client: Client, parts: Parts, model: ModelServer
) -> None:
    model.then(CHOOSE, *adds(0, 1))
    budgets = Budgets(turn=Budget(calls=3))
    async with modelled(real_client, parts, model, llm_budgets=budgets) as talk:
        (said,) = texts(await talk.say(REQUEST))
    assert said.startswith("这句话能用的模型额度用完了，还没有得出结论。\n到目前为止查到：")
    assert "This is your last step" in model.chats[-1]["messages"][-1]["content"]


@pytest.mark.slow
async def test_a_skill_whose_model_fails_says_so_and_the_conversation_goes_on(talk: Talk) -> None:
    turn = await talk.scripted(REQUEST, CHOOSE, *[fails(400)] * 6, says("你好！"))
    assert turn.status == "done"
    assert texts(turn) == ["语言模型现在没有应答，还没有得出结论。"]
    assert texts(await talk.say("你好")) == ["你好！"]


async def test_a_turn_that_is_cancelled_cancels_its_skill(talk: Talk) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    talk.model.then(CHOOSE, reaches(thinking, hangs(over)))
    asking = asyncio.create_task(talk.say(REQUEST, message_id="to-cancel"))
    await thinking.wait()
    talk.model.let_go.clear()
    await talk.handle.signal(conversation.CANCEL, "to-cancel")
    assert (await asking).status == "cancelled"
    async with asyncio.timeout(HANGS_AFTER_S):
        await talk.model.let_go.wait()
    over.set()
    runs = [run async for run in talk.client.list_workflows('WorkflowType = "Skill"')]
    assert WorkflowExecutionStatus.RUNNING not in {run.status for run in runs}


async def test_skills_and_flows_of_one_message_are_said_in_order(talk: Talk) -> None:
    turn = await talk.scripted(
        "出差住得超标了怎么办，顺便帮我弄一个假",
        calls(
            ("dispatch_to_skill", {"skill_name": "policy-advisor", "request": "住宿超标怎么办"}),
            ("dispatch_to_flow", {"flow_name": "leave_request", "slots": {}}),
        ),
        says("超标部分自付。"),
    )
    assert [route.kind for route in turn.routes or []] == ["skill", "clarify"]
    assert texts(turn)[0] == "超标部分自付。"
    (asked,) = [reply for reply in turn.replies if reply.type == "choices"]
    assert "leave_request" in [option.value for option in asked.options]


async def test_without_a_model_no_skill_is_offered(real_client: Client, parts: Parts) -> None:
    async with working(real_client, replace(parts, chains=FallbackChains())) as talk:
        turn = await talk.say(REQUEST)
    assert turn.route.kind == "clarify"
    assert "policy-advisor" in [candidate.name for candidate in turn.route.candidates]
    (reply,) = turn.replies
    assert reply.type == "choices"
    assert "policy-advisor" not in [option.value for option in reply.options]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budgets", "notice"),
    [
        (Budgets(turn=Budget(calls=0)), "这句话能用的模型额度用完了"),
        (Budgets(user=Budget(tokens=1)), "你今天的模型额度用完了"),
        (Budgets(day=Budget(calls=0)), "今天大家的模型额度用完了"),
    ],
)
async def test_a_spent_budget_is_said_and_rules_go_on(
    real_client: Client, parts: Parts, model: ModelServer, budgets: Budgets, notice: str
) -> None:
    async with modelled(real_client, parts, model, llm_budgets=budgets) as talk:
        turn = await talk.say("年假还剩多少来着呗")
    assert texts(turn)[0].startswith(notice)
    assert turn.replies[1].type == "choices"
    assert model.chats == []
