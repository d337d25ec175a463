"""Connections: to addresses that were checked, whatever DNS says a moment later."""

from pathlib import Path

import pytest

from router.domain.errors import PermanentToolError
from router.tool.http.client import OutboundGuard, Resolver, Sender, Unreached
from router.tool.http.endpoint import OutgoingRequest, origin_of
from tests.fakes.certificates import contexts_for
from tests.fakes.web_server import Got, NameServer, Reply, WebServer, json_reply

PUBLIC, LOOPBACK, METADATA = "93.184.216.34", "127.0.0.1", "169.254.169.254"


def hello(got: Got) -> Reply:
    return json_reply({"host": got.headers["host"]})


def to(origin: str, target: str = "/") -> OutgoingRequest:
    return OutgoingRequest("GET", origin_of(origin), target)


@pytest.mark.parametrize(
    "addresses",
    [[LOOPBACK], ["10.0.0.1"], [PUBLIC, LOOPBACK], ["::1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"]],
)
async def test_a_name_at_an_address_that_is_not_public_is_refused(addresses: list[str]) -> None:
    async with WebServer(hello) as server:
        names = NameServer(inner_example=[addresses])
        with pytest.raises(PermanentToolError, match=r"isn't public|no tool may go"):
            await Sender(OutboundGuard(), names).send(to(f"https://inner.example:{server.port}"), 2)
        assert server.requests == []


async def test_a_name_that_is_allowed_still_leads_to_no_metadata() -> None:
    names = NameServer(crm_corp=[[METADATA]])
    with pytest.raises(PermanentToolError, match="no tool may go"):
        await Sender(OutboundGuard(["http://crm.corp"]), names).send(to("http://crm.corp"), 2)


async def test_a_name_is_asked_for_once_for_the_check_and_the_connection() -> None:
    """DNS rebinding: a good address for whoever checks, another for whoever connects."""
    async with WebServer(hello) as server:
        origin = f"http://moving.example:{server.port}"
        names = NameServer(moving_example=[[LOOPBACK], [METADATA]])
        received = await Sender(OutboundGuard([origin]), names).send(to(origin), 2)
    assert received.status == 200
    assert names.asked == ["moving.example"]


async def test_each_connection_is_checked_anew() -> None:
    async with WebServer(hello) as server:
        origin = f"http://moving.example:{server.port}"
        sender = Sender(
            OutboundGuard([origin]), NameServer(moving_example=[[LOOPBACK], [METADATA]])
        )
        await sender.send(to(origin), 2)
        with pytest.raises(PermanentToolError, match=METADATA):
            await sender.send(to(origin), 2)


async def test_a_redirect_to_a_name_at_a_bad_address_is_refused() -> None:
    def answer(_: Got) -> Reply:
        return Reply([b""], 302, {"location": "http://inner.corp/"})

    async with WebServer(answer) as server:
        names = NameServer(inner_corp=[[METADATA]])
        sender = Sender(OutboundGuard([server.origin, "http://inner.corp"]), _also_loopback(names))
        with pytest.raises(PermanentToolError, match="no tool may go"):
            await sender.send(to(server.origin), 2)
    assert names.asked == ["inner.corp"]


async def test_a_name_that_nobody_knows_may_be_known_soon() -> None:
    with pytest.raises(Unreached, match="no such name"):
        await Sender(OutboundGuard(), NameServer()).send(to("https://api.example.com"), 2)


async def test_the_next_address_is_tried_where_one_is_down() -> None:
    async with WebServer(hello) as server:
        origin = f"http://both.example:{server.port}"
        names = NameServer(both_example=[["127.0.0.2", LOOPBACK]])
        received = await Sender(OutboundGuard([origin]), names).send(to(origin), 2)
    assert received.fine


class TestTls:
    async def test_the_name_is_what_the_certificate_and_the_host_header_are_for(
        self, tmp_path: Path
    ) -> None:
        shown, trusted = contexts_for("api.example", tmp_path)
        async with WebServer(hello, shown) as server:
            origin = f"https://api.example:{server.port}"
            names = NameServer(api_example=[[LOOPBACK]])
            received = await Sender(OutboundGuard([origin]), names, trusted).send(to(origin), 2)
        assert received.body == f'{{"host": "api.example:{server_port(origin)}"}}'.encode()

    async def test_a_certificate_for_another_name_is_refused(self, tmp_path: Path) -> None:
        shown, trusted = contexts_for("other.example", tmp_path)
        async with WebServer(hello, shown) as server:
            origin = f"https://api.example:{server.port}"
            names = NameServer(api_example=[[LOOPBACK]])
            with pytest.raises(Unreached, match="CERTIFICATE_VERIFY_FAILED"):
                await Sender(OutboundGuard([origin]), names, trusted).send(to(origin), 2)
            assert server.requests == []

    async def test_an_answer_may_not_lead_out_of_encryption(self, tmp_path: Path) -> None:
        shown, trusted = contexts_for("api.example", tmp_path)
        async with WebServer(hello) as plain:
            place = f"http://api.example:{plain.port}/"
            down = Reply([b""], 302, {"location": place})
            async with WebServer(lambda _: down, shown) as server:
                origin = f"https://api.example:{server.port}"
                names = NameServer(api_example=[[LOOPBACK]])
                with pytest.raises(PermanentToolError, match="isn't encrypted"):
                    await Sender(OutboundGuard([origin, place]), names, trusted).send(to(origin), 2)
            assert plain.requests == []


def server_port(origin: str) -> int:
    return origin_of(origin).port


def _also_loopback(names: NameServer) -> Resolver:
    async def resolve(host: str, port: int) -> list[str]:
        return [host] if host == LOOPBACK else await names(host, port)

    return resolve
