"""A skill creates sub-agents of its own, on a real Temporal server with a scripted model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client

from router.contracts import conversation
from router.domain.budgets import Budget, Budgets
from router.domain.principals import DEFAULT_TENANT
from router.routing.skill_step import LAST_STEP
from router.runtime.composition import Parts
from router.skill.skill import Skill
from tests.fakes.model_server import (
    Behaviour,
    ModelServer,
    PlanningModel,
    calls,
    counts,
    fails,
    hangs,
    reaches,
    says,
    waits,
)
from tests.waiting import HANGS_AFTER_S
from tests.workflow import skill_histories
from tests.workflow.desk import Talk, texts
from tests.workflow.skill_histories import activities, replays, runs, signalled
from tests.workflow.tooled import Tooled, skill, talking
from tests.workflow.trip import book_seat, clear, entered, find_train, leave, made, wait_long
from workflows.sub_agent import CUT_OFF

TRAIN, HOTEL, THIRD = "Find a train", "Find a hotel", "Find a third"
REQUEST = "帮我安排去上海"
CHOOSE = calls(("dispatch_to_skill", {"skill_name": "helper", "request": "计划去上海"}))
TOOLS = (find_train, wait_long, book_seat)
FIND = calls(("find_train", {"to": "上海"}))


def helper(**more: Any) -> Skill:
    allowed = frozenset({"find_train", "wait_long", "book_seat"})
    given = {"allowed_tools": allowed, "max_turns": 16, "subagents": 4, **more}
    return skill("helper", "帮手", "Helper", **given)


def creates(*tasks: str) -> Behaviour:
    return calls(*(("create_subagent", {"task": task}) for task in tasks))


def offered(body: dict[str, Any]) -> set[str]:
    return {each["function"]["name"] for each in body.get("tools", [])}


def results(body: dict[str, Any]) -> list[str]:
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


@pytest.fixture(autouse=True)
def nothing_made_yet() -> None:
    clear()


@pytest.fixture
def model() -> PlanningModel:
    model = PlanningModel()
    model.others.append(CHOOSE)
    return model


@pytest.fixture
async def server(model: PlanningModel) -> AsyncIterator[ModelServer]:
    async with ModelServer(model) as server:
        yield server


@pytest.fixture
async def talk(real_client: Client, parts: Parts, server: ModelServer) -> AsyncIterator[Talk]:
    async with talking(real_client, parts, TOOLS, server, [helper()]) as talk:
        yield talk
        await replays(talk)


@pytest.mark.slow
async def test_what_sub_agents_find_are_the_results_of_the_calls_that_created_them(
    talk: Talk, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN, HOTEL), says("坐 G1，住和平饭店。")]
    model.steps[TRAIN] += [FIND, says("G1, 500")]
    model.steps[HOTEL] += [calls(("done", {"result": "Peace"}))]
    turn = await talk.say(REQUEST)
    assert texts(turn) == ["坐 G1，住和平饭店。"]
    assert results(model.asked["other"][-1]) == ['"G1, 500"', '"Peace"']
    shown = [(call.name, call.status) for call in turn.tool_calls]
    assert sorted(shown) == [
        ("create_subagent", "done"),
        ("create_subagent", "done"),
        ("find_train", "done"),
    ]
    assert len({call.id for call in turn.tool_calls}) == 3
    assert turn.usage.llm_calls == 6
    assert sorted(await activities(talk)) == sorted([*["think"] * 5, "find_train"])
    opened = model.asked[TRAIN][0]["messages"][1]["content"]
    assert f"<request>\n{REQUEST}\n</request>" in opened


@pytest.mark.slow
async def test_they_work_side_by_side(talk: Talk, model: PlanningModel) -> None:
    thinking = {task: asyncio.Event() for task in (TRAIN, HOTEL, THIRD)}
    over = asyncio.Event()
    model.others += [creates(*thinking), says("好了。")]
    for task, event in thinking.items():
        model.steps[task].append(reaches(event, waits(over, 0, says("found"))))
    asking = asyncio.create_task(talk.say(REQUEST))
    async with asyncio.timeout(HANGS_AFTER_S):
        await asyncio.gather(*(event.wait() for event in thinking.values()))
    over.set()
    assert texts(await asking) == ["好了。"]


@pytest.mark.slow
async def test_a_sub_agent_can_neither_create_others_nor_ask_nor_write(
    talk: Talk, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN), says("好了。")]
    again = ("create_subagent", {"task": HOTEL})
    book = ("dispatch_to_flow", {"flow_name": "book_seat", "slots": {"train": "G1"}})
    model.steps[TRAIN] += [calls(again, book, ("book_seat", {"train": "G1"})), says("G1")]
    turn = await talk.say(REQUEST)
    assert texts(turn) == ["好了。"]
    assert model.asked[HOTEL] == []
    assert turn.flow is None
    of_parent, of_child = offered(model.asked["other"][1]), offered(model.asked[TRAIN][0])
    assert {"create_subagent", "dispatch_to_flow", "ask_user"} <= of_parent
    assert of_child == {"find_train", "wait_long", "note", "say_missing", "done"}


@pytest.mark.slow
async def test_what_only_the_employee_knows_goes_to_who_created_it(
    talk: Talk, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN), calls(("ask_user", {"text": "哪天走？"}))]
    model.steps[TRAIN].append(calls(("say_missing", {"text": "which day?"})))
    assert texts(await talk.say(REQUEST)) == ["哪天走？"]
    (result,) = results(model.asked["other"][-1])
    assert result == '"It can\'t tell, for want of this: which day?"'
    model.others += [creates(HOTEL), says("周一。")]
    model.steps[HOTEL].append(says("Peace"))
    assert texts(await talk.say("周一")) == ["周一。"]
    assert "user: 周一" in model.asked[HOTEL][0]["messages"][1]["content"]


@pytest.mark.slow
async def test_one_that_fails_leaves_the_others_what_they_find(
    talk: Talk, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN, HOTEL), says("只有酒店。")]
    model.steps[TRAIN] += [fails(400)] * 3
    model.steps[HOTEL] += [says("Peace")]
    turn = await talk.say(REQUEST)
    assert texts(turn) == ["只有酒店。"]
    failed, found = results(model.asked["other"][-1])
    assert failed.startswith("error: 语言模型现在没有应答")
    assert found == '"Peace"'
    assert [call.status for call in turn.tool_calls] == ["failed", "done"]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["", "  ", None, 3, {"task": "x"}])
async def test_a_sub_agent_without_a_task_is_not_created(
    talk: Talk, model: PlanningModel, task: Any
) -> None:
    model.others += [calls(("create_subagent", {"task": task})), says("好了。")]
    assert texts(await talk.say(REQUEST)) == ["好了。"]
    (result,) = results(model.asked["other"][-1])
    assert result.startswith("error: ")
    assert await activities(talk) == ["think", "think"]


@pytest.mark.slow
async def test_no_more_are_created_than_the_head_allows(
    tooled: Tooled, server: ModelServer, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN, HOTEL), creates(THIRD), says("好了。")]
    model.steps[TRAIN].append(says("G1"))
    async with tooled(TOOLS, server, [helper(subagents=1)]) as talk:
        assert texts(await talk.say(REQUEST)) == ["好了。"]
        await replays(talk)
    first, *refused = results(model.asked["other"][-1])
    assert first == '"G1"'
    assert all(each.startswith("error: there is too little left") for each in refused)
    assert (len(refused), model.asked[HOTEL], model.asked[THIRD]) == (2, [], [])


async def test_a_skill_that_may_create_none_is_not_offered_it(
    tooled: Tooled, server: ModelServer, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN), says("好了。")]
    async with tooled(TOOLS, server, [helper(subagents=0)]) as talk:
        assert texts(await talk.say(REQUEST)) == ["好了。"]
    assert "create_subagent" not in offered(model.asked["other"][1])
    assert model.asked[TRAIN] == []


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["turns", "tokens", "calls"])
async def test_their_bounds_are_what_who_created_them_has_left(
    tooled: Tooled, server: ModelServer, model: PlanningModel, bound: str
) -> None:
    more: dict[str, Any] = {"turns": {"max_turns": 6}, "tokens": {"token_budget": 7000}}
    budgets = Budgets(turn=Budget(calls=7)) if bound == "calls" else Budgets()
    model.others += [counts(creates(TRAIN, HOTEL), 700), says("够了。")]
    for task in (TRAIN, HOTEL):
        looks = [counts(calls(("find_train", {"to": f"{task} {n}"})), 700) for n in range(9)]
        model.steps[task] += looks
    async with tooled(TOOLS, server, [helper(**more.get(bound, {}))], llm_budgets=budgets) as talk:
        turn = await talk.say(REQUEST)
        await replays(talk)
    assert texts(turn) == ["够了。"]
    for task in (TRAIN, HOTEL):
        last = [LAST_STEP in str(body["messages"][-1]["content"]) for body in model.asked[task]]
        assert [*last[:-1], not last[-1]] == [False] * len(last)
    assert turn.usage.llm_calls <= 7


@pytest.mark.slow
async def test_a_turn_that_is_stopped_stops_them(talk: Talk, model: PlanningModel) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    model.others += [creates(TRAIN, HOTEL)]
    model.steps[TRAIN] += [calls(("wait_long", {"number": 1}))]
    model.steps[HOTEL] += [reaches(thinking, hangs(over))]
    working = asyncio.create_task(talk.say(REQUEST, message_id="to-stop"))
    await asyncio.gather(entered.wait(), thinking.wait())
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    stopped = await working
    assert stopped.status == "cancelled"
    shown = sorted((call.name, call.status) for call in stopped.tool_calls)
    assert shown == [
        ("create_subagent", "unknown"),
        ("create_subagent", "unknown"),
        ("wait_long", "unknown"),
    ]
    (run,) = await runs(talk)
    await skill_histories.ended(run)
    leave.set()
    over.set()
    model.others += [CHOOSE, says("好了。")]
    assert texts(await talk.say("接着安排吧")) == ["好了。"]
    assert results(model.asked["other"][-1]) == [CUT_OFF] * 2


@pytest.mark.slow
async def test_words_meanwhile_end_them_at_their_next_step(
    talk: Talk, model: PlanningModel
) -> None:
    model.others += [creates(TRAIN), says("改去北京了。")]
    model.steps[TRAIN] += [calls(("wait_long", {"number": 1})), says("never said")]
    working = asyncio.create_task(talk.say(REQUEST))
    await entered.wait()
    steering = asyncio.create_task(talk.say("改去北京", message_id="steer-1", on_busy="steer"))
    await signalled(talk)
    leave.set()
    assert texts(await working) == ["改去北京了。"]
    await steering
    assert len(model.asked[TRAIN]) == 1
    (result,) = results(model.asked["other"][-1])
    assert result.startswith("error: not finished, since the employee said something meanwhile")


@pytest.mark.slow
async def test_who_watches_is_told_of_each(talk: Talk, model: PlanningModel) -> None:
    model.others += [creates(TRAIN, HOTEL), says("好了。")]
    model.steps[TRAIN] += [says("G1")]
    model.steps[HOTEL] += [calls(("say_missing", {"text": "which?"}))]
    await talk.say(REQUEST)
    rows = await talk.parts.store.log.since(DEFAULT_TENANT, talk.id, 0, 200)
    steps = [row.data for row in rows if row.kind == "plan"]
    told = {(step["title"], step["number"], step["steps"], step.get("fate")) for step in steps}
    assert told == {
        (TRAIN, 1, 2, None),
        (HOTEL, 2, 2, None),
        (TRAIN, 1, 2, "done"),
        (HOTEL, 2, 2, "missing"),
    }
    assert made == []
