"""Receipts: picked, dropped or pasted, shown before they go, and read by who decides."""

import base64
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import FilePayload, expect
from temporalio.client import Client

from router.flow.definition import FlowDefinition
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.page.house import Door, Served, Visitor
from tests.workflow.tooled import furnished

QUEUE = "page files"
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RECEIPT: FilePayload = {"name": "打车.png", "mimeType": "image/png", "buffer": DOT}
PROGRAM: FilePayload = {"name": "run.exe", "mimeType": "application/x-msdownload", "buffer": b"MZ"}
HAND_IN = FlowDefinition.model_validate(
    {
        "flow": "hand_in",
        "title": {"zh": "交收据", "en": "Hand in"},
        "description": {"zh": "交一张收据", "en": "Hand in a receipt"},
        "triggers": {"patterns": ["交收据"], "examples": ["我要交收据"]},
        "slots": {
            "receipt": {
                "type": "file",
                "label": {"zh": "收据", "en": "Receipt"},
                "ask": {"zh": "收据呢？", "en": "The receipt?"},
            }
        },
        "start": "details",
        "states": {
            "details": {"collect": ["receipt"], "next": "look"},
            "look": {
                "approve": {"by": "manager(requester)", "title": {"zh": "看收据", "en": "Look"}},
                "approved": "told",
                "rejected": "told",
                "returned": "details",
            },
            "told": {"say": {"zh": "收下了。", "en": "Taken."}, "end": "completed"},
        },
    }
)
HELD = "one => [...one.files].map((file) => file.name)"
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
        furnished(parts, [], flows=[HAND_IN]) as house,
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
    await expect(alice.page.get_by_text("只收 PDF 和图片。")).to_be_visible()
    await field.set_input_files(RECEIPT)
    await expect(alice.page.get_by_text("只收 PDF 和图片。")).to_be_hidden()
    await alice.press("提交")
    await alice.hears("已提交给")
    await expect(alice.log.locator(".user p").last).to_have_text("收据: 打车.png")
    bob = await (await door.visitor(house)).come("陈博 Bob")
    await bob.go("待我审批")
    card = bob.card("看收据")
    async with bob.page.expect_download() as saving:
        await card.get_by_role("link", name="打车.png").click()
    assert (await saving.value).suggested_filename == "打车.png"
    await card.get_by_role("button", name="内容: 打车.png").click()
    await expect(card.get_by_role("img", name="打车.png")).to_be_visible()
    await card.get_by_role("button", name="同意").click()
    await alice.hears("收下了。")


async def test_what_is_attached_or_typed_waits_where_it_was_until_something_takes_it(
    house: Served, door: Door
) -> None:
    # Who signs out in the middle of things may have one more look at them under way.
    alice = await door.visitor(house, forgives=("status of 401",))
    await alice.come("王丽 Alice")
    chips, hint = alice.page.locator(".attachments li"), alice.page.locator(".tray .hint")
    picked = alice.page.locator(".composer input[type=file]").first
    await picked.set_input_files([PROGRAM])
    await expect(alice.page.get_by_role("alert")).to_have_text("只收 PDF 和图片。")
    await expect(chips).to_have_count(0)
    await picked.set_input_files([RECEIPT])
    await transfer(alice, "drop", ".chat", "dropped.png")
    await transfer(alice, "paste", ".composer textarea", "pasted.png")
    await expect(chips).to_contain_text(["打车.png", "dropped.png", "pasted.png"])
    await alice.page.get_by_role("button", name="移除: dropped.png").click()
    await alice.page.reload()
    await expect(chips).to_contain_text(["打车.png", "pasted.png"])
    await expect(hint).to_have_text("需要文件时会自动带上")
    await alice.say("你好")
    await expect(alice.answers).to_have_count(1)
    await expect(hint).to_contain_text("现在没有要文件的地方")
    await alice.say("我要交收据")
    field = alice.page.locator("fieldset.form input[type=file]")
    await expect(chips).to_contain_text(["pasted.png"])
    assert await field.evaluate(HELD) == ["打车.png"]
    await alice.box.fill("稍等")
    await alice.page.get_by_role("link", name="新对话").click()
    await expect(alice.box).to_be_empty()
    await expect(chips).to_have_count(0)
    await alice.page.go_back()
    await alice.page.get_by_role("button", name="EN").click()
    await expect(alice.box).to_have_value("稍等")
    await expect(chips).to_contain_text(["pasted.png"])
    assert await field.evaluate(HELD) == ["打车.png"]
    await alice.page.get_by_role("button", name="Sign out").click()
    await alice.page.get_by_role("button", name="王丽 Alice").click()
    await expect(alice.box).to_be_empty()
