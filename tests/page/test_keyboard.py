"""A whole request without a mouse."""

from playwright.async_api import expect

from tests.page.house import Door, Served


async def test_a_request_from_the_first_word_to_the_last_by_keys(
    door: Door, served: Served
) -> None:
    alice = await (await door.visitor(served)).come()
    keys = alice.page.keyboard
    await keys.press("Tab")
    await expect(alice.page.locator(".skip")).to_be_focused()
    person = alice.page.get_by_role("button", name="王丽 Alice")
    while not await person.evaluate("one => one === document.activeElement"):
        await keys.press("Tab")
    await keys.press("Enter")
    await expect(alice.box).to_be_focused()
    await keys.type("我要请假")
    await keys.press("Enter")
    await expect(alice.page.get_by_role("button", name="年假", exact=True)).to_be_visible()
    await keys.press("Shift+Tab")
    await keys.press("3")
    start = alice.page.get_by_label("开始", exact=True)
    await expect(start).to_be_focused()
    await expect(alice.log.locator(".user p").last).to_have_text("事假")
    await keys.press("Enter")
    await expect(alice.page.get_by_text("请填写“开始”。")).to_be_visible()
    described = await start.get_attribute("aria-describedby")
    await expect(alice.page.locator(f"#{described}")).to_have_text("请填写“开始”。")
    await keys.type("01132027")
    await keys.press("Enter")
    await expect(alice.page.get_by_label("结束", exact=True)).to_be_focused()
    await keys.type("01132027")
    await keys.press("Enter")
    await alice.hears("请假事由是什么")
    await expect(alice.box).to_be_focused()
    await keys.type("办证")
    await keys.press("Enter")
    yes = alice.page.get_by_role("button", name="确认", exact=True)
    await expect(yes).to_be_visible()
    while not await yes.evaluate("one => one === document.activeElement"):
        await keys.press("Shift+Tab")
    await keys.press("Enter")
    await alice.hears("已提交给 陈博 Bob 审批")
    await expect(alice.page.locator("#status")).to_contain_text("已提交给 陈博 Bob 审批")
