"""The chat page in a real browser, over everything real but the model's words."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.client import Client

from router.assembly import Parts
from router.llm.ladders import Ladders
from router.llm.model import ChatModel
from router.worker import build_worker
from tests.fakes.behaviours import calls, says, waits
from tests.fakes.browser import CHROMIUM, Page, browser
from tests.fakes.model_server import ModelServer
from tests.workflow.test_streaming import served

QUEUE = "page"
CHOOSE = calls(
    ("dispatch_to_skill", {"skill_name": "policy-advisor", "request": "试用期能休几天年假"})
)
SEARCH = calls(("search_policies", {"question": "试用期 年假"}))
SAID = "试用期可以休两天半。"
ALICE, DAVE = "王丽 Alice", "Dave Hughes"
WORK = "document.querySelector('.log details.work')"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer([]) as server:
        yield server


@pytest.fixture
async def page(
    parts: Parts, real_client: Client, model: ModelServer, tmp_path: Path
) -> AsyncIterator[Page]:
    """The page of a house with a scripted model, before anybody has signed in."""
    chat = ChatModel(model.url, "scripted")
    house = replace(parts, ladders=Ladders([chat]))
    async with (
        build_worker(real_client, house, QUEUE),
        served(house, real_client, QUEUE) as api,
        browser(tmp_path) as page,
    ):
        await page.open(str(api.base_url))
        yield page
    await chat.aclose()


@pytest.mark.parametrize(
    ("person", "thinks", "tool", "done", "used"),
    [
        (ALICE, "第 2 步…", "查公司制度", "完成", "用了 1 个工具"),
        (DAVE, "step 2…", "Search company policies", "done", "Tools used: 1"),
    ],
)
async def test_a_skill_is_seen_to_think_and_its_tools_to_work(
    page: Page, model: ModelServer, person: str, thinks: str, tool: str, done: str, used: str
) -> None:
    answer = asyncio.Event()
    model.then(CHOOSE, SEARCH, waits(answer, before=0, then=says(SAID)))
    await page.click(person)

    await page.type("试用期的人能不能休年假？")
    while_thinking = await page.until(
        f"{WORK}?.querySelector('summary').textContent.includes('2') && {WORK}.textContent"
    )
    assert thinks in while_thinking
    assert await page.run(f"{WORK}.open") is False
    answer.set()
    await page.until(f"document.querySelector('.log').textContent.includes('{SAID}')")
    await page.until(f"!document.querySelector('.log .pending') && !!{WORK}")

    assert used in await page.run(f"{WORK}.querySelector('summary').textContent")
    await page.run(f"{WORK}.querySelector('summary').click()")
    (line,) = await page.run(f"[...{WORK}.querySelectorAll('li')].map(li => li.innerText)")
    assert tool in line
    assert done in line
    assert await page.run(f"{WORK}.querySelector('li').dataset.status") == "done"


async def test_a_tool_at_work_turns_until_it_is_stopped(page: Page, model: ModelServer) -> None:
    answer = asyncio.Event()
    model.then(CHOOSE, waits(answer, before=0, then=says(SAID)))
    await page.click(ALICE)

    await page.type("试用期的人能不能休年假？")
    await page.until(f"{WORK}?.querySelector('summary').textContent.includes('1')")
    await page.click("停下")
    await page.until("document.querySelector('.log').textContent.includes('好的，停下了。')")
    answer.set()

    assert await page.run("document.querySelectorAll('.log .pending').length") == 0
    assert await page.run(f"{WORK}") is None
