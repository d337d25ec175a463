"""The REST API as its clients on the command line call it, each on behalf of one person."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import httpx2
from pydantic import JsonValue, TypeAdapter

from router.cli.options import api_url
from router.client import AsyncClient, Retries
from router.client.exchange import NoAnswer, Request, Response, Subscription, answered, read
from router.client.responses import ApiEvent

T = TypeVar("T")

AT_ONCE = Retries(most=0)
"""Whoever sits there hears at once that nothing answers, and asks again themselves."""
_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


class Rest(AsyncClient):
    """The client, for what the command line shows as it comes: answers are JSON objects."""

    def __init__(self, url: str, token: str, *, retries: Retries = AT_ONCE) -> None:
        super().__init__(url, token, retries=retries)

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        """What is there."""
        return read(await self.asked(Request("GET", path, query)), _OBJECT)

    async def text(self, path: str, **query: Any) -> str:
        """What is there, where that isn't JSON."""
        return (await self.asked(Request("GET", path, query))).content.decode()

    async def post(self, path: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
        """What came of it."""
        return read(await self.asked(Request("POST", path, query, body)), _OBJECT)

    async def put(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """What is there by now."""
        request = Request("PUT", path, body=body, headers=headers or {})
        return read(await self.asked(request), _OBJECT)

    async def delete(self, path: str) -> dict[str, Any]:
        """What is left of it, if anything."""
        response = await self.asked(Request("DELETE", path))
        return read(response, _OBJECT) if response.content else {}

    def events(
        self, method: str, path: str, body: dict[str, JsonValue] | None = None, after: str = ""
    ) -> AsyncGenerator[ApiEvent]:
        """The events of a stream until it ends; `after` is the id of the last one seen before."""
        return self._events(Subscription(Request(method, path, body=body), self._retries, after))

    async def asked(self, request: Request) -> Response:
        """The answer; raises `Refused`, or `Unavailable`."""
        return await self._run(answered(request, self._retries))

    def _no_answer(self, error: Exception) -> NoAnswer:
        if isinstance(error, httpx2.ReadTimeout):
            return super()._no_answer(error)
        return NoAnswer(
            f"no API answers at {self._url}: start `intent-router dev`, or name another with --url"
        )


async def asked(url: str | None, token: str, question: Callable[[Rest], Awaitable[T]]) -> T:
    """What one person's question of the API comes to; without a `url`, of the one that is here."""
    async with aclosing(Rest(api_url(url), token)) as rest:
        return await question(rest)
