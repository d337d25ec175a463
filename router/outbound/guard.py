"""Where requests of the deployment may go, by origin and at last by IP address."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from router.domain.errors import Fault, FaultyValue, PermanentToolError
from router.domain.locale import Localised
from router.formats.origin import Origin, origin_of

TOOL_ORIGINS = "ROUTER_HTTP_ALLOW"
"""The setting that names where tools of the deployment's own files may go."""
WEBHOOK_ORIGINS = "ROUTER_WEBHOOK_ALLOW"
"""The setting that names where webhooks may go."""

IpAddress = IPv4Address | IPv6Address

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


class OutboundGuard:
    """Lets requests out or not; to origins `by_name` over http and at private addresses too.

    Each purpose and each tenant has a guard of its own: an origin that the operator named for one
    is out of reach for every other. `named_in` says in errors where its origins are named.
    """

    def __init__(self, by_name: Iterable[str] = (), named_in: str = TOOL_ORIGINS) -> None:
        self._named_in = named_in
        self._by_name = frozenset(map(origin_of, by_name))
        self._hosts = {(origin.host, origin.port) for origin in self._by_name}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutboundGuard) and self._by_name == other._by_name

    def __hash__(self) -> int:
        return hash(self._by_name)

    def fault(self, origin: Origin) -> Fault | None:
        """What is wrong with a file that names this origin; None where it may."""
        if origin in self._by_name:
            return None
        if origin.scheme != "https":
            remedy = f"write https://, or add it to {self._named_in}"
            return Fault(f"{origin} isn't https", remedy)
        try:
            return self.fault_at(origin.host, origin.port, origin.host)
        except ValueError:
            return None

    def fault_of(self, url: str) -> Fault | None:
        """The same of an address as a file has it, which may be none at all."""
        try:
            return self.fault(origin_of(url))
        except FaultyValue as error:
            what, remedy = error.fault
            return Fault(f"the address can't be used: {what}", remedy)

    def fault_at(self, host: str, port: int, address: str) -> Fault | None:
        """Return why this address of a host may not be connected to; `None` if it may."""
        real = _unwrapped(ip_address(address.partition("%")[0]))
        if any(real in network for network in _NEVER):
            what = f"{host} is at {address}, where no tool may go"
            return Fault(what, "name the system's own")
        if (host, port) not in self._hosts and any(real in network for network in _NOT_PUBLIC):
            remedy = f"add its https://host:port to {self._named_in} if it is meant"
            return Fault(f"{host} is at {address}, which isn't public", remedy)
        return None

    def refusal(self, host: str, port: int, address: str) -> Localised | None:
        """What whoever asked is told where it may not be connected to; None where it may."""
        fault = self.fault_at(host, port, address)
        if fault is None:
            return None
        zh = f"不能连接 {host}：{address} 不在可以连接的范围内，请联系管理员"
        return Localised(zh=zh, en=str(fault))

    def check_redirect(self, before: Origin, after: Origin) -> None:
        """Raise `PermanentToolError` where an answer may not lead from one to the other."""
        if before.scheme == "https" and after.scheme != "https":
            zh = f"{before} 转到 {after}，那里没有加密"
            en = f"{before} leads to {after}, which isn't encrypted"
            raise PermanentToolError(Localised(zh=zh, en=en))
        if after != before and after not in self._by_name:
            zh = f"{before} 转到 {after}，请管理员写进工具的文件，或加到 {self._named_in}"
            remedy = f"name that in the tool's file, or add it to {self._named_in}"
            en = f"{before} leads to {after}; {remedy}"
            raise PermanentToolError(Localised(zh=zh, en=en))


def _unwrapped(address: IpAddress) -> IpAddress:
    """The IPv4 address within an IPv6 one, where the network takes it out again."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _WELL_KNOWN_NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
