"""`kill -9` of the worker at every point of a write that somebody has confirmed.

A tool that honours its key has exactly one effect. One that doesn't has at most one, and where
nobody can know whether it had, that is what is said: nothing is tried a second time.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from uuid import uuid4

import pytest
from temporalio.client import Client

from router.contracts.flow import workflow_id
from router.domain.messages import ChoicesReply, ChooseAction, ConfirmAction, Message
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts, assembled
from router.settings import Settings
from tests.e2e.mortal import Mortal
from tests.e2e.mortal_worker import Plan
from tests.fakes.bank import Bank
from tests.temporal import dev_server
from tests.workflow.desk import Talk, person, register_attributes, run_of

ENDS_WITHIN = 40.0
"""Seconds from a confirmation to the end of its run, over one death or two."""

EFFECTS_OF_SHOOT = {"unnoted": 1, "before": 0, "during": 1, "after": 1, "noted": 1}
"""By where the worker dies: before the ledger has the call, before the bank has it, before its
answer is read, before the ledger has the answer, before Temporal has it."""
IN_SHORT = {"during", "noted"}
"""Those that the quick suite tries; the slow one tries all."""
KNOWN = {"unnoted", "noted"}
"""Where the ledger can tell what became of a call: nothing yet, or all of it."""


@dataclass(frozen=True)
class House:
    """Everything that outlives a worker, and one worker a tool, so that two can die at once."""

    client: Client
    parts: Parts
    bank: Bank
    workers: Mapping[str, Mortal]

    async def order(self, tool: str) -> "Order":
        """One more order of alice's, up to the question whether to go ahead."""
        await self.workers[tool].lives()
        alice = await person(self.parts, "alice")
        queue = self.workers[tool].plan.queue
        talk = await Talk(self.client, self.parts, alice, queue=queue).open()
        order = Order(self, talk, tool, f"O{uuid4().hex[:8]}")
        async with asyncio.timeout(ENDS_WITHIN):
            await order.ask()
        return order

    def read(self, query: str, of: str) -> list[str]:
        """One column of the database, which other processes write."""
        with sqlite3.connect(self.parts.settings.data / "router.db") as database:
            return [value for (value,) in database.execute(query, [of])]


@dataclass
class Order:
    """One order, from the first word to whatever became of it."""

    house: House
    talk: Talk
    tool: str
    name: str
    run: str = ""

    @property
    def worker(self) -> Mortal:
        return self.house.workers[self.tool]

    async def ask(self) -> None:
        """As anybody gets there without a model: from what is offered, by the tool's form."""
        offer = (await self.talk.say("帮我办一下")).replies[-1]
        assert isinstance(offer, ChoicesReply)
        assert self.tool in [option.value for option in offer.options]
        await self.talk.send(Message(action=ChooseAction(type="choose", value=self.tool)))
        turn = await self.talk.say(self.name)
        assert turn.flow is not None
        assert (turn.flow.status, turn.flow.slots) == ("confirming", {"order": self.name})
        self.run = turn.flow.id

    async def confirm(self, *deaths: str) -> "Order":
        """Say yes; the worker dies at each of these points in turn, and lives on in another."""
        for point in deaths:
            (self.worker.plan.deaths / point).touch()
        async with asyncio.timeout(ENDS_WITHIN):
            yes = Message(action=ConfirmAction(type="confirm", value=True))
            turn = asyncio.create_task(self.talk.send(yes))
            for _ in deaths:
                await self.worker.reborn()
            await turn
            await self._ended()
        return self

    async def _ended(self) -> None:
        handle = self.house.client.get_workflow_handle(
            workflow_id(self.tool, DEFAULT_TENANT, self.run)
        )
        await handle.result()

    @property
    def effects(self) -> int:
        return self.house.bank.count(self.name)

    @property
    def ledger(self) -> list[str]:
        """The status of each write that was to be sent."""
        return self.house.read("SELECT status FROM effects WHERE key LIKE ?", f"%{self.run}:%")

    @property
    def audit(self) -> list[str]:
        """What became of each try that lived to be noted."""
        return self.house.read("SELECT outcome FROM audit WHERE flow_run LIKE ?", f"%{self.run}")

    @property
    def watched(self) -> list[str]:
        """What is kept of its call for those who watch: that it began, and how it ended."""
        query = (
            "SELECT kind || coalesce(' ' || json_extract(data, '$.status'), '') FROM event_log "
            "WHERE kind LIKE 'tool_%' AND key LIKE ? ORDER BY sequence"
        )
        return self.house.read(query, f"%{self.run}:tool:%")

    async def status(self) -> str:
        """What the run has ended as, for whoever looks at it afterwards."""
        return (await run_of(self.house.parts, self.run)).status

    async def told(self) -> str:
        """The last that alice was told of it. A message more is answered after all news."""
        async with asyncio.timeout(ENDS_WITHIN):
            await self.talk.say("你好")
        return (await self.talk.texts())[-3]


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    data = tmp_path_factory.mktemp("data")
    async with (
        await dev_server() as temporal,
        Bank() as bank,
        assembled(Settings.load(data=data)) as parts,
    ):
        await register_attributes(temporal.client)
        workers = {}
        for name in ("pay", "shoot"):
            deaths = tmp_path_factory.mktemp(name)
            address = temporal.client.service_client.config.target_host
            plan = Plan(temporal=address, queue=name, data=data, bank=bank.origin, deaths=deaths)
            workers[name] = Mortal(plan)
            await workers[name].start()
        yield House(temporal.client, parts, bank, workers)
        for worker in workers.values():
            await worker.kill()


async def happened_exactly_once(order: Order) -> None:
    assert order.effects == 1
    assert order.ledger == ["done"]
    assert order.audit[-1] == "done"
    assert order.watched == ["tool_started", "tool_finished done"]
    assert await order.status() == "completed"
    assert order.name in await order.told()


async def is_honestly_unknown(order: Order, effects: int) -> None:
    assert order.effects == effects
    assert order.ledger == ["begun"]
    assert order.audit == ["unknown"]
    assert order.watched == ["tool_started", "tool_finished unknown"]
    assert await order.status() == "failed"
    assert "可能已经生效，也可能没有" in await order.told()


@pytest.mark.parametrize(
    "point",
    [
        point if point in IN_SHORT else pytest.param(point, marks=pytest.mark.slow)
        for point in EFFECTS_OF_SHOOT
    ],
)
async def test_wherever_the_worker_dies_a_confirmed_write_has_its_effect_once(
    house: House, point: str
) -> None:
    paid, shot = await asyncio.gather(house.order("pay"), house.order("shoot"))
    await asyncio.gather(paid.confirm(point), shot.confirm(point))
    await happened_exactly_once(paid)
    if point in KNOWN:
        await happened_exactly_once(shot)
    else:
        await is_honestly_unknown(shot, EFFECTS_OF_SHOOT[point])


@pytest.mark.slow
async def test_a_second_death_on_the_way_changes_nothing(house: House) -> None:
    paid, shot = await asyncio.gather(house.order("pay"), house.order("shoot"))
    await asyncio.gather(paid.confirm("during", "after"), shot.confirm("unnoted", "during"))
    await happened_exactly_once(paid)
    await is_honestly_unknown(shot, 1)


async def test_a_death_while_the_question_is_open_leaves_it_open(house: House) -> None:
    orders = await asyncio.gather(house.order("pay"), house.order("shoot"))
    for order in orders:
        await order.worker.kill()
    assert [order.ledger for order in orders] == [[], []]
    await asyncio.gather(*(order.worker.start() for order in orders))
    await asyncio.gather(*(order.confirm() for order in orders))
    for order in orders:
        await happened_exactly_once(order)
