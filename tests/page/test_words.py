"""What people and models write is shown as text, however it looks."""

import asyncio
from datetime import UTC, datetime

from playwright.async_api import expect

from router.domain.principals import DEFAULT_TENANT
from router.domain.records import LogEntry
from router.runtime.composition import Parts
from tests.page.house import Caller, Door, Served, Visitor

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>document.title='owned'</script>",
    "[here](javascript:alert(1)) javascript:alert(1)",
    "data:text/html,<b>x</b> //evil.example vbscript:x",
    "**<b>bold</b>** `</code><i>x</i>`",
    "```\n<svg onload=alert(1)>\n```",
    "1. <u>one</u>\n2. &lt;two&gt;",
    "\u202egnp.exe\u202c \u0000".replace("\u0000", ""),
]


async def told(parts: Parts, conversation: str, text: str) -> None:
    """Have the router say it, unasked."""
    at = datetime.now(UTC)
    said = LogEntry(
        key=f"{conversation}:{at}",
        kind="message",
        at=at,
        conversation=conversation,
        recipient="gina",
        data={"role": "assistant", "text": text, "replies": [{"type": "text", "text": text}]},
    )
    await parts.store.log.append(DEFAULT_TENANT, [said])


async def at_a_conversation(door: Door, served: Served, parts: Parts) -> tuple[Visitor, str]:
    gina = Caller(served, "gina")
    conversation: str = (await gina.http.post("/v1/conversations")).json()["id"]
    await gina.http.aclose()
    await told(parts, conversation, "开始")
    visitor = await door.visitor(served)
    await visitor.come("吉娜 Gina", at=f"/#/c/{conversation}")
    await visitor.hears("开始")
    return visitor, conversation


async def test_what_looks_like_markup_is_text_and_leads_nowhere(
    door: Door, served: Served, parts: Parts
) -> None:
    gina, conversation = await at_a_conversation(door, served, parts)
    dialogs: list[str] = []
    gina.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for number, text in enumerate(HOSTILE):
        await told(parts, conversation, f"{text}\n\n第{number}条")
        await gina.hears(f"第{number}条")
    made = await gina.log.evaluate(
        "log => [...log.querySelectorAll('img, script, svg, b, i, u, a')].map(one => one.outerHTML)"
    )
    assert made == []
    assert dialogs == []
    assert await gina.page.title() != "owned"
    await expect(gina.log).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(gina.log).to_contain_text("<script>document.title='owned'</script>")


ADDRESSES = {
    "见 https://docs.example/a?b=1。": "https://docs.example/a?b=1",
    "see (http://docs.example/x)": "http://docs.example/x",
    "见“https://docs.example/中文”": "https://docs.example/%E4%B8%AD%E6%96%87",
}


async def test_an_address_in_a_text_can_be_followed(
    door: Door, served: Served, parts: Parts
) -> None:
    gina, conversation = await at_a_conversation(door, served, parts)
    for text, address in ADDRESSES.items():
        await told(parts, conversation, text)
        link = gina.answers.filter(has_text=text).locator("a")
        await expect(link, text).to_have_count(1)
        assert await link.evaluate("one => one.href") == address
        assert await link.get_attribute("rel") == "noopener noreferrer"


async def test_news_elsewhere_are_marked_until_they_are_looked_at(
    door: Door, served: Served, parts: Parts
) -> None:
    gina, elsewhere = await at_a_conversation(door, served, parts)
    await gina.page.get_by_role("link", name="新对话").click()
    entry = gina.page.locator(f'.conversations a[data-id="{elsewhere}"]')
    await expect(entry).to_contain_text("开始")
    await asyncio.gather(told(parts, elsewhere, "批准了"), told(parts, elsewhere, "已经登记"))
    await expect(entry).to_contain_text("有新消息")
    await expect(gina.page.locator(".conversations a").first).to_have_attribute(
        "data-id", elsewhere
    )
    await entry.click()
    await gina.hears("已经登记")
    await expect(entry).not_to_contain_text("有新消息")
