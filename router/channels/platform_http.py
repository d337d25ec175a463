"""What platforms that are asked over HTTP share: the client, and a token good for a while."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import httpx2

from router.domain.file_types import MOST_BYTES
from router.formats.http_body import PACKED, bounding

SECONDS = 10.0


def platform_client(
    base_url: str = "", headers: Mapping[str, str] | None = None
) -> httpx2.AsyncClient:
    """A client that reads no more than a file may have, and goes nowhere but where it is sent.

    An answer that is longer raises `router.formats.http_body.Unread`.
    """
    return httpx2.AsyncClient(
        base_url=base_url,
        timeout=SECONDS,
        headers={"Accept-Encoding": PACKED, **(headers or {})},
        # Where an address leads was looked at, and not where it would lead on to.
        follow_redirects=False,
        event_hooks={"response": [bounding(MOST_BYTES)]},
    )


class Grant(NamedTuple):
    """A token, and the seconds that it is good for."""

    token: str
    seconds: float


class AccessToken:
    """The token that a platform gives us, fetched when there is none that is good.

    Args:
        fetch: asks the platform for one; raises as `router.channels.base.Outbound`.
        early: seconds before its end at which it is fetched anew.

    Example:
        >>> async def fetch() -> Grant:
        ...     return Grant("t-1", 7200)
        >>> asyncio.run(AccessToken(fetch, early=300).current())
        't-1'
    """

    def __init__(self, fetch: Callable[[], Awaitable[Grant]], early: float) -> None:
        self._fetch = fetch
        self._early = early
        self._token = ""
        self._good_until = 0.0
        self._one_at_a_time = asyncio.Lock()

    async def current(self) -> str:
        """One that is good, as far as is known; raises as `fetch`."""
        async with self._one_at_a_time:
            if time.monotonic() >= self._good_until:
                self._token, seconds = await self._fetch()
                self._good_until = time.monotonic() + seconds - self._early
            return self._token

    def refuse(self, token: str) -> None:
        """The platform doesn't take this one any more: another is fetched, unless one was."""
        if token == self._token:
            self._good_until = 0.0
