"""Bearer tokens: who vouches for whom, by which claims, signed with which keys.

An issuer rotates its keys whenever it likes, so a key that isn't known is looked for once more,
but not more often than `COOLDOWN`: anybody could have this API flood the issuer otherwise.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.exceptions import InvalidTokenError, PyJWTError

from router.domain.errors import MisconfiguredError, Unauthenticated, Unavailable
from router.domain.loopback import may_be_proxied
from router.domain.principals import DEFAULT_TENANT, RESERVED_ROLES, Directory, Principal
from router.settings import Settings
from router.settings.values import ROLE

MOST_ROLES = 100
"""Roles travel with every message: beyond this they have to be mapped to the few that count."""

LAST_MOMENT = 2**53
"""Unix seconds beyond which a time isn't exact any more, nor of interest."""


@dataclass(frozen=True)
class Vouched:
    """Whom a token vouches for. `roles` are those it gives beyond the directory's."""

    user: str
    tenant: str = DEFAULT_TENANT
    roles: frozenset[str] = frozenset()
    until: float | None = field(default=None, compare=False)
    """The end of the token's time, in Unix seconds; None where it has none."""


@dataclass(frozen=True)
class CallerSession:
    """Whom a request is answered to, and how long: what outlives the request asks it again."""

    directory: Directory
    people: tuple[Principal, ...]
    """Whose token it is, and whom they speak for."""
    until: float | None

    @property
    def seconds_left(self) -> float | None:
        """Seconds of the token's time; None where it has no end."""
        return None if self.until is None else self.until - time.time()

    async def lasts(self) -> bool:
        """True while the directory has everybody; False also where it can't tell."""
        try:
            return all([await self.directory.find(one.tenant, one.id) for one in self.people])
        except Unavailable:
            return False


def vouched(claims: Mapping[str, Any], settings: Settings) -> Vouched:
    """Whom these claims are about; `Unauthenticated` where one is missing or of another kind."""
    tenant = settings.jwt_tenant_claim
    return Vouched(
        user=_text(claims, settings.jwt_user_claim),
        tenant=_text(claims, tenant) if tenant else DEFAULT_TENANT,
        roles=_roles(claims, settings),
        until=min(int(claims["exp"]), LAST_MOMENT) if "exp" in claims else None,
    )


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """The claim of this name, or at the end of this path; None where there is none.

    The whole is tried as a name first, for some have dots in theirs.
    """
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def claims_with(path: str, value: str) -> dict[str, Any]:
    """Claims in which `claim_at` finds the value."""
    if "://" in path:
        return {path: value}
    first, _, rest = path.partition(".")
    return {first: claims_with(rest, value) if rest else value}


def _text(claims: Mapping[str, Any], path: str) -> str:
    found = claim_at(claims, path)
    if not isinstance(found, str) or not found:
        raise Unauthenticated(f"The token isn't valid: its claim {path!r} is missing or no text.")
    return found


def _roles(claims: Mapping[str, Any], settings: Settings) -> frozenset[str]:
    path = settings.jwt_roles_claim
    if path is None:
        return frozenset()
    found = claim_at(claims, path)
    names = found.split() if isinstance(found, str) else ([] if found is None else found)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Unauthenticated(f"The token isn't valid: its claim {path!r} is no list of names.")
    if settings.jwt_roles:
        return frozenset(settings.jwt_roles[name] for name in names if name in settings.jwt_roles)
    roles = frozenset(n for n in names if re.fullmatch(ROLE, n)) - RESERVED_ROLES
    if len(roles) > MOST_ROLES:
        raise Unauthenticated(
            f"The token has over {MOST_ROLES} roles: its issuer should send fewer, or "
            "ROUTER_JWT_ROLES name those that count here."
        )
    return roles


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


@dataclass
class PublishedKeys:
    """The keys at one address. Tokens that come at once wait for one fetch."""

    url: str
    now: Callable[[], float] = time.monotonic
    _keys: _Keys = field(default_factory=dict)
    _fetched: float = float("-inf")
    _tried: float = float("-inf")
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

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
        return self.now() - self._fetched

    async def _fetch_for(self, name: tuple[str, str]) -> None:
        async with self._one_at_a_time:
            fresh = name in self._keys and self._age <= LIFETIME
            if fresh or self.now() - self._tried < COOLDOWN:
                return
            self._tried = self.now()
            try:
                self._keys = await self._published()
            except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as error:
                why = str(error) or type(error).__name__
                _log.warning("the keys that check tokens can't be fetched: %s", why)
            else:
                self._fetched = self.now()

    async def _published(self) -> _Keys:
        """All keys there that may sign tokens. Raises `HTTPError` or `ValueError` where none."""
        body = b""
        async with (
            asyncio.timeout(TIMEOUT),
            httpx2.AsyncClient(timeout=TIMEOUT, trust_env=may_be_proxied(self.url)) as client,
            client.stream("GET", self.url) as answer,
        ):
            answer.raise_for_status()
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    raise ValueError(f"it is over {MOST_BYTES} bytes")
        document = json.loads(body)
        listed = document.get("keys") if isinstance(document, dict) else None
        keys = dict(_usable(listed)) if isinstance(listed, list) else {}
        if not keys:
            raise ValueError("it lists no key that signs with RS256 or ES256")
        return keys


def _key_named(token: str) -> tuple[str, str]:
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


def _usable(listed: list[Any]) -> Iterator[tuple[tuple[str, str], jwt.PyJWK]]:
    """Those that sign, by id and algorithm; a key says itself which algorithm it is for."""
    for entry in listed:
        try:
            key = jwt.PyJWK.from_dict(entry)
        except (PyJWTError, ValueError, TypeError, AttributeError, KeyError):
            continue  # an issuer may publish what this version doesn't know
        weak = isinstance(key.key, RSAPublicKey) and key.key.key_size < LEAST_RSA_BITS
        signs = key.algorithm_name in ALGORITHMS and key.public_key_use in (None, "sig")
        if key.key_id and signs and not weak:
            yield (str(key.key_id), key.algorithm_name), key


SYMMETRIC = ["HS256"]
LEEWAY = 30
"""Seconds by which clocks may differ."""
MOST_CHARACTERS = 16 * 1024
"""A longer one isn't looked into."""


class Tokens:
    """Tells from a bearer token who it is: a user id under `dev`, else a JWT.

    JWTs are signed with a secret that is shared, or a key that their issuer publishes (JWKS).
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys: PublishedKeys | str = ""
        if settings.auth != "dev":
            address = settings.jwt_jwks_url
            self._keys = PublishedKeys(address) if address else _secret(settings)

    async def vouched(self, token: str) -> Vouched:
        """Whom the token vouches for.

        Raises `Unauthenticated` where nobody, `Unavailable` where what could tell is out of reach.
        """
        if self._settings.auth == "dev":
            # The user id, or `tenant/user`: for a loopback address alone.
            tenant, slash, user = token.partition("/")
            return Vouched(user, tenant) if slash else Vouched(token)
        if len(token) > MOST_CHARACTERS:
            raise Unauthenticated(
                f"The token isn't valid: it is over {MOST_CHARACTERS} characters."
            )
        if isinstance(self._keys, str):
            return vouched(self._claims(token, self._keys, SYMMETRIC), self._settings)
        key = await self._keys.key_of(token)
        # One algorithm, and the key's own: never the one that the token would like best.
        algorithms = [name for name in ALGORITHMS if name == key.algorithm_name]
        return vouched(self._claims(token, key, algorithms), self._settings)

    def _claims(self, token: str, key: str | jwt.PyJWK, algorithms: list[str]) -> Mapping[str, Any]:
        audience = self._settings.jwt_audience
        try:
            return jwt.decode(
                token,
                key,
                algorithms=algorithms,
                issuer=self._settings.jwt_issuer,
                audience=audience,
                leeway=LEEWAY,
                options={"require": ["exp"], "verify_aud": audience is not None},
            )
        except InvalidTokenError as error:
            why = str(error).rstrip(".")
            remedy = next((said for kind, said in _REMEDIES.items() if isinstance(error, kind)))
            raise Unauthenticated(f"The token isn't valid: {why}; {remedy}.") from error


def mint(settings: Settings, user: str, lifetime: int, tenant: str = DEFAULT_TENANT) -> str:
    """A token that vouches for `user`, of this tenant, for `lifetime` seconds.

    Raises:
        MisconfiguredError: there is no shared secret to sign it with, or tokens name no tenant
            and this isn't the only one.
    """
    now = int(time.time())
    claims: dict[str, Any] = {"sub": user, "iat": now, "exp": now + lifetime}
    claims |= claims_with(settings.jwt_user_claim, user)
    if settings.jwt_tenant_claim:
        claims |= claims_with(settings.jwt_tenant_claim, tenant)
    elif tenant != DEFAULT_TENANT:
        raise MisconfiguredError(
            f"a token can't say that it is of tenant {tenant!r}: set ROUTER_JWT_TENANT_CLAIM to "
            "the name of the claim that does, such as tenant"
        )
    if settings.jwt_issuer:
        claims["iss"] = settings.jwt_issuer
    if settings.jwt_audience:
        claims["aud"] = settings.jwt_audience
    return jwt.encode(claims, _secret(settings), SYMMETRIC[0])


def _secret(settings: Settings) -> str:
    if settings.jwt_secret is None:
        raise MisconfiguredError("ROUTER_JWT_SECRET isn't set: set it to sign tokens")
    return settings.jwt_secret.get_secret_value()


_REMEDIES: Mapping[type[InvalidTokenError], str] = {
    jwt.ExpiredSignatureError: "sign in again, or get a new one",
    jwt.ImmatureSignatureError: (
        f"clocks differ by over {LEEWAY} s: set its issuer's and this server's by NTP"
    ),
    jwt.InvalidAudienceError: "it was made for another audience: get one for this API",
    jwt.InvalidIssuerError: "get one from the issuer that this API trusts",
    InvalidTokenError: (
        "send one that is signed, from your identity provider or `intent-router token`"
    ),
}
