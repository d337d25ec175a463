"""Payload keys: one that is exchanged while runs wait, and one that is lost."""

import asyncio
import base64
import re
from functools import partial

from tests.drills.desk import DAYS, KEYS, REQUEST, Desk, Program, Stopwatch, drill, until
from tests.drills.losses import lists
from tests.drills.runs import reconciled

NEW = f"k2:{base64.b64encode(b'n' * 32).decode()}"
MISSING = "encrypted with the key 'k1', which ROUTER_PAYLOAD_KEYS doesn't have"
NAMED = "may need the keys k1"


async def restarted(
    desk: Desk, both: tuple[Program, Program], keys: str
) -> tuple[Program, Program]:
    """Both processes with these keys."""
    for program in both:
        await program.stopped()
    desk.extra["ROUTER_PAYLOAD_KEYS"] = keys
    again = await desk.api(), await desk.worker()
    await desk.ready()
    return again


async def is_unreadable(worker: Program) -> bool:
    """True once the alert's metric says so."""
    return await worker.metric("router_unreadable_payloads_total") > 0


@drill("A payload key was left out too early")
async def left_out(desk: Desk, watch: Stopwatch) -> None:
    """A key is exchanged by the book, but for the last step: a request of before still waits."""
    both = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, first, second = await alice.balance(), await alice.hands_in(), await frank.hands_in()
    both = await restarted(desk, both, f"{KEYS},{NEW}")
    both = await restarted(desk, both, f"{NEW},{KEYS}")
    await alice.takes_leave(first, bob, before)
    watch.breaks()
    api, worker = await restarted(desk, both, NEW)
    # What touches it waits, and is told to come again.
    decision = asyncio.create_task(bob.decides(second))
    await watch.noticed("doctor", partial(desk.doctor, NAMED))
    await watch.noticed("alert RouterPayloadsUnreadable", partial(is_unreadable, worker))
    await watch.noticed("log", partial(worker.says, MISSING))
    since = watch.mending()
    await restarted(desk, (api, worker), f"{NEW},{KEYS}")
    await asyncio.gather(decision, return_exceptions=True)

    async def decided() -> bool:
        waits = [one["flow_run"] for one in await bob.inbox()]
        return second not in waits or (await bob.decides(second)).is_success

    await watch.right(since, "the key put back", decided)
    await until("frank's is recorded", partial(frank.sees, second, "completed"))
    assert await alice.balance() == before - DAYS
    assert not await desk.doctor(NAMED)


@drill("A payload key is lost")
async def lost(desk: Desk, watch: Stopwatch) -> None:
    """Nobody has it any more: what was under way is ended, and whoever it was of hears so."""
    both = await desk.opened()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, waiting = await alice.balance(), await alice.hands_in()
    asked = (await frank.says(REQUEST))["conversation"]
    watch.breaks()
    await restarted(desk, both, NEW)
    await watch.noticed("doctor", partial(desk.doctor, NAMED))
    said = (await desk.command("doctor"))[1]
    (moment,) = set(re.findall(r"began before (\S+Z)", said))
    since = watch.mending()
    query = f"ExecutionStatus = 'Running' AND StartTime < '{moment}'"
    reason = ("--reason", "their payload key is lost", "--yes")
    await desk.temporal("workflow", "delete", "--query", query, *reason)
    await until("reconcile lists them", partial(lists, desk, waiting, asked))
    await reconciled(desk)
    await watch.right(
        since, "temporal workflow delete, reconcile", partial(alice.sees, waiting, "failed")
    )
    assert await bob.inbox() == []
    lines = (await frank.get(f"/conversations/{asked}/messages"))["items"]
    assert any("no longer know what was asked" in line["text"] for line in lines)
    assert not await desk.doctor(NAMED)
    await alice.takes_leave(await alice.hands_in(), bob, before)
