"""Pictures of the page for the documentation: `python -m tests.page.screenshots`.

Makes the scenes anew in a house of its own, so that a change of the page shows in them.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.page.house import PHONE, Caller, Door, Served, Visitor, chromium
from tests.temporal import dev_server
from tests.workflow.desk import QUEUE, register_attributes

FOLDER = Path(__file__).parents[2] / "docs" / "images"
DESK = {"width": 1200, "height": 780}
ENGLISH = {"locale": "en-US"}
DARK = {"color_scheme": "dark"}


@dataclass
class Studio:
    """Where the pictures are taken."""

    door: Door
    served: Served

    async def visitor(self, name: str, **options: Any) -> Visitor:
        chosen = {"viewport": DESK, **options}
        visitor = await self.door.visitor(self.served, **chosen)
        return await visitor.come(name)

    async def sign_in(self) -> None:
        visitor = await self.door.visitor(self.served, viewport=DESK)
        await visitor.come()
        await taken(visitor.page, "sign-in")

    async def start(self) -> None:
        alice = await self.visitor("王丽 Alice")
        await taken(alice.page, "start-zh")
        frank = await self.visitor("Frank Novak", **ENGLISH, **DARK)
        await taken(frank.page, "start-en-dark")

    async def chat(self) -> None:
        alice = await self.visitor("王丽 Alice")
        await alice.say("我要请假")
        await alice.press("年假")
        await alice.hears("从哪天开始")
        await alice.say("12月7日到9日，陪父母体检")
        await expect(alice.page.locator(".answer.confirm")).to_be_visible()
        await alice.page.wait_for_timeout(500)
        await taken(alice.page, "chat-zh")
        await alice.press("确认")
        await alice.hears("已提交给")
        frank = await self.visitor("Frank Novak", **ENGLISH, **DARK)
        await frank.say("I need annual leave from Dec 14 to Dec 15, moving house")
        await expect(frank.page.locator(".answer.confirm")).to_be_visible()
        await frank.page.locator(".why > summary").last.click()
        await frank.page.locator(".why .details > summary").last.click()
        await expect(frank.page.locator(".why mark").first).to_be_visible()
        await frank.page.locator(".scroller").evaluate("one => (one.scrollTop = one.scrollHeight)")
        await frank.page.wait_for_timeout(500)
        await taken(frank.page, "chat-en-dark")
        await frank.press("Yes")
        await frank.hears("for approval")

    async def approvals(self) -> None:
        await Caller(self.served, "alice").asks_for_leave("我要请病假，12月21日一天，看牙")
        bob = await self.visitor("陈博 Bob")
        await bob.go("待我审批")
        card = bob.page.locator(".cards > .card").first
        await card.get_by_text("经过", exact=True).click()
        await expect(card.locator(".timeline li").first).to_be_visible()
        await taken(bob.page, "approvals-zh")
        await bob.page.emulate_media(color_scheme="dark")
        await taken(bob.page, "approvals-zh-dark")
        await card.get_by_role("button", name="同意").click()

    async def requests(self) -> None:
        alice = await self.visitor("王丽 Alice", viewport={"width": 1200, "height": 1000})
        await alice.go("我的申请")
        card = alice.page.locator(".cards > .card").first
        await card.get_by_text("内容", exact=True).click()
        await card.get_by_text("流程图", exact=True).click()
        await expect(card.get_by_role("img")).to_be_visible()
        await alice.page.wait_for_timeout(300)
        await taken(alice.page, "requests-zh")
        frank = await self.visitor("Frank Novak", **ENGLISH, **DARK)
        await frank.go("My requests")
        await frank.page.locator(".cards summary").first.click()
        await taken(frank.page, "requests-en-dark")

    async def inbox(self) -> None:
        asked = (
            "年假，明年3月8日到10日，去看展览",
            "病假，12月22日一天，复查",
            "事假，12月24日一天，搬家",
        )
        for words in (*asked, "年假，明年4月12日到14日，回老家", "事假，12月28日一天，办证件"):
            await Caller(self.served, "gina").asks_for_leave(f"我要请{words}")
        carol = await self.visitor(
            "Carol Meyer", viewport={"width": 1200, "height": 760}, **ENGLISH
        )
        await carol.go("Approvals")
        for words in ("去看展览", "搬家"):
            await carol.card(words).get_by_role("checkbox").check()
        await taken(carol.page, "inbox-en")

    async def operations(self) -> None:
        olga = await self.visitor(
            "Olga Petrova", viewport={"width": 1200, "height": 1240}, **ENGLISH
        )
        await olga.page.goto(f"{self.served.origin}/#/operations")
        await expect(olga.page.locator(".chart")).to_be_visible()
        await taken(olga.page, "operations-en")

    async def phone(self) -> None:
        touch = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
        gina = await self.visitor("吉娜 Gina", **touch)
        await gina.say("我要请假")
        await expect(gina.page.locator(".choices button").first).to_be_visible()
        await taken(gina.page, "phone-zh")
        await gina.page.locator("#menu").click()
        await gina.page.wait_for_timeout(400)
        await taken(gina.page, "phone-menu-zh")


async def taken(page: Page, name: str) -> None:
    """Keep what the page shows, with nothing that blinks."""
    await page.wait_for_timeout(150)
    await page.screenshot(path=FOLDER / f"{name}.png", animations="disabled", caret="hide")
    print(name, flush=True)


async def posed(parts: Parts, temporal: Client) -> None:
    async with (
        build_worker(temporal, parts, QUEUE),
        Served(parts, temporal, QUEUE) as served,
        chromium() as browser,
    ):
        door = Door(browser)
        studio = Studio(door, served)
        first = (studio.sign_in, studio.start, studio.chat)
        for scene in (
            *first,
            studio.approvals,
            studio.requests,
            studio.inbox,
            studio.phone,
            studio.operations,
        ):
            await scene()
        await door.close()


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            at_work(Settings.load(data=Path(folder))) as parts,
            await dev_server() as environment,
        ):
            await register_attributes(environment.client)
            await posed(parts, environment.client)


if __name__ == "__main__":
    asyncio.run(main())
