"""What ends a run of a skill, and what doesn't, on a real Temporal server with a scripted model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from router.domain.budgets import Budget, Budgets
from router.routing.planner import REVIEW
from router.routing.skill_step import NOT_DONE
from router.skill.skill import Skill
from tests.fakes.model_server import (
    Behaviour,
    ModelServer,
    PlanningModel,
    calls,
    drawn,
    fails,
    reaches,
    says,
    waits,
)
from tests.workflow.desk import Talk, texts
from tests.workflow.skill_histories import activities, replays, signalled
from tests.workflow.tooled import Tooled, skill
from tests.workflow.trip import clear, find_train

CHOOSE = calls(("dispatch_to_skill", {"skill_name": "trip-helper", "request": "计划去上海"}))
FIND = calls(("find_train", {"to": "上海"}))
DONE = calls(("done", {"result": "G1 正好。"}))
REQUEST = "帮我安排去上海"


def helper(**more: Any) -> Skill:
    allowed = frozenset({"find_train"})
    return skill("trip-helper", "行程助手", "Trip helper", allowed_tools=allowed, **more)


@pytest.fixture(autouse=True)
def nothing_made_yet() -> None:
    clear()


@pytest.fixture
async def strict(tooled: Tooled, model: ModelServer) -> AsyncIterator[Talk]:
    async with tooled([find_train], model, [helper(require_done=True, max_turns=6)]) as talk:
        yield talk
        await replays(talk)


def told(model: ModelServer) -> list[str]:
    return [m["content"] for m in model.chats[-1]["messages"] if m["role"] == "user"]


@pytest.mark.slow
async def test_plain_text_goes_back_and_done_ends_it(strict: Talk) -> None:
    turn = await strict.scripted(REQUEST, CHOOSE, says("我先查一下车次。"), FIND, DONE)
    assert texts(turn) == ["G1 正好。"]
    assert [call.name for call in turn.tool_calls] == ["find_train"]
    assert told(strict.model)[-1] == NOT_DONE


async def test_a_question_is_asked_at_once(strict: Talk) -> None:
    asks = calls(("ask_user", {"text": "几点走？"}))
    assert texts(await strict.scripted(REQUEST, CHOOSE, asks)) == ["几点走？"]


@pytest.mark.slow
async def test_after_two_that_went_back_text_is_the_answer(strict: Talk) -> None:
    answers = [says(text) for text in ("G1。", "就是 G1。", "G1 正好。")]
    turn = await strict.scripted(REQUEST, CHOOSE, *answers)
    assert (texts(turn), turn.usage.llm_calls) == (["G1 正好。"], 4)


@pytest.mark.slow
async def test_no_text_is_lost_where_the_model_fails_after_it(strict: Talk) -> None:
    turn = await strict.scripted(REQUEST, CHOOSE, says("G1 正好。"), *[fails(400)] * 6)
    assert texts(turn) == ["G1 正好。\n\n语言模型现在没有应答，还没有得出结论。"]


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["turns", "budget"])
async def test_at_the_last_step_text_is_the_answer(
    tooled: Tooled, model: ModelServer, bound: str
) -> None:
    turns = 2 if bound == "turns" else 6
    budgets = Budgets(turn=Budget(calls=3)) if bound == "budget" else Budgets()
    house = [helper(require_done=True, max_turns=turns)]
    async with tooled([find_train], model, house, llm_budgets=budgets) as talk:
        turn = await talk.scripted(REQUEST, CHOOSE, FIND, says("G1 正好。"))
    assert texts(turn) == ["G1 正好。"]


@pytest.mark.slow
async def test_by_a_plan_steps_end_by_done_and_the_answer_by_accept(tooled: Tooled) -> None:
    model = PlanningModel()
    model.others.append(CHOOSE)
    model.plans.append(drawn(("train", "Find a train")))
    model.steps["Find a train"] += [says("我查一下。"), FIND, calls(("done", {"result": "G1"}))]
    accept: Behaviour = calls(("accept", {"result": "G1 正好。"}))
    model.reflections += [says("结果够用。"), accept]
    async with ModelServer(model) as server:
        house = [helper(require_done=True, max_turns=24, mode="plan")]
        async with tooled([find_train], server, house) as talk:
            assert texts(await talk.say(REQUEST)) == ["G1 正好。"]
            await replays(talk)
    assert len(model.asked["Find a train"]) == 3
    assert "call `accept` with the answer" in str(model.asked["reflect"][1])


ACCEPT = calls(("accept", {}))
GO_ON = calls(("go_on", {"missing": "几点到"}))


@pytest.fixture
async def careful(tooled: Tooled, model: ModelServer) -> AsyncIterator[Talk]:
    async with tooled([find_train], model, [helper(reflect=True)]) as talk:
        yield talk
        await replays(talk)


@pytest.mark.slow
async def test_an_answer_that_does_is_given_as_it_is(careful: Talk) -> None:
    turn = await careful.scripted(REQUEST, CHOOSE, FIND, says("G1 正好。"), ACCEPT)
    assert (texts(turn), turn.usage.llm_calls) == (["G1 正好。"], 4)
    assert await activities(careful) == ["think", "find_train", "think", "reflect"]
    *_, draft, question = careful.model.chats[-1]["messages"]
    assert (draft["role"], draft["content"]) == ("assistant", "G1 正好。")
    assert question["content"] == REVIEW


async def test_an_answer_may_be_said_better(careful: Talk) -> None:
    better = calls(("accept", {"result": "G1，9:00 到。"}))
    assert texts(await careful.scripted(REQUEST, CHOOSE, DONE, better)) == ["G1，9:00 到。"]


@pytest.mark.slow
async def test_what_an_answer_misses_is_gone_on_for(careful: Talk) -> None:
    script = [CHOOSE, says("G1。"), GO_ON, FIND, says("G1，9:00 到。"), ACCEPT]
    assert texts(await careful.scripted(REQUEST, *script)) == ["G1，9:00 到。"]
    assert any(said.endswith("it misses this: 几点到") for said in told(careful.model))


@pytest.mark.slow
async def test_the_third_answer_is_given_unasked(careful: Talk) -> None:
    script = [CHOOSE, says("G1。"), GO_ON, says("G1！"), GO_ON, says("G1 正好。")]
    turn = await careful.scripted(REQUEST, *script)
    assert (texts(turn), turn.usage.llm_calls) == (["G1 正好。"], 6)


@pytest.mark.slow
@pytest.mark.parametrize("verdict", [says("看起来没问题"), calls(("go_on", {})), fails(400)])
async def test_what_is_no_verdict_leaves_the_answer(careful: Talk, verdict: Behaviour) -> None:
    turn = await careful.scripted(REQUEST, CHOOSE, says("G1 正好。"), verdict, verdict)
    assert texts(turn) == ["G1 正好。"]


@pytest.mark.slow
async def test_an_answer_that_missed_something_is_given_where_no_better_one_comes(
    careful: Talk,
) -> None:
    turn = await careful.scripted(REQUEST, CHOOSE, says("G1。"), GO_ON, *[fails(400)] * 6)
    assert texts(turn) == ["G1。\n\n语言模型现在没有应答，还没有得出结论。"]


async def test_a_question_to_the_employee_is_not_reflected_on(careful: Talk) -> None:
    asks = calls(("ask_user", {"text": "几点走？"}))
    assert texts(await careful.scripted(REQUEST, CHOOSE, asks)) == ["几点走？"]


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["turns", "budget", "tokens"])
async def test_where_nothing_pays_for_more_an_answer_is_given_at_once(
    tooled: Tooled, model: ModelServer, bound: str
) -> None:
    about = {"turns": {"max_turns": 2}, "tokens": {"token_budget": 4000}, "budget": {}}[bound]
    budgets = Budgets(turn=Budget(calls=4)) if bound == "budget" else Budgets()
    house = [helper(reflect=True, **about)]
    async with tooled([find_train], model, house, llm_budgets=budgets) as talk:
        turn = await talk.scripted(REQUEST, CHOOSE, says("G1 正好。"))
    assert (texts(turn), turn.usage.llm_calls) == (["G1 正好。"], 2)


@pytest.mark.slow
async def test_words_while_it_reflects_are_answered_instead(careful: Talk) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    script = [CHOOSE, says("G1。"), reaches(thinking, waits(over, 0, ACCEPT)), says("G2。"), ACCEPT]
    careful.model.then(*script)
    working = asyncio.create_task(careful.say(REQUEST))
    await thinking.wait()
    steering = asyncio.create_task(careful.say("改去北京", on_busy="steer"))
    await signalled(careful)
    over.set()
    assert texts(await working) == ["G2。"]
    await steering
