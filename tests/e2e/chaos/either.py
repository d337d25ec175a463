"""Any of several servers that are one to their clients, as behind a balancer without memory."""

import random
from collections.abc import Sequence

import httpx

ANY = "http://any"
"""The address of whichever it is; what comes next may go to another."""


class Either(httpx.AsyncBaseTransport):
    """Sends each request to one of the servers at these URLs, chosen at random.

    >>> httpx.AsyncClient(base_url=ANY, transport=Either([first, second], draws))  # doctest: +SKIP
    """

    def __init__(self, urls: Sequence[str], draws: random.Random) -> None:
        self._urls = [httpx.URL(url) for url in urls]
        self._draws = draws
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._transport = httpx.AsyncHTTPTransport(trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        chosen = self._draws.choice(self._urls)
        request.url = request.url.copy_with(host=chosen.host, port=chosen.port)
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()
