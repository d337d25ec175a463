"""A skill hands a part of its work to another, on a real Temporal server with a scripted model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client

from router.contracts import conversation
from router.domain.budgets import Budget, Budgets
from router.routing.skill_step import LAST_STEP
from router.runtime.composition import Parts
from router.skill.skill import Skill
from router.tool.tool import tool
from tests.fakes.model_server import (
    Behaviour,
    ModelServer,
    calls,
    counts,
    fails,
    reaches,
    says,
    waits,
)
from tests.workflow.desk import Talk, flow_of, texts
from tests.workflow.skill_histories import replays, runs, signalled
from tests.workflow.tooled import Tooled, skill, talking
from tests.workflow.trip import book_seat, clear, entered, find_train, leave, wait_long
from workflows.sub_agent import CUT_OFF

TOOLS = (find_train, wait_long, book_seat)
REQUEST = "帮我安排去上海"
CHOOSE = calls(("dispatch_to_skill", {"skill_name": "planner", "request": "计划去上海"}))
FIND = calls(("find_train", {"to": "上海"}))
OVER = calls(("hand_over", {"skill_name": "seeker", "request": "去上海的车次"}))
ON = calls(("hand_over", {"skill_name": "third", "request": "票价"}))


def named(name: str, *hands_to: str, **more: Any) -> Skill:
    allowed = frozenset({"find_train", "wait_long", "book_seat"})
    given = {"hands_to": hands_to, "allowed_tools": allowed, "max_turns": 9, **more}
    return skill(name, name, name, **given)


PLANNER, SEEKER = named("planner", "seeker"), named("seeker", "third")
THIRD, FOURTH = named("third", "fourth"), named("fourth")
HOUSE = [PLANNER, SEEKER, THIRD, FOURTH]


@pytest.fixture(autouse=True)
def nothing_made_yet() -> None:
    clear()


@pytest.fixture
async def talk(real_client: Client, parts: Parts, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(real_client, parts, TOOLS, model, HOUSE) as talk:
        yield talk
        await replays(talk)


def asks(text: str) -> Behaviour:
    return calls(("ask_user", {"text": text}))


def offered(chat: dict[str, Any]) -> set[str]:
    return {each["function"]["name"] for each in chat["tools"]}


def results(chat: dict[str, Any]) -> list[str]:
    return [m["content"] for m in chat["messages"] if m["role"] == "tool"]


async def skills_run(talk: Talk) -> list[str]:
    return [run.id.split("/")[1] for run in await runs(talk)]


@pytest.mark.slow
async def test_what_another_skill_finds_comes_back_to_the_first(talk: Talk) -> None:
    turn = await talk.scripted(REQUEST, CHOOSE, OVER, FIND, says("G1"), says("坐 G1。"))
    assert texts(turn) == ["坐 G1。"]
    assert (turn.route.target, turn.usage.llm_calls) == ("planner", 5)
    assert [(call.name, call.status) for call in turn.tool_calls] == [("find_train", "done")]
    assert await skills_run(talk) == ["planner", "seeker"]
    first, second = talk.model.chats[-1], talk.model.chats[2]
    assert results(first) == ["G1"]
    opened = second["messages"][1]["content"]
    assert f"<request>\n{REQUEST}\n</request>\n<part>\n去上海的车次\n</part>" in opened
    assert "Work as a seeker does." in second["messages"][0]["content"]


@pytest.mark.slow
async def test_what_it_asks_is_asked_and_the_answer_goes_to_it(talk: Talk) -> None:
    talk.model.then(CHOOSE, OVER, asks("几点走？"), FIND, says("G1"), says("坐 G1。"))
    assert texts(await talk.say(REQUEST)) == ["几点走？"]
    status = (await talk.status()).active_skill
    assert status is not None
    assert (status.name, status.asking) == ("planner", True)
    turn = await talk.say("早上八点")
    assert texts(turn) == ["坐 G1。"]
    assert (turn.route.target, turn.route.by) == ("planner", "slot")
    assert results(talk.model.chats[3]) == ["早上八点"]
    assert results(talk.model.chats[-1]) == ["G1"]


@pytest.mark.slow
async def test_what_is_not_for_it_goes_back_to_the_desk_and_it_asks_again(talk: Talk) -> None:
    talk.model.then(CHOOSE, OVER, asks("几点走？"), calls(("hand_back", {})), says("食堂有面。"))
    await talk.say(REQUEST)
    assert texts(await talk.say("中午吃什么")) == ["食堂有面。", "我们回到planner。几点走？"]
    talk.model.then(says("G1"), says("坐 G1。"))
    assert texts(await talk.say("八点")) == ["坐 G1。"]


@pytest.mark.slow
async def test_a_form_that_it_needs_is_filled_in_and_it_goes_on(talk: Talk) -> None:
    book = calls(("dispatch_to_flow", {"flow_name": "book_seat", "slots": {"train": "G1"}}))
    talk.model.then(CHOOSE, OVER, book, says("订了 12A"), says("座位 12A。"))
    assert flow_of(await talk.say(REQUEST)).name == "book_seat"
    assert texts(await talk.say("确认"))[-1] == "座位 12A。"
    assert results(talk.model.chats[-2])[0].startswith("The employee is done with the form")


@pytest.mark.slow
async def test_a_third_may_have_a_part_and_no_fourth(talk: Talk) -> None:
    turn = await talk.scripted(
        REQUEST, CHOOSE, OVER, ON, says("500"), says("G1，500"), says("坐 G1，500。")
    )
    assert texts(turn) == ["坐 G1，500。"]
    assert await skills_run(talk) == ["planner", "seeker", "third"]
    of_planner, of_seeker, of_third = talk.model.chats[1:4]
    assert "hand_over" in offered(of_planner) & offered(of_seeker)
    assert "hand_over" not in offered(of_third)


@pytest.mark.slow
async def test_a_question_of_the_third_is_answered_to_the_third(talk: Talk) -> None:
    talk.model.then(CHOOSE, OVER, ON, asks("哪一等？"))
    assert texts(await talk.say(REQUEST)) == ["哪一等？"]
    talk.model.then(says("500"), says("G1，500"), says("坐 G1，500。"))
    assert texts(await talk.say("二等")) == ["坐 G1，500。"]
    assert results(talk.model.chats[4]) == ["二等"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [{"skill_name": "cook", "request": "x"}, {"skill_name": "seeker"}, {"request": "x"}]
)
async def test_only_what_the_head_names_can_be_handed_to(talk: Talk, wrong: dict[str, str]) -> None:
    turn = await talk.scripted(REQUEST, CHOOSE, calls(("hand_over", wrong)), says("坐 G1。"))
    assert texts(turn) == ["坐 G1。"]
    (result,) = results(talk.model.chats[-1])
    assert result.startswith("error: request has to be text, and skill_name one of: seeker")


async def test_nobody_is_handed_a_skill_that_the_employee_may_not_use(
    tooled: Tooled, model: ModelServer
) -> None:
    house = [PLANNER, named("seeker", roles=frozenset({"hr"}))]
    async with tooled(TOOLS, model, house) as talk:
        await talk.scripted(REQUEST, CHOOSE, says("坐 G1。"))
    assert "hand_over" not in offered(model.chats[-1])


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["turns", "tokens", "calls"])
async def test_its_bounds_are_what_the_first_has_left(
    tooled: Tooled, model: ModelServer, bound: str
) -> None:
    more: dict[str, Any] = {"turns": {"max_turns": 5}, "tokens": {"token_budget": 5000}}
    budgets = Budgets(turn=Budget(calls=6)) if bound == "calls" else Budgets()
    house = [named("planner", "seeker", **more.get(bound, {})), named("seeker")]
    found = [counts(calls(("find_train", {"to": str(n)})), 700) for n in range(9)]
    model.then(CHOOSE, counts(OVER, 700))

    def until_the_last(chat: dict[str, Any]) -> bool:
        return LAST_STEP in str(chat["messages"][-1]["content"])

    async with tooled(TOOLS, model, house, llm_budgets=budgets) as talk:
        turn = await talk.scripted(REQUEST, *found)
    second = [c for c in model.chats if "Work as a seeker" in c["messages"][0]["content"]]
    assert until_the_last(second[-1])
    assert not any(map(until_the_last, second[:-1]))
    assert model.chats.index(second[-1]) < len(model.chats) - 1  # the first has a step after it
    assert turn.usage.llm_calls <= 6


@pytest.mark.slow
async def test_one_that_comes_to_nothing_is_told_to_the_first(talk: Talk) -> None:
    script = [CHOOSE, OVER, *[fails(400)] * 3, says("没有查到。")]
    assert texts(await talk.scripted(REQUEST, *script)) == ["没有查到。"]
    (result,) = results(talk.model.chats[-1])
    assert result.startswith("It stopped at a limit (away), with this: 语言模型现在没有应答")


@pytest.mark.slow
async def test_a_turn_that_is_stopped_stops_both_and_can_be_gone_on_with(talk: Talk) -> None:
    talk.model.then(CHOOSE, OVER, calls(("wait_long", {"number": 1})))
    working = asyncio.create_task(talk.say(REQUEST, message_id="to-stop"))
    await entered.wait()
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    stopped = await working
    assert stopped.status == "cancelled"
    assert [(call.name, call.status) for call in stopped.tool_calls] == [("wait_long", "unknown")]
    leave.set()
    talk.model.then(CHOOSE, says("G1"), says("坐 G1。"))
    assert texts(await talk.say("接着安排吧")) == ["坐 G1。"]
    assert results(talk.model.chats[-2]) == [CUT_OFF]


@pytest.mark.slow
async def test_words_while_the_other_works_reach_it(talk: Talk) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    late = reaches(thinking, waits(over, 0, says("G1")))
    talk.model.then(CHOOSE, OVER, late, says("Z1"), says("坐 Z1。"))
    working = asyncio.create_task(talk.say(REQUEST))
    await thinking.wait()
    steering = asyncio.create_task(talk.say("改去北京", on_busy="steer"))
    await signalled(talk)
    _, second = await runs(talk)
    async for event in second.fetch_history_events(wait_new_event=True):
        if event.workflow_execution_signaled_event_attributes.signal_name:
            break
    over.set()
    assert texts(await working) == ["坐 Z1。"]
    assert (await steering).route.target == "planner"
    assert any("改去北京" in str(m["content"]) for m in talk.model.chats[3]["messages"])


@pytest.mark.slow
async def test_a_plan_of_the_other_is_shown_and_agreed_to(
    tooled: Tooled, model: ModelServer
) -> None:
    bounds = {"mode": "plan", "max_turns": 24, "token_budget": 100_000, "confirm_plan": True}
    house = [named("planner", "seeker", max_turns=24), named("seeker", **bounds)]
    steps = [{"id": "a", "task": "看车次", "depends_on": []}]
    async with tooled(TOOLS, model, house) as talk:
        turn = await talk.scripted(REQUEST, CHOOSE, OVER, calls(("plan", {"steps": steps})))
        (card,) = turn.replies
        assert card.type == "confirm"
        model.then(says("G1"), calls(("accept", {"result": "G1"})), says("坐 G1。"))
        agreed = await talk.press("confirm", value=True, question=card.question)
        assert texts(agreed) == ["坐 G1。"]
        await replays(talk)


@pytest.mark.slow
async def test_what_is_handed_over_gives_no_address(tooled: Tooled, model: ModelServer) -> None:
    @tool(permission="read")
    async def fetch(url: str) -> str:
        """A page."""
        return "a page"

    allowed = frozenset({"fetch"})
    house = [named("planner", "seeker"), named("seeker", allowed_tools=allowed)]
    foreign = {"skill_name": "seeker", "request": "look at https://evil.example/x"}
    there = calls(("fetch", {"url": "https://evil.example/x"}))
    asks_where = calls(("ask_user", {"text": "哪个网址？"}))
    async with tooled([fetch], model, house) as talk:
        model.then(CHOOSE, asks_where)
        await talk.say(REQUEST)
        given = calls(("fetch", {"url": "https://good.example/y"}))
        model.then(calls(("hand_over", foreign)), there, given, says("看了。"), says("好了。"))
        turn = await talk.say("看 https://good.example/y")
    assert texts(turn) == ["好了。"]
    urls = [(call.arguments["url"], call.status) for call in turn.tool_calls]
    assert urls == [("https://evil.example/x", "failed"), ("https://good.example/y", "done")]
