"""`kill -9` of Temporal's server when a turn is on record that it hasn't heard of.

It forgets the message then, whose sender had no answer: they send it again, or somebody else
speaks first, or they never come back.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from router.domain.messages import Turn
from router.domain.records import LogEntry, RecordedTurn
from router.runtime.composition import Parts, assembled
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.e2e.chaos.house import answers, temporal_at
from tests.e2e.chaos.machine import Kept
from tests.ports import free_ports
from tests.table import each_row
from tests.temporal import register_attributes
from tests.workflow.desk import QUEUE, Talk, person

pytestmark = pytest.mark.slow

LOST = "m-lost"


@dataclass
class House:
    """A worker in this process, and a server in another, which dies as soon as `LOST` is kept."""

    client: Client
    parts: Parts
    server: Kept
    port: int
    forgotten: asyncio.Event = field(default_factory=asyncio.Event)

    async def forgets(self, talk: Talk) -> None:
        """Have a message taken in and its turn written, and the server back without either."""
        self.forgotten.clear()
        sending = asyncio.create_task(talk.say("你好", LOST))
        await self.forgotten.wait()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await answers(self.port)


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder, (port,) = tmp_path_factory.mktemp("forgetful"), free_ports(1)
    async with AsyncExitStack() as open_:
        server = temporal_at(folder, port)
        server.start()
        open_.push_async_callback(server.stop)
        await answers(port)
        client = await Client.connect(f"127.0.0.1:{port}", data_converter=pydantic_data_converter)
        await register_attributes(client)
        parts = await open_.enter_async_context(assembled(Settings.load(data=folder)))
        built = House(client, parts, server, port)
        keep = parts.store.log.append_turn

        async def kept(tenant: str, entries: Sequence[LogEntry]) -> list[RecordedTurn]:
            unknown = await keep(tenant, entries)
            if not built.forgotten.is_set() and entries[0].message_id == LOST:
                server.kill()
                built.forgotten.set()
            return unknown

        parts.store.log.append_turn = kept  # type: ignore[method-assign]
        await open_.enter_async_context(build_worker(client, parts, QUEUE))
        yield built


@each_row("next_is", ["another", "the same"])
async def test_a_turn_that_the_server_forgot_keeps_its_number_and_its_answer(
    house: House, next_is: str
) -> None:
    talk = await Talk(house.client, house.parts, await person(house.parts, "alice")).open()
    await talk.say("你好", "m-first")
    await house.forgets(talk)
    again: Turn | None = None
    if next_is == "the same":
        again = await talk.say("你好", LOST)
    after = await talk.say("你好", "m-after")
    assert after.turn == 3
    again = again or await talk.say("你好", LOST)
    rows = await house.parts.store.log.since("default", talk.id, 0, 100)
    turns = [RecordedTurn.model_validate(row.data).turn for row in rows if row.kind == "turn"]
    assert [(turn.turn, turn.message_id) for turn in turns] == [
        (1, "m-first"),
        (2, LOST),
        (3, "m-after"),
    ]
    assert again == turns[1]
    assert (await talk.status()).turns == 3
    assert len(await talk.transcript()) == 6
