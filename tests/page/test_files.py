"""Receipts: picked, dropped or pasted, shown before they go, and read by who decides."""

import base64
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import FilePayload, expect
from temporalio.client import Client

from router.assembly import Parts
from router.flow.model import FlowDefinition
from router.worker import build_worker
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


async def test_a_receipt_is_handed_in_and_looked_at_by_who_decides(
    house: Served, door: Door
) -> None:
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


async def test_files_that_come_before_they_are_asked_for_wait_beside_the_words(
    house: Served, door: Door
) -> None:
    alice = await (await door.visitor(house)).come("王丽 Alice")
    chips = alice.page.locator(".attachments li")
    await alice.page.locator(".composer input[type=file]").first.set_input_files([RECEIPT])
    await transfer(alice, "drop", ".chat", "dropped.png")
    await transfer(alice, "paste", ".composer textarea", "pasted.png")
    await expect(chips).to_contain_text(["打车.png", "dropped.png", "pasted.png"])
    await alice.page.get_by_role("button", name="移除: dropped.png").click()
    await expect(chips).to_have_count(2)

    await alice.say("我要交收据")

    held = "one => [...one.files].map((file) => file.name)"
    field = alice.page.locator("fieldset.form input[type=file]")
    await expect(field).to_be_visible()
    assert await field.evaluate(held) == ["打车.png"]
    await expect(chips).to_contain_text(["pasted.png"])


async def test_what_no_flow_can_take_is_refused_at_once(house: Served, door: Door) -> None:
    alice = await (await door.visitor(house)).come("王丽 Alice")
    await alice.page.locator(".composer input[type=file]").first.set_input_files([PROGRAM])
    await expect(alice.page.get_by_role("alert")).to_have_text("只收 PDF 和图片。")
    await expect(alice.page.locator(".attachments")).to_be_hidden()
