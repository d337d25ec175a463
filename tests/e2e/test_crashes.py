"""`kill -9` of the worker, at every point of a write, of a sub-agent's work and of a plan.

A tool that honours its key has exactly one effect. One that doesn't has at most one, and where
nobody can know whether it had, that is what is said: nothing is tried a second time. A sub-agent
ends with the answer that it would have had anyway. What a model answered is paid for once, unless
the worker died before anybody had heard of the answer; each tool has its effect once.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client, WorkflowHistory

from router.contracts import skill_run as contract
from router.contracts.activities import Account
from router.contracts.flow import CallLimits, workflow_id
from router.contracts.skill_run import SkillOutcome, SkillStart
from router.domain.locale import Localised
from router.domain.messages import ChoicesReply, ChooseAction, Message
from router.domain.principals import DEFAULT_TENANT, Principal
from router.routing.skill_context import STEP_TOKENS
from router.routing.skill_step import SkillTask
from router.runtime.composition import Parts, assembled
from router.settings import Settings
from router.skill.skill import Skill
from tests.e2e import planning_worker
from tests.e2e.mortal import KILLED, Mortal, spare
from tests.e2e.mortal_worker import DEADLY, Plan, live
from tests.e2e.planning_worker import Place
from tests.fakes.bank import Bank
from tests.fakes.model_server import ModelServer, PlanningModel, calls, drawn, reaches, says
from tests.fakes.web_server import Received, Reply
from tests.temporal import dev_server, register_attributes
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, person, run_of
from tests.workflow.skill_histories import finished, replays
from tests.workflow.test_streaming import served

BROKE = -6
"""The exit status of a worker that was aborted."""
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
    workers: Mapping[str, Mortal[Plan]]

    async def order(self, tool: str) -> "Order":
        """One more order of alice's, up to the question whether to go ahead."""
        worker = self.workers[tool]
        spare(worker.plan.deaths)
        await worker.lives()
        alice = await person(self.parts, "alice")
        talk = await Talk(self.client, self.parts, alice, queue=worker.plan.queue).open()
        order = Order(self, talk, tool, f"O{uuid4().hex[:8]}")
        async with asyncio.timeout(HANGS_AFTER_S):
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
    def worker(self) -> Mortal[Plan]:
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

    async def confirm(self, *deaths: str, breaks: int = 0) -> "Order":
        """Say yes; the worker dies at each of these points in turn, and lives on in another.

        Or it breaks so often, by itself.
        """
        for point in deaths:
            (self.worker.plan.deaths / point).touch()
        async with asyncio.timeout(HANGS_AFTER_S):
            turn = asyncio.create_task(self.talk.press("confirm", value=True))
            for status in [*[KILLED] * len(deaths), *[BROKE] * breaks]:
                await self.worker.reborn(status)
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
        async with asyncio.timeout(HANGS_AFTER_S):
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
        for name in ("pay", "shoot", "burst"):
            deaths = tmp_path_factory.mktemp(name)
            address = temporal.client.service_client.config.target_host
            plan = Plan(temporal=address, queue=name, data=data, bank=bank.origin, deaths=deaths)
            workers[name] = Mortal(live, plan)
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


@pytest.mark.slow
async def test_a_death_while_the_question_is_open_leaves_it_open(house: House) -> None:
    orders = await asyncio.gather(house.order("pay"), house.order("shoot"))
    for order in orders:
        await order.worker.kill()
    assert [order.ledger for order in orders] == [[], []]
    await asyncio.gather(*(order.worker.start() for order in orders))
    await asyncio.gather(*(order.confirm() for order in orders))
    for order in orders:
        await happened_exactly_once(order)


async def turn_of(alice: AsyncClient, conversation: str, text: str) -> Any:
    """The turn of a message that is sent again, as one is told to, while nobody has taken it in."""
    message, messages = (
        {"text": text, "message_id": "1"},
        f"/v1/conversations/{conversation}/messages",
    )
    while (answer := await alice.post(messages, json=message)).status_code == 503:
        assert "send it again" in answer.json()["detail"]
    return answer.json()


@pytest.mark.slow
async def test_a_message_that_two_processes_died_of_is_set_aside_and_told(house: House) -> None:
    worker = house.workers["pay"]
    await worker.lives()
    async with served(house.parts, house.client, "pay") as alice, asyncio.timeout(HANGS_AFTER_S):
        mine, other = [(await alice.post("/v1/conversations")).json()["id"] for _ in range(2)]
        deadly = asyncio.create_task(turn_of(alice, mine, DEADLY))
        for _ in range(2):
            await worker.reborn(BROKE)
        turn = await deadly
        assert (turn["status"], turn["route"]["reason"]) == ("failed", "这一轮被搁置了")
        assert "接连意外退出" in turn["replies"][0]["text"]
        assert await turn_of(alice, mine, DEADLY) == turn
        assert (await turn_of(alice, other, "你好"))["status"] == "done"
    assert worker.process.is_alive()


@pytest.mark.slow
async def test_a_write_that_two_processes_died_of_is_set_aside_and_may_have_happened(
    house: House,
) -> None:
    order = await house.order("burst")
    await order.confirm(breaks=2)
    assert order.worker.process.is_alive()
    assert (order.effects, order.ledger, await order.status()) == (1, ["begun"], "failed")
    assert "可能已经生效，也可能没有" in await order.told()


ALICE = Principal(id="alice", name="Alice")
NAME = Localised(zh="查单助手", en="Clerk")
CLERK = Skill(
    name="clerk",
    title=NAME,
    description=NAME,
    instructions="Check every order.",
    max_turns=100,
    token_budget=10**9,
)
PATIENT = CallLimits(timeout=timedelta(seconds=1.5), attempts=5, heartbeat=timedelta(seconds=1))

FEW = ("answered", "after")
MANY = ("answered", *("before", "during", "after") * 6, "answered")
"""Where the worker dies at each step: with the model's answer, before the bank has the order,
before its answer is read, before Temporal has that. Whether it thinks is looked after only every
ten seconds, so that the first is the slowest."""


class Script:
    """A model that has one order after the other checked, one a step.

    `asked` has the step of every request, in their order. When a step is asked for the first
    time, the worker's next death is arranged.
    """

    def __init__(self, deaths: tuple[str, ...], folder: Path) -> None:
        self.asked: list[int] = []
        self._deaths = deaths
        self.folder = folder

    def __call__(self, received: Received) -> Reply:
        step = sum(message["role"] == "assistant" for message in received.body["messages"])
        if step not in self.asked and step < len(self._deaths):
            (self.folder / self._deaths[step]).touch()
        self.asked.append(step)
        if step < len(self._deaths):
            return calls(("check", {"order": f"O{step}"}))(received)
        return says("都查过了。")(received)


async def lived_through(
    client: Client, worker: Mortal[Plan], deaths: int
) -> tuple[SkillOutcome, Any]:
    """How the run ends whose worker dies so often, and what Temporal wrote down of it."""
    now = datetime.now(UTC)
    start = SkillStart(
        task=SkillTask(skill=CLERK, request="查单", now=now),
        account=Account(caller=ALICE, now=now, seconds=600),
        locale="zh",
        tools={"check": PATIENT},
        context=STEP_TOKENS,
    )
    handle = await client.start_workflow(
        contract.WORKFLOW,
        start,
        id=contract.workflow_id(CLERK.name, ALICE.tenant, uuid4().hex[:8]),
        task_queue=worker.plan.queue,
        result_type=SkillOutcome,
    )
    for _ in range(deaths):
        await worker.reborn()
    outcome: SkillOutcome = await handle.result()
    return outcome, await handle.fetch_history()


def recorded(history: WorkflowHistory, activity: str) -> int:
    """How many activities of the type it has the results of."""
    of_type = {
        event.event_id
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name == activity
    }
    completed = (event.activity_task_completed_event_attributes for event in history.events)
    return sum(one.scheduled_event_id in of_type for one in completed)


@pytest.mark.parametrize("deaths", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=len)
async def test_however_often_its_worker_dies_a_skill_ends_with_its_answer(
    tmp_path: Path, deaths: tuple[str, ...]
) -> None:
    script = Script(deaths, tmp_path / "deaths")
    script.folder.mkdir()
    async with (
        asyncio.timeout(HANGS_AFTER_S),
        await dev_server() as temporal,
        Bank() as bank,
        ModelServer(script) as model,
    ):
        address = temporal.client.service_client.config.target_host
        plan = Plan(
            temporal=address,
            queue="skills",
            data=tmp_path,
            bank=bank.origin,
            deaths=script.folder,
            model=model.url,
        )
        worker = Mortal(live, plan)
        await worker.start()
        try:
            outcome, history = await lived_through(temporal.client, worker, len(deaths))
        finally:
            await worker.kill()
    orders = [f"O{step}" for step in range(len(deaths))]
    assert (outcome.text, outcome.ending) == ("都查过了。", "answered")
    assert [(call.name, call.status) for call in outcome.calls] == [("check", "done")] * len(orders)
    assert Counter(effect.order for effect in bank.effects) == Counter(orders)
    # Once a step's answer is recorded, it is never asked for again.
    assert script.asked == sorted(script.asked)
    unheard = deaths.count("answered")
    assert recorded(history, "think") == len(deaths) + 1 == outcome.usage.llm_calls
    assert len(script.asked) == recorded(history, "think") + unheard


TRAIN, HOTEL, SUM = "Find a train", "Find a hotel", "Add up"


def planned(asked: asyncio.Event) -> PlanningModel:
    model = PlanningModel()
    skill = {"skill_name": "trip-planner", "request": "计划去上海"}
    model.others.append(calls(("dispatch_to_skill", skill)))
    model.plans.append(
        reaches(asked, drawn(("train", TRAIN), ("hotel", HOTEL), ("sum", SUM, "train", "hotel")))
    )
    model.steps[TRAIN] += [calls(("find_train", {"to": "上海"})), says("G1, 500")]
    model.steps[HOTEL] += [calls(("find_hotel", {"city": "上海"})), says("Peace, 800")]
    model.steps[SUM] += [says("1300")]
    model.reflections.append(calls(("accept", {"result": "共 1300。"})))
    return model


@pytest.mark.slow
@pytest.mark.xdist_group("dev")
async def test_no_finished_question_or_call_of_a_plan_is_made_again(tmp_path: Path) -> None:
    planning, data, noted = asyncio.Event(), tmp_path / "data", tmp_path / "calls"
    model = planned(planning)
    data.mkdir()
    noted.mkdir()
    async with (
        await dev_server() as temporal,
        ModelServer(model) as server,
        assembled(Settings.load(data=data)) as parts,
    ):
        await register_attributes(temporal.client)
        place = Place(
            temporal=temporal.client.service_client.config.target_host,
            queue="plans",
            data=data,
            model=server.url,
            calls=noted,
        )
        worker = Mortal(planning_worker.live, place)
        await worker.start()
        alice = await person(parts, "alice")
        talk = await Talk(temporal.client, parts, alice, queue="plans").open()
        asking = asyncio.create_task(talk.say("帮我安排去上海"))
        try:
            async with asyncio.timeout(HANGS_AFTER_S):
                await planning.wait()
                await finished(talk, "think", 3)
                await worker.kill()
                (noted / "free").write_text("Peace")
                await worker.start()
                turn = await asking
        finally:
            await worker.kill()
        assert [reply.text for reply in turn.replies] == ["共 1300。"]
        await replays(talk)
    asked = {kind: len(bodies) for kind, bodies in model.asked.items()}
    assert asked == {"other": 1, "plan": 1, TRAIN: 2, HOTEL: 2, SUM: 1, "reflect": 1}
    assert (noted / "made").read_text().split().count("train") == 1
