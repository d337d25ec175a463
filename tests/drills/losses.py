"""What is lost on one side alone: Temporal's database, a conversation's workflow, some tables."""

from functools import partial

from tests.drills.desk import DAYS, REQUEST, Desk, Stopwatch, drill, until
from tests.drills.runs import counted_on, reconciled, refused, stopped, told


@drill("Temporal's database is gone")
async def temporal_gone(desk: Desk, watch: Stopwatch) -> None:
    """It starts with an empty one: nothing that was under way is anywhere but in our tables."""
    both = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, waiting = await alice.balance(), await alice.hands_in()
    asked = (await frank.says(REQUEST))["conversation"]
    await counted_on(desk)  # a house of its first minute is taken for a new one
    await stopped(desk, both)
    for file in (desk.folder / "temporal").glob("temporal.db*"):
        file.unlink()
    watch.breaks()
    await refused(desk, watch, "Temporal knows nothing of this house")
    await watch.noticed("intent-router reconcile", partial(lists, desk, waiting, asked))
    since = watch.mending()
    await reconciled(desk)
    await desk.api()
    await desk.worker()
    await watch.right(since, "intent-router reconcile", desk.is_ready)
    assert await alice.sees(waiting, "failed")
    assert await told(alice, waiting, "ended it as failed")
    lines = (await frank.get(f"/conversations/{asked}/messages"))["items"]
    assert len([line for line in lines if "no longer know what was asked" in line["text"]]) == 1
    assert await bob.inbox() == []
    status, said = await desk.command("reconcile")
    assert status == 0, said
    await alice.takes_leave(await alice.hands_in(), bob, before)


@drill("A conversation's workflow was ended")
async def conversation_ended(desk: Desk, watch: Stopwatch) -> None:
    """Temporal's own Terminate, while frank is asked whether his request is right."""
    _, worker = await desk.opened()
    frank, bob = desk.person("frank"), desk.person("bob")
    before = await frank.balance()
    asked = (await frank.says(REQUEST))["conversation"]
    other = (await frank.says(REQUEST))["conversation"]
    ids = [f"conversation/default/{each}" for each in (asked, other)]
    watch.breaks()
    for each in ids:
        await desk.temporal("workflow", "terminate", "--workflow-id", each, "--reason", "a slip")

    async def noticed() -> bool:
        return await worker.metric("router_conversations_cut_off_total") > 0

    await frank.says("hello", other)
    await watch.noticed("alert RouterConversationsCutOff", noticed)
    await watch.noticed("intent-router reconcile", partial(lists, desk, asked))
    since = watch.mending()
    said = await reconciled(desk)
    assert other not in said, said

    async def agrees() -> bool:
        return (await desk.command("reconcile"))[0] == 0

    await watch.right(since, "intent-router reconcile --yes", agrees)
    run = (await frank.says("yes", asked))["flow"]["id"]
    await until("it goes on where it was", partial(frank.sees, run, "waiting_approval"))
    await frank.takes_leave(run, bob, before)


@drill("Some tables were restored alone")
async def tables_restored(desk: Desk, watch: Stopwatch) -> None:
    """Approvals, effects and mailboxes are of another moment than the runs."""
    await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, done, waits = await alice.balance(), await alice.hands_in(), await frank.hands_in()
    await alice.takes_leave(done, bob, before)
    stray = "leave_request/default/0123456789ab:record:1"
    watch.breaks()
    # As a restore with `pg_restore --table` leaves them.
    await desk.query(f"UPDATE approvals SET active = true, verdict = NULL WHERE run = '{done}'")
    await desk.query(f"UPDATE approvals SET active = false WHERE run = '{waits}'")
    await desk.query(
        "INSERT INTO effects (key, tool, digest, status, begun_at) VALUES "
        f"('{stray}', 'record_leave', 'd', 'begun', "
        "now() - interval '1 hour')"
    )
    assert [one["flow_run"] for one in await bob.inbox()] == [done]
    kinds = partial(lists, desk, "approval ", "behind ", "unowned ")
    await watch.noticed("intent-router reconcile", kinds)
    since = watch.mending()
    await reconciled(desk)

    async def asked() -> bool:
        return [one["flow_run"] for one in await bob.inbox()] == [waits]

    await watch.right(since, "intent-router reconcile --yes", asked)
    status, said = await desk.command("reconcile")
    assert status == 0, said
    assert (await bob.decides(waits)).is_success
    await until("it is recorded", partial(frank.sees, waits, "completed"))
    assert await alice.balance() == before - DAYS


async def lists(desk: Desk, *named: str) -> bool:
    """True once `reconcile` names all of these: what is but minutes old, it leaves alone."""
    said = (await desk.command("reconcile"))[1]
    return all(each in said for each in named)
