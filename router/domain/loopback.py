"""This machine, as addresses name it, and why no proxy stands before it."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """True where nobody but this machine is reached by the name or address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def names_this_machine(host: str) -> bool:
    """Whether a `Host` header does: one that doesn't is from a page whose name leads here."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def may_be_proxied(url: str) -> bool:
    """Whether a proxy of the environment may carry what is sent to `url`: never to this machine."""
    try:
        return not is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return True
