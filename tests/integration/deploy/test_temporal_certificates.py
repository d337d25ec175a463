"""The certificates of compose's Temporal overlay, before a real server of Temporal's."""

import asyncio
import os
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from temporalio.client import Client

from router.domain.errors import RouterError
from router.runtime.temporal import check_namespace, connect
from router.runtime.temporal_server import binary
from router.settings import Settings
from tests.fakes.temporal_gate import gate

pytestmark = pytest.mark.slow  # programs are started

DEPLOY = Path(__file__).parents[3] / "deploy"
OVERLAY = YAML(typ="safe").load((DEPLOY / "temporal-mtls.yml").read_text())


def make_certificates(folder: Path) -> dict[str, Path]:
    """Return the path of each secret of the overlay."""
    subprocess.run([DEPLOY / "make-certificates.sh", folder], check=True, capture_output=True)
    return {name: folder / Path(each["file"]).name for name, each in OVERLAY["secrets"].items()}


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, Path]:
    return make_certificates(tmp_path / "secrets")


@pytest.fixture
async def address(secrets: dict[str, Path], temporal_client: Client) -> AsyncIterator[str]:
    """Where a server is that shows and asks for certificates, as the overlay has it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secrets["temporal_server"], secrets["temporal_server_key"])
    context.load_verify_locations(secrets["temporal_authority"])
    context.verify_mode = ssl.CERT_REQUIRED
    async with gate(temporal_client.service_client.config.target_host, context) as address:
        yield address


def environment(service: str, secrets: dict[str, Path]) -> dict[str, str]:
    """What the overlay tells the service, with its secrets where they are here."""
    told = OVERLAY["services"][service]["environment"]
    return {name: str(secrets.get(Path(value).name, value)) for name, value in told.items()}


def settings(address: str, secrets: dict[str, Path]) -> Settings:
    told = environment("api", secrets)
    return Settings.load(
        temporal_address=address,
        temporal_tls_ca=told["ROUTER_TEMPORAL_TLS_CA"],
        temporal_tls_cert=told["ROUTER_TEMPORAL_TLS_CERT"],
        temporal_tls_key=Path(told["ROUTER_TEMPORAL_TLS_KEY_FILE"]).read_text(),
    )


async def ended(words: list[str | Path], variables: dict[str, str]) -> int | None:
    """The exit status of a program that has Temporal's command in its path."""
    path = f"{Path(binary()).parent}:{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(*words, env={"PATH": path, **variables})
    return await process.wait()


async def test_api_and_worker_are_let_in(address: str, secrets: dict[str, Path]) -> None:
    await check_namespace(await connect(settings(address, secrets)))


async def test_the_namespace_is_made_by_whoever_shows_one(
    address: str, secrets: dict[str, Path]
) -> None:
    variables = environment("temporal-namespace", secrets)
    named = {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": "mutual"}
    assert await ended([DEPLOY / "temporal-namespace.sh"], variables | named) == 0


@pytest.fixture
def strangers(tmp_path: Path) -> dict[str, Path]:
    """Certificates of the same names that another authority signed."""
    return make_certificates(tmp_path / "others")


async def test_whoever_shows_none_or_another_authority_s_is_not_let_in(
    address: str, secrets: dict[str, Path], strangers: dict[str, Path]
) -> None:
    health = ["temporal", "operator", "cluster", "health", "--command-timeout", "5s"]
    authority = {"TEMPORAL_TLS": "true", "TEMPORAL_ADDRESS": address}
    authority["TEMPORAL_TLS_SERVER_CA_CERT_PATH"] = str(secrets["temporal_authority"])
    shown = environment("temporal-namespace", strangers)
    for attack in ({"TEMPORAL_ADDRESS": address}, authority, shown | authority):
        assert await ended([*health], attack) != 0
    mixed = {**strangers, "temporal_authority": secrets["temporal_authority"]}
    with pytest.raises(RouterError):
        await connect(settings(address, mixed))


async def test_a_client_s_certificate_stands_in_for_no_server(
    secrets: dict[str, Path], temporal_client: Client
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secrets["temporal_client"], secrets["temporal_client_key"])
    async with gate(temporal_client.service_client.config.target_host, context) as impostor:
        with pytest.raises(RouterError):
            await connect(settings(impostor, secrets))


def test_what_is_there_already_stays(tmp_path: Path, secrets: dict[str, Path]) -> None:
    before = {path: path.read_bytes() for path in secrets.values()}
    again = make_certificates(tmp_path / "secrets")
    assert {path: path.read_bytes() for path in again.values()} == before
