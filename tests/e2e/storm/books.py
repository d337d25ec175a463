"""What is on record once the storm is over, compared with what was accepted."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from temporalio.client import Client

from activities.people import tables as people
from activities.people.people import human_resources
from activities.people.records import Owner
from router.contracts.flow import WORKFLOW
from router.domain.messages import ASKING
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from router.store import tables
from router.store.database import Database
from tests.e2e.storm.people import Desk, until
from tests.e2e.storm.requests import Request
from tests.e2e.storm.rules import MANAGERS, Expected

ENTITLED = 5000
"""Days of leave a year: nobody runs out of them in a storm."""
EVERYBODY = ("alice", "bob", "carol", "dave", "erin", "frank", "gina", "olga")
WORDS = {
    *("approve", "reject", "return", "delegate", "add before", "add after", "withdrawn"),
    *("agreement carried over", "withdrawal asked", "withdrawal rejected"),
}
"""The lines of a history that come of what people said."""


async def check_effects(parts: Parts, requests: Sequence[Request]) -> None:
    """What was done to the world is what was accepted, each once."""
    effects = await _by_run(parts, tables.effects)
    leave = await _by_run(parts, people.leave)
    claims = await _by_run(parts, people.claims)
    for one in requests:
        _check_calls(one.expected, effects[one.run])
        _check_records(one.expected, leave[one.run], claims[one.run])
        reverted = Counter(row.tool for row in effects[one.run])["revert_leave"]
        assert [row.status for row in leave[one.run]].count("reverted") == reverted
    await _check_balances(parts, requests)


def _check_records(expected: Expected, leave: Sequence[Any], claims: Sequence[Any]) -> None:
    assert Counter(row.status for row in claims) == expected.claims
    standing = [row.status for row in leave].count("standing")
    assert standing == (expected.is_leave and expected.holds)


def _check_calls(expected: Expected, rows: Sequence[Any]) -> None:
    assert {row.status for row in rows} <= {"done"}
    calls = Counter(row.tool for row in rows)
    assert +expected.calls <= calls <= +expected.calls + expected.perhaps, calls


async def _by_run(parts: Parts, table: Any) -> dict[str, list[Any]]:
    database = Database(parts.settings.database_url)
    try:
        rows = await database.read(lambda connection: connection.execute(select(table)).all())
    finally:
        await database.dispose()
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        workflow = row.key.partition(":")[0]
        found[workflow.rsplit("/", 1)[-1]].append(row)
    return found


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
    """Everybody has as much leave left as what holds has left them."""
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


async def given_up_unheard(desk: Desk, requests: Sequence[Request]) -> int:
    """Take back runs that began in turns of which people only heard that they failed.

    As those would who find one among their own: it asks whether to go on, and nothing else.
    """
    known = {one.run for one in requests} | {one.withdrawal for one in requests}
    unheard = 0
    for person in MANAGERS:
        for status in sorted(ASKING):
            found = await desk.get(person, f"/v1/flow-runs?limit=200&status={status}")
            for run in found["items"]:
                assert run["id"] not in known
                unheard += 1
                await desk.post(person, f"/v1/flow-runs/{run['id']}/withdraw")
    return unheard


async def check_nothing_waits(temporal: Client, desk: Desk) -> None:
    """Nobody is asked for anything any more, and no run is under way."""
    waiting = {person: await desk.awaited(person) for person in EVERYBODY}
    assert not any(waiting.values()), waiting

    async def ask() -> bool | None:
        query = f"WorkflowType='{WORKFLOW}' AND ExecutionStatus!='Completed'"
        return (await temporal.count_workflows(query)).count == 0 or None

    await until("every run's workflow to have completed", ask)
