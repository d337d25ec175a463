"""The desk within a page of the company's own: another origin, a strict policy, one line."""

import asyncio
import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import pytest
from playwright.async_api import Page, expect
from temporalio.client import Client

from router.api.routes.page import WEB
from router.runtime.composition import Parts
from tests.page.house import QUEUE, Door, Served, Visitor

MOST_BYTES = 40 * 1024
PARTS = ("portal.js", "dom.js", "events.js", "fields.js", "markdown.js", "wire.js")


class Portal:
    """A page of somebody else's, with a policy that lets in what docs/portal.md says."""

    def __init__(self, desk: str = "", tokens: str = "alice alice") -> None:
        self.desk = desk
        self.tokens = tokens
        """The first that it gives, and all that it gives after."""
        self._server: asyncio.Server | None = None
        self.origin = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.origin = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    def _page(self) -> str:
        line = f'<script type="module" src="{self.desk}/web/portal.js" data-token="deskToken">'
        return (
            '<!doctype html><html lang="en"><title>Portal</title><link rel="icon" href="data:,">'
            f'<script src="/token.js"></script><main><h1>Our company</h1></main>{line}</script>'
        )

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        script = head.startswith("GET /token.js")
        names = f"(({json.dumps(self.tokens)}).split(' ')[Math.min(window.asked++, 1)])"
        body = (
            f"window.asked = 0; window.deskToken = async () => {names};" if script else self._page()
        )
        policy = (
            f"default-src 'none'; script-src 'self' {self.desk}; connect-src {self.desk}; "
            "img-src data:; style-src 'none'"
        )
        kind = "text/javascript" if script else "text/html"
        lines = [
            f"HTTP/1.1 {HTTPStatus.OK} OK",
            f"Content-Type: {kind}; charset=utf-8",
            f"Content-Security-Policy: {policy}",
            f"Content-Length: {len(body.encode())}",
            "Connection: close",
        ]
        writer.write("\r\n".join([*lines, "", body]).encode())
        await writer.drain()
        writer.close()


@pytest.fixture
async def portal(
    served: Served, parts: Parts, real_client: Client
) -> AsyncIterator[tuple[Portal, Served]]:
    """A portal, and the desk that lets pages of it in."""
    async with (
        Portal() as portal,
        Served(parts, real_client, QUEUE, portal_origins=[portal.origin]) as desk,
    ):
        portal.desk = desk.origin
        yield portal, desk


async def opened(door: Door, portal: Portal, desk: Served, **more: Any) -> Page:
    visitor: Visitor = await door.visitor(desk, **more)
    visitor.others = (portal.origin,)
    await visitor.page.goto(portal.origin)
    return visitor.page


@pytest.mark.slow
async def test_a_leave_is_asked_for_by_the_keyboard_alone_within_a_strict_page(
    portal: tuple[Portal, Served], door: Door
) -> None:
    page = await opened(door, *portal)
    launch = page.get_by_role("button", name="Open the desk")
    await launch.focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Desk")
    await expect(dialog.get_by_role("textbox", name="Message")).to_be_focused()
    await page.keyboard.type("I'd like annual leave from March 3 to March 4, 2027, family matters")
    await page.keyboard.press("Enter")
    yes = dialog.get_by_role("button", name="Submit request")
    await expect(dialog.get_by_role("log")).to_contain_text("2027")
    await expect(yes.or_(dialog.locator("button.primary")).first).to_be_visible()
    await dialog.locator("fieldset button.primary").last.focus()
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("log")).to_contain_text("approv", ignore_case=True)

    await page.keyboard.press("Escape")
    await expect(launch).to_be_focused()
    await page.reload()
    await page.get_by_role("button", name="Open the desk").click()
    await expect(page.get_by_role("log")).to_contain_text("family matters")


@pytest.mark.slow
async def test_a_token_that_is_refused_is_asked_for_once_more(
    portal: tuple[Portal, Served], door: Door
) -> None:
    portal[0].tokens = "nobody alice"
    page = await opened(door, *portal, forgives=("status of 401",))
    await page.get_by_role("button", name="Open the desk").click()
    await page.get_by_role("textbox", name="Message").fill("你好")
    await page.keyboard.press("Enter")
    await expect(page.locator("li.bot").first).to_be_visible()
    assert await page.evaluate("window.asked") >= 2


async def test_a_page_of_another_origin_gets_nothing(
    portal: tuple[Portal, Served], served: Served, door: Door
) -> None:
    async with Portal(portal[1].origin) as stranger:
        page = await opened(door, stranger, portal[1], forgives=("CORS", "ERR_FAILED", "403"))
        await expect(page.get_by_role("heading", name="Our company")).to_be_visible()
        await page.wait_for_load_state("networkidle")
        await expect(page.get_by_role("button", name="Open the desk")).to_have_count(0)


@pytest.mark.slow
async def test_what_the_portal_shows_can_be_used_by_everyone(
    portal: tuple[Portal, Served], door: Door
) -> None:
    visitor = await door.visitor(portal[1])
    visitor.others = (portal[0].origin,)
    await visitor.page.goto(portal[0].origin)
    await visitor.page.get_by_role("button", name="Open the desk").click()
    await visitor.page.get_by_role("textbox", name="Message").fill("How much leave do I have?")
    await visitor.page.keyboard.press("Enter")
    await expect(visitor.page.locator("li.bot").first).to_be_visible()
    assert await visitor.violations() == []


def test_all_of_it_has_forty_kib_at_most() -> None:
    imported = {
        line.rpartition("./")[2].rstrip('";')
        for name in PARTS
        for line in Path(WEB / name).read_text("utf-8").splitlines()
        if line.startswith("import ")
    }
    assert imported <= {*PARTS}
    assert sum((WEB / name).stat().st_size for name in PARTS) <= MOST_BYTES
