"""Connections to addresses that were checked: a name is resolved once, and never again.

The name stays what TLS and the `Host` header speak of. Whoever answers for the name can't
answer differently between the check and the connection, because there is only one question.
"""

import asyncio
import functools
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable

import httpcore
import httpx

from router.domain.errors import PermanentToolError
from router.domain.texts import Localised
from router.tool.http.guard import Guard

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host; raises `OSError` where it has none."""


async def system_resolver(host: str, port: int) -> list[str]:
    """What this machine takes the host for."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport, over connections that a guard lets through."""

    def __init__(
        self, guard: Guard, resolve: Resolver, context: ssl.SSLContext | None = None
    ) -> None:
        context = context or _trusted()
        super().__init__(verify=context, trust_env=False)
        backend = _GuardedBackend(guard, resolve)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=context, network_backend=backend)


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens sockets to addresses, all of which the guard has seen."""

    def __init__(self, guard: Guard, resolve: Resolver) -> None:
        self._guard = guard
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers.

        One address that may not be connected to bars them all: what gives a good and a bad one
        means the bad one.
        """
        addresses = await self._addresses(host, port, timeout)
        for address in addresses:
            if objection := self._guard.objection_to(host, port, address):
                zh = f"不能连接 {host}，请联系管理员（{objection}）"
                raise PermanentToolError(Localised(zh=zh, en=objection))
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _addresses(self, host: str, port: int, seconds: float | None) -> list[str]:
        try:
            async with asyncio.timeout(seconds):
                return await self._resolve(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"{host} can't be resolved in time") from None
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} can't be resolved: {error}") from None

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The usual authorities. Made once: reading them takes longer than most requests."""
    return httpx.create_ssl_context()
