"""What a variable may hold: types of settings, each with a refusal that says what to write."""

import json
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from router.domain.loopback import is_loopback
from router.domain.payload_keys import PayloadKeys
from router.domain.principals import RESERVED_ROLES

ROLE = r"^[a-z][a-z0-9_-]{0,63}$"
MIN_SECRET = 32
"""Bytes: a key shorter than its hash can be guessed (RFC 7518, section 3.2)."""


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 65536:  # noqa: PLR2004
        raise ValueError("write host:port, such as 127.0.0.1:7233")
    return value


def _web_url(value: str) -> str:
    if not re.match(r"https?://[^/\s]+", value):
        raise ValueError("write a URL that begins with http:// or https://")
    return value.rstrip("/")


def _database_url(value: str) -> str:
    if not re.match(r"[a-z0-9+]+://", value):
        raise ValueError("write a SQLAlchemy URL, such as postgresql+asyncpg://user@host/name")
    return value


def _claim(value: str) -> str:
    if not re.fullmatch(r"[!-~]{1,200}", value):
        raise ValueError("name a claim, or a path to one such as realm_access.roles")
    return value


def grantable(roles: dict[str, str]) -> dict[str, str]:
    """Roles that a token may give."""
    for role in roles.values():
        if not re.fullmatch(ROLE, role):
            raise ValueError(f"{role!r} is no role: write it like travel_desk")
        if role in RESERVED_ROLES:
            raise ValueError(f"{role} can't come from a token: the directory alone gives it")
    return roles


def _people(value: Any) -> Any:
    """An address stays the text that it is; anything else is a path."""
    if not isinstance(value, str) or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value):
        return value if value is None else Path(value)
    address = urlsplit(value)
    if address.username or address.password or address.query:
        raise ValueError(
            "write it without user and query: a token belongs in ROUTER_DIRECTORY_TOKEN or its file"
        )
    if not address.hostname or not (
        address.scheme == "https" or (address.scheme == "http" and is_loopback(address.hostname))
    ):
        raise ValueError("write a path, or a URL that begins with https:// (http at loopback)")
    return value


def _origin(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@\\]+/?", value):
        raise ValueError("write origins alone, such as https://api.example.com")
    return value.rstrip("/")


def from_json(value: Any) -> Any:
    """A variable's text as the JSON it has to be."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"write it as JSON ({error})") from None


def _secret(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value().encode()) < MIN_SECRET:
        raise ValueError(f"write at least {MIN_SECRET} bytes, such as `openssl rand -hex 32` gives")
    return value


def to_keys(value: Any) -> Any:
    """A variable's text as the keys it has to be."""
    return PayloadKeys.read(value) if isinstance(value, str) else value


Build = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Queue = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$")]
Deployment = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
MailDomain = Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]{1,253}$")]
Address = Annotated[str, AfterValidator(_address)]
WebUrl = Annotated[str, AfterValidator(_web_url)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
LongSecret = Annotated[SecretStr, AfterValidator(_secret)]
People = Annotated[str | Path | None, BeforeValidator(_people)]
Claim = Annotated[str, AfterValidator(_claim)]
HttpOrigin = Annotated[str, AfterValidator(_origin)]
Share = Annotated[int, Field(ge=0, le=1_000_000)]
Weight = Annotated[float, Field(ge=0.001, le=1000)]
"""What Temporal takes."""
