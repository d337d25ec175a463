"""Runs whose row and workflow don't fit: ended over the house's head, or restored alone."""

from functools import partial
from typing import Any

from tests.drills.desk import DAYS, Desk, Person, Program, Stopwatch, drill, until


@drill("Somebody ended a workflow over the house's head")
async def terminated(desk: Desk, watch: Stopwatch) -> None:
    """Temporal's own Terminate, on a request that waits for bob."""
    api, _ = await desk.opened()
    alice, bob = desk.person("alice"), desk.person("bob")
    before, run = await alice.balance(), await alice.hands_in()
    workflow = (await alice.run(run))["temporal"]["workflow_id"]
    watch.breaks()
    await desk.temporal("workflow", "terminate", "--workflow-id", workflow, "--reason", "a slip")
    answer = await bob.decides(run)
    assert (answer.status_code, "reconcile" in answer.text) == (409, True), answer.text

    async def counted() -> bool:
        return await api.metric("router_lost_runs") > 0

    async def gone_from_inbox() -> bool:
        return run not in [one["flow_run"] for one in await bob.inbox()]

    await watch.noticed("alert RouterRunsLost", counted)
    await watch.noticed("bob's inbox", gone_from_inbox)
    await watch.noticed("alice's conversation", partial(told, alice, run, "cut off"))
    await watch.noticed("doctor", partial(desk.doctor, "its workflow was terminated"))
    assert run in await desk.operator("runs", "list", "--held")
    since = watch.mending()
    await reconciled(desk)
    await watch.right(since, "intent-router reconcile", partial(alice.sees, run, "failed"))
    assert await told(alice, run, "ended it as failed")
    assert await alice.balance() == before
    await alice.takes_leave(await alice.hands_in(), bob, before)


@drill("One half was restored alone")
async def temporal_older(desk: Desk, watch: Stopwatch) -> None:
    """First Temporal's half is the older one, then the database's; between them it is mended."""
    both = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before = await alice.balance()
    completed = await alice.hands_in()
    both = await kept(desk, both, "first")
    await alice.takes_leave(completed, bob, before)
    lost = await frank.hands_in()
    await counted_on(desk)
    await stopped(desk, both)
    await desk.restore("first", temporal=True)
    watch.breaks()
    await refused(desk, watch, "Temporal is older")
    since = watch.mending()
    await reconciled(desk)
    both = await desk.api(), await desk.worker()
    await watch.right(since, "intent-router reconcile", desk.is_ready)
    assert await alice.sees(completed, "completed")
    assert await frank.sees(lost, "failed")
    assert await alice.balance() == before - DAYS
    assert await bob.inbox() == []
    await database_older(desk, both)


async def database_older(desk: Desk, both: tuple[Program, Program]) -> None:
    """What was decided, and what was begun, after the backup of the database alone."""
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    decided = await alice.hands_in()
    both = await kept(desk, both, "second")
    assert (await bob.decides(decided)).is_success
    begun = await frank.hands_in()
    await counted_on(desk)
    await stopped(desk, both)
    await desk.restore("second", database=True)
    await refused(desk, Stopwatch(), "the database is older")
    said = await reconciled(desk)
    assert "record_leave" in said, said
    await desk.api()
    await desk.worker()
    await desk.ready()
    await until("decided", partial(alice.sees, decided, "completed"))
    assert (await bob.decides(begun)).is_success
    await until("the run goes on", partial(frank.sees, begun, "completed"))


async def kept(desk: Desk, both: tuple[Program, Program], name: str) -> tuple[Program, Program]:
    """Both halves kept as they are, and everything at work again."""
    await stopped(desk, both)
    await desk.backup(name)
    await desk.temporal_up()
    again = await desk.api(), await desk.worker()
    await desk.ready()
    return again


async def stopped(desk: Desk, both: tuple[Program, Program]) -> None:
    for program in both:
        await program.stopped()
    await desk.temporal_down()


async def counted_on(desk: Desk) -> None:
    """Let the house count on until a restore of one half is no race any more."""

    async def generation() -> int:
        return int((await desk.query("SELECT generation FROM houses"))[0][0])

    first = await generation()

    async def further() -> bool:
        return await generation() > first + 1

    await until("both halves have counted on", further)


async def refused(desk: Desk, watch: Stopwatch, says: str) -> None:
    """Neither process starts, and each says why."""
    await desk.temporal_up()
    for program in (await desk.api(), await desk.worker()):

        async def ended(program: Program = program) -> bool:
            return program.process.returncode == 1 and says in program.said

        await watch.noticed("serve and worker", ended)
    await watch.noticed("doctor", partial(desk.doctor, says))


async def reconciled(desk: Desk) -> str:
    """What the command says that puts it right, which it does on the second call alone."""
    status, said = await desk.command("reconcile")
    assert (status, "add --yes" in said) == (1, True), said
    status, said = await desk.command("reconcile", "--yes")
    assert status == 0, said
    return said


async def told(person: Person, run: str, words: str) -> bool:
    """True once the person reads this where they began the run."""
    conversation = (await person.run(run))["conversation"]
    lines: list[dict[str, Any]] = (
        await person.get(f"/conversations/{conversation}/messages?limit=200")
    )["items"]
    return any(words in line["text"] for line in lines)
