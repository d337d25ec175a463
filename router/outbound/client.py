"""A request on its way and the answer on its way back, within bounds of time, size and place.

A file's author and whoever fills in an argument may be fooled, and DNS says what its owner likes:
what is checked at last is the IP address that is connected to. A name is resolved once: whoever
answers for it can't answer otherwise between the check and the connection.
"""

import asyncio
import functools
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

import httpx2

from router.domain.errors import PermanentToolError, TransientToolError, UnknownOutcome
from router.domain.locale import Localised
from router.formats.http_body import PACKED, Unread, unpacked
from router.formats.origin import PORTS, Origin, origin_of
from router.outbound.guard import OutboundGuard
from router.telemetry.tracing import outgoing

HostResolver = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host; raises `OSError` where it has none."""


async def system_resolver(host: str, port: int) -> list[str]:
    """What this machine takes the host for."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class GuardedTransport(httpx2.AsyncBaseTransport):
    """httpx2's own transport, to addresses all of which the guard has seen.

    Connected is to an address, so that nobody resolves the name once more after it was looked at;
    TLS is still held to the name. No connection is kept, for another name may be at the address.
    """

    def __init__(
        self, guard: OutboundGuard, resolve: HostResolver, context: ssl.SSLContext | None = None
    ) -> None:
        self._guard = guard
        self._resolve = resolve
        unkept = httpx2.Limits(max_keepalive_connections=0)
        verify = context or _trusted()
        self._network = httpx2.AsyncHTTPTransport(verify=verify, trust_env=False, limits=unkept)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it to the first of the addresses that answers; one that is barred bars all."""
        host, port = request.url.host, request.url.port or PORTS[request.url.scheme]
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("connect")):
                addresses = await self._resolve(host, port)
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"{host} can't be resolved in time") from None
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"{host} can't be resolved: {error}") from None
        for address in addresses:
            if refusal := self._guard.refusal(host, port, address):
                raise PermanentToolError(refusal)
        failure: Exception = httpx2.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._network.handle_async_request(_at(address, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._network.aclose()


def _at(address: str, request: httpx2.Request) -> httpx2.Request:
    """The request to the address, for the host that its headers name."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The usual authorities. Made once: reading them takes longer than most requests."""
    return httpx2.create_ssl_context()


MOST_BYTES = 1024 * 1024
"""Of an answer, once it is unpacked. Models get less: it is read whole to select from it."""
MOST_REDIRECTS = 3

OURS = {
    "User-Agent": "intent-router",
    "Accept": "application/json, text/plain;q=0.8, text/html;q=0.5",
    "Accept-Encoding": PACKED,
}
_READS = ("GET", "HEAD")
_sending: ContextVar[bool] = ContextVar("_sending", default=False)


class _Discreet(logging.Filter):
    """Keeps httpx2 from logging addresses of ours, which may hold secrets and what people said."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - all of them
        return not _sending.get()


logging.getLogger("httpx2").addFilter(_Discreet())
_MOVED_AS_IT_IS = (307, 308)


@dataclass(frozen=True)
class OutgoingRequest:
    """A request to send."""

    method: str
    origin: Origin
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


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

    `context` says whom TLS trusts; None is the usual authorities. One that doesn't `follow` takes
    an answer that leads elsewhere for the answer that it is.
    """

    def __init__(
        self,
        guard: OutboundGuard,
        resolve: HostResolver = system_resolver,
        context: ssl.SSLContext | None = None,
        *,
        follows: bool = True,
    ) -> None:
        self.guard = guard
        self._resolve = resolve
        self._context = context
        self._follows = follows

    async def send(self, request: OutgoingRequest, seconds: float) -> Received:
        """The answer, whatever its status.

        Raises:
            Unreached: the server can't be connected to.
            TransientToolError: it breaks off, or takes longer.
            PermanentToolError: it is where no request may go, or leads there.
            UnknownOutcome: it has done what it was asked for, or not, and leads elsewhere.
        """
        discreet = _sending.set(True)
        client = httpx2.AsyncClient(
            transport=GuardedTransport(self.guard, self._resolve, self._context),
            trust_env=False,
            timeout=seconds,
            headers=OURS,
        )
        try:
            async with asyncio.timeout(seconds), client:
                return await self._followed(client, request)
        except TimeoutError:
            zh = f"{request.origin} 在 {seconds:g} 秒内没有回答"
            en = f"{request.origin} took longer than {seconds:g} s"
            raise TransientToolError(Localised(zh=zh, en=en)) from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            zh = f"连不上 {request.origin}（{error}）"
            en = f"{request.origin} can't be reached: {error}"
            raise Unreached(Localised(zh=zh, en=en)) from None
        except httpx2.HTTPError as error:
            # The text may repeat what was sent; the kind of it says enough.
            kind = type(error).__name__
            zh = f"{request.origin} 中途断开了（{kind}）"
            en = f"{request.origin} broke off: {kind}"
            raise TransientToolError(Localised(zh=zh, en=en)) from None
        finally:
            _sending.reset(discreet)

    async def _followed(self, client: httpx2.AsyncClient, request: OutgoingRequest) -> Received:
        sent = client.build_request(
            request.method,
            f"{request.origin}{request.target}",
            headers={**outgoing(), **request.headers},
            content=request.content,
        )
        for _ in range(MOST_REDIRECTS + 1):
            response = await client.send(sent, stream=True)
            try:
                if response.next_request is None or not self._follows:
                    return await _received(response)
                sent = self._redirected(client, response, response.next_request)
            finally:
                await response.aclose()
        zh = f"{request.origin} 转了超过 {MOST_REDIRECTS} 次"
        en = f"{request.origin} leads on more than {MOST_REDIRECTS} times"
        raise PermanentToolError(Localised(zh=zh, en=en))

    def _redirected(
        self, client: httpx2.AsyncClient, response: httpx2.Response, following: httpx2.Request
    ) -> httpx2.Request:
        """The request to go on with: elsewhere it is a bare one, which carries no credentials."""
        before = origin_of(response.request.url)
        try:
            after = origin_of(following.url)
        except ValueError as error:
            zh = f"{before} 转到了一个不能用的地址（{error}）"
            en = f"{before} leads to an address that isn't used: {error}"
            raise PermanentToolError(Localised(zh=zh, en=en)) from None
        writes, status = response.request.method not in _READS, response.status_code
        if writes and status not in _MOVED_AS_IT_IS:
            zh = f"{before} 的回答是 {status}，并转到 {after}：可能办成了，也可能没有"
            en = f"{before} answered {status} and leads to {after}: it may or may not have done it"
            raise UnknownOutcome(Localised(zh=zh, en=en))
        self.guard.check_redirect(before, after)
        if after == before:
            return following
        if writes:
            zh = f"{before} 要把这次改动转发到 {after}，没有发送"
            en = f"{before} wants this write sent to {after}; it wasn't sent"
            raise PermanentToolError(Localised(zh=zh, en=en))
        return client.build_request(following.method, following.url)


async def _received(response: httpx2.Response) -> Received:
    headers = {name.lower(): value for name, value in response.headers.items()}
    body = bytearray()
    broken = ""
    try:
        encoding = response.headers.get("content-encoding", "")
        async for piece in unpacked(response.aiter_raw(), encoding, MOST_BYTES):
            body += piece
    except Unread as error:
        broken = str(error)
    except httpx2.HTTPError as error:
        if not 200 <= response.status_code < 300 or response.request.method in _READS:  # noqa: PLR2004
            raise
        broken = f"it broke off ({type(error).__name__})"
    return Received(response.status_code, headers, bytes(body[:MOST_BYTES]), broken)
