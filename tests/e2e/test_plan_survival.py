"""`kill -9` of the worker in the middle of a plan: what is finished is paid for once."""

import asyncio
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from router.runtime.composition import assembled
from router.settings import Settings
from tests.e2e.forks import FORKS
from tests.e2e.planning_worker import Place, live
from tests.fakes.model_server import ModelServer, PlanningModel, calls, drawn, reaches, says
from tests.temporal import dev_server
from tests.workflow.desk import Talk, person, register_attributes
from tests.workflow.skill_histories import finished, replays

pytestmark = pytest.mark.xdist_group("dev")

TRAIN, HOTEL, SUM = "Find a train", "Find a hotel", "Add up"
WITHIN = 60.0
"""Seconds from the first word to the answer, over a death: the turn's own time."""


async def started(place: Place) -> ForkServerProcess:
    """A worker in a process of its own, once it works."""
    ours, its = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=live, args=(place, its), daemon=True)
    process.start()
    its.close()
    with ours:
        await asyncio.to_thread(ours.recv)
    return process


async def killed(process: ForkServerProcess) -> None:
    process.kill()
    await asyncio.to_thread(process.join)


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
        worker = await started(place)
        alice = await person(parts, "alice")
        talk = await Talk(temporal.client, parts, alice, queue="plans").open()
        asking = asyncio.create_task(talk.say("帮我安排去上海"))
        try:
            async with asyncio.timeout(WITHIN):
                await planning.wait()
                await finished(talk, "think", 3)
                await killed(worker)
                (noted / "free").write_text("Peace")
                worker = await started(place)
                turn = await asking
        finally:
            await killed(worker)
        assert [reply.text for reply in turn.replies] == ["共 1300。"]
        await replays(talk)
    asked = {kind: len(bodies) for kind, bodies in model.asked.items()}
    assert asked == {"other": 1, "plan": 1, TRAIN: 2, HOTEL: 2, SUM: 1, "reflect": 1}
    assert (noted / "made").read_text().split().count("train") == 1
