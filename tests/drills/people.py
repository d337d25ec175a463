"""People: an employee who left, and a directory that is down."""

import sys
from functools import partial

import httpx

from tests.drills.approvals import one_day_requests
from tests.drills.configuration import is_let_in
from tests.drills.desk import PEOPLE, Desk, Program, Stopwatch, drill, until
from tests.ports import free_ports

ALICE = "  - {id: alice, name: Alice, locale: en, manager: bob}\n"
STALE = 60


@drill("An employee who left")
async def employee_left(desk: Desk, watch: Stopwatch) -> None:
    """alice is taken out of the directory while two requests of hers are under way."""
    api, _ = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    runs = [await alice.hands_in(), await alice.hands_in(one_day_requests()[0])]
    others = await frank.hands_in()
    watch.breaks()
    desk.people.write_text(PEOPLE.replace(ALICE, ""), "utf-8")

    async def counted() -> bool:
        return await api.metric("router_requests_orphaned") == len(runs)

    await watch.noticed("doctor", partial(desk.doctor, "alice of default isn't in the directory"))
    await watch.noticed("alert RouterRequestsOrphaned", counted)
    assert not await is_let_in(alice)
    listed = await desk.operator("runs", "list", "--requester", "alice")
    assert all(run in listed for run in runs)
    words = ("runs", "terminate", "--requester", "alice")
    assert "nothing is changed yet" in await desk.operator(*words)
    since = watch.mending()
    said = await desk.operator(*words, "--yes", "--reason", "alice has left")
    assert said.count("ended") == len(runs), said

    async def gone() -> bool:
        waits = [one["flow_run"] for one in await bob.inbox()]
        return waits == [others] and not await desk.doctor("isn't in the directory")

    await watch.right(since, "intent-router runs terminate --requester", gone)
    assert await api.metric("router_approvals_orphaned") == 0


async def directory_up(desk: Desk, port: int) -> Program:
    """Serve the people's file over HTTP."""
    served = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port))
    directory = await desk.start("-d", str(desk.folder / "people"), program=served)
    url = f"http://127.0.0.1:{port}/people.yaml"

    async def answers() -> bool:
        async with httpx.AsyncClient() as client:
            return (await client.get(url)).is_success

    await until("the directory answers", answers)
    return directory


@drill("The directory is down")
async def directory_down(desk: Desk, watch: Stopwatch) -> None:
    """It is an address, and doesn't answer: its last answer counts for a while, then nobody's."""
    (port,) = free_ports(1)
    (desk.folder / "people").mkdir()
    (desk.folder / "people" / "people.yaml").write_text(PEOPLE, "utf-8")
    desk.extra |= {
        "ROUTER_DIRECTORY": f"http://127.0.0.1:{port}/people.yaml",
        "ROUTER_DIRECTORY_SECONDS": "5",
        "ROUTER_DIRECTORY_STALE_SECONDS": str(STALE),
    }
    directory = await directory_up(desk, port)
    api, _ = await desk.opened()
    alice, bob = desk.person("alice"), desk.person("bob")
    before, run = await alice.balance(), await alice.hands_in()
    watch.breaks()
    await directory.stopped()
    await watch.noticed("log", partial(api.says, "the people stay as they were"))
    await watch.noticed("doctor", partial(desk.doctor, "can't be reached"))

    async def refused() -> bool:
        return (await alice.http.get("/approvals")).status_code == httpx.codes.SERVICE_UNAVAILABLE

    await watch.noticed("people, once it is stale", refused)
    assert await api.metric("router_directory_age_seconds") >= STALE
    again = await desk.worker()

    async def ended() -> bool:
        return again.process.returncode == 1 and "can't be reached" in again.said

    await until("a process that starts meanwhile ends", ended)
    since = watch.mending()
    await directory_up(desk, port)
    await watch.right(since, "the directory is up", partial(is_let_in, alice))
    await alice.takes_leave(run, bob, before)
