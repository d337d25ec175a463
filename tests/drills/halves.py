"""The two stores of a house: one of them restored alone, or another house beside it."""

from functools import partial

from tests.deployed import variables
from tests.drills.desk import DAYS, Desk, Stopwatch, drill, until
from tests.postgres import make_database


@drill("Another house's worker polls here")
async def another_house(desk: Desk, watch: Stopwatch) -> None:
    """A worker of the staging database is started with production's Temporal."""
    await desk.opened()
    alice, bob = desk.person("alice"), desk.person("bob")
    before = await alice.balance()
    await make_database(desk.server, "staging")
    url = variables(f"{desk.server}/staging", desk.ports)["ROUTER_DATABASE_URL"]
    watch.breaks()
    stray = await desk.worker(ROUTER_DATABASE_URL=url)

    async def refused() -> bool:
        return stray.process.returncode == 1 and "is another house's" in stray.said

    await watch.noticed("worker", refused)
    doctor = partial(desk.doctor, "is another house's", ROUTER_DATABASE_URL=url)
    await watch.noticed("doctor there", doctor)
    since = watch.mending()
    theirs = await desk.worker(ROUTER_DATABASE_URL=url, ROUTER_TASK_QUEUE="staging")

    async def polls() -> bool:
        return "polls task queue staging" in theirs.said

    await watch.right(since, "a ROUTER_TASK_QUEUE of its own", polls)
    runs = [await alice.hands_in() for _ in range(3)]
    for run in runs:
        assert (await bob.decides(run, "reject" if run != runs[0] else "approve")).is_success
    await until("completed", partial(alice.sees, runs[0], "completed"))
    assert await alice.balance() == before - DAYS
    desk.database = "staging"
    assert await desk.query("SELECT id FROM flow_runs") == []
