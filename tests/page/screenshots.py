"""Pictures of the page for the documentation: `python -m tests.page.screenshots [SCENE …]`.

Makes the scenes anew in a house of its own, so that a change of the page shows in them.
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.async_api import Locator, Page, expect
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.document_files import pdf, saved
from tests.fakes.smtp import MailServer
from tests.page.extensions.authoring.author_house import AUTHORS, with_authors, writing
from tests.page.extensions.authoring.test_overtime import (
    BOB,
    CAROL,
    approved_at_two_levels,
    asks_for_hours,
    begun,
    reviewed,
    starts_by,
    submitted,
    tried,
)
from tests.page.house import PHONE, QUEUE, Caller, Door, Served, Visitor, chromium
from tests.page.test_portal import Portal
from tests.temporal import dev_server, register_attributes
from tests.workflow.extensions.mail.mail_house import BOBS, here, with_addresses
from tests.workflow.test_hand_offs import TENANTS, always_worked

FOLDER = Path(__file__).parents[2] / "docs" / "images"
DESK = {"width": 1200, "height": 780}
TALL = {"width": 1200, "height": 1300}
ENGLISH = {"locale": "en-US"}
DARK = {"color_scheme": "dark"}
LETTERS = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
LATELY = datetime.now(UTC) - timedelta(days=3)
READ_WITHIN = 90_000
"""Milliseconds."""
TAXI = (
    ("上海市出租汽车专用发票", ""),
    ("车号", "沪A·D1234"),
    ("日期", f"{LATELY:%Y-%m-%d}"),
    ("上车", "14:05"),
    ("下车", "14:41"),
    ("里程", "12.3 公里"),
    ("金额", "45.00 元"),
)
HOTEL = (
    ("GRAND HOTEL FOLIO", ""),
    ("Guest", "Alice Wang"),
    ("Room", "1208"),
    ("Arrival date", f"{LATELY - timedelta(days=1):%Y-%m-%d}"),
    ("Departure date", f"{LATELY:%Y-%m-%d}"),
    ("Room charge", "CNY 520.00"),
    ("Service", "CNY 60.00"),
    ("Total charges", "CNY 580.00"),
)
CAB = (
    ("CITY TAXI RECEIPT", ""),
    ("Date", f"{LATELY:%Y-%m-%d}"),
    ("Distance", "8.1 km"),
    ("Total", "CNY 38.50"),
)
INVOICE = (
    (200, 60, "电子发票（普通发票）"),
    (370, 90, "发票号码：26117000000012345678"),
    (370, 112, f"开票日期：{LATELY:%Y年%m月%d日}"),
    (40, 160, "购买方信息 名称：示例科技有限公司"),
    (320, 160, "销售方信息 名称：北京某某餐饮有限公司"),
    (40, 220, "项目名称"),
    (300, 220, "金额"),
    (460, 220, "税额"),
    (40, 245, "*餐饮服务*餐费"),
    (300, 245, "100.00"),
    (460, 245, "6.00"),
    (40, 330, "合计"),
    (300, 330, "¥100.00"),
    (460, 330, "¥6.00"),
    (40, 370, "价税合计（大写）壹佰零陆圆整"),
    (380, 370, "（小写）¥106.00"),
)


@dataclass
class Studio:
    """Where the pictures are taken."""

    door: Door
    served: Served
    portal: Portal
    parts: Parts
    mail: MailServer

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

    async def portal_page(self) -> None:
        visitor = await self.door.visitor(self.served, viewport=DESK)
        visitor.others = (self.portal.origin,)
        page = visitor.page
        await page.goto(self.portal.origin)
        await page.get_by_role("button", name="Open the desk").click()
        for text in ("How much annual leave do I have?", "I need leave on January 14, 2027"):
            answers = await page.locator("li.bot").count()
            await page.get_by_role("textbox", name="Message").fill(text)
            await page.keyboard.press("Enter")
            await expect(page.locator("li.bot")).to_have_count(answers + 1)
        await taken(page, "portal-en")

    async def hand_off(self) -> None:
        alice = await self.visitor("王丽 Alice")
        await alice.say("转人工，工资算错了")
        dave = await self.visitor("Dave", **ENGLISH)
        await dave.page.evaluate("location.hash = '#/handoffs'")
        await dave.page.get_by_role("button", name="Take it: 王丽 Alice").click()
        await alice.hears("Dave Hughes 来了")
        answer = dave.page.get_by_label("Answer 王丽 Alice")
        await answer.fill("We'll pay the rest on Friday.")
        await answer.press("Enter")
        await alice.hears("We'll pay the rest on Friday.")
        await taken(dave.page, "hand-off-en")
        await dave.press("Back to the desk")

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
        # It reads the shipped flows, which want the house's functions to be there.
        from tests.page.test_operations import missed

        await missed(self.parts, "r7h2k4m9")
        await olga.press("Refresh")
        part = olga.page.get_by_role("region", name="Events that were given up")
        await expect(part.locator(".card")).to_have_count(2)
        await part.scroll_into_view_if_needed()
        await taken(olga.page, "webhooks-en", part)

    async def mail_pages(self) -> None:
        """A mail to an approver, and what its link opens."""
        await Caller(self.served, "alice").asks_for_leave("我要请年假，12月28日到29日，搬家")
        letter = await self.mail.received(BOBS, "搬家")
        visitor = await self.door.visitor(self.served, viewport={"width": 760, "height": 620})
        await visitor.page.goto(f"{self.served.origin}{here(letter.links[0])}")
        await expect(visitor.page.get_by_role("button").first).to_be_visible()
        await taken(visitor.page, "mail-decision-zh")
        await visitor.page.set_content(letter.html)
        await taken(visitor.page, "mail-zh")

    async def authors(self) -> None:
        big: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
        dave = await writing(self.door, self.served, "dave", **big)
        await begun(dave)
        await asks_for_hours(dave)
        await taken(dave.page, "author-slot-en")
        await starts_by(dave)
        await approved_at_two_levels(dave)
        await dave.point("manager")
        await dave.form.locator(".ways").scroll_into_view_if_needed()
        await taken(dave.page, "author-ways-en")
        await dave.part("yaml")
        await taken(dave.page, "author-yaml-en")
        await tried(dave, "5", {BOB: "approve", CAROL: "approve"}, "five hours")
        await taken(dave.page, "author-trial-en")
        await submitted(dave, "Overtime without paper")
        erin = await writing(self.door, self.served, "erin", **big, **DARK)
        await erin.open("equipment_request")
        await erin.point("finance")
        await taken(erin.page, "author-approval-zh-dark")
        await erin.visitor.page.emulate_media(color_scheme="light")
        await reviewed(erin, AUTHORS["dave"], "Overtime without paper")
        await taken(erin.page, "author-review-zh")

    async def papers(self) -> None:
        alice = await self.visitor("王丽 Alice", viewport=TALL)
        three = {"taxi.jpg": slip(TAXI), "hotel.jpg": slip(HOTEL), "meal.pdf": pdf(INVOICE)}
        await handing_in(alice, three)
        chips = alice.page.locator(".attachments li")
        await expect(chips).to_contain_text(["正在读", "正在读", "正在读"])
        await taken(alice.page, "papers-reading-zh", alice.page.locator(".composer"))
        await alice.box.fill("报销，见客户")
        await expect(chips).to_contain_text(["¥45.00", "¥580.00", "¥106.00"], timeout=READ_WITHIN)
        await taken(alice.page, "papers-tray-zh", alice.page.locator(".composer"))
        await alice.box.press("Enter")
        card = await confirming(alice, "¥731.00")
        await alice.say("第2项改成 500 元")
        card = await confirming(alice, "¥651.00")
        await with_pictures(card)
        await scrolled_to(card)
        await taken(alice.page, "papers-confirm-zh")
        await alice.press("确认")
        await alice.hears("已提交给")
        await self.papers_decided()

    async def papers_decided(self) -> None:
        bob = await self.visitor("陈博 Bob", viewport=TALL)
        await bob.go("待我审批")
        card = await bob.opened("¥651.00")
        await with_pictures(card)
        paper = card.locator(".papers > li").filter(has_text="hotel.jpg")
        await paper.get_by_role("button", name="hotel.jpg").click()
        await paper.locator("dl > div", has_text="¥580.00").focus()
        await expect(paper.locator(".spot")).to_be_visible()
        await bob.page.mouse.move(10, 600)
        await taken(bob.page, "papers-decided-zh")

    async def papers_en(self) -> None:
        frank = await self.visitor("Frank Novak", viewport=TALL, **ENGLISH, **DARK)
        await handing_in(frank, {"cab.jpg": slip(CAB)})
        await frank.box.fill("expenses: visiting a client")
        chip = frank.page.locator(".attachments li").first
        await expect(chip).to_contain_text("38.50", timeout=READ_WITHIN)
        await frank.box.press("Enter")
        card = await confirming(frank, "CNY 38.50")
        await with_pictures(card)
        await card.get_by_role("button", name="cab.jpg").click()
        await scrolled_to(card)
        await taken(frank.page, "papers-confirm-en-dark")

    async def papers_phone(self) -> None:
        touch = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
        gina = await self.visitor("吉娜 Gina", **touch)
        ride = tuple(("金额", "62.80 元") if name == "金额" else (name, of) for name, of in TAXI)
        await handing_in(gina, {"IMG_2041.jpg": slip(ride)})
        chip = gina.page.locator(".attachments li").first
        await expect(chip).to_contain_text("62.80", timeout=READ_WITHIN)
        await gina.box.fill("报销，送客户去机场")
        await gina.box.press("Enter")
        card = await confirming(gina, "¥62.80")
        await with_pictures(card)
        await taken(gina.page, "papers-phone-zh")

    async def phone(self) -> None:
        touch = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
        gina = await self.visitor("吉娜 Gina", **touch)
        await gina.say("我要请假")
        await expect(gina.page.locator(".choices button").first).to_be_visible()
        await taken(gina.page, "phone-zh")
        await gina.page.locator("#menu").click()
        await gina.page.wait_for_timeout(400)
        await taken(gina.page, "phone-menu-zh")


async def handing_in(visitor: Visitor, files: Mapping[str, bytes]) -> None:
    """Pick these files; they wait above the words."""
    kinds = {"jpg": "image/jpeg", "pdf": "application/pdf"}
    given: list[Any] = [
        {"name": name, "mimeType": kinds[name.rpartition(".")[2]], "buffer": content}
        for name, content in files.items()
    ]
    await visitor.page.locator(".composer input[type=file]").first.set_input_files(given)


async def confirming(visitor: Visitor, total: str) -> Locator:
    """The confirmation of a claim of so much."""
    card = visitor.page.locator(".answer.confirm").last
    await expect(card).to_contain_text(total, timeout=READ_WITHIN)
    return card


async def with_pictures(card: Locator) -> None:
    """Wait until each paper on it is seen."""
    for paper in await card.locator(".papers > li").all():
        await paper.scroll_into_view_if_needed()
        await expect(paper.get_by_role("img").first).to_be_visible()
        await expect(paper.locator("dl")).to_be_visible()


async def scrolled_to(card: Locator) -> None:
    """Have its end, with what is to be pressed, be seen."""
    await card.get_by_role("button").last.scroll_into_view_if_needed()
    await card.page.locator(".scroller").evaluate("one => (one.scrollTop = one.scrollHeight)")
    await card.page.wait_for_timeout(300)


def slip(rows: tuple[tuple[str, str], ...]) -> bytes:
    """A photograph, more or less, of a slip of paper with these rows below its heading."""
    font = ImageFont.truetype(LETTERS, 40)
    paper = Image.new("RGB", (760, 120 + 78 * len(rows)), "#fbf9f1")
    pen = ImageDraw.Draw(paper)
    for at, (name, value) in enumerate(rows):
        y = 56 + 78 * at
        if not value:
            pen.text((380, y), name, font=font, fill="#222", anchor="ma")
            continue
        pen.text((60, y), name, font=font, fill="#333")
        pen.text((700, y), value, font=font, fill="#111", anchor="ra")
    table = Image.new("RGB", (paper.width + 160, paper.height + 160), "#8d8377")
    turned = paper.convert("RGBA").rotate(1.6, expand=True, resample=Image.Resampling.BICUBIC)
    table.paste(turned, (70, 65), turned)
    return saved(table, "JPEG", quality=85)


MARGIN = 16
"""Pixels around a part of the page."""


async def taken(page: Page, name: str, part: Locator | None = None) -> None:
    """Keep what the page shows, or a part of it, with nothing that blinks."""
    await page.wait_for_timeout(150)
    box = await part.bounding_box() if part is not None else None
    clip: Any = box and {
        "x": box["x"] - MARGIN,
        "y": box["y"] - MARGIN,
        "width": box["width"] + 2 * MARGIN,
        "height": box["height"] + MARGIN,
    }
    path = FOLDER / f"{name}.png"
    await page.screenshot(path=path, animations="disabled", caret="hide", clip=clip)
    print(name, flush=True)


async def posed(parts: Parts, temporal: Client, wanted: list[str]) -> None:
    async with (
        build_worker(temporal, parts, QUEUE),
        Portal() as portal,
        MailServer() as mail,
        Served(_writing(parts, mail), temporal, QUEUE, portal_origins=[portal.origin]) as served,
        chromium() as browser,
    ):
        door = Door(browser)
        portal.desk = served.origin
        studio = Studio(door, served, portal, parts, mail)
        first = (studio.sign_in, studio.start, studio.chat)
        every = (
            *first,
            studio.approvals,
            studio.requests,
            studio.inbox,
            studio.phone,
            studio.papers,
            studio.papers_en,
            studio.papers_phone,
            studio.operations,
            studio.portal_page,
            studio.hand_off,
            studio.mail_pages,
            studio.authors,
        )
        for scene in every:
            if not wanted or scene.__name__ in wanted:
                await scene()
        await door.close()


def _writing(parts: Parts, mail: MailServer) -> Parts:
    """The same house, writing mail by this server."""
    return replace(parts, settings=parts.settings.having(mail.settings))


def _helped(folder: Path) -> Path:
    """The file of tenants, with people who take what is handed off."""
    file = folder / "tenants.yaml"
    file.write_text(TENANTS, "utf-8")
    return file


def _settings(folder: Path) -> Settings:
    people = with_authors(folder, with_addresses(folder))
    return Settings.load(data=folder, tenants=_helped(folder), directory=people)


async def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            at_work(_settings(Path(folder))) as parts,
            await dev_server() as environment,
        ):
            always_worked(parts)
            await register_attributes(environment.client)
            await posed(parts, environment.client, sys.argv[1:])


if __name__ == "__main__":
    asyncio.run(main())
