"""Health: a database that only reads, and no worker that takes new work."""

from functools import partial
from typing import Any

import httpx

from tests.drills.desk import BALANCE, REQUEST, Desk, Person, Stopwatch, drill, until
from tests.postgres import order

CONNECTED = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'desk'"
RUNS = "SELECT id FROM flow_runs WHERE flow = 'leave_request'"


async def is_down(desk: Desk, part: str, says: str) -> bool:
    """True once `/readyz` is 503 for this."""
    status, told = await desk.readiness()
    check = told["checks"][part]
    return status == 503 and check["status"] == "down" and says in check["detail"]


async def said_again(person: Person, talk: str, text: str, message_id: str) -> dict[str, Any]:
    """The turn of what is sent twice more under its id; it stands in the conversation once."""

    async def answered() -> bool:
        return (await person.sends(talk, text, message_id=message_id)).status_code == httpx.codes.OK

    await until("it is answered", answered)
    turn = (await person.sends(talk, text, message_id=message_id)).json()
    said = (await person.get(f"/conversations/{talk}/messages"))["items"]
    assert [one["message_id"] for one in said if one["role"] == "user"].count(message_id) == 1
    return dict(turn)


async def changed(desk: Desk, setting: str) -> None:
    """Change the database, and cut everybody off who is connected as it was."""
    await order(f"{desk.server}/postgres", f"ALTER DATABASE desk {setting}")
    await order(f"{desk.server}/postgres", CONNECTED)


@drill("The database takes no writes")
async def read_only(desk: Desk, watch: Stopwatch) -> None:
    """It answers every question; what alice confirms meanwhile is done once, when it is back."""
    await desk.opened()
    alice, bob = desk.person("alice"), desk.person("bob")
    before = await alice.balance()
    asked = (await alice.says(REQUEST))["conversation"]
    watch.breaks()
    await changed(desk, "SET default_transaction_read_only = on")
    await watch.noticed("/readyz", partial(is_down, desk, "database", "read-only transaction"))
    await watch.noticed("doctor", partial(desk.doctor, "have it take writes again"))
    refused = await alice.http.post("/conversations", json={})
    assert refused.status_code == 503, refused.text
    assert not [word for word in ("127.0.0.1", "postgres", "router@") if word in refused.text]
    taken = await alice.sends(asked, "yes", message_id="confirmed")
    assert taken.status_code in {202, 503}, taken.text
    since = watch.mending()
    await changed(desk, "RESET default_transaction_read_only")
    await watch.right(since, "ALTER DATABASE … RESET", desk.is_ready)
    turn = await said_again(alice, asked, "yes", "confirmed")
    (run,) = [row["id"] for row in await desk.query(RUNS)]
    assert run == turn["flow"]["id"]
    await alice.takes_leave(run, bob, before)


@drill("No worker takes new work")
async def no_worker(desk: Desk, watch: Stopwatch) -> None:
    """The only worker is stopped: what waits waits, and who speaks hears so."""
    _, worker = await desk.opened()
    alice, bob = desk.person("alice"), desk.person("bob")
    before, run = await alice.balance(), await alice.hands_in()
    talk = (await alice.says("hello"))["conversation"]
    watch.breaks()
    await worker.stopped()
    nobody = "polls the task queue 'router': start"
    await watch.noticed("/readyz", partial(is_down, desk, "worker", nobody))
    await watch.noticed("doctor", partial(desk.doctor, "nobody polls router"))
    refused = await alice.sends(talk, BALANCE, message_id="asked")
    assert refused.status_code == 503, refused.text
    since = watch.mending()
    await desk.worker()
    await watch.right(since, "intent-router worker", desk.is_ready)
    await said_again(alice, talk, BALANCE, "asked")
    await alice.takes_leave(run, bob, before)
