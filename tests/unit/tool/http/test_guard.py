"""Which addresses may be connected to, and where an answer may lead."""

import pytest

from router.domain.errors import PermanentToolError
from router.tool.http.client import OutboundGuard
from router.tool.http.endpoint import origin_of

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
PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", [*PRIVATE, *NOWHERE])
def test_what_is_not_public_is_not_connected_to(address: str) -> None:
    assert OutboundGuard().objection_to("api.example.com", 443, address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is(address: str) -> None:
    assert OutboundGuard().objection_to("api.example.com", 443, address) == ""


@pytest.mark.parametrize("address", PRIVATE)
def test_a_place_that_the_operator_names_may_be_private(address: str) -> None:
    guard = OutboundGuard(["https://crm.corp:8443"])
    assert guard.objection_to("crm.corp", 8443, address) == ""
    assert guard.objection_to("crm.corp", 443, address)
    assert guard.objection_to("other.corp", 8443, address)


@pytest.mark.parametrize("address", NOWHERE)
def test_nobody_can_name_a_place_where_metadata_are(address: str) -> None:
    assert "no tool may go" in OutboundGuard(["https://crm.corp"]).objection_to(
        "crm.corp", 443, address
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://api.example.com", "isn't https"),
        ("https://127.0.0.1", "isn't public"),
        ("https://[::ffff:10.0.0.1]", "isn't public"),
        ("https://169.254.169.254", "no tool may go"),
    ],
)
def test_a_file_may_not_name_these(url: str, said: str) -> None:
    assert said in OutboundGuard().objection(origin_of(url))


def test_a_file_may_name_what_the_operator_names_or_what_is_public() -> None:
    guard = OutboundGuard(["http://127.0.0.1:9000"])
    assert guard.objection(origin_of("http://127.0.0.1:9000/x")) == ""
    assert guard.objection(origin_of("https://api.example.com")) == ""
    assert guard.objection(origin_of("http://127.0.0.1:9001"))


@pytest.mark.parametrize(
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
