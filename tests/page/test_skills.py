"""What is done for a message is seen while it is done, stopped, and steered."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from playwright.async_api import expect
from temporalio.client import Client

from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.model_server import ModelServer, PlanningModel, calls, drawn, says, waits
from tests.page.house import Door, Served
from tests.workflow.desk import Talk, person
from tests.workflow.test_skill_dialogue import SIGNALLED, happened
from tests.workflow.tooled import furnished, skill

QUEUE = "skills-on-the-page"
CHOOSE = calls(
    ("dispatch_to_skill", {"skill_name": "policy-advisor", "request": "试用期能休几天年假"})
)
SEARCH = calls(("search_policies", {"question": "试用期 年假"}))
ASKED = "试用期的人能不能休年假？"
SAID = "试用期可以休**两天半**。"
HEARD = "试用期可以休两天半。"
ALICE, DAVE = "王丽 Alice", "Dave Hughes"


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer([]) as server:
        yield server


@pytest.fixture
async def house(parts: Parts, real_client: Client, model: ModelServer) -> AsyncIterator[Served]:
    """A house with a scripted model."""
    chat = ChatModel(model.url, "scripted")
    scripted = replace(parts, chains=FallbackChains([chat]))
    async with (
        build_worker(real_client, scripted, QUEUE),
        Served(scripted, real_client, QUEUE) as served,
    ):
        yield served
    await chat.aclose()


@pytest.mark.parametrize(
    ("who", "thinks", "shown", "used"),
    [
        (ALICE, "第 2 步…", ("查公司制度", "完成"), "用了 1 个工具"),
        pytest.param(
            DAVE,
            "step 2…",
            ("Search company policies", "done"),
            "Tools used: 1",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_a_skill_is_seen_to_think_and_its_tools_to_work(
    house: Served,
    door: Door,
    model: ModelServer,
    who: str,
    thinks: str,
    shown: tuple[str, str],
    used: str,
) -> None:
    answer = asyncio.Event()
    model.then(CHOOSE, SEARCH, waits(answer, before=0, then=says(SAID)))
    visitor = await (await door.visitor(house)).come(who)
    work = visitor.page.locator(".log details.work")
    await visitor.say(ASKED)
    await expect(work.locator("summary")).to_contain_text(thinks)
    assert await work.get_attribute("open") is None
    answer.set()
    await visitor.hears(HEARD)
    await expect(visitor.log.locator(".pending")).to_have_count(0)
    await expect(visitor.answers.locator("strong")).to_have_text("两天半")
    await expect(work.locator("summary")).to_contain_text(used)
    await work.locator("summary").click()
    line = work.locator("li")
    for words in (*shown, "question: 试用期 年假"):
        await expect(line).to_contain_text(words)
    await expect(line).to_have_attribute("data-status", "done")


@pytest.mark.slow
async def test_a_tool_at_work_turns_until_it_is_stopped(
    house: Served, door: Door, model: ModelServer
) -> None:
    answer = asyncio.Event()
    model.then(CHOOSE, waits(answer, before=0, then=says(SAID)))
    alice = await (await door.visitor(house)).come(ALICE)
    await alice.say(ASKED)
    await expect(alice.page.get_by_text("语言模型现在没有应答")).to_be_hidden()
    await expect(alice.page.locator(".work summary")).to_contain_text("第 1 步")
    await expect(alice.page.locator(".work summary small")).to_contain_text("秒")
    await alice.press("停下")
    await alice.hears("好的，停下了。")
    answer.set()
    await expect(alice.log.locator(".pending")).to_have_count(0)
    await expect(alice.page.locator(".work")).to_have_count(0)


@pytest.mark.slow
async def test_in_dev_it_is_seen_that_no_model_is_there_before_anybody_asks_one(
    parts: Parts, real_client: Client, door: Door
) -> None:
    nowhere = {"llm_base_url": "http://127.0.0.1:9/v1", "llm_model": "m"}
    async with Served(parts, real_client, QUEUE, **nowhere) as served:
        alice = await (await door.visitor(served)).come(ALICE)
        await expect(alice.page.get_by_text("语言模型现在没有应答")).to_be_visible()
        # It watches the server for as long as it is open.
        await alice.page.goto("about:blank")


@pytest.mark.slow
async def test_what_is_said_meanwhile_waits_its_turn_or_steers(
    house: Served, door: Door, model: ModelServer, parts: Parts, real_client: Client
) -> None:
    answer = asyncio.Event()
    model.then(CHOOSE, waits(answer, before=0, then=says(SAID)), says("好，改看病假。"))
    alice = await (await door.visitor(house)).come(ALICE)
    await alice.say(ASKED)
    await expect(alice.page.locator(".work summary")).to_contain_text("第 1 步")
    await alice.box.fill("不对，我问的是病假")
    await expect(alice.page.get_by_text("正在办上一件，这条会排队。")).to_be_visible()
    await alice.press("现在就插话")
    caller = await person(parts, "alice")
    conversation = alice.page.url.rpartition("/")[2]
    await happened(Talk(real_client, parts, caller, id=conversation), SIGNALLED)
    answer.set()
    await alice.hears("好，改看病假。")
    await expect(alice.log.locator(".pending")).to_have_count(0)
    await expect(alice.log.locator(".user p")).to_have_text([ASKED, "不对，我问的是病假"])


Planning = tuple[Served, PlanningModel]


@pytest.fixture
async def planning(parts: Parts, real_client: Client) -> AsyncIterator[Planning]:
    """A house whose one skill shows its plan before it goes by it."""
    planner = skill(
        *("trip-planner", "行程助手", "Trip helper"),
        mode="plan",
        max_turns=24,
        token_budget=100_000,
        confirm_plan=True,
    )
    model = PlanningModel()
    async with (
        ModelServer(model) as server,
        furnished(parts, [], [server.url], [planner]) as house,
        build_worker(real_client, house, "planning"),
        Served(house, real_client, "planning") as served,
    ):
        yield served, model


@pytest.mark.slow
async def test_a_plan_is_agreed_to_and_seen_to_be_worked_on(planning: Planning, door: Door) -> None:
    (served, model), over = planning, asyncio.Event()
    chosen = {"skill_name": "trip-planner", "request": "计划去上海"}
    model.others.append(calls(("dispatch_to_skill", chosen)))
    model.plans.append(drawn(("train", "看车次"), ("sum", "算总价", "train")))
    model.steps["看车次"].append(says("G1"))
    model.steps["算总价"].append(waits(over, 0, says("500")))
    model.reflections.append(calls(("accept", {"result": "共 500。"})))
    alice = await (await door.visitor(served)).come(ALICE)
    await alice.say("帮我安排去上海")
    card = alice.log.locator(".card")
    await expect(card).to_contain_text("我打算这样做")
    await expect(card).to_contain_text("算总价")
    await expect(card.get_by_role("button")).to_have_text(["就这么办", "不办了"])
    await alice.press("就这么办")
    work = alice.page.locator(".log details.work")
    await expect(work.locator("summary")).to_contain_text("2/2 算总价")
    await work.locator("summary").click()
    await expect(work.locator("li")).to_have_count(2)
    await expect(work.locator("li").first).to_have_attribute("data-status", "done")
    over.set()
    await alice.hears("共 500。")
