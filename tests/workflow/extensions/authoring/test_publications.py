"""A flow published to a share of people, in chat: who has which version, and what runs keep."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.domain.configuration_documents import Activation, DocumentVersion, digest_of
from router.domain.shares import part_of
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from tests.unit.runtime.documents import overtime
from tests.workflow.deployments import run_for_people, serve_with_worker
from tests.workflow.test_configuration import Person, until

QUEUE = "published"
PATH = "/v1/flow-publications/overtime"
PARTS = {who: part_of("acme", "overtime", who) for who in ("alice", "dora")}
FIRST, LAST = sorted(PARTS, key=PARTS.__getitem__)
SHARE = PARTS[FIRST] + 1
"""Of a hundred people so many that one of the two is of the share, and the other isn't."""
PEOPLE = "users:\n" + "".join(
    f"  - {{id: {id_}, name: {id_}, tenant: acme, locale: en, {more}}}\n"
    for id_, more in (
        *((who, "manager: bob") for who in PARTS),
        ("bob", "roles: [manager]"),
        ("olga", "roles: [operator]"),
    )
)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Parts]:
    async with run_for_people(PEOPLE, tmp_path) as parts:
        yield parts


@pytest.fixture
async def desk(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with serve_with_worker(house, real_client, QUEUE) as client:
        yield client


async def write(house: Parts, version: int, text: str, **how: Any) -> None:
    """What a review came to: a version that olga has published."""
    named: Any = {"tenant": "acme", "kind": "flows", "name": "overtime", "version": version}
    now = datetime.now(UTC)
    made = DocumentVersion(
        **named,
        text=text,
        digest=digest_of(text),
        author="anna",
        written_at=now,
        flow_version=version,
    )
    held = Activation(**named, activated_by="olga", activated_at=now, **how)
    await house.store.configuration.write(made, await house.store.configuration.mark("acme"), held)
    await house.configuration.refresh()


@pytest.mark.slow
async def test_people_of_a_share_start_the_new_version_until_it_is_taken_back_and_runs_keep_theirs(
    house: Parts, desk: AsyncClient
) -> None:
    first, last, olga = (Person(desk, f"acme/{who}") for who in (FIRST, LAST, "olga"))
    await write(house, 1, overtime())
    await write(
        house, 2, overtime(2, hours=2, patterns="['^overtime', '^extra hours']"), share=SHARE
    )

    assert "too many" in str((await first.begin("log overtime", "3"))["replies"])
    begun = (await first.begin("extra hours", "1"))["flow"]
    assert (await last.begin("extra hours")).get("flow") is None
    others = (await last.begin("log overtime", "3"))["flow"]
    assert [begun["status"], others["status"]] == ["waiting_approval"] * 2
    assert [
        (await who.run(run["id"]))["version"] for who, run in ((first, begun), (last, others))
    ] == [*(2, 1)]
    view = await olga("GET", PATH)
    assert (view["holds"]["version"], view["others"]["version"]) == (2, 1)
    running = {each["version"]: each["runs"] for each in view["running"]}
    assert running[1] >= 1
    assert running[2] >= 1

    await olga("POST", f"{PATH}/rollback")
    assert (await first.begin("extra hours")).get("flow") is None
    again = (await first.begin("log overtime", "3"))["flow"]
    assert (await first.run(again["id"]))["version"] == 1
    assert (await first.run(begun["id"]))["version"] == 2


@pytest.mark.slow
async def test_a_version_begins_by_itself_in_every_process(house: Parts) -> None:
    await write(house, 1, overtime())
    await write(house, 2, overtime(2), holds_from=datetime.now(UTC) + timedelta(seconds=1))

    def version(parts: Parts) -> int:
        flow = parts.offered.of("acme").catalog.get("overtime")
        return flow.version if flow else 0

    assert version(house) == 1
    async with at_work(house.settings) as other:

        async def begun() -> bool:
            return version(house) == version(other) == 2

        assert await until(begun)
