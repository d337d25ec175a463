"""What comes back from a backup: half of a database."""

from functools import partial

from tests.drills.desk import DAYS, Desk, Program, Stopwatch, drill


@drill("Half of the database was restored")
async def half_a_database(desk: Desk, watch: Stopwatch) -> None:
    """A restore was broken off: tables are missing, and their version says that they are there."""
    api, worker = await desk.opened()
    alice, bob = desk.person("alice"), desk.person("bob")
    before, run = await alice.balance(), await alice.hands_in()
    for program in (api, worker):
        await program.stopped()
    await desk.temporal_down()
    await desk.backup("whole")
    await desk.restore("whole", database=True)
    await desk.query("DROP TABLE approvals, audit CASCADE")
    watch.breaks()
    await desk.temporal_up()
    api, worker = await desk.api(), await desk.worker()
    named = "alembic_version_router without approvals, audit"
    for program, says in ((api, "serve"), (worker, "worker")):

        async def ended(program: Program = program) -> bool:
            return program.process.returncode == 1 and named in program.said

        await watch.noticed(says, ended)
    await watch.noticed("doctor", partial(desk.doctor, named))
    assert not any("Traceback" in program.said for program in (api, worker))
    since = watch.mending()
    desk.database = "desk"
    await desk.api()
    await desk.worker()
    await watch.right(since, "a whole restore", desk.is_ready)
    assert (await bob.decides(run)).status_code == 200
    assert await alice.sees(run, "completed")
    assert await alice.balance() == before - DAYS
