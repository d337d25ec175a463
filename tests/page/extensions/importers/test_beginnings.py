"""A new flow of an author's: from the gallery, or from what they bring."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from playwright.async_api import FilePayload, expect
from temporalio.client import Client

from tests.fakes.model_server import ModelServer, calls
from tests.integration.api.extensions.importers.test_flow_beginnings import PAPER
from tests.page.extensions.authoring.author_house import Author, authors_house, writing
from tests.page.house import Door, Served
from tests.page.test_looks import violations
from tests.samples import one_in
from tests.unit.extensions.importers.test_paragraph import PURCHASE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    async with ModelServer(calls(("sketch_flow", PURCHASE))) as model:
        access = {"llm_base_url": model.url, "llm_model": "scripted", "llm_api_key": "k"}
        folder = tmp_path_factory.mktemp("beginnings")
        async with authors_house(folder, real_client, **access) as served:
            yield served


@pytest.mark.parametrize(
    ("who", "new", "gallery", "process", "begin"),
    one_in(
        2,
        (
            ("dave", "New flow", "a process from the gallery", "Process", "Begin"),
            ("erin", "新建流程", "现成的流程", "流程", "开始设计"),
        ),
    ),
)
async def test_a_process_of_the_gallery_becomes_a_draft_with_its_stories(
    door: Door, house: Served, who: str, new: str, gallery: str, process: str, begin: str
) -> None:
    author = await writing(door, house, who)
    await author.page.get_by_text(new, exact=True).click()
    await author.page.get_by_label(gallery, exact=True).check()
    await author.page.get_by_label(process, exact=True).select_option("overtime")
    assert await violations(author.visitor) == {}
    await author.page.get_by_role("button", name=begin, exact=True).click()
    await expect(author.page.locator(".author .picture svg")).to_be_visible()
    await author.part("yaml")
    assert "flow: overtime" in await author.yaml()
    await author.part("publish")
    async with author.page.expect_download() as saving:
        await author.page.get_by_role("link", name=await author.t("asBpmn")).click()
    assert (await saving.value).suggested_filename == "overtime.bpmn"


async def bring_file(author: Author) -> None:
    """A process that somebody has drawn elsewhere."""
    brought = FilePayload(name="process.bpmn", mimeType="application/xml", buffer=PAPER)
    await author.page.get_by_label(await author.t("beginFile"), exact=True).set_input_files(brought)


async def bring_paragraph(author: Author) -> None:
    """What somebody has only told of yet."""
    await author.fill("beginWords", "Goods are bought once a manager agrees.")


@pytest.mark.parametrize(
    ("way", "bring", "question", "title"),
    [
        ("begin_file", bring_file, "Which tool does “Pack", "Order paper"),
        ("begin_paragraph", bring_paragraph, "A model wrote this", "Purchase request"),
    ],
)
async def test_what_an_author_brings_is_a_draft_once_they_have_seen_what_is_open(
    door: Door,
    house: Served,
    way: str,
    bring: Callable[[Author], Awaitable[None]],
    question: str,
    title: str,
) -> None:
    author = await writing(door, house, "dave")
    await author.page.get_by_text(await author.t("newFlow"), exact=True).click()
    await author.page.get_by_label(await author.t(way), exact=True).check()
    await bring(author)
    await author.press("readIt")
    await expect(author.page.get_by_role("listitem").filter(has_text=question)).to_be_visible()
    assert await violations(author.visitor) == {}
    await author.press("beginFlow")
    await expect(author.page.get_by_role("heading", name=title, level=1)).to_be_visible()
    await expect(author.page.locator(".author .picture svg")).to_be_visible()
