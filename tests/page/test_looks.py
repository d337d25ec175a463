"""Every main view in both languages and themes: for everybody, on every screen."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect
from temporalio.client import Client

from router.domain.locale import Localised
from router.runtime.composition import Parts
from tests.page.house import NARROW, QUEUE, Door, Served, Visitor

PEOPLE = {"zh-CN": "陈博 Bob", "en-US": "Frank Novak"}
SECTIONS = {"zh-CN": ("待我审批", "我的申请"), "en-US": ("Approvals", "My requests")}
SAYS = {
    "zh-CN": "我要请年假，2027年1月11日到12日，体检",
    "en-US": "annual leave from Jan 11 to Jan 12 2027, for a check-up",
}
SMALL_TARGETS = """
[...document.querySelectorAll(
    'button, summary, input:not([hidden], .tick), .ticking, select, .lists a')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('[inert]'))
  .map((one) => [one.outerHTML.slice(0, 120), one.getBoundingClientRect()])
  .filter(([, box]) => box.height > 0 && box.height < 43.5)
  .map(([html, box]) => `${Math.round(box.height)} px: ${html}`)
"""
BROKEN_NAMES = """
[...document.querySelectorAll('dt')]
  .filter((one) => !/\\s/.test(one.textContent))
  .filter((one) => {
    const words = document.createRange();
    words.selectNodeContents(one);
    return words.getClientRects().length > 1;
  })
  .map((one) => one.textContent)
"""
UNDER_THE_MENU = """
(() => {
  const notice = document.getElementById('offline'), words = document.createRange();
  notice.hidden = false;
  words.selectNodeContents(notice);
  const menu = document.getElementById('menu').getBoundingClientRect();
  const text = words.getBoundingClientRect();
  notice.hidden = true;
  return Math.max(0, Math.min(menu.right - text.left, menu.bottom - text.top));
})()
"""


async def violations(visitor: Visitor) -> dict[str, list[str]]:
    """What is serious in what is shown, by day and by night."""
    found = {}
    for theme in ("light", "dark"):
        await visitor.page.emulate_media(color_scheme=theme)
        found[theme] = await visitor.violations()
    return {theme: wrong for theme, wrong in found.items() if wrong}


@pytest.mark.parametrize("locale", ["zh-CN", pytest.param("en-US", marks=pytest.mark.slow)])
async def test_no_view_keeps_anybody_out(door: Door, served: Served, locale: str) -> None:
    visitor = await (await door.visitor(served, locale=locale)).come()
    found = {"sign in": await violations(visitor)}
    await visitor.page.get_by_role("button", name=PEOPLE[locale]).click()
    await expect(visitor.box).to_be_visible()
    found["start"] = await violations(visitor)
    await visitor.say(SAYS[locale])
    await expect(visitor.page.locator(".answer.confirm")).to_be_visible()
    await visitor.page.locator(".why > summary").last.click()
    await visitor.page.locator(".why .details > summary").last.click()
    await visitor.page.locator(".flow-card > summary").click()
    await expect(visitor.page.locator(".why mark").first).to_be_visible()
    found["chat"] = await violations(visitor)
    for section in SECTIONS[locale]:
        await visitor.go(section)
        await expect(visitor.page.locator(".sheet h1")).to_be_visible()
        for details in await visitor.page.locator(".cards > .card summary").all():
            await details.click()
        found[section] = await violations(visitor)
    assert {view: wrong for view, wrong in found.items() if wrong} == {}
    assert await visitor.page.evaluate("document.documentElement.lang") in {"zh-CN", "en"}


@pytest.mark.parametrize("locale", [pytest.param("zh-CN", marks=pytest.mark.slow), "en-US"])
async def test_a_small_screen_shows_all_of_it_and_fingers_hit_it(
    door: Door, served: Served, locale: str
) -> None:
    phone = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
    visitor = await (await door.visitor(served, locale=locale, **phone)).come()
    widths = {"sign in": await visitor.overflow()}
    await visitor.page.get_by_role("button", name=PEOPLE[locale]).click()
    await expect(visitor.box).to_be_visible()
    await visitor.say(SAYS[locale])
    await expect(visitor.page.locator(".answer.confirm")).to_be_visible()
    await visitor.page.locator(".why > summary").last.click()
    await visitor.page.locator(".why .details > summary").last.click()
    await expect(visitor.page.locator(".why mark").first).to_be_attached()
    await expect(visitor.page.locator(".why dl").last).to_be_in_viewport()
    widths["chat"] = await visitor.overflow()
    broken = await visitor.page.evaluate(BROKEN_NAMES)
    assert await visitor.page.evaluate(UNDER_THE_MENU) == 0
    small = await visitor.page.evaluate(SMALL_TARGETS)
    for section in SECTIONS[locale]:
        await visitor.page.locator("#menu").click()
        small += await visitor.page.evaluate(SMALL_TARGETS)
        await visitor.go(section)
        await expect(visitor.page.locator(".sheet h1")).to_be_visible()
        widths[section] = await visitor.overflow()
        small += await visitor.page.evaluate(SMALL_TARGETS)
    assert {view: wide for view, wide in widths.items() if wide > 0} == {}
    assert small == broken == []


@pytest.mark.slow
async def test_the_menu_of_a_small_screen_keeps_the_focus_until_it_is_closed(
    door: Door, served: Served
) -> None:
    alice = await (await door.visitor(served, viewport=NARROW)).come("王丽 Alice")
    menu, side = alice.page.locator("#menu"), alice.page.locator("#side")
    await expect(side).not_to_be_visible()
    await menu.focus()
    await alice.page.keyboard.press("Enter")
    await expect(side).to_be_visible()
    await expect(alice.page.locator("#close")).to_be_focused()
    await alice.page.keyboard.press("Escape")
    await expect(side).not_to_be_visible()
    await expect(menu).to_be_focused()


@pytest.mark.slow
async def test_a_chosen_theme_and_language_stay(alice: Visitor) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await alice.page.evaluate(ground)
    await alice.page.get_by_role("button", name="切换深浅色").click()
    dark = await alice.page.evaluate(ground)
    await alice.page.get_by_role("button", name="EN").click()
    await expect(alice.page.get_by_role("link", name="My requests")).to_be_visible()
    await alice.page.reload()
    await expect(alice.page.get_by_role("link", name="My requests")).to_be_visible()
    assert dark != light
    assert await alice.page.evaluate(ground) == dark


LOGO = """<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">
<rect width="64" height="64"/></svg>"""


@pytest.mark.slow
async def test_a_company_sees_its_own_title_logo_and_colour(
    door: Door, parts: Parts, real_client: Client, tmp_path: Path
) -> None:
    (logo := tmp_path / "logo.svg").write_text(LOGO)
    title = Localised(zh="安可办事", en="Acme desk")
    look: dict[str, Any] = {"page_title": title, "page_logo": logo, "page_accent": "#7a1fa2"}
    async with Served(parts, real_client, QUEUE, **look) as served:
        visitor = await (await door.visitor(served, locale="en-US")).come()
        await expect(visitor.page).to_have_title("Acme desk")
        await visitor.page.get_by_role("button", name="Frank Novak").click()
        await expect(visitor.box).to_be_visible()
        await expect(visitor.page).to_have_title("Acme desk")
        await expect(visitor.page.locator("#called")).to_have_text("Acme desk")
        shown = visitor.page.locator(".brand img")
        assert await shown.evaluate("(image) => image.naturalWidth") == 64
        colour = "getComputedStyle(document.querySelector('.composer .primary')).backgroundColor"
        assert await visitor.page.evaluate(colour) == "rgb(122, 31, 162)"
        assert await visitor.violations() == []
        assert visitor.complaints == []
