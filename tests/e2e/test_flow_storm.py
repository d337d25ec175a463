"""Many requests at once, decided at random, while workers are killed: each ends as was decided.

What is expected is worked out from the words that were accepted (`tests.e2e.storm.rules`), by the
company's rules and without the machine. What was accepted has happened, once; what was refused
hasn't; and nobody is left waiting.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from activities.people.people import PeopleSystem, human_resources
from activities.people.records import Owner
from router.domain.principals import DEFAULT_TENANT
from tests.e2e.storm import books
from tests.e2e.storm.house import House, Workers, house
from tests.e2e.storm.people import Desk, until
from tests.e2e.storm.requests import Request
from tests.e2e.storm.rules import MANAGERS
from tests.e2e.storm.weeks import full_week
from tests.postgres import make_database, postgres_server

SEED = 20261122


async def entitled(people: PeopleSystem, year: int) -> None:
    """Leave for everybody."""
    for person in MANAGERS:
        owner = Owner(tenant=DEFAULT_TENANT, person=person)
        await people.leave.entitle(owner, "annual", year, Decimal(books.ENTITLED))


async def raging(workers: Workers, calm: Callable[[], Awaitable[None]]) -> None:
    """Kill one after every calm, until cancelled."""
    while True:
        await calm()
        await workers.kill_one()


async def weathered(
    at: House, desk: Desk, requests: Sequence[Request], calm: Callable[[], Awaitable[None]]
) -> None:
    """Every request carried through, in a storm that lasts until the last of them has ended."""
    storm = asyncio.create_task(raging(at.workers, calm))
    try:
        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(request.carry_through())
    finally:
        storm.cancel()
        with suppress(asyncio.CancelledError):
            await storm


async def every_request_ends_as_decided(
    data: Path,
    url: str,
    count: int,
    workers: int,
    calm: Callable[[Desk, random.Random], Callable[[], Awaitable[None]]],
) -> None:
    """The whole test, on this database and with so many of both; prints its figures."""
    monday, draws = full_week(datetime.now(UTC).date()), random.Random(SEED)
    async with house(data, url, workers, draws) as at:
        people = await at.parts.dependencies.resolve(human_resources)
        await entitled(people, monday.year)
        desk, began = Desk(at.http), time.monotonic()
        requests = [Request(n, desk, random.Random(f"{SEED}/{n}"), monday) for n in range(count)]
        await weathered(at, desk, requests, calm(desk, draws))
        seconds = time.monotonic() - began
        unheard = await books.given_up_unheard(desk, requests)
        await books.check_nothing_waits(at.temporal, desk)
        for request in requests:
            await books.check_history(request)
        await books.check_effects(at.parts, requests)
    print(
        f"\n{count} runs, {at.workers.kills} kills, {seconds:.1f} s, "
        f"{desk.decisions} decisions, {desk.retries} retries, "
        f"{desk.failed_turns} turns that failed, {unheard} runs begun in them"
    )


def seconds_of_calm(desk: Desk, draws: random.Random) -> Callable[[], Awaitable[None]]:
    """Two to four."""
    del desk

    async def calm() -> None:
        await asyncio.sleep(draws.uniform(2, 4))

    return calm


def a_few_decisions(desk: Desk, draws: random.Random) -> Callable[[], Awaitable[None]]:
    """Until four more have been sent, twice; then for good."""
    del draws
    deaths = iter((4, 10))

    async def calm() -> None:
        due = next(deaths, None)
        if due is None:
            await asyncio.Event().wait()

        async def decided() -> bool | None:
            return desk.decisions >= (due or 0) or None

        await until(f"{due} decisions", decided)

    return calm


async def test_eight_requests_end_as_decided_while_the_worker_is_killed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/router.db"
    await every_request_ends_as_decided(tmp_path, url, 8, 1, a_few_decisions)


@pytest.mark.slow
async def test_two_hundred_requests_end_as_decided_in_a_storm_of_kills(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/router.db"
    await every_request_ends_as_decided(tmp_path, url, 200, 1, seconds_of_calm)


@pytest.mark.slow
async def test_two_workers_on_postgresql_end_requests_as_decided_in_a_storm_of_kills(
    tmp_path: Path,
) -> None:
    """Fewer of them: with one worker of two always beginning anew, each takes five seconds."""
    with postgres_server() as server:
        url = await make_database(server, "storm")
        await every_request_ends_as_decided(tmp_path, url, 32, 2, seconds_of_calm)
