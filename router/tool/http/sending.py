"""A request on its way and the answer on its way back, within bounds of time, size and place."""

import asyncio
import logging
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

import httpx

from router.domain.errors import PermanentToolError, TransientToolError, UnknownOutcome
from router.domain.texts import Localised
from router.telemetry.spans import outgoing
from router.tool.http.endpoint import Request
from router.tool.http.guard import Guard
from router.tool.http.origins import Origin, origin_of
from router.tool.http.transport import GuardedTransport, Resolver, system_resolver

MOST_BYTES = 1024 * 1024
"""Of an answer, once it is unpacked. Models get less: it is read whole to select from it."""
MOST_REDIRECTS = 3

OURS = {
    "User-Agent": "intent-router",
    "Accept": "application/json, text/plain;q=0.8, text/html;q=0.5",
    "Accept-Encoding": "gzip",
}
_READS = ("GET", "HEAD")
_sending: ContextVar[bool] = ContextVar("_sending", default=False)


class _Discreet(logging.Filter):
    """Keeps httpx from logging addresses of ours, which may hold secrets and what people said."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - all of them
        return not _sending.get()


logging.getLogger("httpx").addFilter(_Discreet())
_MOVED_AS_IT_IS = (307, 308)
_GZIP_OR_ZLIB = 47


@dataclass(frozen=True)
class Received:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    broken: str = ""
    """Why the body isn't all there; empty where it is."""

    @property
    def fine(self) -> bool:
        """True where the server did what it was asked for."""
        return 200 <= self.status < 300  # noqa: PLR2004


class Unreached(TransientToolError):
    """There is no connection to the server: nothing was sent."""


class Sender:
    """Sends requests of declared tools, each over a connection and with cookies of its own.

    Args:
        guard: Says where to.
        resolve: Says at which addresses a host is.
        context: Whom TLS trusts; None is the usual authorities.
    """

    def __init__(
        self,
        guard: Guard,
        resolve: Resolver = system_resolver,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.guard = guard
        self._resolve = resolve
        self._context = context

    async def send(self, request: Request, seconds: float) -> Received:
        """The answer, whatever its status.

        Raises:
            Unreached: the server can't be connected to.
            TransientToolError: it breaks off, or takes longer.
            PermanentToolError: it is where no request may go, or leads there.
            UnknownOutcome: it has done what it was asked for, or not, and leads elsewhere.
        """
        discreet = _sending.set(True)
        try:
            async with asyncio.timeout(seconds), self._client(seconds) as client:
                return await self._followed(client, request)
        except TimeoutError:
            raise TransientToolError(
                Localised(
                    zh=f"{request.origin} 在 {seconds:g} 秒内没有回答",
                    en=f"{request.origin} took longer than {seconds:g} s",
                )
            ) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreached(
                Localised(
                    zh=f"连不上 {request.origin}（{error}）",
                    en=f"{request.origin} can't be reached: {error}",
                )
            ) from None
        except httpx.HTTPError as error:
            # The text may repeat what was sent; the kind of it says enough.
            kind = type(error).__name__
            raise TransientToolError(
                Localised(
                    zh=f"{request.origin} 中途断开了（{kind}）",
                    en=f"{request.origin} broke off: {kind}",
                )
            ) from None
        finally:
            _sending.reset(discreet)

    def _client(self, seconds: float) -> httpx.AsyncClient:
        transport = GuardedTransport(self.guard, self._resolve, self._context)
        return httpx.AsyncClient(
            transport=transport, trust_env=False, timeout=seconds, headers=OURS
        )

    async def _followed(self, client: httpx.AsyncClient, request: Request) -> Received:
        sent = client.build_request(
            request.method,
            f"{request.origin}{request.target}",
            headers={**outgoing(), **request.headers},
            content=request.content,
        )
        for _ in range(MOST_REDIRECTS + 1):
            response = await client.send(sent, stream=True)
            try:
                if response.next_request is None:
                    return await _received(response)
                sent = self._redirected(client, response, response.next_request)
            finally:
                await response.aclose()
        raise PermanentToolError(
            Localised(
                zh=f"{request.origin} 转了超过 {MOST_REDIRECTS} 次",
                en=f"{request.origin} leads on more than {MOST_REDIRECTS} times",
            )
        )

    def _redirected(
        self, client: httpx.AsyncClient, response: httpx.Response, following: httpx.Request
    ) -> httpx.Request:
        """The request to go on with: elsewhere it is a bare one, which carries no credentials."""
        before = origin_of(response.request.url)
        after = _origin(following.url, before)
        writes = response.request.method not in _READS
        if writes and response.status_code not in _MOVED_AS_IT_IS:
            raise UnknownOutcome(
                Localised(
                    zh=f"{before} 的回答是 {response.status_code}，并转到 {after}："
                    "可能办成了，也可能没有",
                    en=f"{before} answered {response.status_code} and leads to {after}: "
                    "it may or may not have done it",
                )
            )
        self.guard.check_redirect(before, after)
        if after == before:
            return following
        if writes:
            raise PermanentToolError(
                Localised(
                    zh=f"{before} 要把这次改动转发到 {after}，没有发送",
                    en=f"{before} wants this write sent to {after}; it wasn't sent",
                )
            )
        return client.build_request(following.method, following.url)


def _origin(url: httpx.URL, before: Origin) -> Origin:
    try:
        return origin_of(url)
    except ValueError as error:
        raise PermanentToolError(
            Localised(
                zh=f"{before} 转到了一个不能用的地址（{error}）",
                en=f"{before} leads to an address that isn't used: {error}",
            )
        ) from None


async def _received(response: httpx.Response) -> Received:
    headers = {name.lower(): value for name, value in response.headers.items()}
    body = bytearray()
    broken = ""
    try:
        async for piece in _unpacked(response):
            body += piece
    except (_TooMuch, _Garbled) as error:
        broken = str(error)
    except httpx.HTTPError as error:
        if not 200 <= response.status_code < 300 or response.request.method in _READS:  # noqa: PLR2004
            raise
        broken = f"it broke off ({type(error).__name__})"
    return Received(response.status_code, headers, bytes(body[:MOST_BYTES]), broken)


class _TooMuch(Exception):
    """More bytes than are read."""


class _Garbled(Exception):
    """Bytes that can't be unpacked."""


async def _unpacked(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body, piece by piece and never more than `MOST_BYTES` of it.

    httpx unpacks each piece whole, which makes 64 MiB of 64 KiB; here zlib stops at the bound.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
        raise _Garbled(f"it is packed as {encoding[:40]!r}, which it wasn't asked for")
    unpacking = None if encoding in ("identity", "") else zlib.decompressobj(_GZIP_OR_ZLIB)
    left = MOST_BYTES
    async for packed in response.aiter_raw():
        piece = _within(unpacking, packed, left + 1) if unpacking else packed
        left -= len(piece)
        if left < 0:
            yield piece[:left]
            raise _TooMuch(f"it is over {MOST_BYTES // 1024} KiB")
        yield piece


def _within(unpacking: "zlib._Decompress", packed: bytes, most: int) -> bytes:
    try:
        return unpacking.decompress(packed, most)
    except zlib.error as error:
        raise _Garbled(f"it can't be unpacked: {error}") from None
