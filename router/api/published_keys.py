"""The keys that an issuer publishes (JWKS): fetched, kept for a while, and let go of again.

An issuer rotates its keys whenever it likes: the new one is published, tokens begin to name it,
and the old one goes. So a key that isn't known is looked for once more, but not more often than
`COOLDOWN`, or anybody could have this API flood the issuer by making names of keys up.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.exceptions import PyJWTError

from router.domain.errors import Unauthenticated, Unavailable
from router.domain.loopback import may_be_proxied

ALGORITHMS = ("RS256", "ES256")
"""Never mixed with a symmetric one: a public key would pass as a shared secret."""
LIFETIME = 300.0
"""Seconds after which keys are fetched anew: that long a key that was withdrawn still counts."""
STALE = 3600.0
"""Seconds for which keys count while their issuer doesn't answer."""
COOLDOWN = 10.0
"""Seconds between two fetches, whatever the reason."""
TIMEOUT = 5.0
MOST_BYTES = 512 * 1024
LEAST_RSA_BITS = 2048

_Keys = dict[tuple[str, str], jwt.PyJWK]
_log = logging.getLogger(__name__)


class PublishedKeys:
    """The keys at one address. Tokens that come at once wait for one fetch."""

    def __init__(self, url: str, now: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._now = now
        self._keys: _Keys = {}
        self._fetched = self._tried = float("-inf")
        self._one_at_a_time = asyncio.Lock()

    async def key_of(self, token: str) -> jwt.PyJWK:
        """The key that the token says it is signed with; whether it is remains to be seen.

        Raises:
            Unauthenticated: there is no such key, or it isn't for such signatures.
            Unavailable: the keys can't be fetched, and none are known that still count.
        """
        name = _key_named(token)
        if name not in self._keys or self._age > LIFETIME:
            await self._fetch_for(name)
        if self._age > STALE:
            raise Unavailable("The keys that check tokens can't be fetched right now.")
        if name not in self._keys:
            raise Unauthenticated("The token is signed with a key that nobody publishes.")
        return self._keys[name]

    @property
    def _age(self) -> float:
        return self._now() - self._fetched

    async def _fetch_for(self, name: tuple[str, str]) -> None:
        async with self._one_at_a_time:
            fresh = name in self._keys and self._age <= LIFETIME
            if fresh or self._now() - self._tried < COOLDOWN:
                return
            self._tried = self._now()
            try:
                self._keys = await self._published()
            except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
                why = str(error) or type(error).__name__
                _log.warning("the keys that check tokens can't be fetched: %s", why)
            else:
                self._fetched = self._now()

    async def _published(self) -> _Keys:
        """All keys there that may sign tokens. Raises `HTTPError` or `ValueError` where none."""
        async with (
            asyncio.timeout(TIMEOUT),
            httpx.AsyncClient(timeout=TIMEOUT, trust_env=may_be_proxied(self._url)) as client,
            client.stream("GET", self._url) as answer,
        ):
            answer.raise_for_status()
            document = json.loads(await _body(answer))
        listed = document.get("keys") if isinstance(document, dict) else None
        keys = dict(_usable(listed)) if isinstance(listed, list) else {}
        if not keys:
            raise ValueError("it lists no key that signs with RS256 or ES256")
        return keys


def _key_named(token: str) -> tuple[str, str]:
    """The key's id and the algorithm, as the token's header has them."""
    try:
        header: Mapping[str, Any] = jwt.get_unverified_header(token)
    except PyJWTError as error:
        raise Unauthenticated(f"The token isn't valid: {error}.") from error
    key, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in ALGORITHMS:
        raise Unauthenticated("The token isn't valid: it is signed neither with RS256 nor ES256.")
    if not isinstance(key, str):
        raise Unauthenticated("The token isn't valid: its header names no key (kid).")
    return key, str(algorithm)


async def _body(answer: httpx.Response) -> bytes:
    body = b""
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            raise ValueError(f"it is over {MOST_BYTES} bytes")
    return body


def _usable(listed: list[Any]) -> Iterator[tuple[tuple[str, str], jwt.PyJWK]]:
    """Those that sign, by id and algorithm; a key says itself which algorithm it is for."""
    for entry in listed:
        try:
            key = jwt.PyJWK.from_dict(entry)
        except (PyJWTError, ValueError, TypeError, AttributeError, KeyError):
            continue  # an issuer may publish what this version doesn't know
        if key.key_id and _signs(key):
            yield (str(key.key_id), key.algorithm_name), key


def _signs(key: jwt.PyJWK) -> bool:
    strong = not isinstance(key.key, RSAPublicKey) or key.key.key_size >= LEAST_RSA_BITS
    return key.algorithm_name in ALGORITHMS and key.public_key_use in (None, "sig") and strong
