"""The origin of a URL: scheme, host and port, as one place that two URLs can be compared by.

A URL that two parsers could read differently is refused, so that what was checked is what is
connected to.
"""

import re
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

import httpx2

from router.domain.errors import FaultyValue

PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(r"(https?)://([^/?#\\]*)", re.IGNORECASE)
_LOOKS_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
_NAME = re.compile(
    r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)


class Origin(NamedTuple):
    """Where a server is; compare two to see whether they are the same place."""

    scheme: str
    host: str
    """In lower case and ASCII; an IPv6 address has no brackets."""
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def origin_of(url: str | httpx2.URL) -> Origin:
    """The origin of a URL; raises `ValueError` that says what is wrong with it, and the remedy.

    Refused is whatever some parser reads otherwise than another: names and passwords, numbers
    that stand for an IP address, zones, a dot at the end.
    """
    text = str(url)
    if any(char <= " " or char in "\\\x7f" for char in text):
        raise FaultyValue("it has spaces, backslashes or control characters", "write them as %20")
    found = _AUTHORITY.match(text)
    if not found:
        raise FaultyValue("it isn't http:// or https://", "write the whole address")
    if "@" in found[2]:
        raise FaultyValue("it has a name or password before the host", "send them in a header")
    try:
        parsed = httpx2.URL(found[0])
        scheme, host = parsed.scheme, parsed.raw_host.decode("ascii").lower()
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise FaultyValue("its host or port can't be read", "write https://host:port") from None
    port = PORTS[scheme] if parsed.port is None else parsed.port
    if not 0 < port < 65536:  # noqa: PLR2004
        raise FaultyValue("its port can't be read", "write one from 1 to 65535")
    return Origin(scheme, _checked(host), port)


def _checked(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        pass
    else:
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            raise FaultyValue("its address has a zone", "leave out what follows the %")
        return str(address)
    if not host or not _NAME.fullmatch(host):
        raise FaultyValue(f"its host {host[:60]!r} is no name", "write one such as api.example.com")
    if _LOOKS_NUMERIC.fullmatch(host.rpartition(".")[2]):
        raise FaultyValue(
            f"its host {host[:60]!r} is an address in disguise", "write four decimal numbers"
        )
    return host
