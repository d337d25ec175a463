"""Waiting until what was started answers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
from temporalio.client import Client

from router.api.temporal import connect
from router.domain.errors import Unavailable
from router.settings import Settings

PATIENCE = 30.0
"""Seconds; a slow machine that migrates a large database needs some."""
INTERVAL = 0.05


async def temporal(settings: Settings) -> Client:
    """A client of the server, as soon as it takes one."""
    async for _ in _tries():
        try:
            return await connect(settings)
        except Unavailable:
            continue
    raise Unavailable(f"Temporal didn't answer at {settings.temporal_address} in {PATIENCE:.0f} s")


async def page(url: str) -> None:
    """Return as soon as the page answers with success."""
    async with _browser() as browser:
        async for _ in _tries():
            answer = await _got(browser, url)
            if answer is not None and answer.is_success:
                return
    raise Unavailable(f"{url} didn't answer in {PATIENCE:.0f} s")


async def api(url: str) -> None:
    """Return as soon as the API says that everything behind it works, a model or not."""
    last: Any = "nothing"
    async with _browser() as browser:
        async for _ in _tries():
            answer = await _got(browser, f"{url}/readyz")
            if answer is not None and answer.is_success:
                return
            last = answer.text if answer is not None else last
    raise Unavailable(f"the API wasn't ready in {PATIENCE:.0f} s; it said {last}")


def _browser() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=5, follow_redirects=True, trust_env=False)


async def _got(browser: httpx.AsyncClient, url: str) -> httpx.Response | None:
    try:
        return await browser.get(url)
    except httpx.HTTPError:
        return None


async def _tries() -> AsyncIterator[None]:
    """One turn every `INTERVAL` until patience is over."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < deadline:
        yield
        await asyncio.sleep(INTERVAL)
