"""Events for other systems: kept with the change, in order per run, each until it is there."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from router.domain.messages import FlowSummary, Route, Turn
from router.domain.records import ApprovalRecord, LogEntry, RecordedTurn, RunRecord
from router.domain.webhook_events import EVENTS, TRIED_FOR, WebhookDelivery, WebhookSubscription
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.retention import Retention
from router.store.store import Store
from tests.integration.api.test_runs import approval_record, run_record
from tests.integration.store.test_store import conversation

ALL = frozenset(EVENTS)
ERP = WebhookSubscription("https://erp.example.com/in?key=s3cret", ALL)
BI = WebhookSubscription("https://bi.example.com/", frozenset({"flow.completed"}), slots=True)
SOON = timedelta(seconds=60)


def kept(database: Database, *subscriptions: WebhookSubscription) -> Store:
    return Store(database, subscriptions or (ERP,))


async def publish(
    store: Store, run: RunRecord, *approvals: ApprovalRecord, events: int = 0, **changed: Any
) -> RunRecord:
    """Publish the run with what is changed, one event later."""
    events = events or run.events + 1
    now = run.model_copy(update={**changed, "events": events, "updated_at": datetime.now(UTC)})
    await store.runs.publish(now, approvals)
    return now


async def due(store: Store, who: WebhookSubscription = ERP) -> list[WebhookDelivery]:
    now = datetime.now(UTC) + timedelta(seconds=1)
    return await store.webhooks.claim(who.consumer, now, now + SOON, 50)


async def drained(store: Store, who: WebhookSubscription = ERP) -> list[WebhookDelivery]:
    """All that goes to a consumer, each delivered, in the order in which it was due."""
    found = list[WebhookDelivery]()
    while batch := await due(store, who):
        for delivery in batch:
            await store.webhooks.deliver(delivery)
        found += batch
    return found


def names(deliveries: Iterable[WebhookDelivery]) -> list[str]:
    return [delivery.event for delivery in deliveries]


def decided(asked: ApprovalRecord, verdict: str = "approve") -> ApprovalRecord:
    now = datetime.now(UTC)
    return asked.model_copy(update={"verdict": verdict, "active": False, "decided_at": now})


async def test_a_run_is_told_from_its_beginning_to_its_end(database: Database) -> None:
    store, run = kept(database), run_record("r1", status="collecting", state="details")
    await store.runs.publish(run, [])
    asked = approval_record(run)
    run = await publish(store, run, asked, status="waiting_approval", state="manager")
    run = await publish(store, run, decided(asked), status="running", state="record")
    await publish(store, run, decided(asked), status="completed", state="done")
    told = await drained(store)
    assert names(told) == [
        *("flow.started", "flow.waiting_approval", "approval.requested"),
        *("approval.decided", "flow.completed"),
    ]
    assert len({delivery.id for delivery in told}) == 5
    assert all(delivery.url == "https://erp.example.com/in" for delivery in told)
    by_name: dict[str, Any] = {delivery.event: delivery.data for delivery in told}
    assert by_name["flow.completed"]["data"] == {
        "tenant": "default",
        "flow_run": "r1",
        "flow": "leave_request",
        "version": run.version,
        "status": "completed",
        "state": "done",
        "requester": "alice",
        "conversation": None,
        "part_of": None,
    }
    approval = by_name["approval.decided"]["data"]["approval"]
    assert asked.due is not None
    assert approval == {"id": asked.id, "person": "bob", "digest": "d1", "verdict": "approve"}
    assert by_name["approval.requested"]["data"]["approval"]["due"] == asked.due.isoformat()


@pytest.mark.slow
@pytest.mark.parametrize("status", ["completed", "rejected", "cancelled", "expired", "failed"])
async def test_every_end_is_told(database: Database, status: str) -> None:
    store = kept(database)
    await store.runs.publish(run_record("r1", status=status, state="end"), [])
    assert names(await drained(store)) == ["flow.started", f"flow.{status}"]


async def test_what_is_published_again_is_told_once(database: Database) -> None:
    store, run = kept(database), run_record("r1")
    for _ in range(3):
        await store.runs.publish(run, [approval_record(run)])
    assert len(await drained(store)) == 3
    await store.runs.publish(run, [approval_record(run)])
    assert await due(store) == []


async def test_what_comes_too_late_is_not_told(database: Database) -> None:
    store, run = kept(database), run_record("r1")
    await store.runs.publish(run, [])
    await drained(store)
    await publish(store, run, events=run.events - 1, status="completed")
    assert await due(store) == []


async def test_approvers_are_told_of_one_by_one(database: Database) -> None:
    """Of what the clock passed on nobody has decided; whoever is asked next is told of."""
    store, run = kept(database), run_record("r1")
    bob, carol = approval_record(run), approval_record(run, "carol", active=False)
    await store.runs.publish(run, [bob, carol])
    await drained(store)
    passed_on = decided(bob, "escalated")
    run = await publish(store, run, passed_on, carol.model_copy(update={"active": True}))
    [told] = await drained(store)
    assert (told.event, told.data["data"]["approval"]["person"]) == ("approval.requested", "carol")  # type: ignore[index,call-overload]
    await publish(store, run, passed_on, decided(carol, "reject"), status="rejected")
    assert names(await drained(store)) == ["approval.decided", "flow.rejected"]


async def test_a_branch_tells_of_its_approvals_alone(database: Database) -> None:
    store = kept(database)
    branch = run_record("r2", parent="leave_request/default/r1")
    await store.runs.publish(branch, [approval_record(branch)])
    [told] = await drained(store)
    assert (told.event, told.data["data"]["part_of"]) == ("approval.requested", "r1")  # type: ignore[index,call-overload]


async def test_a_run_that_is_closed_from_outside_is_told(database: Database) -> None:
    store, run = kept(database), run_record("r1")
    await store.runs.publish(run, [])
    await drained(store)
    failed = {"status": "failed", "updated_at": datetime.now(UTC)}
    await store.runs.revise("default", "r1", "k", lambda run: run.model_copy(update=failed))
    assert names(await drained(store)) == ["flow.failed"]


async def test_slots_go_where_the_file_says_so_alone(database: Database) -> None:
    store = kept(database, ERP, BI)
    await store.runs.publish(run_record("r1", status="completed"), [])
    [bare] = [one for one in await drained(store) if one.event == "flow.completed"]
    [whole] = await drained(store, BI)
    assert "slots" not in bare.data["data"]  # type: ignore[operator]
    assert whole.data["data"]["slots"]["leave_type"] == "annual"  # type: ignore[index,call-overload]
    assert bare.id != whole.id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subscription", "told"),
    [
        (WebhookSubscription("https://a", ALL, tenants=("acme",)), 0),
        (WebhookSubscription("https://a", ALL, tenants=("def*",)), 2),
        (WebhookSubscription("https://a", ALL, flows=("purchase_*",)), 0),
        (WebhookSubscription("https://a", ALL, flows=("leave_*",)), 2),
        (WebhookSubscription("https://a", frozenset({"flow.started"})), 1),
    ],
)
async def test_each_hears_of_what_it_wants(
    database: Database, subscription: WebhookSubscription, told: int
) -> None:
    store = kept(database, subscription)
    await store.runs.publish(run_record("r1", status="completed"), [])
    assert len(await drained(store, subscription)) == told


PURCHASES = WebhookSubscription("https://buyers.example.com/", ALL, flows=("purchase_*",))


async def test_a_hand_off_in_the_middle_of_a_flow_is_told_whom_that_flow_is_told(
    database: Database,
) -> None:
    store = kept(database, ERP, PURCHASES)
    await store.conversations.create(conversation("c1"))
    route = Route(kind="handoff", by="pattern", reason="转人工")
    for number, flow in enumerate(("purchase_order", "leave_request")):
        held = FlowSummary(id="r1", name=flow, status="collecting", state="details")
        id_ = f"m{number}"
        turn = Turn(message_id=id_, turn=1, status="done", route=route, replies=[], flow=held)
        data = RecordedTurn(digest="d", turn=turn).model_dump(mode="json")
        about: dict[str, Any] = {"at": datetime.now(UTC), "conversation": "c1", "message_id": id_}
        entry = LogEntry(key=f"c1:{id_}:turn", kind="turn", data=data, **about)
        await store.log.append("default", [entry])
    told = [
        [one.data["data"]["message_id"] for one in await drained(store, who)]  # type: ignore[index,call-overload]
        for who in (PURCHASES, ERP)
    ]
    assert told == [["m0"], ["m0", "m1"]]


async def test_who_decides_once_more_is_told_under_another_id(database: Database) -> None:
    """One who was asked again after others, by the same approval."""
    store, run = kept(database), run_record("r1")
    asked = approval_record(run)
    await store.runs.publish(run, [asked])
    run = await publish(store, run, decided(asked, "return"))
    run = await publish(store, run, asked)
    await publish(store, run, decided(asked))
    told = [one.id for one in await drained(store) if one.event == "approval.decided"]
    assert len({*told}) == 2


async def test_a_hand_off_is_told_without_what_was_said(database: Database) -> None:
    store = kept(database, ERP, PURCHASES)
    await store.conversations.create(conversation("c1"))
    route = Route(kind="handoff", by="pattern", reason="转人工")
    turn = Turn(message_id="m1", turn=1, status="done", route=route, replies=[])
    data = RecordedTurn(digest="d", turn=turn).model_dump(mode="json")
    about: dict[str, Any] = {"at": datetime.now(UTC), "conversation": "c1", "message_id": "m1"}
    for _ in range(2):
        await store.log.append(
            "default", [LogEntry(key="c1:m1:turn", kind="turn", data=data, **about)]
        )
    [told] = await drained(store)
    assert told.event == "handoff.requested"
    assert await drained(store, PURCHASES) == []
    said = {"tenant": "default", "conversation": "c1", "message_id": "m1", "person": "alice"}
    assert told.data["data"] == said


async def test_only_the_first_of_a_run_is_due(database: Database) -> None:
    """One that isn't taken holds up its own run at its own consumer, and nothing else."""
    store = kept(database, ERP, BI)
    run = run_record("r1", status="collecting")
    await store.runs.publish(run, [])
    run = await publish(store, run, status="completed")
    await store.runs.publish(run_record("r2", status="collecting"), [])
    first, other = await due(store)
    assert {(first.subject, first.event), (other.subject, other.event)} == {
        ("r1", "flow.started"),
        ("r2", "flow.started"),
    }
    mine = first if first.subject == "r1" else other
    await store.webhooks.postpone(mine, datetime.now(UTC) + SOON, "it answered 503")
    assert await due(store) == []
    assert names(await drained(store, BI)) == ["flow.completed"]
    await store.webhooks.postpone(mine, datetime.now(UTC), "it answered 503")
    [again] = [one for one in await due(store) if one.subject == "r1"]
    assert (again.id, again.attempts, again.error) == (mine.id, 2, "it answered 503")
    await store.webhooks.deliver(again)
    assert [one.event for one in await due(store) if one.subject == "r1"] == ["flow.completed"]


async def test_two_processes_never_have_the_same_one(database: Database) -> None:
    store, elsewhere = kept(database), kept(database)
    for number in range(5):
        await store.runs.publish(run_record(f"r{number}", status="collecting"), [])
    here, there = await due(store), await due(elsewhere)
    assert (len(here), there) == (5, [])


async def test_what_is_given_up_lets_the_next_one_go(database: Database) -> None:
    store, run = kept(database), run_record("r1", status="collecting")
    await store.runs.publish(run, [])
    await publish(store, run, status="completed")
    [first] = await due(store)
    await store.webhooks.bury(first, "it answered 500")
    assert names(await due(store)) == ["flow.completed"]
    [dead], following = await store.webhooks.listed("default", "dead", None, 50)
    assert (dead.id, dead.error, dead.attempts, following) == (first.id, "it answered 500", 1, None)


async def test_an_operator_has_it_sent_again_behind_what_waits(database: Database) -> None:
    store, run = kept(database), run_record("r1", status="collecting")
    await store.runs.publish(run, [])
    await publish(store, run, status="completed")
    [first] = await due(store)
    await store.webhooks.bury(first, "it answered 500")
    [second] = await due(store)
    now = datetime.now(UTC)
    revived = await store.webhooks.retry("default", first.id, now)
    assert revived is not None
    assert (revived.state, revived.until, revived.due) == ("waiting", now + TRIED_FOR, None)
    assert await due(store) == []
    await store.webhooks.deliver(second)
    assert [one.id for one in await due(store)] == [first.id]


@pytest.mark.parametrize(("tenant", "id_"), [("acme", None), ("default", "msg_none")])
async def test_nobody_retries_what_is_not_theirs(
    database: Database, tenant: str, id_: str | None
) -> None:
    store = kept(database)
    await store.runs.publish(run_record("r1", status="collecting"), [])
    [one] = await due(store)
    assert await store.webhooks.retry(tenant, id_ or one.id, datetime.now(UTC)) is None


async def test_a_list_goes_on_page_by_page(database: Database) -> None:
    store = kept(database)
    for number in range(3):
        await store.runs.publish(run_record(f"r{number}", status="collecting"), [])
    first, after = await store.webhooks.listed("default", "waiting", None, 2)
    last, end = await store.webhooks.listed("default", "waiting", after, 2)
    assert (len({one.id for one in [*first, *last]}), end) == (3, None)
    assert await store.webhooks.listed("acme", "waiting", None, 2) == ([], None)


async def test_the_backlog_of_each_is_known(database: Database) -> None:
    store = kept(database, ERP, BI)
    assert await store.webhooks.backlog() == []
    await store.runs.publish(run_record("r1", status="completed"), [])
    assert await store.webhooks.bury_all(BI.consumer, "410") == 1
    by_url = {one.url: one for one in await store.webhooks.backlog()}
    erp, bi = by_url[ERP.shown_url], by_url[BI.shown_url]
    assert (erp.waiting, erp.dead, erp.oldest is not None) == (2, 0, True)
    assert (bi.waiting, bi.dead, bi.oldest) == (0, 1, None)


async def test_what_nobody_took_in_its_time_is_given_up(database: Database) -> None:
    """Nothing earlier, nothing of those who are named, and nothing that somebody is at."""
    store = kept(database)
    await store.runs.publish(run_record("r1", status="completed"), [])
    over = datetime.now(UTC) + TRIED_FOR + SOON
    bury = store.webhooks.bury_overdue
    assert await bury([], over, over - 2 * SOON, "no entry") == 0
    assert await bury([ERP.consumer], over, over, "no entry") == 0
    [first] = await store.webhooks.claim(ERP.consumer, over, over + SOON, 50)
    assert await bury([], over, over, "no entry") == 0
    await store.webhooks.postpone(first, over, "it answered 500")
    assert await bury([], over, over, "no entry") == 1
    [dead], _ = await store.webhooks.listed("default", "dead", None, 50)
    assert (dead.id, dead.error, dead.due) == (first.id, "no entry", None)


async def test_who_is_erased_is_told_of_no_more(database: Database) -> None:
    store = kept(database)
    for number, requester in enumerate(("alice", "frank")):
        run = run_record(f"r{number}", requester=requester)
        await store.runs.publish(run, [approval_record(run, "bob")])
    erasure = PersonErasure(database, "default", "alice")
    assert (await erasure.holdings()).counts["events for other systems"] == 3
    await erasure.erase("gone-1")
    left = await drained(store)
    assert {one.subject for one in left} == {"r1"}
    assert "alice" not in str(left)


async def test_what_was_behind_the_erased_goes_on(database: Database) -> None:
    store, run = kept(database), run_record("r1", status="running")
    await store.runs.publish(run, [])
    asked = approval_record(run, "bob")
    run = await publish(store, run, asked)
    await publish(store, run, decided(asked), status="completed")
    for delivery in await due(store):
        await store.webhooks.deliver(delivery)
    await PersonErasure(database, "default", "bob").erase("gone-1")
    await store.webhooks.release()
    assert names(await drained(store)) == ["flow.completed"]


async def test_what_was_given_up_long_ago_expires(database: Database) -> None:
    store = kept(database)
    await store.runs.publish(run_record("r1", status="collecting"), [])
    [one] = await due(store)
    await store.webhooks.bury(one, "it answered 500")
    await Retention(database).expire(1)
    assert len((await store.webhooks.listed("default", "dead", None, 50))[0]) == 1
    await Retention(database).expire(-1, confirmed=True)
    assert await store.webhooks.listed("default", "dead", None, 50) == ([], None)


async def test_nothing_is_kept_where_nobody_wants_to_hear(store: Store) -> None:
    await store.runs.publish(run_record("r1"), [])
    assert await store.webhooks.backlog() == []
