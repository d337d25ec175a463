"""Approvals: who decides has left, and nobody is named in their place."""

from datetime import date, timedelta

from tests.drills.desk import DAYS, PEOPLE, Desk, Stopwatch, drill

OTHERS = 8
BOB = "  - {id: bob, name: Bob, locale: en, manager: carol}\n"


@drill("An approver who left")
async def left(desk: Desk, watch: Stopwatch) -> None:
    """Ten requests wait for bob, who is taken out of the directory; carol takes them over."""
    api, _ = await desk.opened()
    alice, frank, carol = (desk.person(user) for user in ("alice", "frank", "carol"))
    before, runs = await alice.balance(), [await alice.hands_in(), await frank.hands_in()]
    runs += [await frank.hands_in(asks) for asks in one_day_requests()]
    watch.breaks()
    desk.people.write_text(PEOPLE.replace(BOB, ""), "utf-8")

    async def counted() -> bool:
        return await api.metric("router_approvals_orphaned") == len(runs)

    async def named() -> bool:
        return await desk.doctor("bob of default isn't in the directory")

    async def held() -> bool:
        found = await desk.person("olga").get("/flow-runs?all=true&held=true")
        return "nobody named instead: bob" in str(found)

    await watch.noticed("doctor", named)
    await watch.noticed("alert RouterApprovalsOrphaned", counted)
    # What the next reminder does, a day from now, the requester's does at once.
    (await alice.http.post(f"/flow-runs/{runs[0]}/nudge")).raise_for_status()
    await watch.noticed("runs list --held", held)
    words = ("runs", "reassign", "--from", "bob", "--to", "carol")
    assert "nothing is changed yet" in await desk.operator(*words)
    assert await carol.inbox() == []
    since = watch.mending()
    said = await desk.operator(*words, "--yes")
    assert said.count("waits for carol") == len(runs), said
    assert len(await carol.inbox()) == len(runs)
    for run in runs:
        assert (await carol.decides(run, "reject" if run in runs[2:] else "approve")).is_success

    async def completed() -> bool:
        both = [await alice.sees(runs[0], "completed"), await frank.sees(runs[1], "completed")]
        return all(both) and not await held()

    await watch.right(since, "intent-router runs reassign --from", completed)
    assert await alice.balance() == before - DAYS


def one_day_requests() -> list[str]:
    """Requests for days weeks from now, which don't overlap."""
    weeks = [date.today() + timedelta(days=21 + n) for n in range(2 * OTHERS)]  # noqa: DTZ011
    days = [day for day in weeks if day.isoweekday() not in {6, 7}][:OTHERS]
    return [f"I want to take annual leave from {day} to {day}, family visit" for day in days]
