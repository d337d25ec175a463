"""What somebody set wrong: the people's file, a payload key, a clock, how long things are kept."""

import base64
import sys
from collections.abc import Mapping
from functools import partial

import httpx

from tests.clocks import moved
from tests.drills.desk import BALANCE, PEOPLE, Desk, Person, Stopwatch, drill, until

STRANGER = "alice's manager=bob isn't listed, so they have none"


async def is_let_in(person: Person) -> bool:
    """True where the API knows who that is."""
    return (await person.http.get("/approvals")).status_code == httpx.codes.OK


@drill("A manager was taken out, and is still named")
async def dangling_manager(desk: Desk, watch: Stopwatch) -> None:
    """bob leaves, and stays alice's manager in the file: he is out, and nobody else is."""
    api, worker = await desk.opened()
    alice, bob, carol, erin = (desk.person(user) for user in ("alice", "bob", "carol", "erin"))
    before, run = await alice.balance(), await alice.hands_in()
    left = "".join(line for line in PEOPLE.splitlines(True) if "id: bob" not in line)
    watch.breaks()
    desk.people.write_text(left, "utf-8")

    async def is_out() -> bool:
        return not await is_let_in(bob)

    await until("bob is nobody", is_out)
    assert all([await is_let_in(person) for person in (alice, carol, erin)])
    assert (await erin.says(BALANCE))["replies"]

    async def has_problems() -> bool:
        return await api.metric("router_directory_problems") > 0

    for program, name in ((api, "log of serve"), (worker, "log of worker")):
        await watch.noticed(name, partial(program.says, STRANGER))
    await watch.noticed("alert RouterDirectoryFaulty", has_problems)
    await watch.noticed("doctor", partial(desk.doctor, STRANGER))
    again = await desk.worker()
    await until("a worker starts all the same", partial(again.says, "polls task queue"))
    since = watch.mending()
    desk.people.write_text(left.replace("manager: bob", "manager: carol"), "utf-8")
    nothing = partial(api.shows, "router_directory_problems", 0)
    await watch.right(since, "manager: carol", nothing)
    assert not await desk.doctor("isn't listed")
    await desk.operator("runs", "reassign", "--from", "bob", "--to", "carol", "--yes")
    await alice.takes_leave(run, carol, before)


OTHER = f"k1:{base64.b64encode(b'o' * 32).decode()}"
SAID = "the key 'k1' in ROUTER_PAYLOAD_KEYS isn't the one that this house has by that id"


@drill("A worker has another payload key")
async def other_key(desk: Desk, watch: Stopwatch) -> None:
    """It would break every conversation that it touches: it ends before it touches one."""
    _, worker = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, run = await alice.balance(), await alice.hands_in()
    watch.breaks()
    wrong = await desk.worker(ROUTER_PAYLOAD_KEYS=OTHER)

    async def ended() -> bool:
        return wrong.process.returncode == 1 and SAID in wrong.said

    await watch.noticed("its end, and its log", ended)
    await watch.noticed("doctor", partial(desk.doctor, SAID, ROUTER_PAYLOAD_KEYS=OTHER))
    assert "polls task queue" not in wrong.said
    for _ in range(10):
        assert (await frank.says(BALANCE))["replies"]
    since = watch.mending()
    right = await desk.worker()
    await watch.right(since, "the key of the others", partial(right.says, "polls task queue"))
    await worker.stopped()
    await alice.takes_leave(run, bob, before)
    assert not await desk.doctor(SAID)


PROGRAM_AHEAD = (sys.executable, *moved(400, "router"))
OLD = (
    "conversations SET created_at = created_at",
    "event_log SET at = at",
    "idempotency_keys SET claimed_at = claimed_at",
)
COUNTED = (
    "conversations",
    "event_log",
    "idempotency_keys",
    "results",
    "files",
    "skill_files",
    "snapshots",
)
TALKS = 30


async def counts(desk: Desk) -> Mapping[str, int]:
    """How much of everything there is."""
    counted = [f"(SELECT count(*) FROM {table}) AS {table}" for table in COUNTED]
    (row,) = await desk.query(f"SELECT {', '.join(counted)}")
    return dict(row)


async def talks(person: Person) -> str:
    """What a house fills up with; the last of the conversations."""
    said = [await person.says(BALANCE) for _ in range(TALKS)]
    return str(said[-1]["conversation"])


@drill("A worker's clock is more than a year ahead")
async def clock_ahead(desk: Desk, watch: Stopwatch) -> None:
    """It expires by the database's clock: nothing is old."""
    desk.extra["ROUTER_RETENTION_DAYS"] = "365"
    _, worker = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, run = await alice.balance(), await alice.hands_in()
    await talks(frank)
    await desk.query(f"INSERT INTO skill_files VALUES ('{'f' * 64}', 'an older skill', now())")
    await worker.stopped()
    there = await counts(desk)
    watch.breaks()
    ahead = await desk.start("worker", program=PROGRAM_AHEAD)
    await until("it has looked for what is old", partial(ahead.says, "0 conversations have"))
    told = "clock is 345"  # seconds, as they begin in 400 days
    await watch.noticed("doctor", partial(desk.doctor, told, program=PROGRAM_AHEAD))
    assert (await frank.says(BALANCE))["replies"]
    since = watch.mending()
    await ahead.stopped()
    worker = await desk.worker()
    await watch.right(since, "its clock, and a start", partial(worker.says, "polls task queue"))
    left = await counts(desk)
    assert all(left[table] >= count for table, count in there.items()), (there, left)
    await alice.takes_leave(run, bob, before)


@drill("Most of the house would expire at once")
async def too_much(desk: Desk, watch: Stopwatch) -> None:
    """The setting lost a digit, or the house is old and the setting new: nothing goes unasked."""
    _, worker = await desk.opened()
    alice, bob, erin, frank = (desk.person(user) for user in ("alice", "bob", "erin", "frank"))
    before, run = await alice.balance(), await alice.hands_in()
    kept, gone = await talks(erin), await talks(frank)
    for old in OLD:
        await desk.query(f"UPDATE {old} - interval '40 days'")
    hold = ("legal-hold", "place", "--user", "erin", "--reason", "case 2026-17")
    assert (await desk.command(*hold))[0] == 0
    there = await counts(desk)
    await worker.stopped()
    watch.breaks()
    desk.extra["ROUTER_RETENTION_DAYS"] = "36"
    worker = await desk.worker()
    await watch.noticed("log", partial(worker.says, "rows of conversations are older than 36 days"))
    refused = partial(worker.shows, "router_expiry_refused", 1)
    await watch.noticed("alert RouterExpiryRefused", refused)
    await watch.noticed("doctor", partial(desk.doctor, "are older than 36 days"))
    assert await counts(desk) == there
    since = watch.mending()
    await worker.stopped()
    desk.extra["ROUTER_RETENTION_DAYS"] = "365"
    worker = await desk.worker()
    went_on = partial(worker.says, "0 conversations have expired")
    await watch.right(since, "ROUTER_RETENTION_DAYS", went_on)
    assert await worker.metric("router_expiry_refused") == 0
    assert await counts(desk) == there
    status, said = await desk.command("expire", "--yes", ROUTER_RETENTION_DAYS="36")
    assert (status, said.split()[0]) == (0, str(TALKS + 1)), said  # and alice's balance

    async def is_gone() -> bool:
        return (await frank.http.get(f"/conversations/{gone}")).status_code == httpx.codes.NOT_FOUND

    await until("serve has heard that it is gone", is_gone)
    assert (await erin.get(f"/conversations/{kept}"))["id"] == kept
    await alice.takes_leave(run, bob, before)
