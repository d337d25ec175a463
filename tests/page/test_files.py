"""Receipts: picked, dropped or pasted, shown before they go, and read by who decides."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import FilePayload, expect
from temporalio.client import Client

from router.flow.definition import FlowDefinition
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.page.house import LOST_CONNECTION, Door, Served, Visitor
from tests.workflow.tooled import furnished

QUEUE = "page files"
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RECEIPT: FilePayload = {"name": "打车.png", "mimeType": "image/png", "buffer": DOT}
PROGRAM: FilePayload = {"name": "run.exe", "mimeType": "application/x-msdownload", "buffer": b"MZ"}
RECEIPT_SLOT = {
    "type": "file",
    "label": {"zh": "收据", "en": "Receipt"},
    "ask": {"zh": "收据呢？", "en": "The receipt?"},
}
DAY_SLOT = {
    "type": "date",
    "label": {"zh": "日期", "en": "Day"},
    "ask": {"zh": "哪天？", "en": "Which day?"},
}


def looked_at(name: str, words: str, slots: dict[str, Any]) -> FlowDefinition:
    """A flow that asks for these, and then has the manager look."""
    return FlowDefinition.model_validate(
        {
            "flow": name,
            "title": {"zh": words, "en": name},
            "description": {"zh": words, "en": name},
            "triggers": {"patterns": [words], "examples": [f"我要{words}"]},
            "slots": slots,
            "start": "details",
            "states": {
                "details": {"collect": [*slots], "next": "look"},
                "look": {
                    "approve": {
                        "by": "manager(requester)",
                        "title": {"zh": "看收据", "en": "Look"},
                    },
                    "approved": "told",
                    "rejected": "told",
                    "returned": "details",
                },
                "told": {"say": {"zh": "收下了。", "en": "Taken."}, "end": "completed"},
            },
        }
    )


HAND_IN = looked_at("hand_in", "交收据", {"receipt": RECEIPT_SLOT})
UNASKED = {**RECEIPT_SLOT, "required": False, "when": "false"}
FARE = looked_at("fare", "报车费", {"day": DAY_SLOT, "receipt": UNASKED})
HELD = "one => [...one.files].map((file) => file.name)"
KEPT = """
() => new Promise((resolve) => {
  indexedDB.open('intent-router', 1).onsuccess = ({ target: { result } }) => {
    const all = result.transaction('files').objectStore('files').getAll();
    const named = ({ files }) => files.map(({ file }) => file.name);
    all.onsuccess = () => (result.close(), resolve(all.result.map(named)));
  };
})
"""
TRANSFER = """
([event, place, name, bytes]) => {
  const carried = new DataTransfer();
  const content = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
  carried.items.add(new File([content], name, { type: 'image/png' }));
  const about = { bubbles: true, cancelable: true, dataTransfer: carried, clipboardData: carried };
  const made = event === 'paste' ? new ClipboardEvent(event, about) : new DragEvent(event, about);
  document.querySelector(place).dispatchEvent(made);
}
"""


@pytest.fixture
async def house(parts: Parts, real_client: Client) -> AsyncIterator[Served]:
    async with (
        furnished(parts, [], flows=[HAND_IN, FARE]) as house,
        build_worker(real_client, house, QUEUE),
        Served(house, real_client, QUEUE) as served,
    ):
        yield served


async def transfer(visitor: Visitor, event: str, place: str, name: str) -> None:
    content = base64.b64encode(DOT).decode()
    await visitor.page.evaluate(TRANSFER, [event, place, name, content])


async def test_a_receipt_is_handed_in_and_seen_by_who_decides(house: Served, door: Door) -> None:
    alice = await (await door.visitor(house)).come("王丽 Alice")
    await alice.say("我要交收据")
    field = alice.page.locator("fieldset.form input[type=file]")
    await alice.press("提交")
    await expect(alice.page.get_by_text("请填写“收据”。")).to_be_visible()
    await field.set_input_files(PROGRAM)
    await expect(alice.page.get_by_text("只收 PDF、图片，和 OFD、XML 格式的发票。")).to_be_visible()
    await field.set_input_files(RECEIPT)
    await expect(alice.page.get_by_text("只收 PDF、图片，和 OFD、XML 格式的发票。")).to_be_hidden()
    await alice.press("提交")
    await alice.hears("已提交给")
    await expect(alice.log.locator(".user p").last).to_have_text("收据: 打车.png")
    bob = await (await door.visitor(house)).come("陈博 Bob")
    await bob.go("待我审批")
    card = await bob.opened("看收据")
    async with bob.page.expect_download() as saving:
        await card.get_by_role("link", name="打车.png").click()
    assert (await saving.value).suggested_filename == "打车.png"
    await expect(card.get_by_role("img", name="打车.png")).to_be_visible()
    await card.get_by_role("button", name="同意").click()
    await alice.hears("收下了。")


@pytest.mark.slow
async def test_what_is_attached_or_typed_waits_where_it_was_until_something_takes_it(
    house: Served, door: Door
) -> None:
    # Who signs out in the middle of things may have one more look at them under way.
    alice = await door.visitor(house, forgives=("status of 401",))
    await alice.come("王丽 Alice")
    chips, hint = alice.page.locator(".attachments li"), alice.page.locator(".tray .hint")
    picked = alice.page.locator(".composer input[type=file]").first
    await picked.set_input_files([PROGRAM])
    await expect(alice.page.get_by_role("alert")).to_have_text(
        "只收 PDF、图片，和 OFD、XML 格式的发票。"
    )
    await expect(chips).to_have_count(0)
    await picked.set_input_files([RECEIPT])
    await transfer(alice, "drop", ".chat", "dropped.png")
    await transfer(alice, "paste", ".composer textarea", "pasted.png")
    await expect(chips).to_contain_text(["打车.png", "dropped.png", "pasted.png"])
    await alice.page.get_by_role("button", name="移除: dropped.png").click()
    assert await alice.page.evaluate(KEPT) == [["打车.png", "pasted.png"]]
    await alice.page.reload()
    await expect(chips).to_contain_text(["打车.png", "pasted.png"])
    await expect(hint).to_contain_text("随下一条消息发出")
    await alice.say("你好")
    await alice.hears("“打车.png”、“pasted.png”还没有交到任何地方")
    await expect(hint).to_contain_text("还没有用上")
    await expect(chips).to_contain_text(["打车.png", "pasted.png"])
    await alice.page.reload()
    await expect(chips).to_contain_text(["打车.png", "pasted.png"])
    await alice.box.fill("稍等")
    await alice.page.get_by_role("link", name="新对话").click()
    await expect(alice.box).to_be_empty()
    await expect(chips).to_have_count(0)
    await alice.page.go_back()
    await alice.page.get_by_role("button", name="EN").click()
    await expect(alice.box).to_have_value("稍等")
    await expect(chips).to_contain_text(["打车.png", "pasted.png"])
    await alice.say("我要交收据")
    await alice.hears("已提交给")
    await expect(chips).to_have_count(1)
    await expect(chips).to_contain_text(["pasted.png"])
    await alice.page.get_by_role("button", name="Sign out").click()
    await alice.page.get_by_role("button", name="王丽 Alice").click()
    await expect(alice.box).to_be_empty()


@pytest.mark.slow
async def test_a_form_that_asks_for_a_file_takes_the_first_that_waits(
    house: Served, door: Door
) -> None:
    alice = await (await door.visitor(house)).come("王丽 Alice")
    await alice.say("我要交收据")
    field = alice.page.locator("fieldset.form input[type=file]")
    await expect(field).to_be_visible()
    await transfer(alice, "drop", ".chat", "打车.png")
    await transfer(alice, "drop", ".chat", "又一张.png")
    assert await field.evaluate(HELD) == ["打车.png"]
    await expect(alice.page.locator(".attachments li")).to_contain_text(["又一张.png"])
    await alice.press("提交")
    await alice.hears("已提交给")
    await expect(alice.page.locator(".attachments li")).to_contain_text(["又一张.png"])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.slow)])
async def test_a_picture_dropped_while_a_date_is_asked_is_the_receipt_for_both(
    house: Served, door: Door, width: int
) -> None:
    size = {"width": width, "height": 820}
    alice = await (await door.visitor(house, viewport=size)).come("王丽 Alice")
    await alice.say("报车费")
    await alice.hears("哪天？")
    await transfer(alice, "drop", ".chat", "打车.png")
    await alice.page.get_by_role("button", name="发送").click()
    await alice.hears("已附上 收据：打车.png。")
    await expect(alice.answers.last).to_contain_text("哪天？")
    mine = alice.log.locator(".user .files")
    await expect(mine.get_by_role("img", name="打车.png")).to_be_visible()
    await expect(alice.log.locator(".user").last.locator("p")).to_have_count(0)
    await alice.page.reload()
    await expect(mine.get_by_role("link", name="打车.png")).to_be_visible()
    assert (await alice.violations(), await alice.overflow()) == ([], 0)
    await alice.say("12月7日")
    await alice.hears("已提交给")
    bob = await (await door.visitor(house, viewport=size)).come("陈博 Bob")
    await alice.page.goto(f"{alice.origin}/#/requests")
    await alice.page.locator(".cards summary", has_text="内容").first.click()
    await bob.page.goto(f"{bob.origin}/#/approvals")
    waits, asked = await bob.opened("看收据"), alice.page.locator(".cards > .card").first
    for visitor, card in ((alice, asked), (bob, waits)):
        look = card.get_by_role("button", name="打车.png")
        await look.scroll_into_view_if_needed()
        await expect(card.get_by_role("img", name="打车.png")).to_be_visible()
        small = await look.bounding_box()
        await look.focus()
        await visitor.page.keyboard.press("Enter")
        await expect(look).to_have_attribute("aria-expanded", "true")
        large = await look.bounding_box()
        assert small is not None
        assert large is not None
        assert min(small["width"], small["height"]) >= 44
        assert large["width"] > small["width"]
        assert (await visitor.violations(), await visitor.overflow()) == ([], 0)


@pytest.mark.slow
async def test_a_file_on_its_way_when_the_page_is_left_arrives_once(
    house: Served, door: Door
) -> None:
    alice = await (await door.visitor(house, forgives=LOST_CONNECTION)).come("王丽 Alice")
    await alice.say("报车费")
    await alice.hears("哪天？")
    await house.stop()
    await transfer(alice, "drop", ".chat", "打车.png")
    await alice.box.press("Enter")
    await expect(alice.log.locator(".user.pending")).to_contain_text("打车.png")
    await house.start()
    await alice.page.reload()
    await alice.hears("已附上 收据：打车.png。")
    await expect(alice.log.locator(".user .files")).to_have_count(1)
    await expect(alice.page.locator(".attachments li")).to_have_count(0)
