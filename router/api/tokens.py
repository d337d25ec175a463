"""Bearer tokens: who vouches for whom. What comes out is a user id for the directory."""

import asyncio
import time
from typing import Any, Protocol

import jwt
from jwt import PyJWKClient
from jwt.exceptions import InvalidTokenError, PyJWKClientConnectionError, PyJWKClientError

from router.domain.errors import MisconfiguredError, Unauthenticated, Unavailable
from router.settings import Settings

SYMMETRIC = ["HS256"]
ASYMMETRIC = ["RS256", "ES256"]
"""Never mixed with the symmetric one: a public key would pass as a shared secret."""
LEEWAY = 30
"""Seconds by which clocks may differ."""
JWKS_TIMEOUT = 5


class Tokens(Protocol):
    """What can tell from a bearer token who it is."""

    async def user_of(self, token: str) -> str:
        """The user id that the token vouches for.

        Raises:
            Unauthenticated: it vouches for nobody.
            Unavailable: what could tell is out of reach.
        """


def tokens(settings: Settings) -> Tokens:
    """What checks tokens under these settings."""
    if settings.auth == "dev":
        return UserIdTokens()
    if settings.jwt_jwks_url is not None:
        return PublishedKeyTokens(settings.jwt_jwks_url, settings)
    return SharedSecretTokens(_secret(settings), settings)


def mint(settings: Settings, user: str, lifetime: int) -> str:
    """A token that vouches for `user` for `lifetime` seconds.

    Raises:
        MisconfiguredError: there is no shared secret to sign it with.
    """
    now = int(time.time())
    claims: dict[str, Any] = {"sub": user, "iat": now, "exp": now + lifetime}
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
    """`dev`: the token is the user id. For a loopback address alone."""

    async def user_of(self, token: str) -> str:
        """The token itself."""
        return token


class SharedSecretTokens:
    """JWTs signed with a secret that their issuer and this API share."""

    def __init__(self, secret: str, settings: Settings) -> None:
        self._secret = secret
        self._settings = settings

    async def user_of(self, token: str) -> str:
        """The token's subject, where signature and claims hold."""
        return _subject(token, self._secret, SYMMETRIC, self._settings)


class PublishedKeyTokens:
    """JWTs signed with a key whose public half their issuer publishes (JWKS)."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._keys = PyJWKClient(url, timeout=JWKS_TIMEOUT)
        self._settings = settings

    async def user_of(self, token: str) -> str:
        """The token's subject, where signature and claims hold."""
        key = await asyncio.to_thread(self._key, token)
        return _subject(token, key, ASYMMETRIC, self._settings)

    def _key(self, token: str) -> jwt.PyJWK:
        try:
            return self._keys.get_signing_key_from_jwt(token)
        except PyJWKClientConnectionError as error:
            raise Unavailable("The keys that check tokens can't be fetched right now.") from error
        except (PyJWKClientError, InvalidTokenError) as error:
            raise Unauthenticated(
                "The token is signed with a key that nobody publishes."
            ) from error


def _subject(token: str, key: str | jwt.PyJWK, algorithms: list[str], settings: Settings) -> str:
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=algorithms,
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            leeway=LEEWAY,
            options={"require": ["exp", "sub"], "verify_aud": settings.jwt_audience is not None},
        )
    except InvalidTokenError as error:
        raise Unauthenticated(f"The token isn't valid: {error}.") from error
    return str(claims["sub"])
