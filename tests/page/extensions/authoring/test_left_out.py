"""The page where the extension is left out."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect
from temporalio.client import Client

from tests.page.extensions.authoring.author_house import AUTHORS, authors_house
from tests.page.house import Door, Served

pytestmark = pytest.mark.slow


@pytest.fixture
async def house(real_client: Client, tmp_path: Path) -> AsyncIterator[Served]:
    off = frozenset({"authoring"})
    async with authors_house(tmp_path, real_client, extensions_off=off) as served:
        yield served


async def test_authors_see_none_of_it_where_the_extension_is_left_out(
    house: Served, door: Door
) -> None:
    dave = await door.visitor(house, locale="en-US")
    await dave.come(AUTHORS["dave"])
    await dave.page.goto(f"{house.origin}/#/flows")
    await expect(dave.box).to_be_visible()
    await expect(dave.page.get_by_role("link", name="Flows")).to_have_count(0)
