"""The REST API as its clients on the command line call it, each on behalf of one person."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
)
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from pydantic import JsonValue, TypeAdapter, ValidationError

from router.cli.options import api_url
from router.domain.errors import MisconfiguredError, RouterError, Unavailable
from router.domain.loopback import may_be_proxied

SECONDS = 90.0
"""How long an answer is waited for, or the next of a stream's events."""
CONNECTED_WITHIN = 5.0
EVENTS = "text/event-stream"

T = TypeVar("T")

_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


class RestRefused(RouterError):
    """The API said no; says why."""

    def __init__(self, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.status = status


@dataclass(frozen=True)
class ServerSentEvent:
    """A server-sent event: its name, its data, and where it stands in what can be resumed."""

    name: str
    data: dict[str, Any]
    id: str | None = None

    @property
    def row(self) -> str:
        """The row of the event log that it is of; events of one row belong together."""
        return (self.id or "").partition(".")[0]


class Rest:
    """A person at the API; `RestRefused` has its reason, `Unavailable`: it isn't there."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        timeout = httpx2.Timeout(SECONDS, connect=CONNECTED_WITHIN)
        headers = {"Authorization": f"Bearer {token}"}
        try:
            self._http = httpx2.AsyncClient(
                base_url=url, headers=headers, timeout=timeout, trust_env=may_be_proxied(url)
            )
        except (ImportError, ValueError) as error:
            raise MisconfiguredError(
                f"the API at {url} can't be reached through the proxy that the environment names "
                f"in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: {str(error).partition('. ')[0]}; name "
                "one that begins with http://, or unset it"
            ) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        """What is there."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self._answer(self._http.build_request("GET", path, params=given))

    async def text(self, path: str, **query: Any) -> str:
        """What is there, where that isn't JSON."""
        given = {name: value for name, value in query.items() if value is not None}
        return (await self._sent(self._http.build_request("GET", path, params=given))).text

    async def post(self, path: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
        """What came of it."""
        return await self._answer(self._http.build_request("POST", path, json=body, params=query))

    async def put(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """What is there by now."""
        made = self._http.build_request("PUT", path, json=body, headers=dict(headers or {}))
        return await self._answer(made)

    async def delete(self, path: str) -> dict[str, Any]:
        """What is left of it, if anything."""
        response = await self._sent(self._http.build_request("DELETE", path))
        with self._reachable():
            return _OBJECT.validate_json(response.content or b"{}")

    async def upload(self, path: str, name: str, content: bytes) -> dict[str, Any]:
        """What a file was taken in as."""
        files = {"file": (name, content)}
        return await self._answer(self._http.build_request("POST", path, files=files))

    async def events(
        self, method: str, path: str, body: dict[str, JsonValue] | None = None, after: str = ""
    ) -> AsyncGenerator[ServerSentEvent]:
        """The events of a stream until it ends; `after` is the id of the last one seen before."""
        headers = {"Accept": EVENTS} | ({"Last-Event-ID": after} if after else {})
        with self._reachable():
            streaming = self._http.stream(method, path, json=body, headers=headers)
            async with streaming as response:
                if response.is_error:
                    await response.aread()
                    raise self._refusal(response)
                async for event in events_of(response.aiter_lines()):
                    yield event

    async def _answer(self, request: httpx2.Request) -> dict[str, Any]:
        response = await self._sent(request)
        with self._reachable():
            return _OBJECT.validate_json(response.content)

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        with self._reachable():
            response = await self._http.send(request)
            if response.is_error:
                raise self._refusal(response)
            return response

    def _refusal(self, response: httpx2.Response) -> RestRefused:
        return RestRefused(reason(_OBJECT.validate_json(response.content)), response.status_code)

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except httpx2.ReadTimeout:
            raise Unavailable(f"the API at {self._url} doesn't answer in time: ask again") from None
        except (httpx2.HTTPError, ValidationError):
            raise Unavailable(
                f"no API answers at {self._url}: start `intent-router dev`, or name another with "
                "--url"
            ) from None


async def events_of(lines: AsyncIterator[str]) -> AsyncIterator[ServerSentEvent]:
    """The events that these lines are; one that the connection was lost in is none."""
    fields: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            data = _OBJECT.validate_json(fields["data"])
            yield ServerSentEvent(fields.get("event", "message"), data, fields.get("id"))
            fields = {}


def reason(problem: dict[str, Any]) -> str:
    """What a problem of RFC 9457 says, with the fields at fault as far as it doesn't say so.

    >>> fault = {"field": "text", "detail": "it is empty"}
    >>> reason({"detail": "text: it is empty.", "errors": [fault]})
    'text: it is empty.'
    >>> reason({"detail": "It can't be read", "errors": [fault]})
    "It can't be read (text it is empty)"
    """
    said = str(problem.get("detail") or problem.get("title") or "it refuses")
    faults = [each for each in problem.get("errors") or [] if str(each.get("detail")) not in said]
    fields = [f"{each.get('field')} {each.get('detail')}" for each in faults]
    return f"{said} ({'; '.join(fields)})" if fields else said


async def asked(url: str | None, token: str, question: Callable[[Rest], Awaitable[T]]) -> T:
    """What one person's question of the API comes to; without a `url`, of the one that is here."""
    async with aclosing(Rest(api_url(url), token)) as rest:
        return await question(rest)
