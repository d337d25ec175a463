"""A new flow of an author's: from the gallery, or from what they bring."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect
from temporalio.client import Client

from tests.page.author_house import authors_house, writing
from tests.page.house import Door, Served
from tests.page.test_looks import violations


@pytest.fixture(scope="module")
async def house(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    async with authors_house(tmp_path_factory.mktemp("beginnings"), real_client) as served:
        yield served


@pytest.mark.parametrize(
    ("who", "new", "gallery", "process", "begin"),
    [
        ("dave", "New flow", "a process from the gallery", "Process", "Begin"),
        ("erin", "新建流程", "现成的流程", "流程", "开始设计"),
    ],
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
