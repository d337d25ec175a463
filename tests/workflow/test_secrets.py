"""No secret gets out: planted ones are looked for wherever the house writes anything down."""

import base64
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from temporalio.client import Client

from router.api.auth import mint
from router.api.dependencies import Services
from router.cli.doctor import examine
from router.directory.file import SAMPLE
from router.directory.sources import LiveDirectory
from router.runtime.composition import Parts
from router.runtime.extensions import load_extensions
from router.runtime.server import create_app
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Section, Settings
from router.settings.environment import is_secret
from tests.fakes.certificates import Authority
from tests.fakes.model_server import ModelServer, fails
from tests.fakes.oidc_provider import Served, serving
from tests.table import each_row
from tests.temporal import dev_server, register_attributes
from tests.workflow.desk import QUEUE

MARKER = "m4rkerM4RKERm4rker"
WORD = "zebrafinch"
"""A word of the conversation: where it isn't found nothing would be."""
OTHERS = {"payload_keys"}
"""With those nothing in Temporal's database could be read, and so nothing found there either."""
EXTENDED = (extension.settings() for extension in load_extensions())
KINDS: list[type[Section]] = [Settings, *(kind for kind in EXTENDED if kind is not None)]
SECRETS = [
    f"{kind.prefix()}{name}".removeprefix("ROUTER_").lower()
    for kind in KINDS
    for name, field in kind.model_fields.items()
    if is_secret(field) and "url" not in name and name not in OTHERS
]


def traces(marker: str) -> Iterator[bytes]:
    """How the marker looks as it is, and in base64 at each of three offsets."""
    yield marker.encode()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + marker.encode())
        yield encoded[4 * (offset > 0) : -4]


def found(written: bytes, marker: str = MARKER) -> bool:
    return any(trace in written for trace in traces(marker))


def written_in(folder: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@each_row("hidden", [f"x{MARKER}y", f"xy{MARKER}", MARKER])
def test_what_is_looked_for_would_be_found(hidden: str) -> None:
    assert found(hidden.encode())
    assert found(base64.b64encode(hidden.encode()))


@pytest.fixture
def people() -> Iterator[Served]:
    with serving(Served(SAMPLE.read_bytes())) as served:
        yield served


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, people: Served) -> pytest.MonkeyPatch:
    """Every secret is a marker, and what they are shown to is out of reach or refuses them."""
    monkeypatch.chdir(tmp_path)
    given = {name.upper(): f"{MARKER}-{name}-{'x' * 32}" for name in SECRETS} | {
        "AUTH": "jwt",
        "DATA": str(tmp_path / "data"),
        "RATES_URL": f"http://127.0.0.1:9/?key={MARKER}",
        "DIRECTORY": people.url,
        "DINGTALK_APP_KEY": "key",
        "DINGTALK_CORP_ID": "corp",
        "DINGTALK_CARD_TEMPLATE_ID": "card.schema",
        "DINGTALK_PUBLIC_URL": "https://desk.example.com",
        "DINGTALK_URL": "http://127.0.0.1:9",
        "FEISHU_APP_ID": "app",
        "FEISHU_URL": "http://127.0.0.1:9",
        "MAIL_HOST": "127.0.0.1",
        "MAIL_PORT": "9",
        "MAIL_USER": "desk",
        "MAIL_SENDER": "desk@example.com",
        "MAIL_PUBLIC_URL": "https://desk.example.com",
        "SLACK_URL": "http://127.0.0.1:9",
        "TEAMS_APP_ID": "11111111-2222-3333-4444-555555555555",
        "TEAMS_TENANT_ID": "11111111-2222-3333-4444-666666666666",
        "TEAMS_LOGIN_URL": "http://127.0.0.1:9",
        "WECOM_AGENT_ID": "1000002",
        "WECOM_CORP_ID": "corp",
        "WECOM_ENCODING_AES_KEY": f"{MARKER}{'x' * 25}",
        "WECOM_URL": "http://127.0.0.1:9",
        "WECOM_ROBOT_ENCODING_AES_KEY": f"{MARKER}{'y' * 25}",
        "LLM_MODEL": "qwen",
        "TASK_QUEUE": QUEUE,
        "TEMPORAL_TLS_CERT": str(Authority("Temporal", tmp_path).signed("router").certificate),
    }
    for name, value in given.items():
        monkeypatch.setenv(f"ROUTER_{name}", value)
    return monkeypatch


@pytest.fixture
async def model(planted: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    """A provider that refuses the key and repeats it, as some do."""
    refusing = fails(401, f"Incorrect API key provided: {MARKER}-llm_api_key-{'x' * 32}")
    async with ModelServer(refusing) as server:
        server.listing = server.embeddings = refusing
        planted.setenv("ROUTER_LLM_BASE_URL", server.url)
        yield server


async def lived(client: httpx.AsyncClient, settings: Settings) -> str:
    """What the API answers to a day of words, mistakes and attacks."""
    secret = settings.jwt_secret
    assert secret
    begun = await client.post("/v1/conversations", json={})
    path = f"/v1/conversations/{begun.json()['id']}/messages"
    texts = (f"what about the {WORD}", "我要请假", "100 USD in EUR", "取消")
    said = [await client.post(path, json={"text": text}) for text in texts]
    assert {answer.status_code for answer in said} == {200}
    pages = ("/readyz", "/openapi.json", "/web/config.json", "/v1/me", "/v1/capabilities", path)
    seen = [await client.get(page) for page in pages]
    made = (secret.get_secret_value(), f"a.{secret.get_secret_value()}.b", "a.b.c")
    headers = [{"Authorization": f"Bearer {token}"} for token in made]
    refused = [await client.get("/v1/me", headers=each) for each in headers]
    assert {answer.status_code for answer in refused} == {401}
    answers = [begun, *said, *seen, *refused, await client.post(path, content=b"{")]
    return "\n".join(f"{answer.headers} {answer.text}" for answer in answers)


def services_of(parts: Parts, client: Client) -> Services:
    """What the API is made of, without its own process."""
    return Services(
        settings=parts.settings,
        temporal=client,
        store=parts.store,
        directory=parts.directory,
        offered=parts.offered,
        reader=parts.reader,
        index=parts.index,
        prompts=parts.prompts,
        configuration=parts.configuration,
    )


@pytest.mark.slow
async def test_no_secret_is_in_answers_logs_databases_or_temporal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, model: ModelServer, people: Served
) -> None:
    caplog.set_level(logging.INFO)
    for name in ("router", "activities", "workflows"):
        caplog.set_level(logging.DEBUG, name)
    for name in ("httpx", "httpx2"):  # as in every process: `router.cli.processes`
        caplog.set_level(logging.WARNING, name)
    settings = Settings.load()
    store = tmp_path / "temporal"
    for folder in (store, settings.data):
        folder.mkdir()
    async with (
        await dev_server(dev_server_database_filename=str(store / "temporal.db")) as environment,
        at_work(settings) as parts,
    ):
        await register_attributes(environment.client)
        services = services_of(parts, environment.client)
        transport = httpx.ASGITransport(create_app(services), raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {mint(settings, 'alice', 600)}"}
        async with (
            build_worker(environment.client, parts, QUEUE),
            httpx.AsyncClient(
                transport=transport, base_url="http://localhost", headers=headers, timeout=60
            ) as client,
        ):
            answered = await lived(client, settings)
        people.status = 401
        assert isinstance(parts.directory, LiveDirectory)
        assert not parts.directory.refresh()
        kept = written_in(store)
    assert model.requests
    assert found(kept, WORD)
    assert found(written_in(tmp_path / "data"), WORD)
    assert "the people stay as they were" in caplog.text
    assert not found(answered.encode())
    assert not found(caplog.text.encode())
    assert not found(written_in(tmp_path / "data"))
    assert not found(kept)
    assert not found(repr(settings).encode())


async def test_no_secret_is_in_what_doctor_says(
    planted: pytest.MonkeyPatch, model: ModelServer, people: Served
) -> None:
    planted.setenv("ROUTER_DATABASE_URL", f"postgresql+asyncpg://u:{MARKER}@127.0.0.1:9/router")
    planted.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:9")
    planted.setenv("ROUTER_EMBEDDER", "openai:vectors")
    people.status = 403
    findings = {one.subject: one for one in await examine()}
    for subject in ("directory", "model", "embedder", "database", "temporal"):
        assert not findings[subject].fine, subject
    assert not found(json.dumps({one.subject: one.says for one in findings.values()}).encode())
    assert model.requests
