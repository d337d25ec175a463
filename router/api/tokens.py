"""Bearer tokens: who vouches for whom. What comes out is a user id for the directory."""

import time
from typing import Any, Protocol

import jwt
from jwt.exceptions import InvalidTokenError

from router.api.claims import Vouched, claims_with, vouched
from router.api.published_keys import ALGORITHMS, PublishedKeys
from router.domain.errors import MisconfiguredError, Unauthenticated
from router.domain.principals import DEFAULT_TENANT
from router.settings import Settings

SYMMETRIC = ["HS256"]
LEEWAY = 30
"""Seconds by which clocks may differ."""
MOST_CHARACTERS = 16 * 1024
"""A longer one isn't looked into."""


class Tokens(Protocol):
    """What can tell from a bearer token who it is."""

    async def vouched(self, token: str) -> Vouched:
        """Whom the token vouches for.

        Raises:
            Unauthenticated: it vouches for nobody.
            Unavailable: what could tell is out of reach.
        """


def tokens(settings: Settings) -> Tokens:
    """What checks tokens under these settings."""
    if settings.auth == "dev":
        return UserIdTokens()
    if settings.jwt_jwks_url is not None:
        return PublishedKeyTokens(PublishedKeys(settings.jwt_jwks_url), settings)
    return SharedSecretTokens(_secret(settings), settings)


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


class UserIdTokens:
    """`dev`: the token is the user id, or `tenant/user`. For a loopback address alone."""

    async def vouched(self, token: str) -> Vouched:
        """Whoever the token says."""
        tenant, slash, user = token.partition("/")
        return Vouched(user, tenant) if slash else Vouched(token)


class SharedSecretTokens:
    """JWTs signed with a secret that their issuer and this API share."""

    def __init__(self, secret: str, settings: Settings) -> None:
        self._secret = secret
        self._settings = settings

    async def vouched(self, token: str) -> Vouched:
        """Whom the token names, where signature and claims hold."""
        return vouched(_claims(token, self._secret, SYMMETRIC, self._settings), self._settings)


class PublishedKeyTokens:
    """JWTs signed with a key whose public half their issuer publishes (JWKS)."""

    def __init__(self, keys: PublishedKeys, settings: Settings) -> None:
        self._keys = keys
        self._settings = settings

    async def vouched(self, token: str) -> Vouched:
        """Whom the token names, where signature and claims hold."""
        key = await self._keys.key_of(_bounded(token))
        # One algorithm, and the key's own: never the one that the token would like best.
        algorithms = [name for name in ALGORITHMS if name == key.algorithm_name]
        return vouched(_claims(token, key, algorithms, self._settings), self._settings)


def _bounded(token: str) -> str:
    if len(token) > MOST_CHARACTERS:
        raise Unauthenticated(f"The token isn't valid: it is over {MOST_CHARACTERS} characters.")
    return token


def _claims(
    token: str, key: str | jwt.PyJWK, algorithms: list[str], settings: Settings
) -> dict[str, Any]:
    try:
        return jwt.decode(
            _bounded(token),
            key,
            algorithms=algorithms,
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            leeway=LEEWAY,
            options={"require": ["exp"], "verify_aud": settings.jwt_audience is not None},
        )
    except InvalidTokenError as error:
        why = str(error).rstrip(".")
        raise Unauthenticated(f"The token isn't valid: {why}; {_remedy(error)}.") from error


def _remedy(error: InvalidTokenError) -> str:
    """What its bearer does; no word of what would have been accepted."""
    if isinstance(error, jwt.ExpiredSignatureError):
        return "sign in again, or get a new one"
    if isinstance(error, jwt.ImmatureSignatureError):
        return f"clocks differ by over {LEEWAY} s: set its issuer's and this server's by NTP"
    if isinstance(error, jwt.InvalidAudienceError):
        return "it was made for another audience: get one for this API"
    if isinstance(error, jwt.InvalidIssuerError):
        return "get one from the issuer that this API trusts"
    return "send one that is signed, from your identity provider or `intent-router token`"
