"""Whose turn it is where many wait, as a real server deals out the tasks of a queue."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from router.api.turns import Turns
from router.contracts.conversation import Submission, workflow_id
from router.contracts.start_options import LONGEST_KEY, Fairness
from router.domain.messages import Message
from router.domain.principals import Principal
from router.domain.records import ConversationRecord
from router.runtime.temporal_server import DYNAMIC
from tests.integration.api.workflows import EchoConversation
from tests.table import each_row
from tests.temporal import dev_server
from tests.waiting import HANGS_AFTER_S

FLOOD, FEW = 60, 4


@pytest.fixture
async def fair() -> AsyncIterator[Client]:
    """A client of a server that is configured as `dev` configures its own."""
    flags = [f"--dynamic-config-value={name}={value}" for name, value in DYNAMIC.items()]
    async with await dev_server(dev_server_extra_args=flags) as environment:
        yield environment.client


async def answered(client: Client, queue: str, tenant: str, id_: str) -> None:
    """The first message of a conversation, sent as the API sends it."""
    person = Principal(id="alice", name="Alice", tenant=tenant)
    record = ConversationRecord(
        id=id_, tenant=tenant, owner="alice", locale="en", created_at=datetime.now(UTC)
    )
    submission = Submission(message_id="m", message=Message(text="hello"), caller=person)
    await Turns(client, queue)._begin(record, submission).task


@pytest.mark.slow
async def test_a_tenants_flood_leaves_another_its_share_of_the_only_worker(fair: Client) -> None:
    served: list[str] = []

    async def sent(tenant: str, id_: str) -> None:
        await answered(fair, "one", tenant, id_)
        served.append(tenant)

    async def begun(ids: set[str]) -> None:
        """All are on the server, waiting for a worker."""
        async with asyncio.timeout(HANGS_AFTER_S):
            for id_ in ids:
                while not await is_there(fair, id_):  # noqa: ASYNC110 - it is the server that has them
                    await asyncio.sleep(0.05)

    flood = {workflow_id("acme", f"a{n}"): ("acme", f"a{n}") for n in range(FLOOD)}
    few = {workflow_id("tiny", f"b{n}"): ("tiny", f"b{n}") for n in range(FEW)}
    tasks = [asyncio.create_task(sent(*who)) for who in flood.values()]
    await begun(set(flood))
    tasks += [asyncio.create_task(sent(*who)) for who in few.values()]
    await begun(set(few))
    async with Worker(
        fair,
        task_queue="one",
        workflows=[EchoConversation],
        max_concurrent_workflow_tasks=2,
        max_concurrent_workflow_task_polls=2,
    ):
        await asyncio.gather(*tasks)
    last = max(place for place, tenant in enumerate(served) if tenant == "tiny")
    assert last <= 2 * FEW + 2, served  # every second turn, and what had begun


async def is_there(client: Client, id_: str) -> bool:
    try:
        await client.get_workflow_handle(id_).describe()
    except RPCError:
        return False
    return True


@each_row("tenant", ["acme", "公司", "x" * LONGEST_KEY])
def test_a_tenant_is_its_own_key(tenant: str) -> None:
    assert Fairness().share(tenant, "alice").fairness_key == tenant


@each_row("tenant", ["x" * (LONGEST_KEY + 1), "司" * 30])
def test_a_key_is_never_longer_than_temporal_takes(tenant: str) -> None:
    key = Fairness().share(tenant, "alice").fairness_key
    assert key is not None
    assert len(key.encode()) <= LONGEST_KEY
    assert key == Fairness().share(tenant, "bob").fairness_key


def test_people_have_keys_of_their_own_that_do_not_name_them() -> None:
    fairness = Fairness(to="person", weights={"acme": 2.5})
    keys = [fairness.share(t, p).fairness_key for t, p in (("acme", "alice"), ("acme", "bob"))]
    assert len({*keys, fairness.share("other", "alice").fairness_key}) == 3
    assert not [key for key in keys if key is None or "alice" in key or "acme" in key]
    assert fairness.share("acme", "alice").fairness_weight == 2.5
    assert fairness.share("other", "alice").fairness_weight is None
