"""Waiting until what was started answers."""

import asyncio
from collections.abc import AsyncIterator

import httpx
from temporalio.client import Client

from router.api.temporal import connect
from router.dev.observed import Observed
from router.dev.ports import Ports
from router.domain.errors import Unavailable
from router.settings import Settings

PATIENCE = 60.0
"""Seconds, for a slow machine or a large migration; what has failed is noticed at once."""
INTERVAL = 0.05


async def temporal(settings: Settings, seen: Observed) -> Client:
    """A client of the server, as soon as it takes one."""
    async for _ in _tries():
        try:
            return await connect(settings, seen.plugins, seen.runtime)
        except Unavailable:
            continue
    raise Unavailable(f"Temporal didn't answer at {settings.temporal_address} in {PATIENCE:.0f} s")


async def everything(ports: Ports) -> None:
    """Return as soon as API and Temporal UI answer, and the API says that its parts work.

    Raises:
        Unavailable: they still don't after `PATIENCE`.
    """
    await asyncio.gather(success(f"{ports.api_url}/readyz"), success(ports.ui_url))


async def success(url: str) -> None:
    """Return as soon as the address answers with success.

    Raises:
        Unavailable: it still doesn't after `PATIENCE`.
    """
    last = "nothing"
    async with _browser() as browser:
        async for _ in _tries():
            answer = await _got(browser, url)
            if answer is not None and answer.is_success:
                return
            last = answer.text if answer is not None else last
    raise Unavailable(f"{url} wasn't ready in {PATIENCE:.0f} s; it last said {last}")


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
