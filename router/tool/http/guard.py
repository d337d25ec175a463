"""Where requests of declared tools may go: to what a file names, or the operator.

At private addresses it has to be the operator.

A file's author and whoever fills in an argument may be fooled, and DNS says what its owner
likes: so what is checked at last is the IP address that is connected to.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from router.domain.errors import PermanentToolError
from router.domain.texts import Localised
from router.tool.http.origins import Origin, origin_of

SETTING = "ROUTER_HTTP_ALLOW"

Address = IPv4Address | IPv6Address

_NEVER = [
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/128", "fe80::/10", "ff00::/8"),
        # Metadata servers of clouds that lie elsewhere than in 169.254.0.0/16.
        *("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128"),
    )
]
"""Nothing that a tool wants is there, whoever names it."""

_NOT_PUBLIC = [
    ip_network(each)
    for each in (
        *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24"),
        *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24"),
        # Of IPv6 only 2000::/3 is given out; within it these lead elsewhere than they say.
        *("::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
]
"""Written out: `is_global` answers differently from one Python to the next."""

_WELL_KNOWN_NAT64 = ip_network("64:ff9b::/96")


class Guard:
    """Lets requests out or not.

    Args:
        by_name: Origins that the operator allows, over http and at private addresses too.
    """

    def __init__(self, by_name: Iterable[str] = ()) -> None:
        self._by_name = frozenset(map(origin_of, by_name))
        self._hosts = {(origin.host, origin.port) for origin in self._by_name}

    def objection(self, origin: Origin) -> str:
        """Why a file may not name this origin, and what would help; empty where it may."""
        if origin in self._by_name:
            return ""
        if origin.scheme != "https":
            return f"{origin} isn't https; write https://, or add it to {SETTING}"
        try:
            return self.objection_to(origin.host, origin.port, origin.host)
        except ValueError:
            return ""

    def objection_to(self, host: str, port: int, address: str) -> str:
        """Why this address of a host may not be connected to; empty where it may."""
        real = _unwrapped(ip_address(address.partition("%")[0]))
        if any(real in network for network in _NEVER):
            return f"{host} is at {address}, where no tool may go; name the system's own"
        if (host, port) not in self._hosts and any(real in network for network in _NOT_PUBLIC):
            remedy = f"add its https://host:port to {SETTING} if it is meant"
            return f"{host} is at {address}, which isn't public; {remedy}"
        return ""

    def check_redirect(self, before: Origin, after: Origin) -> None:
        """Raise `PermanentToolError` where an answer may not lead from one to the other."""
        if before.scheme == "https" and after.scheme != "https":
            raise PermanentToolError(
                Localised(
                    zh=f"{before} 转到 {after}，那里没有加密",
                    en=f"{before} leads to {after}, which isn't encrypted",
                )
            )
        if after != before and after not in self._by_name:
            raise PermanentToolError(
                Localised(
                    zh=f"{before} 转到 {after}，请管理员写进工具的文件，或加到 {SETTING}",
                    en=f"{before} leads to {after}; name that in the tool's file, "
                    f"or add it to {SETTING}",
                )
            )


def _unwrapped(address: Address) -> Address:
    """The IPv4 address within an IPv6 one, where the network takes it out again."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _WELL_KNOWN_NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
