"""Temporal behind TLS: who is let in, by certificate or key, and what others are told."""

import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from router.cli.checks import services
from router.domain.errors import MisconfiguredError, RouterError, Unavailable
from router.runtime.temporal import check_namespace, connect
from router.settings import Settings
from tests.fakes.certificates import Authority, Signed
from tests.fakes.temporal_gate import gate

NAME = "desk.a1b2c.tmprl.example"
KEY = "k3y-of-the-cloud"


@pytest.fixture
def server(temporal_client: Client) -> str:
    return temporal_client.service_client.config.target_host


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority("house", tmp_path)


@pytest.fixture
def context(authority: Authority) -> ssl.SSLContext:
    """The gate's, which shows a certificate of the house's and wants none."""
    shown = authority.signed(NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.certificate, shown.key)
    return context


@pytest.fixture
async def by_key(server: str, context: ssl.SSLContext) -> AsyncIterator[str]:
    async with gate(server, context, KEY) as address:
        yield address


@pytest.fixture
async def by_certificate(
    server: str, context: ssl.SSLContext, authority: Authority
) -> AsyncIterator[str]:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    async with gate(server, context) as address:
        yield address


Settled = Callable[..., Settings]


@pytest.fixture
def settled(authority: Authority) -> Settled:
    """The settings for an address behind the gate, whose authority is trusted."""

    def load(address: str, own: Signed | None = None, **others: Any) -> Settings:
        known: dict[str, Any] = {
            "temporal_tls_ca": authority.file,
            "temporal_tls_server_name": NAME,
        }
        if own is not None:
            known["temporal_tls_cert"] = own.certificate
            known["temporal_tls_key"] = own.key.read_text()
        return Settings.load(temporal_address=address, **(known | others))

    return load


async def refusal(settings: Settings) -> RouterError:
    with pytest.raises(RouterError) as refused:
        await connect(settings)
    return refused.value


async def test_an_api_key_lets_in(by_key: str, settled: Settled) -> None:
    settings = settled(by_key, temporal_api_key=KEY)
    await check_namespace(await connect(settings))
    assert await services.temporal(settings) == f"answers at {by_key} over TLS with an API key"


@pytest.mark.parametrize("key", ["an-older-key", None], ids=["another", "none"])
async def test_who_has_another_key_is_told_which_setting_it_is(
    by_key: str, settled: Settled, key: str | None
) -> None:
    refused = await refusal(settled(by_key, temporal_api_key=key))
    assert isinstance(refused, MisconfiguredError)
    assert "ROUTER_TEMPORAL_API_KEY: set a key that may use the namespace default" in str(refused)
    assert "older" not in str(refused)


async def test_a_certificate_lets_in_and_the_doctor_says_until_when(
    by_certificate: str, settled: Settled, authority: Authority
) -> None:
    settings = settled(by_certificate, authority.signed("desk", ends_in=8))
    await check_namespace(await connect(settings))
    said = await services.temporal(settings)
    ends = datetime.now(UTC) + timedelta(days=8)
    assert said.endswith(f"certificate of CN=desk, which ends on {ends:%Y-%m-%d}")


async def test_the_doctor_warns_of_a_certificate_that_ends_within_a_week(
    by_certificate: str, settled: Settled, authority: Authority
) -> None:
    settings = settled(by_certificate, authority.signed("desk", ends_in=6))
    with pytest.raises(MisconfiguredError, match="have a new one signed"):
        await services.temporal(settings)


async def test_who_shows_no_certificate_is_told_what_may_be_missing(
    by_certificate: str, settled: Settled
) -> None:
    refused = await refusal(settled(by_certificate))
    assert isinstance(refused, Unavailable)
    assert "hangs up: if it wants a certificate, set ROUTER_TEMPORAL_TLS_CERT" in str(refused)


async def test_a_certificate_of_another_house_is_not_taken(
    by_certificate: str, settled: Settled, tmp_path: Path
) -> None:
    own = Authority("other", tmp_path).signed("desk")
    assert f"ROUTER_TEMPORAL_TLS_CERT={own.certificate}, or show another" in str(
        await refusal(settled(by_certificate, own))
    )


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"temporal_tls_ca": None}, "isn't trusted (UnknownIssuer)"),
        ({"temporal_tls_server_name": "another.example"}, "isn't trusted (NotValidForName"),
    ],
    ids=["authority", "name"],
)
async def test_a_server_that_is_not_trusted_is_sent_no_key(
    by_key: str, settled: Settled, others: dict[str, Any], said: str
) -> None:
    refused = await refusal(settled(by_key, temporal_api_key=KEY, **others))
    assert said in str(refused)
    assert "ROUTER_TEMPORAL_TLS_CA, or the name in it in ROUTER_TEMPORAL_TLS_SERVER_NAME" in str(
        refused
    )


@pytest.mark.slow
async def test_where_one_side_alone_speaks_tls_the_other_says_so(
    by_key: str, server: str, settled: Settled
) -> None:
    plain = Settings.load(temporal_address=by_key)
    assert "if it wants TLS, set ROUTER_TEMPORAL_TLS=true" in str(await refusal(plain))
    assert "speaks no TLS" in str(await refusal(settled(server)))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda own, _: own.certificate.unlink(), "TLS_CERT={}.crt can't be read"),
        (lambda own, _: own.certificate.write_text("junk"), "TLS_CERT={}.crt is no certificate"),
        (lambda own, _: own.key.write_text("s3cret junk"), "TLS_KEY is no private key in PEM"),
        (lambda own, by: by.signed("desk", -1), "TLS_CERT={}.crt ended on "),
        (lambda own, by: own.key.write_bytes(by.signed("x").key.read_bytes()), "isn't the key of"),
    ],
    ids=["absent", "no-certificate", "no-key", "ended", "another-key"],
)
async def test_what_cannot_be_shown_is_refused_before_anybody_is_called(
    settled: Settled,
    authority: Authority,
    tmp_path: Path,
    spoil: Callable[[Signed, Authority], object],
    said: str,
) -> None:
    own = authority.signed("desk")
    spoil(own, authority)
    refused = await refusal(settled("127.0.0.1:1", own))
    assert isinstance(refused, MisconfiguredError)
    assert said.format(tmp_path / "desk") in str(refused)
    assert "s3cret" not in str(refused)


async def test_an_authority_that_is_no_certificate_is_refused(
    settled: Settled, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_text("junk")
    refused = await refusal(settled("127.0.0.1:1", temporal_tls_ca=tmp_path / "ca.pem"))
    assert "ca.pem is no certificate in PEM" in str(refused)
