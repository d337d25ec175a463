"""API and worker before a Temporal server that lets nobody in without a certificate."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.temporal import connect
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.certificates import Authority
from tests.fakes.temporal_gate import gate
from tests.workflow.desk import Approver, Talk, becomes, person
from tests.workflow.test_streaming import served

pytestmark = pytest.mark.slow  # whole turns, over connections of their own

QUEUE = "mutual-tls"


@pytest.fixture
async def client_by_certificate(temporal_client: Client, tmp_path: Path) -> AsyncIterator[Client]:
    """A client made from `ROUTER_TEMPORAL_TLS_…`, of a server that asks for a certificate."""
    authority = Authority("authority", tmp_path)
    shown, own = authority.signed("localhost"), authority.signed("router")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.certificate, shown.key)
    context.load_verify_locations(authority.file)
    context.verify_mode = ssl.CERT_REQUIRED
    async with gate(temporal_client.service_client.config.target_host, context) as address:
        yield await connect(
            Settings.load(
                temporal_address=address,
                temporal_namespace=temporal_client.namespace,
                temporal_tls_ca=authority.file,
                temporal_tls_server_name="localhost",
                temporal_tls_cert=own.certificate,
                temporal_tls_key=own.key.read_text(),
            )
        )


async def test_a_leave_is_requested_and_approved_where_temporal_wants_certificates(
    client_by_certificate: Client, parts: Parts
) -> None:
    client = client_by_certificate
    async with build_worker(client, parts, QUEUE), served(parts, client, QUEUE) as api:
        conversation = (await api.post("/v1/conversations")).json()["id"]
        said = {"text": "你好"}
        turn = await api.post(f"/v1/conversations/{conversation}/messages", json=said)
        talk = await Talk(client, parts, await person(parts, "alice"), queue=QUEUE).open()
        run = await talk.waiting_leave()
        await Approver(client, parts, "bob").decide(run, "approve")
        await becomes(parts, run, lambda record: record.status == "completed")
    assert turn.status_code == 200
    assert turn.json()["replies"]
