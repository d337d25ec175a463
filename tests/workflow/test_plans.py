"""Skills that work by a plan, on a real Temporal server with a scripted model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from temporalio.client import Client

from router.contracts import conversation
from router.domain.messages import ConfirmReply, Turn
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from router.tool.tool import tool
from router.understanding.route_reasons import ANSWERED_BEFORE
from tests.fakes.model_server import (
    Behaviour,
    ModelServer,
    PlanningModel,
    calls,
    drawn,
    fails,
    hangs,
    reaches,
    says,
    waits,
)
from tests.temporal import dev_server, register_attributes
from tests.waiting import HANGS_AFTER_S
from tests.workflow import skill_histories
from tests.workflow.desk import Talk, texts
from tests.workflow.skill_histories import activities, finished, replays, runs, signalled
from tests.workflow.tooled import Tooled, skill, talking
from tests.workflow.trip import book_seat, clear, entered, find_train, leave, made, wait_long

PLANNER = skill(
    *("trip-planner", "行程助手", "Trip helper"),
    allowed_tools=frozenset({"find_train", "find_hotel", "wait_long", "book_seat"}),
    max_turns=24,
    token_budget=100_000,
    mode="plan",
)
CHOOSE = calls(("dispatch_to_skill", {"skill_name": "trip-planner", "request": "计划去上海"}))
TRAIN, HOTEL, SUM = "Find a train", "Find a hotel", "Add up"
STEPS = (("train", TRAIN), ("hotel", HOTEL), ("sum", SUM, "train", "hotel"))


@tool(permission="read", title={"zh": "酒店", "en": "Hotels"})
async def find_hotel(city: str) -> str:
    """A hotel in a city."""
    made.append(city)
    return f"Peace Hotel, {city}"


TOOLS = (find_train, find_hotel, wait_long, book_seat)


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
    async with talking(real_client, parts, TOOLS, server, [PLANNER]) as talk:
        yield talk
        await replays(talk)


def accepts(result: str) -> Behaviour:
    return calls(("accept", {"result": result}))


def found_by_steps(model: PlanningModel) -> None:
    """Have the three steps find what they are to."""
    model.steps[TRAIN] += [calls(("find_train", {"to": "上海"})), says("G1, 500")]
    model.steps[HOTEL] += [calls(("find_hotel", {"city": "上海"})), says("Peace, 800")]
    model.steps[SUM] += [calls(("done", {"result": "1300"}))]


def told(body: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in body["messages"])


@asynccontextmanager
async def brief_histories() -> AsyncIterator[Client]:
    """A server that suggests a new run after forty events instead of thousands."""
    forty = ["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"]
    async with await dev_server(dev_server_extra_args=forty) as environment:
        await register_attributes(environment.client)
        yield environment.client


@pytest.mark.slow
async def test_what_the_reflection_accepts_is_the_reply(talk: Talk, model: PlanningModel) -> None:
    model.plans.append(drawn(*STEPS))
    found_by_steps(model)
    model.reflections.append(accepts("G1 加和平饭店，共 1300。"))
    turn = await talk.say("帮我安排去上海")
    assert texts(turn) == ["G1 加和平饭店，共 1300。"]
    assert sorted(call.name for call in turn.tool_calls) == ["find_hotel", "find_train"]
    assert len({call.id for call in turn.tool_calls}) == 2
    assert turn.usage.llm_calls == 8
    assert sorted(await activities(talk)) == sorted(
        ["plan", *["think"] * 5, "find_train", "find_hotel", "reflect"]
    )
    (summed,) = model.asked[SUM]
    assert "train: G1, 500\nhotel: Peace, 800" in told(summed)
    assert "Peace" not in told(model.asked[TRAIN][-1])


@pytest.mark.slow
async def test_independent_steps_are_under_way_at_once(talk: Talk, model: PlanningModel) -> None:
    thinking = {task: asyncio.Event() for task in ("A", "B", "C", "D")}
    model.plans.append(drawn(*((task, task) for task in thinking)))
    over = asyncio.Event()
    for task, event in thinking.items():
        model.steps[task].append(reaches(event, waits(over, 0, says(f"{task} is done"))))
    model.reflections.append(accepts("好了。"))
    asking = asyncio.create_task(talk.say("帮我安排去上海"))
    async with asyncio.timeout(HANGS_AFTER_S):
        await asyncio.gather(*(thinking[task].wait() for task in "ABC"))
    assert not thinking["D"].is_set()
    over.set()
    assert texts(await asking) == ["好了。"]
    assert thinking["D"].is_set()


@pytest.mark.slow
async def test_what_a_step_misses_is_asked_for_it(talk: Talk, model: PlanningModel) -> None:
    model.plans += [drawn(("train", TRAIN)), drawn(("train", TRAIN), ("hotel", HOTEL))]
    model.steps[TRAIN] += [calls(("say_missing", {"text": "which day?"})), says("G1 早八点")]
    model.steps[HOTEL] += [says("Peace")]
    model.reflections += [calls(("ask", {"text": "哪天走？"})), accepts("G1 加和平饭店。")]
    assert texts(await talk.say("帮我安排去上海")) == ["哪天走？"]
    offered = {one["function"]["name"] for one in model.asked[TRAIN][0]["tools"]}
    assert offered == {"find_train", "find_hotel", "wait_long", "note", "say_missing", "done"}
    assert '"status": "missing", "result": "which day?"' in told(model.asked["reflect"][0])
    answered = await talk.say("周一早上")
    assert texts(answered) == ["G1 加和平饭店。"]
    assert (answered.route.kind, answered.route.by) == ("skill", "slot")
    assert "周一早上" in told(model.asked["plan"][1])


@pytest.mark.slow
async def test_what_is_no_answer_goes_back_to_the_desk(talk: Talk, model: PlanningModel) -> None:
    model.plans += [drawn(("train", TRAIN)), calls(("hand_back", {}))]
    model.steps[TRAIN].append(calls(("say_missing", {"text": "which day?"})))
    model.reflections.append(calls(("ask", {"text": "哪天走？"})))
    await talk.say("帮我安排去上海")
    model.others.append(says("食堂有面。"))
    assert texts(await talk.say("中午吃什么")) == ["食堂有面。", "我们回到行程助手。哪天走？"]


@pytest.mark.slow
async def test_a_step_is_tried_again_with_those_after(talk: Talk, model: PlanningModel) -> None:
    model.plans.append(drawn(("train", TRAIN), ("sum", SUM, "train"), ("hotel", HOTEL)))
    model.steps[TRAIN] += [says("G1"), says("G1, 500")]
    model.steps[SUM] += [says("unknown"), says("500")]
    model.steps[HOTEL] += [says("Peace")]
    model.reflections += [calls(("retry", {"step": "train", "why": "no price"})), accepts("500。")]
    assert texts(await talk.say("帮我安排去上海")) == ["500。"]
    assert "- no price" in told(model.asked[TRAIN][1])
    assert [len(model.asked[task]) for task in (TRAIN, SUM, HOTEL)] == [2, 2, 1]


@pytest.mark.slow
async def test_a_new_plan_keeps_the_results_that_serve(talk: Talk, model: PlanningModel) -> None:
    both, summed = drawn(("train", TRAIN), ("hotel", HOTEL)), ("sum", SUM, "train")
    model.plans += [both, drawn(("train", TRAIN), summed)]
    model.steps[TRAIN].append(says("G1, 500"))
    model.steps[HOTEL].append(says("none"))
    model.steps[SUM].append(says("500"))
    model.reflections += [calls(("replan", {"why": "no hotel needed"})), accepts("500。")]
    assert texts(await talk.say("帮我安排去上海")) == ["500。"]
    assert len(model.asked[TRAIN]) == 1
    assert "To be planned anew: no hotel needed" in told(model.asked["plan"][1])
    assert '"id": "hotel"' not in told(model.asked["reflect"][1])


@pytest.mark.slow
async def test_replans_are_offered_twice_and_no_more(talk: Talk, model: PlanningModel) -> None:
    replan = calls(("replan", {"why": "again"}))
    for round_ in range(3):
        model.plans.append(drawn((f"s{round_}", f"Look {round_}")))
        model.steps[f"Look {round_}"].append(says("nothing"))
    model.reflections += [replan, replan, replan, accepts("没有查到。")]
    assert texts(await talk.say("帮我安排去上海")) == ["没有查到。"]
    last = model.asked["reflect"][-1]
    assert "replan" not in {one["function"]["name"] for one in last["tools"]}
    assert "there is no 'replan' here" in told(last) or "that is all" in told(last)


@pytest.mark.slow
async def test_a_bad_plan_is_returned_with_the_error(talk: Talk, model: PlanningModel) -> None:
    model.plans += [drawn(("a", "A", "b"), ("b", "B", "a")), drawn(("a", "A"))]
    model.steps["A"].append(says("1"))
    model.reflections.append(accepts("好了。"))
    assert texts(await talk.say("帮我安排去上海")) == ["好了。"]
    *_, error = model.asked["plan"][1]["messages"]
    assert error["role"] == "tool"
    assert "the steps wait for each other in a circle: " in error["content"]


@pytest.mark.slow
async def test_without_a_plan_that_will_do_it_goes_on_step_by_step(
    talk: Talk, model: PlanningModel, caplog: pytest.LogCaptureFixture
) -> None:
    model.plans += [calls(("plan", {"steps": []})), says("好的")]
    model.others += [calls(("find_train", {"to": "上海"})), says("G1。")]
    assert texts(await talk.say("帮我安排去上海")) == ["G1。"]
    assert "trip-planner goes on without a plan: error: call plan with the steps" in caplog.text
    assert await activities(talk) == ["plan", "plan", "think", "find_train", "think"]


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "seconds"), [(3, 60.0), (24, 15.0)])
async def test_a_run_without_room_for_a_plan_has_none(
    tooled: Tooled, server: ModelServer, model: PlanningModel, turns: int, seconds: float
) -> None:
    short = PLANNER.model_copy(update={"max_turns": turns})
    model.others.append(says("G1。"))
    async with tooled(TOOLS, server, [short]) as talk:
        assert texts(await talk.say("帮我安排去上海", seconds=seconds)) == ["G1。"]
        assert await activities(talk) == ["think"]


async def test_at_a_limit_it_says_which_steps_are_done(
    tooled: Tooled, server: ModelServer, model: PlanningModel
) -> None:
    short = PLANNER.model_copy(update={"max_turns": 5})
    model.plans.append(drawn(("train", TRAIN), ("sum", SUM, "train")))
    model.steps[TRAIN] += [calls(("find_train", {"to": "上海"})), says("G1, 500")]
    model.reflections.append(calls(("retry", {"step": "train", "why": "better"})))
    async with tooled(TOOLS, server, [short]) as talk:
        turn = await talk.say("帮我安排去上海")
    assert texts(turn) == [
        "步数用完了，还没有得出结论。\n已经查清：\n- Find a train: G1, 500\n还没有完成：\n- Add up"
    ]
    assert turn.usage.llm_calls == 5
    (last,) = model.asked["reflect"]
    assert {one["function"]["name"] for one in last["tools"]} == {"accept", "ask"}
    assert "This is your last step" in last["messages"][-1]["content"]


@pytest.mark.slow
async def test_words_while_it_works_reach_the_reflection(talk: Talk, model: PlanningModel) -> None:
    wait = ("wait", "Wait")
    model.plans += [drawn(wait, ("sum", SUM, "wait")), drawn(wait, ("hotel", HOTEL))]
    model.steps["Wait"] += [calls(("wait_long", {"number": 1})), says("waited")]
    model.steps[HOTEL].append(says("Beijing Hotel"))
    model.reflections += [calls(("replan", {"why": "to Beijing"})), accepts("改去北京了。")]
    working = asyncio.create_task(talk.say("帮我安排去上海"))
    await entered.wait()
    steering = asyncio.create_task(talk.say("改去北京", message_id="steer-1", on_busy="steer"))
    await signalled(talk)
    leave.set()
    assert texts(await working) == ["改去北京了。"]
    assert model.asked[SUM] == []
    seen = told(model.asked["reflect"][0])
    assert "The employee says meanwhile: 改去北京" in seen
    assert '"depends_on": ["wait"], "status": "skipped"' in seen
    assert (await steering).route.target == "trip-planner"


@pytest.mark.slow
async def test_words_while_it_reflects_are_reflected_on(talk: Talk, model: PlanningModel) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    model.plans.append(drawn(("train", TRAIN)))
    model.steps[TRAIN].append(says("G1"))
    first = reaches(thinking, waits(over, 0, accepts("去上海。")))
    model.reflections += [first, accepts("去北京。")]
    working = asyncio.create_task(talk.say("帮我安排去上海"))
    await thinking.wait()
    steering = asyncio.create_task(talk.say("改去北京", message_id="steer-1", on_busy="steer"))
    await signalled(talk)
    over.set()
    assert texts(await working) == ["去北京。"]
    await steering


@pytest.mark.slow
async def test_stopped_it_keeps_what_is_finished(talk: Talk, model: PlanningModel) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    model.plans += [
        drawn(("train", TRAIN), ("hotel", HOTEL), ("wait", "Wait")),
        drawn(("train", TRAIN), ("hotel", HOTEL)),
    ]
    model.steps[TRAIN] += [says("G1, 500")]
    model.steps["Wait"] += [calls(("wait_long", {"number": 1}))]
    model.steps[HOTEL] += [reaches(thinking, hangs(over)), says("Peace")]
    working = asyncio.create_task(talk.say("帮我安排去上海", message_id="to-stop"))
    await asyncio.gather(entered.wait(), thinking.wait())
    await finished(talk, "think", 2)
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    assert (await working).status == "cancelled"
    (run,) = await runs(talk)
    await skill_histories.ended(run)  # while a step still waits for its model
    over.set()
    model.others.append(CHOOSE)
    model.reflections.append(accepts("G1 加和平饭店。"))
    assert texts(await talk.say("接着安排吧")) == ["G1 加和平饭店。"]
    assert len(model.asked[TRAIN]) == 1
    assert "G1, 500" in told(model.asked["plan"][1])


@pytest.mark.slow
async def test_a_long_plan_goes_on(parts: Parts, server: ModelServer, model: PlanningModel) -> None:
    tasks = [f"Look {n}" for n in range(4)]
    chain = ((f"s{n}", task, *([f"s{n - 1}"] * bool(n))) for n, task in enumerate(tasks))
    model.plans.append(drawn(*chain))
    for task in tasks:
        model.steps[task] += [calls(("find_train", {"to": task})), says(f"{task}: found")]
    model.reflections.append(accepts("四处都看过了。"))
    async with (
        brief_histories() as client,
        talking(client, parts, TOOLS, server, [PLANNER]) as talk,
    ):
        assert texts(await talk.say("帮我安排去上海")) == ["四处都看过了。"]
        assert len(await runs(talk)) > 1
        await replays(talk)
    assert [len(model.asked[task]) for task in ("plan", *tasks, "reflect")] == [1, 2, 2, 2, 2, 1]
    assert len(made) == 4
    assert all(f"{task}: found" in told(model.asked["reflect"][0]) for task in tasks)


@pytest.mark.slow
async def test_without_its_model_a_run_tells_what_it_has(talk: Talk, model: PlanningModel) -> None:
    model.plans.append(drawn(("train", TRAIN)))
    model.steps[TRAIN].append(says("G1, 500"))
    model.reflections += [fails(400)] * 6
    (said,) = texts(await talk.say("帮我安排去上海"))
    assert said == "语言模型现在没有应答，还没有得出结论。\n已经查清：\n- Find a train: G1, 500"


CAREFUL = PLANNER.model_copy(update={"confirm_plan": True})


@pytest.fixture
async def shown(tooled: Tooled, server: ModelServer) -> AsyncIterator[Talk]:
    async with tooled(TOOLS, server, [CAREFUL]) as talk:
        yield talk
        await replays(talk)


def card_of(turn: Turn) -> ConfirmReply:
    (reply,) = turn.replies
    assert isinstance(reply, ConfirmReply)
    return reply


async def test_a_plan_is_shown_before_it_runs(shown: Talk, model: PlanningModel) -> None:
    model.plans.append(drawn(*STEPS))
    turn = await shown.say("帮我安排去上海")
    card = card_of(turn)
    assert card.summary == {"1": TRAIN, "2": HOTEL, "3": SUM}
    assert card.text.startswith(f"我打算这样做：\n1. {TRAIN}\n")
    assert (await shown.status()).asked == card
    assert (await shown.status()).pending_confirmation == card.model_dump(mode="json")
    assert (made, turn.tool_calls) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["button", "words"])
async def test_agreed_to_it_runs_as_it_was_shown(
    shown: Talk, model: PlanningModel, how: str
) -> None:
    model.plans.append(drawn(*STEPS))
    card = card_of(await shown.say("帮我安排去上海"))
    found_by_steps(model)
    model.reflections.append(accepts("共 1300。"))
    by = "action" if how == "button" else "slot"
    if how == "button":
        turn = await shown.press("confirm", value=True, question=card.question)
    else:
        turn = await shown.say("可以")
    assert texts(turn) == ["共 1300。"]
    assert (turn.route.kind, turn.route.target, turn.route.by) == ("skill", "trip-planner", by)
    assert len(model.asked["plan"]) == 1
    assert "The employee agrees to this plan." in told(model.asked["reflect"][0])


@pytest.mark.slow
async def test_words_change_it_and_it_is_shown_anew(shown: Talk, model: PlanningModel) -> None:
    model.plans += [drawn(*STEPS), drawn(("train", TRAIN))]
    first = card_of(await shown.say("帮我安排去上海"))
    second = card_of(await shown.say("第二步不要"))
    assert second.summary == {"1": TRAIN}
    assert second.question != first.question
    asked = told(model.asked["plan"][1])
    assert "第二步不要" in asked
    assert "wants it otherwise" in asked
    assert '"status": "not begun"' in asked
    model.steps[TRAIN].append(says("G1"))
    model.reflections.append(accepts("G1。"))
    assert texts(await shown.say("好")) == ["G1。"]


@pytest.mark.slow
async def test_a_plan_that_was_changed_cannot_be_agreed_to(
    shown: Talk, model: PlanningModel
) -> None:
    model.plans += [drawn(*STEPS), drawn(("train", TRAIN))]
    first = card_of(await shown.say("帮我安排去上海"))
    await shown.say("第二步不要")
    late = await shown.press("confirm", value=True, question=first.question)
    said, again = late.replies
    assert said.text == ANSWERED_BEFORE.zh
    assert isinstance(again, ConfirmReply)
    assert again.summary == {"1": TRAIN}
    assert model.asked[TRAIN] == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["button", "不用了", "取消", "算了"])
async def test_a_plan_that_is_called_off_never_runs(
    shown: Talk, model: PlanningModel, how: str
) -> None:
    model.plans.append(drawn(*STEPS))
    await shown.say("帮我安排去上海")
    pressed = how == "button"
    turn = await (shown.press("confirm", value=False) if pressed else shown.say(how))
    assert (turn.route.kind, turn.route.target) == ("cancel", "trip-planner")
    assert (await shown.status()).active_skill is None
    assert model.asked[TRAIN] == []


@pytest.mark.slow
async def test_what_is_not_about_the_plan_goes_to_the_desk(
    shown: Talk, model: PlanningModel
) -> None:
    model.plans += [drawn(("train", TRAIN)), calls(("hand_back", {}))]
    await shown.say("帮我安排去上海")
    model.others.append(says("食堂有面。"))
    turn = await shown.say("中午吃什么")
    assert turn.replies[0].text == "食堂有面。"
    back = turn.replies[1]
    assert isinstance(back, ConfirmReply)
    assert back.text.startswith("我们回到行程助手。我打算这样做：")
    model.steps[TRAIN].append(says("G1"))
    model.reflections.append(accepts("G1。"))
    assert texts(await shown.press("confirm", value=True, question=back.question)) == ["G1。"]


@pytest.mark.slow
async def test_what_goes_on_from_the_answer_is_shown_anew(
    shown: Talk, model: PlanningModel
) -> None:
    model.plans += [drawn(("train", TRAIN)), drawn(("train", TRAIN), ("hotel", HOTEL))]
    await shown.say("帮我安排去上海")
    model.steps[TRAIN].append(says("G1"))
    model.reflections.append(accepts("G1。"))
    await shown.say("好的")
    model.others.append(CHOOSE)
    assert card_of(await shown.say("再帮我找个酒店")).summary == {"1": TRAIN, "2": HOTEL}


@pytest.mark.slow
async def test_what_was_agreed_to_is_planned_anew_unasked(
    shown: Talk, model: PlanningModel
) -> None:
    model.plans += [drawn(("train", TRAIN)), drawn(("hotel", HOTEL))]
    await shown.say("帮我安排去上海")
    model.steps[TRAIN].append(says("none"))
    model.steps[HOTEL].append(says("Peace"))
    model.reflections += [calls(("replan", {"why": "no train"})), accepts("和平饭店。")]
    assert texts(await shown.say("好的")) == ["和平饭店。"]


async def noted(talk: Talk) -> list[str]:
    """What the log has of steps: their places, and what became of them."""
    rows = await talk.parts.store.log.since(DEFAULT_TENANT, talk.id, 0, 1000)
    return [
        "{number}/{steps} {title} ".format(**row.data) + str(row.data.get("fate", "begins"))
        for row in rows
        if row.kind == "plan"
    ]


@pytest.mark.slow
async def test_steps_are_told_as_they_begin_and_end(talk: Talk, model: PlanningModel) -> None:
    model.plans.append(drawn(("train", TRAIN), ("sum", SUM, "train")))
    model.steps[TRAIN].append(says("G1"))
    model.steps[SUM] += [calls(("say_missing", {"text": "the price"})), says("500")]
    retry = calls(("retry", {"step": "sum", "why": "no price"}))
    model.reflections += [retry, accepts("500。")]
    await talk.say("帮我安排去上海")
    first, *again = [f"2/2 {SUM} missing", f"2/2 {SUM} begins", f"2/2 {SUM} done"]
    assert await noted(talk) == [
        f"1/2 {TRAIN} begins",
        f"1/2 {TRAIN} done",
        f"2/2 {SUM} begins",
        first,
        *again,
    ]
