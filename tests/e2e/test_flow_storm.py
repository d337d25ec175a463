"""Many requests at once, decided at random, while workers are killed: each ends as was decided.

What is expected is worked out from the words that were accepted (`tests.e2e.storm.rules`), by the
company's rules and without the machine. What was accepted has happened, once; what was refused
hasn't; and nobody is left waiting.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Select, select
from temporalio.client import Client

from company.people import tables as people
from company.people.people import PeopleSystem, human_resources
from company.people.records import Owner
from router.contracts.flow import WORKFLOW
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from router.store import tables
from router.store.database import Database
from tests.e2e.chaos.checker import Records, Row, by_run, of_effects
from tests.e2e.storm.house import House, Workers, house
from tests.e2e.storm.requests import EVERYBODY, Desk, Request, full_week, until
from tests.e2e.storm.rules import ENTITLED, MANAGERS, WORDS
from tests.postgres import make_database, postgres_server

pytestmark = pytest.mark.slow


async def check_effects(parts: Parts, requests: Sequence[Request]) -> None:
    """What was done to the world is what was accepted, each once."""
    database = Database(parts.settings.database_url)
    read = {"effects": tables.effects, "leave": people.leave, "claims": people.claims}
    try:
        rows = {
            name: await database.read(partial(_rows, select(table))) for name, table in read.items()
        }
    finally:
        await database.dispose()
    assert not [*map(str, of_effects(requests, Records(**rows)))]
    effects, leave = by_run(rows["effects"]), by_run(rows["leave"])
    for one in requests:
        assert {row["status"] for row in effects[one.run]} <= {"done"}
        reverted = Counter(row["tool"] for row in effects[one.run])["revert_leave"]
        assert [row["status"] for row in leave[one.run]].count("reverted") == reverted
    await _check_balances(parts, requests)


def _rows(query: Select[Any], connection: Connection) -> list[Row]:
    return [dict(row) for row in connection.execute(query).mappings()]


async def check_history(request: Request) -> None:
    """Status and history say what was accepted, in that order, and nothing that was refused."""
    shown = await request.shown()
    expected = request.expected
    assert shown["status"] == expected.status
    words = [line for line in shown["history"] if line["event"] in WORDS]
    assert [(line["event"], line["by"]) for line in words] in expected.histories
    comments = Counter(line["comment"] for line in words)
    once = {**dict.fromkeys(request.accepted, 1), **dict.fromkeys(request.refused, 0)}
    assert {said: comments[said] for said in once} == once, shown["history"]


async def _check_balances(parts: Parts, requests: Sequence[Request]) -> None:
    year = requests[0].monday.year
    people = await parts.dependencies.resolve(human_resources)
    taken = Counter[str]()
    for one in requests:
        if one.expected.is_leave and one.expected.holds:
            taken[one.me] += one.expected.size
    for person in MANAGERS:
        owner = Owner(tenant=DEFAULT_TENANT, person=person)
        balance = await people.leave.balance(owner, "annual", year)
        assert balance.days == ENTITLED - taken[person], person


async def check_nothing_waits(temporal: Client, desk: Desk) -> None:
    """Nobody is asked for anything any more, and no run is under way."""
    waiting = {person: await desk.awaited(person) for person in EVERYBODY}
    assert not any(waiting.values()), waiting

    left: list[str] = []

    async def ask() -> bool | None:
        # A run of many events goes on in a further one: what it did until then has ended as well.
        ended = "('Completed', 'ContinuedAsNew')"
        query = f"WorkflowType='{WORKFLOW}' AND ExecutionStatus NOT IN {ended}"
        left[:] = [f"{run.id} is {run.status}" async for run in temporal.list_workflows(query)]
        return not left or None

    try:
        await until("every run's workflow to have completed", ask)
    except AssertionError as error:
        raise AssertionError(f"{error}: {left}") from error


SEED = 20261122


async def entitled(people: PeopleSystem, year: int) -> None:
    """Leave for everybody."""
    for person in MANAGERS:
        owner = Owner(tenant=DEFAULT_TENANT, person=person)
        await people.leave.entitle(owner, "annual", year, Decimal(ENTITLED))


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
        unheard = await desk.give_up_unheard()
        assert not {*unheard} & {run for one in requests for run in (one.run, one.withdrawal)}
        await check_nothing_waits(at.temporal, desk)
        for request in requests:
            await check_history(request)
        await check_effects(at.parts, requests)
    print(
        f"\n{count} runs, {at.workers.kills} kills, {seconds:.1f} s, "
        f"{desk.decisions} decisions, {desk.retries} retries, "
        f"{desk.failed_turns} turns that failed, {len(unheard)} runs begun in them"
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


async def test_two_hundred_requests_end_as_decided_in_a_storm_of_kills(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/router.db"
    await every_request_ends_as_decided(tmp_path, url, 200, 1, seconds_of_calm)


async def test_two_workers_on_postgresql_end_requests_as_decided_in_a_storm_of_kills(
    tmp_path: Path,
) -> None:
    """Fewer of them: with one worker of two always beginning anew, each takes five seconds."""
    with postgres_server() as server:
        url = await make_database(server, "storm")
        await every_request_ends_as_decided(tmp_path, url, 32, 2, seconds_of_calm)
