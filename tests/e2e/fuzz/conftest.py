import asyncio
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from company.people.people import human_resources
from company.people.records import Owner
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import assembled
from router.settings import Settings
from tests.e2e.fuzz.machine import LEAVE, OWNERS
from tests.e2e.house import House, Person

PLENTY = Decimal(3600)
"""Days of leave, so that none of any number of stories finds that there are too few."""


async def entitled(data: Path) -> None:
    """Let those who ask for leave have as much as they like."""
    year = int(LEAVE["start"][:4])
    async with assembled(Settings.load(data=data)) as parts:
        people = await parts.dependencies.resolve(human_resources)
        for person in OWNERS:
            owner = Owner(tenant=DEFAULT_TENANT, person=person)
            await people.leave.entitle(owner, "personal", year, PLENTY)


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house of its own: what is left in it when this is over, nobody wants to meet."""
    data = tmp_path_factory.mktemp("fuzzed") / "data"
    data.mkdir()
    asyncio.run(entitled(data))
    # A program pages through a list faster than a person may.
    house = House(data, variables={"ROUTER_USER_REQUESTS_PER_MINUTE": "1000000"}).start()
    yield house
    assert house.stop() == 0
    assert not re.search(r"ERROR +router\.", house.log())


@pytest.fixture(scope="session")
def requests_waiting(fuzzed: House) -> House:
    """Requests of those in whose name Schemathesis calls, so that there are runs and approvals."""
    for name in ("frank", "bob"):
        chat = Person(fuzzed, name).chat()
        slots = {"leave_type": "personal", "start": "2027-02-01", "end": "2027-02-01"}
        chat.act_start("leave_request", {**slots, "reason": "a day off"})
        assert chat.act("confirm", True)["flow"]["status"] == "waiting_approval"
    return fuzzed
