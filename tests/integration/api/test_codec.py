"""Temporal's remote codec protocol, as its UI speaks it."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from temporalio.converter import DataConverter, WorkflowSerializationContext

from router.api.dependencies import Services
from router.api.routes.codec import MAX_BODY, MAX_PAYLOADS
from router.contracts.conversation import workflow_id
from router.directory.file import FileDirectory
from router.runtime.server import create_app
from router.secrecy.codec import data_converter
from router.settings.values import PayloadKeys
from tests.integration.api.conftest import client_of, problem

KEYS = PayloadKeys.read(f"k1:{base64.b64encode(b'k' * 32).decode()}")
OTHER = PayloadKeys.read(f"k0:{base64.b64encode(b'o' * 32).decode()}")
UI = "https://temporal.example"
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,x-namespace",
}
PEOPLE = """
users:
  - {id: alice, name: Alice}
  - {id: olga, name: Olga, roles: [operator]}
  - {id: omar, name: Omar, roles: [operator], tenant: acme}
"""


@pytest.fixture
def app(services: Services, tmp_path: Path) -> FastAPI:
    settings = {"payload_keys": KEYS, "temporal_ui": f"{UI}:443/ui"}
    changed = services.settings.model_copy(update=settings)
    people = tmp_path / "people.yaml"
    people.write_text(PEOPLE, encoding="utf-8")
    return create_app(replace(services, settings=changed, directory=FileDirectory.load(people)))


@pytest.fixture
async def olga(app: FastAPI) -> AsyncIterator[AsyncClient]:
    async with client_of(app, "olga") as client:
        yield client


def of(tenant: str, keys: PayloadKeys = KEYS) -> DataConverter:
    """As a conversation of this tenant's encrypts."""
    context = WorkflowSerializationContext("default", workflow_id(tenant, "c1"))
    return data_converter(keys).with_context(context)


async def as_sent(value: object, converter: DataConverter) -> dict[str, Any]:
    (payload,) = await converter.encode([value])
    metadata = {name: base64.b64encode(it).decode() for name, it in payload.metadata.items()}
    return {"metadata": metadata, "data": base64.b64encode(payload.data).decode()}


async def test_an_operator_reads_what_is_encrypted_in_order(olga: AsyncClient) -> None:
    sealed, plain = of("default"), data_converter(PayloadKeys())
    sent = [await as_sent("我要请假", sealed), await as_sent("plain", plain)]
    answer = await olga.post("/codec/decode", json={"payloads": sent})
    assert answer.status_code == 200
    shown = [base64.b64decode(each["data"]) for each in answer.json()["payloads"]]
    assert shown == ['"我要请假"'.encode(), b'"plain"']
    assert answer.headers["cache-control"] == "no-store"


async def test_what_is_encoded_is_decoded_again(olga: AsyncClient) -> None:
    sent = {"payloads": [await as_sent("hello", data_converter(PayloadKeys()))]}
    sealed = (await olga.post("/codec/encode", json=sent)).json()
    named = sealed["payloads"][0]["metadata"]["encryption-key-id"]
    assert named == base64.b64encode(b"k1").decode()
    assert (await olga.post("/codec/decode", json=sealed)).json() == sent


async def test_an_operator_reads_no_other_tenants(app: FastAPI, olga: AsyncClient) -> None:
    theirs = await as_sent("工资 480000", of("acme"))
    nobodys = await as_sent("no workflow's", data_converter(KEYS))
    name = base64.b64encode(b"default").decode()
    renamed = {**theirs, "metadata": {**theirs["metadata"], "encryption-tenant": name}}
    for attempt in (theirs, renamed, nobodys):
        problem(await olga.post("/codec/decode", json={"payloads": [attempt]}), 422)
    async with client_of(app, "acme/omar") as omar:
        shown = (await omar.post("/codec/decode", json={"payloads": [theirs]})).json()
        made = (await omar.post("/codec/encode", json=shown)).json()
    assert "480000" in base64.b64decode(shown["payloads"][0]["data"]).decode()
    assert "another tenant" in problem(await olga.post("/codec/decode", json=made), 422)["detail"]


@pytest.mark.parametrize("path", ["/codec/decode", "/codec/encode"])
@pytest.mark.parametrize(("user", "status"), [(None, 401), ("nobody", 401), ("alice", 403)])
async def test_nobody_else_may_ask(app: FastAPI, path: str, user: str | None, status: int) -> None:
    async with client_of(app, user) as client:
        refused = await client.post(path, json={"payloads": []}, headers={"Origin": UI})
    problem(refused, status)
    assert refused.headers["access-control-allow-origin"] == UI


async def test_an_unknown_key_is_named(olga: AsyncClient) -> None:
    sent = [await as_sent("x", of("default", OTHER))]
    said = problem(await olga.post("/codec/decode", json={"payloads": sent}), 422)
    told = "the key 'k0', which ROUTER_PAYLOAD_KEYS doesn't have (it has k1)"
    assert told in said["detail"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b'{"payloads": 1}', 422),
        (b'{"payloads": [1]}', 422),
        (b'{"payloads": [{"data": "not base64!"}]}', 422),
        (b'{"payloads": [{"data": "\\ud800"}]}', 400),
        (b'{"payloads": [{"metadata": {"encoding": 7}}]}', 422),
        (b'{"payloads": [{"metadata": {"encoding": "YmluYXJ5L2VuY3J5cHRlZA=="}}]}', 422),
        (b'{"payloads": [], "more": 1}', 422),
        (b'{"payloads": [' + b"{}," * MAX_PAYLOADS + b"{}]}", 422),
        (b'{"payloads": [{"data": "' + b"A" * MAX_BODY + b'"}]}', 413),
    ],
)
async def test_what_is_no_payload_is_refused(olga: AsyncClient, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    problem(await olga.post("/codec/decode", content=body, headers=headers), status)


async def test_nothing_and_empty_payloads_come_back(olga: AsyncClient) -> None:
    empty = {"payloads": [{"metadata": {}, "data": ""}]}
    for sent, back in (({}, {"payloads": []}), ({"payloads": [{}]}, empty)):
        assert (await olga.post("/codec/decode", json=sent)).json() == back


async def test_a_browser_on_temporals_ui_may_ask(app: FastAPI) -> None:
    async with client_of(app, None) as browser:
        answer = await browser.options("/codec/decode", headers={"Origin": UI, **PREFLIGHT})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == UI
    assert answer.headers["access-control-allow-methods"] == "POST"
    allowed = answer.headers["access-control-allow-headers"].split(", ")
    assert set(map(str.lower, allowed)) >= {"authorization", "content-type", "x-namespace"}
    assert "access-control-allow-credentials" not in answer.headers
    assert "origin" in answer.headers["vary"].lower()


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://temporal.example",
        "https://temporal.example:8443",
        "https://temporal.example.evil.example",
        "https://temporal.example/",
        "null",
        "*",
    ],
)
async def test_a_browser_anywhere_else_may_not(olga: AsyncClient, origin: str) -> None:
    headers = {"Origin": origin}
    refused = await olga.options("/codec/decode", headers={**headers, **PREFLIGHT})
    answered = await olga.post("/codec/decode", json={}, headers=headers)
    elsewhere = await olga.get("/v1/me", headers={"Origin": UI})
    assert (refused.status_code, answered.status_code) == (403, 403)
    for answer in (refused, answered, elsewhere):
        assert "access-control-allow-origin" not in answer.headers
