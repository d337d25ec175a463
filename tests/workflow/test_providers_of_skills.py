"""Which model a skill asks, and what becomes of a run whose model dies in the middle of it."""

from typing import Any

import pytest

from router.skill.skill import Mode, Skill
from tests.fakes.model_server import (
    Behaviour,
    ModelServer,
    PlanningModel,
    calls,
    decides,
    drawn,
    fails,
    refuses,
    says,
)
from tests.fakes.web_server import Received, Reply
from tests.workflow.desk import texts
from tests.workflow.skill_histories import replays
from tests.workflow.tooled import MODEL, Tooled, skill
from tests.workflow.trip import clear, find_train, made

CHOOSE = calls(("dispatch_to_skill", {"skill_name": "trip-helper", "request": "计划去上海"}))
TRAIN, HOTEL = "Find a train", "Find a hotel"


def helper(mode: Mode, model: str | None = None) -> Skill:
    about = {"max_turns": 24, "mode": mode, "model": model}
    allowed = frozenset({"find_train"})
    return skill("trip-helper", "行程助手", "Trip helper", allowed_tools=allowed, **about)


class Mortal:
    """A model that answers so many questions, and none after them."""

    def __init__(self, answers: int, behaviour: Behaviour) -> None:
        self.left = answers
        self.behaviour = behaviour

    def __call__(self, received: Received) -> Reply:
        self.left -= 1
        return fails(503)(received) if self.left < 0 else self.behaviour(received)


def in_order(*behaviours: Behaviour) -> Behaviour:
    script = iter(behaviours)

    def behave(received: Received) -> Reply:
        return next(script)(received)

    return behave


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    clear()


def told(body: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in body["messages"])


async def test_a_skill_asks_the_model_that_it_names_at_every_step(tooled: Tooled) -> None:
    model = [CHOOSE, calls(("find_train", {"to": "上海"})), says("G1。")]
    async with tooled([find_train], model, [helper("react", "big")]) as talk:
        assert texts(await talk.say("帮我安排去上海")) == ["G1。"]
    assert [chat["model"] for chat in talk.model.chats] == [MODEL, "big", "big"]


async def test_a_skill_that_plans_asks_it_for_plans_steps_and_reflections(tooled: Tooled) -> None:
    model = PlanningModel()
    model.others.append(CHOOSE)
    model.plans.append(drawn(("train", TRAIN)))
    model.steps[TRAIN].append(says("G1"))
    model.reflections.append(says("G1。"))
    async with tooled([find_train], model, [helper("plan", "big")]) as talk:
        assert texts(await talk.say("帮我安排去上海")) == ["G1。"]
    assert [chat["model"] for chat in talk.model.chats] == [MODEL, "big", "big", "big"]


async def test_where_the_named_model_is_not_there_the_usual_one_works(tooled: Tooled) -> None:
    def only_the_usual(received: Received) -> Reply:
        known = received.body["model"] == MODEL
        return (script if known else fails(404, "no such model"))(received)

    script = in_order(CHOOSE, calls(("find_train", {"to": "上海"})), says("G1。"))
    async with tooled([find_train], only_the_usual, [helper("react", "huge")]) as talk:
        assert texts(await talk.say("帮我安排去上海")) == ["G1。"]
    assert made == ["上海"]


@pytest.mark.slow
@pytest.mark.parametrize("refused", [(), ("tools",)], ids=["functions", "json_schema alone"])
async def test_a_fallback_goes_on_with_a_dialogue(tooled: Tooled, refused: tuple[str, ...]) -> None:
    first = Mortal(
        3,
        in_order(
            CHOOSE, calls(("find_train", {"to": "上海"})), calls(("find_train", {"to": "苏州"}))
        ),
    )
    third = ("find_train", {"to": "杭州"})
    ends = ("done", {"result": "三趟都有。"})
    made_of = decides if refused else calls
    answers = in_order(made_of(third), made_of(ends))
    async with (
        ModelServer(first) as dying,
        ModelServer(refuses(*refused, otherwise=answers)) as fallback,
        tooled([find_train], [dying, fallback], [helper("react")]) as talk,
    ):
        assert texts(await talk.say("帮我安排去上海")) == ["三趟都有。"]
        await replays(talk)
    assert made == ["上海", "苏州", "杭州"]
    seen = told(fallback.chats[-1])
    assert all(f"G1 to {city}" in seen for city in made)
    if refused:
        assert '{"calls":[{"name":"find_train","arguments":{"to":"上海"}}]}' in seen
        assert "tools" not in fallback.chats[-1]


@pytest.mark.slow
@pytest.mark.parametrize("refused", [(), ("tools",)], ids=["functions", "json_schema alone"])
async def test_a_fallback_goes_on_with_a_plan(tooled: Tooled, refused: tuple[str, ...]) -> None:
    first, second = PlanningModel(), PlanningModel()
    first.others.append(CHOOSE)
    first.plans.append(drawn(("train", TRAIN), ("hotel", HOTEL, "train")))
    first.steps[TRAIN] += [calls(("find_train", {"to": "上海"})), says("G1, 500")]
    first.steps[HOTEL] += [calls(("find_train", {"to": "苏州"}))]
    made_of = decides if refused else calls
    second.steps[HOTEL] += [made_of(("done", {"result": "Peace, 800"}))]
    second.plans += [drawn(("sum", "Add up", "train", "hotel"), as_json=bool(refused))]
    second.steps["Add up"] += [made_of(("done", {"result": "1300"}))]
    replan, accept = ("replan", {"why": "no sum"}), ("accept", {"result": "共 1300。"})
    second.reflections += [made_of(replan), made_of(accept)]
    async with (
        ModelServer(Mortal(5, first)) as dying,
        ModelServer(refuses(*refused, otherwise=second)) as fallback,
        tooled([find_train], [dying, fallback], [helper("plan")]) as talk,
    ):
        assert texts(await talk.say("帮我安排去上海")) == ["共 1300。"]
        await replays(talk)
    assert made == ["上海", "苏州"]
    (hotel,) = second.asked[HOTEL]
    assert "train: G1, 500" in told(hotel)
    assert "G1 to 苏州" in told(hotel)
    assert [len(first.asked[kind]) for kind in ("plan", TRAIN, HOTEL)] == [1, 2, 1]
