"""What a variable may hold: types of settings, each with a refusal that says what to write.

Keys of payloads are `id:base64`, separated by commas: the first encrypts, all decrypt. A key is
replaced with no gap: the new one is put last everywhere, then first, and the old one goes when
nothing is left that it encrypted.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from router.domain.errors import FaultyValue
from router.domain.loopback import is_loopback
from router.domain.principals import RESERVED_ROLES

KEY_BYTES = 32
"""AES-256."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOW = "`openssl rand -base64 32` makes one"


@dataclass(frozen=True)
class PayloadKeys:
    """Keys by id. `current` is the id of the one that encrypts; empty, nothing is encrypted."""

    current: str = ""
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.keys)

    @classmethod
    def read(cls, written: str) -> "PayloadKeys":
        """The keys of a setting. What is wrong is said without a word of a key.

        >>> PayloadKeys.read("k1:" + "A" * 43 + "=").current
        'k1'

        Raises `ValueError`: an id or a key can't be used, or an id is there twice.
        """
        keys: dict[str, bytes] = {}
        for position, entry in enumerate(written.split(","), start=1):
            id_, key = _entry(entry.strip(), position)
            if id_ in keys:
                raise FaultyValue(
                    f"the key id {id_} is there twice", "give each key an id of its own"
                )
            keys[id_] = key
        return cls(next(iter(keys)), keys)


def _entry(entry: str, position: int) -> tuple[str, bytes]:
    id_, colon, encoded = entry.partition(":")
    if not colon or not _ID.fullmatch(id_):
        raise ValueError(
            f"entry {position} isn't id:base64, with an id of at most 64 letters, digits, "
            "dots, dashes and underscores, such as 2026-11:…"
        )
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise FaultyValue(f"the key {id_} isn't base64", _HOW) from None
    if len(key) != KEY_BYTES:
        raise FaultyValue(f"the key {id_} has {len(key)} bytes and needs {KEY_BYTES}", _HOW)
    return id_, key


def to_names(value: object) -> object:
    """Split a setting at its commas.

    >>> sorted(to_names("slack, mail,"))
    ['mail', 'slack']
    """
    if not isinstance(value, str):
        return value
    return frozenset(name for name in map(str.strip, value.split(",")) if name)


ROLE = r"^[a-z][a-z0-9_-]{0,63}$"
MIN_SECRET = 32
"""Bytes: a key shorter than its hash can be guessed (RFC 7518, section 3.2)."""


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 65536:  # noqa: PLR2004
        raise ValueError("write host:port, such as 127.0.0.1:7233")
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


def from_json(value: Any) -> Any:
    """A variable's text as the JSON it has to be."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"write it as JSON ({error})") from None


def to_keys(value: Any) -> Any:
    """A variable's text as the keys it has to be."""
    return PayloadKeys.read(value) if isinstance(value, str) else value


def _secret(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value().encode()) < MIN_SECRET:
        raise ValueError(f"write at least {MIN_SECRET} bytes, such as `openssl rand -hex 32` gives")
    return value


def _in_header(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]+", value.get_secret_value()):
        raise ValueError("write the key alone, on one line and without spaces")
    return value


def _written(pattern: str, remedy: str, *, bare: bool = False) -> AfterValidator:
    """Refuses what isn't written so; what is `bare` has no slash at its end."""

    def check(value: str) -> str:
        if not re.match(pattern, value):
            raise ValueError(remedy)
        return value.rstrip("/") if bare else value

    return AfterValidator(check)


Build = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
QueueName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$")]
Deployment = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
MailDomain = Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]{1,253}$")]
HostAddress = Annotated[str, AfterValidator(_address)]
WebUrl = Annotated[
    str,
    _written(r"https?://[^/\s]+", "write a URL that begins with http:// or https://", bare=True),
]
HttpOrigin = Annotated[
    str,
    _written(
        r"https?://[^\s/?#@\\]+/?\Z",
        "write origins alone, such as https://api.example.com",
        bare=True,
    ),
]
DatabaseUrl = Annotated[
    str,
    _written(
        r"[a-z0-9+]+://", "write a SQLAlchemy URL, such as postgresql+asyncpg://user@host/name"
    ),
]
Claim = Annotated[
    str, _written(r"[!-~]{1,200}\Z", "name a claim, or a path to one such as realm_access.roles")
]
LongSecret = Annotated[SecretStr, AfterValidator(_secret)]
HeaderSecret = Annotated[SecretStr, AfterValidator(_in_header)]
PeopleLocation = Annotated[str | Path | None, BeforeValidator(_people)]
BudgetShare = Annotated[int, Field(ge=0, le=1_000_000)]
Weight = Annotated[float, Field(ge=0.001, le=1000)]
"""What Temporal takes."""
