"""Whether model servers answer, without asking a model anything."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic

import httpx2

from router.domain.loopback import may_be_proxied
from router.llm.protocols import DEFAULT, protocol

PATIENCE = 1.5
"""Seconds for one server."""
FRESH = 10.0
"""Seconds that an answer counts: whoever watches asks often."""


@dataclass(frozen=True)
class ModelAddress:
    """A server, and the key that it is asked with."""

    base_url: str
    api_key: str | None = None
    protocol: str = DEFAULT


class ModelHealth:
    """Asks each server at most once in `FRESH` seconds.

    Any answer counts that isn't an error of the server or a refusal of the key: many servers
    know no list of models, and answer all the same.
    """

    def __init__(self, addresses: Sequence[ModelAddress]) -> None:
        self._addresses = list(dict.fromkeys(addresses))
        self._asked = -FRESH
        self._trouble: dict[ModelAddress, str | None] = {}
        self._asking = asyncio.Lock()

    async def trouble(self) -> list[str | None]:
        """What is wrong with each server, in order; None where nothing is."""
        async with self._asking:
            if monotonic() - self._asked >= FRESH:
                found = await asyncio.gather(*map(trouble_at, self._addresses))
                said = [trouble.says if trouble else None for trouble in found]
                self._trouble = dict(zip(self._addresses, said, strict=True))
                self._asked = monotonic()
        return [self._trouble[address] for address in self._addresses]


@dataclass(frozen=True)
class ServerTrouble:
    """What is wrong with a server, for operators; one that `is_away` answers nobody anything."""

    says: str
    is_away: bool = True


async def trouble_at(address: ModelAddress) -> ServerTrouble | None:
    """What is wrong there, by asking for the list of its models; None where nothing is."""
    proxied = may_be_proxied(address.base_url)
    try:
        listing = protocol(address.protocol).listing(address.base_url, address.api_key)
        async with (
            httpx2.AsyncClient(timeout=PATIENCE, trust_env=proxied) as client,
            client.stream("GET", listing.url, headers=listing.headers) as answer,
        ):
            return _trouble(address, answer)
    except (httpx2.HTTPError, ImportError, ValueError) as error:
        # The latter two for a proxy of the environment that httpx2 can't speak to, and the last
        # for a protocol of an extension that has no address.
        return ServerTrouble(f"{address.base_url} can't be reached ({type(error).__name__})")


def _trouble(address: ModelAddress, answer: httpx2.Response) -> ServerTrouble | None:
    """By its status alone: the list may have no end."""
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        said = f"{address.base_url} refuses the key ({answer.status_code})"
        return ServerTrouble(said, is_away=False)
    if answer.is_redirect:
        said = f"{address.base_url} leads elsewhere ({answer.status_code})"
        return ServerTrouble(said, is_away=False)
    if answer.is_server_error:
        return ServerTrouble(f"{address.base_url} answers {answer.status_code}")
    return None
