"""An approver who is taken out of the directory while a request waits for them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from ruamel.yaml import YAML
from temporalio.testing import WorkflowEnvironment

from router.directory.file import SAMPLE
from router.directory.sources import LiveDirectory
from router.domain.records import RunFilter
from router.flow.engine.events import Reassigned
from router.gateway import run_updates
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.settings import Settings
from router.story_runner.runner import skip
from tests.workflow.desk import Approver, Talk, becomes, person, run_of, skipping

PEOPLE: list[dict[str, Any]] = YAML(typ="safe").load(SAMPLE.read_text())["users"]


@dataclass
class House:
    """Parts, a server whose clock is moved, and the file that says who works here."""

    parts: Parts
    environment: WorkflowEnvironment
    file: Path

    def without(self, *gone: str, **managers: str) -> None:
        """Take these out of the directory, and give others another manager."""
        left = [{**one, "manager": managers.get(one["id"])} for one in PEOPLE]
        YAML().dump({"users": [one for one in left if one["id"] not in gone]}, self.file)
        assert isinstance(self.parts.directory, LiveDirectory)
        assert self.parts.directory.refresh()

    def approver(self, name: str) -> Approver:
        return Approver(self.environment.client, self.parts, name)

    async def waiting(self) -> str:
        """A request of alice's that waits for bob."""
        self.file.write_text(SAMPLE.read_text())
        assert isinstance(self.parts.directory, LiveDirectory)
        self.parts.directory.refresh()
        alice = await person(self.parts, "alice")
        return await (await Talk(self.environment.client, self.parts, alice).open()).waiting_leave()

    async def passes(self, **time: float) -> None:
        await skip(self.environment, timedelta(**time))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    file = tmp_path / "people.yaml"
    file.write_text(SAMPLE.read_text())
    settings = Settings.load(data=tmp_path, directory=file)
    async with at_work(settings) as parts, skipping(parts) as environment:
        yield House(parts, environment, file)


async def test_the_manager_of_today_is_asked_at_the_next_reminder_and_nobody_who_is_gone(
    house: House,
) -> None:
    run = await house.waiting()
    house.without("bob", alice="erin")
    await house.passes(hours=25)
    asked = await becomes(house.parts, run, lambda r: r.history[-1].event == "approver left")
    assert asked.history[-1].comment == "bob ▸ erin"
    assert await house.parts.store.runs.orphaned(house.parts.directory) == []
    assert (await house.approver("erin").decide(run, "approve")).status == "completed"


@pytest.mark.slow
async def test_with_nobody_left_it_is_held_until_it_is_reassigned(house: House) -> None:
    run = await house.waiting()
    house.without("bob", "dave")
    runs, directory = house.parts.store.runs, house.parts.directory
    (orphan,) = await runs.orphaned(directory)
    assert (orphan.person, orphan.count) == ("bob", 1)
    await house.passes(hours=25)
    held = await becomes(house.parts, run, lambda r: r.history[-1].event == "held")
    assert "nobody named instead: bob" in (held.history[-1].comment or "")
    listed, _ = await runs.listed(
        "default", None, None, None, None, 9, narrowed=RunFilter(held=True)
    )
    assert [each.id for each in listed] == [run]
    event = Reassigned(by="olga", instead_of="bob", to="gina")
    standing = await run_updates.operate(house.environment.client, held, event, uuid4().hex)
    assert standing.status == "waiting_approval"
    await house.passes(hours=25)
    await becomes(house.parts, run, lambda r: r.history[-1].event == "reminded")
    assert await runs.orphaned(directory) == []
    assert (await house.approver("gina").decide(run, "approve")).status == "completed"
    assert (await run_of(house.parts, run)).status == "completed"
