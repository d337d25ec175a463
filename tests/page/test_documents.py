"""Papers dropped into a claim: read, corrected, refused where they were claimed, and decided on."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import expect

from tests.document_files import pdf, picture, saved
from tests.page.house import PHONE, Door, Served, Visitor

pytestmark = pytest.mark.slow

LATELY = datetime.now(UTC) - timedelta(days=3)
INVOICE = (
    (200, 40, "电子发票（普通发票）"),
    (380, 40, "发票号码：26117000000012345678"),
    (380, 60, f"开票日期：{LATELY:%Y年%m月%d日}"),
    (40, 100, "购买方信息 名称：示例科技有限公司"),
    (320, 100, "销售方信息 名称：北京某某餐饮有限公司"),
    (40, 160, "项目名称"),
    (300, 160, "金额"),
    (460, 160, "税额"),
    (40, 180, "*餐饮服务*餐费"),
    (300, 180, "100.00"),
    (460, 180, "6.00"),
    (40, 260, "合计"),
    (300, 260, "¥100.00"),
    (460, 260, "¥6.00"),
    (40, 290, "价税合计（大写）壹佰零陆圆整"),
    (380, 290, "（小写）¥106.00"),
)
TAXI = ("CITY TAXI RECEIPT", f"Date {LATELY:%Y-%m-%d}", "Distance 12.3 km", "Total CNY 45.00")
HOTEL = (
    "GRAND HOTEL FOLIO",
    "Guest Alice Wang",
    f"Departure date {LATELY:%Y-%m-%d}",
    "Total charges CNY 580.00",
)
READ_WITHIN = 60_000
"""Milliseconds: models are loaded, and the machine has others to serve."""


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


async def handing_in(visitor: Visitor, files: dict[Path, str]) -> None:
    """Pick these, see what each is while the message is typed, and send them without a word."""
    await visitor.page.locator(".composer input[type=file]").first.set_input_files([*files])
    chips = visitor.page.locator(".attachments li")
    await expect(chips).to_contain_text([*files.values()], timeout=READ_WITHIN)
    await visitor.box.press("Enter")


async def test_three_papers_are_a_claim_that_is_corrected_and_decided_on_by_sight(
    door: Door, served: Served, tmp_path: Path
) -> None:
    taxi = written(tmp_path, "taxi.png", saved(picture(TAXI)))
    hotel = written(tmp_path, "hotel.jpg", saved(picture(HOTEL), "JPEG"))
    meal = written(tmp_path, "meal.pdf", pdf(INVOICE))
    alice = await (await door.visitor(served)).come("王丽 Alice")
    await handing_in(alice, {taxi: "出租车票 ¥45.00", hotel: "酒店账单", meal: "发票 ¥106.00"})
    await alice.hears("26117000000012345678")
    await alice.hears("这些费用是为什么事花的")
    await alice.say("见客户")
    card = alice.page.locator(".answer.confirm").last
    await expect(card).to_contain_text("¥731.00")
    await alice.say("第2项改成 500 元")
    await expect(card).to_contain_text("¥651.00")
    await expect(card).to_contain_text("金额填的是 ¥500.00，上面是 ¥580.00")
    papers = card.locator(".papers > li")
    await expect(papers).to_have_count(3)
    for paper in await papers.all():
        await paper.scroll_into_view_if_needed()
        await expect(paper.get_by_role("img")).to_be_visible()
    assert (await alice.violations(), await alice.overflow()) == ([], 0)
    await alice.press("确认")
    await alice.hears("已提交给")

    await decided_by_sight(await (await door.visitor(served)).come("陈博 Bob"))
    await alice.hears("批准了")

    # The same paper, made smaller and compressed anew by somebody else.
    with Image.open(taxi) as whole:
        half = whole.convert("RGB").resize((whole.width * 3 // 4, whole.height * 3 // 4))
    again = written(tmp_path, "again.jpg", saved(half, "JPEG", quality=70))
    frank = await (await door.visitor(served)).come("Frank Novak")
    await handing_in(frank, {again: "45.00"})
    await frank.hears("handed in for a claim before")


async def decided_by_sight(bob: Visitor) -> None:
    """Look at the paper whose amount is another, with the place of that shown on it; agree."""
    await bob.go("待我审批")
    waits = await bob.opened("¥651.00")
    await expect(waits).to_contain_text("金额填的是 ¥500.00，上面是 ¥580.00")
    beside = waits.locator(".papers > li").filter(has_text="hotel.jpg")
    await beside.scroll_into_view_if_needed()
    await expect(beside.get_by_role("img", name="hotel.jpg")).to_be_visible()
    amount = beside.locator("dl > div", has_text="¥580.00")
    await beside.get_by_role("button", name="hotel.jpg").click()
    await amount.focus()
    await expect(beside.locator(".spot")).to_be_visible()
    assert (await bob.violations(), await bob.overflow()) == ([], 0)
    await waits.get_by_role("button", name="同意").click()


async def test_on_a_phone_a_paper_and_what_was_read_of_it_stand_below_each_other(
    door: Door, served: Served, tmp_path: Path
) -> None:
    taxi = written(tmp_path, "cab.png", saved(picture([*TAXI, "Cab 7"])))
    gina = await (await door.visitor(served, viewport=PHONE)).come("吉娜 Gina")
    await handing_in(gina, {taxi: "出租车票 ¥45.00"})
    await gina.say("送客户")
    await gina.hears("提交审批吗")
    card = gina.page.locator(".answer.confirm").last
    await card.locator(".papers").scroll_into_view_if_needed()
    await expect(card.get_by_role("img", name="cab.png")).to_be_visible()
    await card.get_by_role("button", name="cab.png").click()
    assert (await gina.violations(), await gina.overflow()) == ([], 0)
