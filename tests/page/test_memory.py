"""What one asked to have remembered, on the page."""

from playwright.async_api import expect

from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from tests.page.house import Visitor


async def test_what_is_remembered_is_read_added_to_and_forgotten(
    alice: Visitor, parts: Parts
) -> None:
    memories, page = parts.store.memories, alice.page
    await memories.forget(DEFAULT_TENANT, "alice")
    await page.get_by_role("link", name="记住的事").click()
    await expect(page.get_by_role("heading", name="什么都没记着")).to_be_visible()
    await page.get_by_label("要记住的一件事").fill("我在上海办公室")
    await page.get_by_role("button", name="记住", exact=True).click()
    card = page.get_by_role("listitem").filter(has_text="我在上海办公室")
    await expect(card).to_be_visible()
    assert [m.text for m in await memories.listed(DEFAULT_TENANT, "alice")] == ["我在上海办公室"]
    await card.get_by_role("button", name="忘掉").click()
    await expect(card).to_have_count(0)
    await expect(page.get_by_role("button", name="都忘掉")).to_be_hidden()
    assert await memories.listed(DEFAULT_TENANT, "alice") == []
