"""Who speaks for Teams, and where the bot's own token and files may go.

The Bot Framework signs no body: its token says which service speaks, to which app and until when,
and no more. So whatever an activity names is no address until it is found to be Microsoft's.
"""

import asyncio
import re
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.exceptions import InvalidTokenError, PyJWTError

from router.api.auth import LEAST_RSA_BITS, LEEWAY, MOST_CHARACTERS, PublishedKeys
from router.domain.errors import Unauthenticated
from router.domain.loopback import may_be_proxied
from router.extensions.teams.settings import TeamsSettings
from router.formats.http_body import PACKED, Unread, bounding
from router.formats.strict_json import strict_json

CHANNEL = "msteams"
ISSUER = "https://api.botframework.com"
ALGORITHM = "RS256"
CONNECTORS = frozenset({"smba.trafficmanager.net", "smba.infra.gcc.teams.microsoft.com"})
"""Whole names: whoever rents at Azure may have a name of their own under trafficmanager.net."""
STORES = ".sharepoint.com"
"""What the addresses of OneDrive and SharePoint end with, where people's files are."""
HTTPS = 443
TIMEOUT = 5.0
MOST_BYTES = 512 * 1024


def _address(url: str) -> SplitResult | None:
    """The address; None where it is none, or two readers might not agree on where it leads."""
    try:
        there = urlsplit(url)
        _ = there.port
    except ValueError:
        return None
    return None if "@" in there.netloc or re.search(r"[\s\\]", url) else there


def _is_secure(there: SplitResult) -> bool:
    return there.scheme == "https" and there.port in {None, HTTPS}


def _is_gateway(settings: TeamsSettings, there: SplitResult) -> bool:
    own = urlsplit(settings.service_url)
    return own.hostname not in CONNECTORS and there[:2] == own[:2]


def is_connector(settings: TeamsSettings, url: str) -> bool:
    """True for an address of a service that may see the bot's token."""
    there = _address(url)
    if there is None or there.query or there.fragment:
        return False
    of_microsoft = _is_secure(there) and there.hostname in CONNECTORS
    return of_microsoft or _is_gateway(settings, there)


def is_store(settings: TeamsSettings, url: str) -> bool:
    """True for an address where a person's files are: fetched from and written to with no token."""
    there = _address(url)
    if there is None or not there.hostname:
        return False
    of_microsoft = _is_secure(there) and there.hostname.endswith(STORES)
    return of_microsoft or _is_gateway(settings, there)


class ConnectorKeys(PublishedKeys):
    """The keys that the Bot Framework signs for Teams with, where its OpenID metadata says.

    They are kept, and fetched anew, as those of every issuer: see `PublishedKeys`.
    """

    async def _published(self) -> dict[tuple[str, str], jwt.PyJWK]:
        described = await _document(self.url)
        address = str(described.get("jwks_uri"))
        if urlsplit(address)[:2] != urlsplit(self.url)[:2] and not address.startswith("https://"):
            raise ValueError("its jwks_uri is no https address")
        listed = (await _document(address)).get("keys")
        found = (_signing(entry) for entry in listed) if isinstance(listed, list) else ()
        keys = {(str(key.key_id), ALGORITHM): key for key in found if key is not None}
        if not keys:
            raise ValueError(f"it lists no {ALGORITHM} key that is endorsed for {CHANNEL}")
        return keys


async def _document(url: str) -> dict[str, Any]:
    """The JSON object there; raises `HTTPError`, `TimeoutError` or `ValueError`."""
    async with (
        asyncio.timeout(TIMEOUT),
        httpx2.AsyncClient(
            timeout=TIMEOUT,
            trust_env=may_be_proxied(url),
            headers={"Accept-Encoding": PACKED},
            event_hooks={"response": [bounding(MOST_BYTES)]},
        ) as client,
    ):
        try:
            answer = await client.get(url)
        except Unread as error:
            raise ValueError(str(error)) from error
    answer.raise_for_status()
    found = strict_json(answer.content)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - a value from outside
    return found


def _signing(entry: object) -> jwt.PyJWK | None:
    """A published key; None for one that isn't for this, as other channels have theirs."""
    if not isinstance(entry, dict):
        return None
    endorsed = entry.get("endorsements")
    if not isinstance(endorsed, list) or CHANNEL not in endorsed:
        return None
    try:
        key = jwt.PyJWK.from_dict(entry)
    except (PyJWTError, ValueError, TypeError, AttributeError, KeyError):
        return None
    strong = isinstance(key.key, RSAPublicKey) and key.key.key_size >= LEAST_RSA_BITS
    signs = key.algorithm_name == ALGORITHM and key.public_key_use in {None, "sig"}
    return key if key.key_id and strong and signs else None


async def speaking_service(settings: TeamsSettings, keys: ConnectorKeys, authorization: str) -> str:
    """The `serviceUrl` of whose token it is.

    Raises `Unauthenticated` with the reason why it is nobody's, `Unavailable` where the keys that
    tell are out of reach.
    """
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or len(token) > MOST_CHARACTERS:
        raise Unauthenticated("there is no bearer token, or it is too long")
    key = await keys.key_of(token)
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            audience=settings.app_id,
            issuer=ISSUER,
            leeway=LEEWAY,
            options={"require": ["exp", "iss", "aud"], "strict_aud": True},
        )
    except InvalidTokenError as error:
        raise Unauthenticated(str(error)) from error
    service = claims.get("serviceurl")
    if not isinstance(service, str):
        raise Unauthenticated("its token names no serviceurl")
    return service


def check_service(settings: TeamsSettings, activity: dict[str, Any], service: str) -> None:
    """Return where the activity is of Teams, and of the service that speaks.

    Raises `Unauthenticated` with the reason.
    """
    if activity.get("channelId") != CHANNEL:
        raise Unauthenticated(f"it isn't of the channel {CHANNEL}")
    named = activity.get("serviceUrl")
    if not isinstance(named, str) or named.rstrip("/") != service.rstrip("/"):
        raise Unauthenticated("its serviceUrl isn't that of its token")
    if not is_connector(settings, named):
        raise Unauthenticated(
            f"its serviceUrl {named[:200]!r} isn't Microsoft's: where it is a gateway of yours, "
            "set ROUTER_TEAMS_SERVICE_URL to an address there"
        )
