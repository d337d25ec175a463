"""A model server that JSON is posted to, without a library of its provider."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from router.llm.stream import HttpAnswer


@dataclass(frozen=True)
class HttpServer:
    """A server, and what goes along with each request to it."""

    carrier: httpx2.AsyncClient
    base_url: str
    headers: Mapping[str, str] = field(repr=False)

    def request(
        self, url: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> httpx2.Request:
        """Return the request that posts the body; raises what a body or an address can't be."""
        return self.carrier.build_request(
            "POST", url, json=body, headers={**self.headers, **headers}
        )

    @asynccontextmanager
    async def send(self, request: httpx2.Request) -> AsyncIterator[HttpAnswer]:
        """Send a request, whose answer is read within the block.

        Raises:
            StatusAnswer: The server refuses it.
            httpx2.HTTPError: The server isn't there, or breaks off.
        """
        response = await self.carrier.send(request, stream=True)
        try:
            yield HttpAnswer(response.headers, response.aiter_bytes())
        finally:
            await response.aclose()
