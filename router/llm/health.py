"""Whether model servers can be reached: asked for their list of models, which costs nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic

import httpx2

from router.domain.loopback import may_be_proxied

PATIENCE = 1.5
"""Seconds for one server."""
FRESH = 10.0
"""Seconds that an answer counts: whoever watches asks often."""


@dataclass(frozen=True)
class ModelAddress:
    """A server, and the key that it is asked with."""

    base_url: str
    api_key: str | None = None


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
                found = await asyncio.gather(*map(_ask, self._addresses))
                self._trouble = dict(zip(self._addresses, found, strict=True))
                self._asked = monotonic()
        return [self._trouble[address] for address in self._addresses]


async def _ask(address: ModelAddress) -> str | None:
    headers = {"Authorization": f"Bearer {address.api_key}"} if address.api_key else {}
    proxied = may_be_proxied(address.base_url)
    try:
        async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=proxied) as client:
            answer = await client.get(f"{address.base_url}/models", headers=headers)
    except (httpx2.HTTPError, ImportError, ValueError) as error:
        # The latter two for a proxy of the environment that httpx2 can't speak to.
        return f"{address.base_url} can't be reached ({type(error).__name__})"
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return f"{address.base_url} refuses the key ({answer.status_code})"
    if answer.is_server_error:
        return f"{address.base_url} answers {answer.status_code}"
    return None
