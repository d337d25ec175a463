"""How chat platforms deliver events: again, while the desk isn't sure that it has taken one in."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx

from tests.waiting import HANGS_AFTER_S


async def delivered(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Return the first answer that isn't 503: a busy machine says that within seconds."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while (answer := await send()).status_code == 503:
            pass
        return answer
