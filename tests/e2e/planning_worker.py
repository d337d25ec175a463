"""A worker that offers one skill, which works by a plan: `live` is what its process runs."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from pydantic import BaseModel
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from router.domain.locale import Localised
from router.runtime.composition import assembled
from router.runtime.worker import build_worker
from router.settings import Settings
from router.skill.skill import Skill
from router.tool.tool import Tool, tool
from tests.workflow.tooled import furnished

NAME = Localised(zh="行程助手", en="Trip helper")
PLANNER = Skill(
    name="trip-planner",
    title=NAME,
    description=NAME,
    instructions="Plan the trip.",
    allowed_tools=frozenset({"find_train", "find_hotel"}),
    max_turns=24,
    mode="plan",
)


class Place(BaseModel):
    """Where everything is that the worker needs; `calls` is a folder that its tools write to."""

    temporal: str
    queue: str
    data: Path
    model: str
    calls: Path


def tools(calls: Path) -> list[Tool]:
    """A train at once; a hotel not before somebody has said which, in a file."""

    @tool(permission="read", title={"zh": "车次", "en": "Trains"})
    async def find_train(to: str) -> str:
        """A train to a city."""
        note("train")
        return f"G1 to {to}"

    @tool(permission="read", timeout="20s", title={"zh": "酒店", "en": "Hotels"})
    async def find_hotel(city: str) -> str:
        """A hotel in a city."""
        note("hotel")
        while not (hotel := calls / "free").exists():  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.05)
        return f"{hotel.read_text()}, {city}"

    def note(what: str) -> None:
        with (calls / "made").open("a") as made:
            made.write(f"{what}\n")

    return [find_train, find_hotel]


async def work(place: Place, ready: Connection) -> None:
    """Work for good, having said that it does."""
    client = await Client.connect(place.temporal, data_converter=pydantic_data_converter)
    async with (
        assembled(Settings.load(data=place.data)) as parts,
        furnished(parts, tools(place.calls), [place.model], [PLANNER]) as house,
        build_worker(client, house, place.queue),
    ):
        ready.send("ready")
        await asyncio.Event().wait()


def live(place: Place, ready: Connection) -> None:
    """All of the process's life, which only a kill ends."""
    asyncio.run(work(place, ready))
