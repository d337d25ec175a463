"""The page of a real API, and people at it with browsers of their own."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    async_playwright,
    expect,
)
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.data_folder import page_token
from router.runtime.server import ApiServer, Ports, api_server
from router.store.store import Store

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
"""Debian's own: nothing is downloaded. None where this machine has none."""
REQUIRED = "ROUTER_TESTS_REQUIRE_BROWSER"
"""Where this is set, as on CI, a machine without a browser fails the tests."""
WITHIN = 60_000
"""Milliseconds for whatever is waited for."""
NARROW = {"width": 360, "height": 740}
PHONE = {"width": 390, "height": 780}
WIDE = {"width": 1280, "height": 820}
SERIOUS = {"serious", "critical"}
LOST_CONNECTION = ("ERR_CONNECTION_", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")

expect.set_options(timeout=WITHIN)

QUEUE = "page"
"""The task queue of the house that these tests share."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without a window."""
    if CHROMIUM is None:
        why = "there is no Chromium on this machine: apt-get install chromium"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{why} ({REQUIRED} is set)")
        pytest.skip(f"THE PAGE WAS NOT TESTED: {why}")
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        await browser.close()


class Served:
    """An API at an address that stays the same when it is stopped and started again."""

    def __init__(self, parts: Parts, temporal: Client, queue: str, **settings: Any) -> None:
        changed = parts.settings.model_copy(update={"task_queue": queue, **settings})
        self._parts = replace(parts, settings=changed)
        self._temporal = temporal
        self._server: ApiServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = 0

    @property
    def store(self) -> Store:
        """What is kept there, for what only many people's days would have left in it."""
        return self._parts.store

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def printed(self) -> str:
        """The address that lets a browser in, as `dev` prints it."""
        return Ports(self.port).page_url(page_token(self._parts.settings.data))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        listening = socket.create_server(("127.0.0.1", self.port))
        self.port = listening.getsockname()[1]
        self._server = api_server(self._parts, self._temporal)
        self._serving = asyncio.create_task(self._server.serve([listening]))

    async def stop(self) -> None:
        if self._server is None or self._serving is None:
            return
        self._server.stop()
        await self._serving
        self._server = self._serving = None


@dataclass
class Visitor:
    """A person at the page, and whatever the browser had to complain of meanwhile."""

    page: Page
    origin: str
    others: tuple[str, ...] = ()
    """Further origins that the page may ask."""
    forgives: tuple[str, ...] = ()
    """What may be complained of, in words that are part of it."""
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> Self:
        page = self.page
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._complain(True, str(error)))
        page.on("request", lambda request: self._foreign(request.url))
        return self

    def _hear(self, message: ConsoleMessage) -> None:
        where = message.location["url"]
        self._complain(message.type in {"error", "warning"}, f"{message.text} ({where})")

    def _complain(self, counts: bool, text: str) -> None:
        if counts and not any(words in text for words in self.forgives):
            self.complaints.append(text)

    def _foreign(self, url: str) -> None:
        if not url.startswith((self.origin, "blob:", "data:", *self.others)):
            self.complaints.append(f"asked {url}")

    async def come(self, name: str | None = None, at: str = "/") -> Self:
        """Open the page, and sign in as somebody of the sample."""
        await self.page.goto(f"{self.origin}{at}")
        if name is not None:
            await self.page.get_by_role("button", name=name).click()
            await expect(self.box).to_be_visible()
        return self

    @property
    def box(self) -> Locator:
        return self.page.locator(".composer textarea")

    @property
    def log(self) -> Locator:
        return self.page.locator(".log")

    @property
    def answers(self) -> Locator:
        """What is answered, without what is still on its way."""
        return self.page.locator(".log > .bot:not(.pending)")

    async def say(self, text: str) -> None:
        await self.box.fill(text)
        await self.box.press("Enter")

    async def press(self, name: str) -> None:
        await self.page.get_by_role("button", name=name, exact=True).last.click()

    async def go(self, section: str) -> None:
        await self.page.get_by_role("link", name=section).click()

    async def hears(self, text: str) -> None:
        await expect(self.answers.filter(has_text=text).last).to_be_visible()

    def card(self, text: str) -> Locator:
        """What waits under this name, or is listed; what was decided here isn't any more."""
        return self.page.locator(".cards > .card:not(.settled)").filter(has_text=text)

    async def opened(self, text: str) -> Locator:
        """The card of this name, open; where several have it, the last of them."""
        card = self.card(text).last
        opener = card.locator(".opener")
        if await opener.get_attribute("aria-expanded") == "false":
            await opener.click()
        return card

    async def violations(self) -> list[str]:
        """What a checker of accessibility finds serious, as `rule: the first elements`."""
        found = await Axe().run(self.page)
        return [
            f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in found.response["violations"]
            if one["impact"] in SERIOUS
        ]

    async def overflow(self) -> int:
        """Pixels by which the page is wider than the screen."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(await self.page.evaluate(script))


class Caller:
    """Somebody with no page open, for what has to be there before one is looked at."""

    def __init__(self, served: Served, person: str) -> None:
        self.http = httpx.AsyncClient(
            base_url=served.origin, headers={"Authorization": f"Bearer {person}"}, timeout=60
        )

    async def asks_for_leave(self, words: str) -> str:
        """A request that waits for approval; the conversation's id."""
        async with self.http as http:
            conversation: str = (await http.post("/v1/conversations")).json()["id"]
            path = f"/v1/conversations/{conversation}/messages"
            asked = (await http.post(path, json={"text": words})).json()["replies"][-1]["question"]
            yes = {"type": "confirm", "value": True, "question": asked}
            done = await http.post(path, json={"action": yes})
        assert done.json()["flow"]["status"] == "waiting_approval", done.text
        return conversation


@dataclass
class Door:
    """Where people come in."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    visitors: list[Visitor] = field(default_factory=list)

    async def visitor(self, served: Served | str, **options: Any) -> Visitor:
        """Somebody with a browser of their own, in front of an empty page."""
        origin = served if isinstance(served, str) else served.origin
        mine = {key: options.pop(key) for key in ("others", "forgives") if key in options}
        chosen = {
            "locale": "zh-CN",
            "viewport": WIDE,
            "color_scheme": "light",
            "reduced_motion": "reduce",
            "timezone_id": "Asia/Shanghai",
        }
        context = await self.browser.new_context(**{**chosen, **options})
        self.contexts.append(context)
        context.set_default_timeout(WITHIN)
        if isinstance(served, Served):
            await context.request.get(served.printed)
        visitor = Visitor(await context.new_page(), origin, **mine).watch()
        self.visitors.append(visitor)
        return visitor

    async def close(self) -> Sequence[str]:
        """Everybody leaves; what their browsers complained of."""
        for context in self.contexts:
            await context.close()
        return [complaint for visitor in self.visitors for complaint in visitor.complaints]
