"""The house's number in its two stores: which of them was restored alone."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from temporalio.client import Client

from router.domain.errors import MisconfiguredError
from router.gateway import generations
from router.gateway.generations import Halves, advance, agree, check_halves, halves
from router.store.database import Database
from router.store.identity import Generation, Houses
from tests.table import each_row
from tests.temporal import dev_server

OURS = Generation("a" * 32, 20)


@pytest.fixture
async def temporal() -> AsyncIterator[Client]:
    """A server of the test's own: what is noted is the namespace's."""
    async with await dev_server() as server:
        yield server.client


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generations, "EVERY", timedelta())


@each_row(
    ("ours", "theirs", "says"),
    [
        (OURS, OURS, ""),
        (OURS, Generation(OURS.house, 19), ""),
        (Generation(OURS.house, 0), None, ""),
        (OURS, Generation(OURS.house, 12), "Temporal is older than the other half by about 8 min"),
        (OURS, Generation(OURS.house, 25), "the database is older than the other half by about 5"),
        (OURS, None, "Temporal knows nothing of this house at the task queue 'desk'"),
        (OURS, Generation("b" * 32, 20), "the task queue 'desk' is another house's"),
        (Generation(OURS.house, 0), Generation("b" * 32, 3), "is another house's"),
    ],
)
def test_halves_that_are_not_of_one_moment_are_told_apart(
    ours: Generation, theirs: Generation | None, says: str
) -> None:
    found = Halves("desk", ours, theirs).trouble
    assert says in found
    assert ("intent-router reconcile" in found) == bool(says)


@each_row("written", ["", "a", "a b", "a -1", "a 1 2", "a ١", " 1"])
def test_what_nobody_wrote_is_no_generation(written: str) -> None:
    assert Generation.read(written) is None


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
async def test_both_go_up_together_and_one_that_falls_behind_is_refused(
    temporal: Client, database: Database
) -> None:
    houses = Houses(database)
    await check_halves(temporal, houses, "desk")
    for _ in range(3):
        assert (await advance(temporal, houses, "desk")).trouble == ""
    found = await halves(temporal, houses, "desk")
    assert (found.theirs, found.ours.number) == (found.ours, 3)
    await houses.set(1)
    with pytest.raises(MisconfiguredError, match="the database is older"):
        await check_halves(temporal, houses, "desk")
    assert (await advance(temporal, houses, "desk")).ours.number == 1
    await agree(temporal, houses, "desk")
    await check_halves(temporal, houses, "desk")
    assert (await houses.known()).number == 4


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
async def test_what_temporal_didnt_take_is_noted_before_anybody_counts_on(
    temporal: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    houses = Houses(database)
    await check_halves(temporal, houses, "desk")

    async def refused(*_: object) -> None: ...

    with monkeypatch.context() as patched:
        patched.setattr(generations, "_note", refused)
        for _ in range(3):
            await advance(temporal, houses, "desk")
    found = await advance(temporal, houses, "desk")
    assert (found.trouble, found.ours.number) == ("", 1)
    assert (await halves(temporal, houses, "desk")).theirs == found.ours


@pytest.mark.slow
async def test_one_process_counts_on_within_a_minute(temporal: Client, database: Database) -> None:
    houses = Houses(database)
    await check_halves(temporal, houses, "desk")
    await houses.set(7)
    await agree(temporal, houses, "desk")
    for _ in range(3):
        await advance(temporal, houses, "desk")
    assert (await halves(temporal, houses, "desk")).ours.number == 8


@pytest.mark.slow
async def test_another_house_takes_no_work_of_this_one(
    temporal: Client, database: Database
) -> None:
    houses = Houses(database)
    await check_halves(temporal, houses, "desk")
    other = Generation("b" * 32, 0)

    class Others(Houses):
        async def known(self) -> Generation:
            return other

    with pytest.raises(MisconfiguredError, match="give this one a Temporal, a namespace or"):
        await check_halves(temporal, Others(database), "desk")
    await check_halves(temporal, Others(database), "its own")
