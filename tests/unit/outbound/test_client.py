"""Where a declared tool may reach: origins, addresses, connections."""

from pathlib import Path
from ssl import SSLContext

import pytest

from router.domain.errors import PermanentToolError
from router.formats.origin import origin_of
from router.outbound.client import HostResolver, OutgoingRequest, Received, Sender, Unreached
from router.outbound.guard import OutboundGuard
from tests.fakes.certificates import contexts_for
from tests.fakes.web_server import Got, NameServer, Reply, WebServer, json_reply
from tests.table import each_row

PUBLIC, LOOPBACK, METADATA = "93.184.216.34", "127.0.0.1", "169.254.169.254"


def hello(got: Got) -> Reply:
    return json_reply({"host": got.headers["host"]})


def to(origin: str) -> OutgoingRequest:
    return OutgoingRequest("GET", origin_of(origin), "/")


async def send(
    origin: str, names: HostResolver, *allowed: str, trusted: SSLContext | None = None
) -> Received:
    return await Sender(OutboundGuard(allowed), names, trusted).send(to(origin), 2)


@each_row(
    "addresses",
    [[LOOPBACK], ["10.0.0.1"], [PUBLIC, LOOPBACK], ["::1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"]],
)
async def test_a_name_at_an_address_that_is_not_public_is_refused(addresses: list[str]) -> None:
    async with WebServer(hello) as server:
        names = NameServer(inner_example=[addresses])
        with pytest.raises(PermanentToolError, match=r"isn't public|no tool may go"):
            await send(f"https://inner.example:{server.port}", names)
        assert server.requests == []


async def test_a_name_that_is_allowed_still_leads_to_no_metadata() -> None:
    with pytest.raises(PermanentToolError, match="no tool may go"):
        await send("http://crm.corp", NameServer(crm_corp=[[METADATA]]), "http://crm.corp")


async def test_a_name_is_asked_for_once_for_each_connection_and_its_check() -> None:
    """DNS rebinding: a good address for whoever checks, another for whoever connects."""
    async with WebServer(hello) as server:
        origin = f"http://moving.example:{server.port}"
        names = NameServer(moving_example=[[LOOPBACK], [METADATA]])
        sender = Sender(OutboundGuard([origin]), names)
        assert (await sender.send(to(origin), 2)).status == 200
        assert names.asked == ["moving.example"]
        with pytest.raises(PermanentToolError, match=METADATA):
            await sender.send(to(origin), 2)


async def test_a_redirect_to_a_name_at_a_bad_address_is_refused() -> None:
    names = NameServer(inner_corp=[[METADATA]])

    async def resolve(host: str, port: int) -> list[str]:
        return [host] if host == LOOPBACK else await names(host, port)

    away = Reply([b""], 302, {"location": "http://inner.corp/"})
    async with WebServer(lambda _: away) as server:
        with pytest.raises(PermanentToolError, match="no tool may go"):
            await send(server.origin, resolve, server.origin, "http://inner.corp")
    assert names.asked == ["inner.corp"]


async def test_a_name_that_nobody_knows_may_be_known_soon() -> None:
    with pytest.raises(Unreached, match="no such name"):
        await send("https://api.example.com", NameServer())


async def test_the_next_address_is_tried_where_one_is_down() -> None:
    async with WebServer(hello) as server:
        origin = f"http://both.example:{server.port}"
        names = NameServer(both_example=[["127.0.0.2", LOOPBACK]])
        assert (await send(origin, names, origin)).fine


API = NameServer(api_example=[[LOOPBACK]])


async def test_the_name_is_what_the_certificate_and_the_host_header_are_for(tmp_path: Path) -> None:
    shown, trusted = contexts_for("api.example", tmp_path)
    async with WebServer(hello, shown) as server:
        origin = f"https://api.example:{server.port}"
        received = await send(origin, API, origin, trusted=trusted)
    assert received.body == f'{{"host": "{origin.removeprefix("https://")}"}}'.encode()


async def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    shown, trusted = contexts_for("other.example", tmp_path)
    async with WebServer(hello, shown) as server:
        origin = f"https://api.example:{server.port}"
        with pytest.raises(Unreached, match="CERTIFICATE_VERIFY_FAILED"):
            await send(origin, API, origin, trusted=trusted)
        assert server.requests == []


async def test_an_answer_may_not_lead_out_of_encryption(tmp_path: Path) -> None:
    shown, trusted = contexts_for("api.example", tmp_path)
    async with WebServer(hello) as plain:
        place = f"http://api.example:{plain.port}/"
        down = Reply([b""], 302, {"location": place})
        async with WebServer(lambda _: down, shown) as server:
            origin = f"https://api.example:{server.port}"
            with pytest.raises(PermanentToolError, match="isn't encrypted"):
                await send(origin, API, origin, place, trusted=trusted)
        assert plain.requests == []


PRIVATE = [
    *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("100.64.0.1", "100.127.255.254", "192.0.0.8", "198.18.0.1", "192.0.2.1", "203.0.113.9"),
    *("::1", "fc00::1", "fd12:3456::1", "2001:db8::1", "2002:7f00:1::", "2001::1", "100::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "::7f00:1"),
]
NOWHERE = [
    *("169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254"),
    *("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"),
    *("0.0.0.0", "::", "0.1.2.3", "224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1"),
]
OPEN = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::808:808"]


@each_row("address", [*PRIVATE, *NOWHERE, *OPEN])
def test_only_what_is_public_is_connected_to(address: str) -> None:
    fault = OutboundGuard().fault_at("api.example.com", 443, address)
    assert (fault is None) is (address in OPEN)


@each_row("address", PRIVATE)
def test_a_place_that_the_operator_names_may_be_private(address: str) -> None:
    guard = OutboundGuard(["https://crm.corp:8443"])
    assert guard.fault_at("crm.corp", 8443, address) is None
    assert guard.fault_at("crm.corp", 443, address)
    assert guard.fault_at("other.corp", 8443, address)


@each_row("address", NOWHERE)
def test_nobody_can_name_a_place_where_metadata_are(address: str) -> None:
    guard = OutboundGuard(["https://crm.corp"])
    assert "no tool may go" in str(guard.fault_at("crm.corp", 443, address))


def test_a_file_may_name_what_the_operator_names_or_what_is_public() -> None:
    guard = OutboundGuard(["http://127.0.0.1:9000"])
    assert guard.fault(origin_of("http://127.0.0.1:9000/x")) is None
    assert guard.fault(origin_of("https://api.example.com")) is None
    assert guard.fault(origin_of("http://127.0.0.1:9001"))


@each_row(
    ("before", "after", "said"),
    [
        ("https://a.example", "http://a.example", "isn't encrypted"),
        ("https://a.example", "http://named.example", "isn't encrypted"),
        ("https://a.example", "https://b.example", "name that in the tool's file"),
        ("https://a.example", "https://a.example:8443", "name that in the tool's file"),
    ],
)
def test_an_answer_may_not_lead_there(before: str, after: str, said: str) -> None:
    guard = OutboundGuard(["http://named.example"])
    with pytest.raises(PermanentToolError, match=said):
        guard.check_redirect(origin_of(before), origin_of(after))


@each_row(
    ("url", "origin"),
    [
        ("https://api.example.com/v1?x=@", "https://api.example.com"),
        ("HTTPS://API.EXAMPLE.COM:443", "https://api.example.com"),
        ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000"),
        ("https://[2606:4700::0:1111]/", "https://[2606:4700::1111]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://my_service.corp:8443", "https://my_service.corp:8443"),
    ],
)
def test_an_origin_has_one_spelling(url: str, origin: str) -> None:
    assert str(origin_of(url)) == origin


@each_row(
    "url",
    [
        *("https://user@api.example.com", "https://u:p@api.example.com", "https://@127.0.0.1"),
        *("https://api.example.com:80@127.0.0.1/", "https://api.example.com%40127.0.0.1/"),
        *("https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1", "https://0177.0.0.1"),
        *("https://127.1/", "https://127.0.1", "https://0/", "https://1.2.3.4.5/"),
        "https://08.8.8.8",
        *("https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[::1", "https://::1/"),
        *("https://api.example.com:0/", "https://api.example.com:99999/", "https://api:https/"),
        *("file:///etc/passwd", "gopher://127.0.0.1", "ftp://x.example", "//api.example.com", ""),
        *("javascript:alert(1)", "https:/api.example.com", "https:api.example.com", "https://"),
        *("https://api.example.com\r\nHost: evil", "https://api .example.com", "https://a\tb.c"),
        *("https://localhost./", "https://a..b/", "https://.example.com", "https://-a.example"),
        *("https://exa\\mple.com", "https://①②⑦.⓪.⓪.①/", "https://１２７.0.0.1/", "https://a%00.b"),
    ],
)
def test_what_parsers_may_read_differently_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"; "):
        origin_of(url)
