"""Flows that deal with the world, over a real server: events, lists, flows, branches."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from router.domain.errors import Conflict, NotFound, PermanentToolError, TransientToolError
from router.domain.principals import Principal
from router.domain.records import RunRecord
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Arrived, Retried
from router.gateway import run_updates
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.story_runner.runner import skip
from router.tool.context import ToolContext
from router.tool.tool import tool
from tests.temporal import register_attributes, skipping_server
from tests.unit.flow.definitions import text
from tests.workflow.desk import Talk, becomes, flow_of, heard, run_of, withdrawn, words
from tests.workflow.tooled import furnished, talking

BOOK: list[tuple[str, str, str]] = []
"""Every effect on the world: tool, what, and the key that it came with."""

BY_ALICE, BY_OLGA = {"Authorization": "Bearer alice"}, {"Authorization": "Bearer olga"}
WENDY = Principal(id="wendy", name="Wendy", roles=frozenset({"employee", "warehouse"}))


@tool(permission="write", title={"zh": "订", "en": "Book"})
async def book(what: str, ctx: ToolContext) -> dict[str, str]:
    """Book something."""
    if what == "nothing":
        raise PermanentToolError("there is no such thing")
    BOOK.append(("book", what, ctx.key))
    return {"booked": what}


@tool(permission="write", title={"zh": "退", "en": "Unbook"})
async def unbook(what: str, ctx: ToolContext) -> None:
    """Take a booking back."""
    BOOK.append(("unbook", what, ctx.key))


OUTAGES: list[Exception] = []
"""What the next calls of `pay` come to, instead of a payment."""


@tool(permission="write", title={"zh": "付款", "en": "Pay"}, retries=0)
async def pay(ctx: ToolContext) -> None:
    """Pay what is due."""
    if OUTAGES:
        raise OUTAGES.pop(0)
    BOOK.append(("pay", "", ctx.key))


@tool(permission="read", title={"zh": "价格", "en": "Price"}, retries=1)
async def get_price() -> None:
    """What it costs, had anybody known."""
    raise TransientToolError("gone")


TOOLS = (book, unbook, pay, get_price)


def flow(name: str, slots: dict[str, Any] | None = None, **states: Any) -> FlowDefinition:
    ends = {
        "good": {"say": text(f"{name} is done."), "end": "completed"},
        "bad": {"say": text(f"{name} came to nothing."), "end": "rejected"},
    }
    about = {"title": text(name), "description": text(f"For {name}"), "start": next(iter(states))}
    whole = {"flow": name, **about, "slots": slots or {}, "states": states | ends}
    return FlowDefinition.model_validate(whole | {"triggers": {"patterns": [f"start {name}"]}})


def booking(what: str, then: str, **more: Any) -> dict[str, Any]:
    return {"call": "book", "with": {"what": what}, "undo": "unbook", "next": then, **more}


def approval(by: str, approved: str, **more: Any) -> dict[str, Any]:
    asked = {"by": f"'{by}'", "title": text(f"{by}?"), **more}
    return {"approve": asked, "approved": approved, "rejected": "refused"}


ARRIVAL = {"event": "arrived", "roles": ["warehouse"], "fields": {"boxes": {"type": "integer"}}}
DELIVERY = flow(
    "delivery",
    order=booking("'desk'", "arrival"),
    arrival={"wait": ARRIVAL | {"for": "P7D"}, "next": "good", "late": "bad"},
)
PAID_OUT = {"zh": "钱已经付给你了。", "en": "The money is with you."}
LOAN = flow(
    "loan",
    pay=booking("'loan'", "spending"),
    spending={"wait": ARRIVAL, "locked": PAID_OUT, "next": "good"},
)
HOTEL = flow(
    "hotel",
    {"city": {"type": "text", "label": text("City"), "ask": text("Which city?")}},
    ask={"collect": ["city"], "next": "book"},
    book=booking("slots.city", "good"),
)
WHICH = text("A hotel in {{ results.hotel.slots.city }}?")
TRIP = flow(
    "trip",
    train=booking("'train'", "hotel"),
    hotel={"flow": "hotel", "save": "hotel", "completed": "review", "otherwise": "bad"},
    review={"confirm": WHICH, "confirmed": "good", "declined": "bad"},
)
TOUR = flow("tour", book=booking("item", "good", each="['a', 'b', 'c']", on_error="bad"))
ONE_MISSING = {"each": "['a', 'b', 'nothing', 'c']", "at_once": 1, "on_error": "bad"}
BROKEN_TOUR = flow("broken_tour", book=booking("item", "good", **ONE_MISSING))
SIGN_OFF = flow(
    "sign_off",
    reserve=booking("'budget'", "both"),
    both={"parallel": ["boss", "director"], "join": "good", "otherwise": "bad"},
    boss=approval("bob", "pay", remind_every="PT24H"),
    pay=booking("'payment'", "good"),
    director=approval("carol", "good", expire_after="P14D"),
    refused={"say": text("Refused."), "end": "rejected"},
)
UNDONE = [("book", "budget"), ("book", "payment"), ("unbook", "payment"), ("unbook", "budget")]
"""What becomes of it where it is rejected, or cancelled, after the boss's approval."""
SHIPMENT = flow(
    "shipment",
    both={"parallel": ["goods", "papers"], "join": "receipt", "otherwise": "bad"},
    goods={"wait": ARRIVAL, "next": "receipt"},
    papers={"say": text("Papers."), "next": "receipt"},
    receipt={"wait": ARRIVAL, "next": "good"},
)
"""The same event twice: first for a branch, then for the whole."""
AGAIN = {"attempts": 2, "every": "PT1H"}
PAYMENT = flow("payment", pay={"call": "pay", "retry": AGAIN, "hold": True, "next": "good"})
AWAY = {"if": "results.error.kind == 'unavailable'", "to": "bad"}
PRICE = flow("price", ask={"call": "get_price", "next": "good", "on_error": [AWAY, {"to": "good"}]})
FLOWS = (PRICE, PAYMENT, DELIVERY, LOAN, HOTEL, TRIP, TOUR, BROKEN_TOUR, SIGN_OFF, SHIPMENT)


@pytest.fixture
async def desk(real_client: Client, parts: Parts) -> AsyncIterator[Talk]:
    """A conversation where these flows can be started; nothing is booked yet."""
    BOOK.clear()
    async with talking(real_client, parts, TOOLS, flows=FLOWS) as talk:
        yield talk


Clock = tuple[WorkflowEnvironment, Talk]


@pytest.fixture
async def clock(parts: Parts) -> AsyncIterator[Clock]:
    """The same on a server of its own, whose clock can be moved: nothing else is left there."""
    async with await skipping_server() as environment:
        await register_attributes(environment.client)
        async with talking(environment.client, parts, TOOLS, flows=FLOWS) as talk:
            yield environment, talk


async def started(talk: Talk, name: str) -> str:
    turn = await talk.say(f"start {name}")
    return flow_of(turn).id


def booked() -> list[tuple[str, str]]:
    return [(done, what) for done, what, _ in BOOK]


async def child_of(talk: Talk, run: str, number: int = 0) -> RunRecord:
    """The run that this one started, once it is listed."""
    for _ in range(3000):
        started = [h for h in (await run_of(talk.parts, run)).history if h.event == "started"]
        if len(started) > number:
            id_ = str(started[number].comment).split()[-1]
            if (found := await talk.parts.store.runs.find("default", id_)) is not None:
                return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"{run} started nothing")


async def branches(talk: Talk, run: str) -> tuple[str, str]:
    """The two runs that it started, once both are waiting for their approvals."""
    first, second = (await child_of(talk, run, 0)).id, (await child_of(talk, run, 1)).id
    for part in (first, second):
        await becomes(talk.parts, part, lambda r: r.status == "waiting_approval")
    return first, second


async def arrive(talk: Talk, run: str, by: Principal, word: str = "w1", **value: Any) -> Any:
    event = Arrived(by=by.id, name="arrived", value=value, word=word)
    record = await run_of(talk.parts, run)
    await run_updates.event_known(talk.client, record, by, "arrived")
    return await run_updates.happen(talk.client, record, by, event)


class TestEvents:
    @pytest.mark.slow
    async def test_an_event_takes_the_run_on_once(self, desk: Talk) -> None:
        run = await started(desk, "delivery")
        first = await arrive(desk, run, WENDY, boxes=2)
        assert first.status == "completed"
        assert await arrive(desk, run, WENDY, boxes=2) == first
        await heard(desk, "delivery is done")
        with pytest.raises(Conflict):
            await arrive(desk, run, WENDY, "w2", boxes=2)

    async def test_nobody_else_may_tell_it_also_when_the_run_is_over(self, desk: Talk) -> None:
        run = await started(desk, "delivery")
        with pytest.raises(NotFound):
            await arrive(desk, run, desk.person, boxes=2)
        await withdrawn(desk, run)
        await becomes(desk.parts, run, lambda r: r.status == "cancelled")
        with pytest.raises(NotFound):
            await arrive(desk, run, desk.person, boxes=2)

    @pytest.mark.slow
    async def test_what_does_not_come_in_time_is_late(self, clock: Clock) -> None:
        environment, desk = clock
        run = await started(desk, "delivery")
        await skip(environment, timedelta(days=8))
        assert (await becomes(desk.parts, run, lambda r: r.status == "rejected")).state == "bad"


class TestItems:
    async def test_each_is_booked_once_under_a_key_of_its_own(self, desk: Talk) -> None:
        run = await started(desk, "tour")
        await becomes(desk.parts, run, lambda r: r.status == "completed")
        assert sorted(booked()) == [("book", what) for what in "abc"]
        assert len({key for _, _, key in BOOK}) == len(BOOK)

    async def test_where_one_fails_the_others_are_taken_back_in_reverse(self, desk: Talk) -> None:
        run = await started(desk, "broken_tour")
        await becomes(desk.parts, run, lambda r: r.status == "rejected")
        assert booked() == [("book", "a"), ("book", "b"), ("unbook", "b"), ("unbook", "a")]


class TestSubFlows:
    @pytest.mark.slow
    async def test_it_asks_in_the_conversation_once_and_the_run_goes_on(self, desk: Talk) -> None:
        turn = await desk.say("start trip")
        assert words(turn) == "Which city?"
        run = flow_of(turn).id
        child = await child_of(desk, run)
        assert child.parent == (await run_of(desk.parts, run)).workflow_id
        turn = await desk.say("Berlin")
        assert (flow_of(turn).id, flow_of(turn).status) == (child.id, "completed")
        await heard(desk, "A hotel in Berlin?")
        assert sum("Which city?" in line for line in await desk.texts()) == 1
        turn = await desk.say("yes")
        assert (flow_of(turn).id, flow_of(turn).status) == (run, "completed")
        assert booked() == [("book", "train"), ("book", "Berlin")]

    @pytest.mark.slow
    async def test_cancelling_cancels_it_first_and_undoes_everything(self, desk: Talk) -> None:
        run = await started(desk, "trip")
        child = await child_of(desk, run)
        await withdrawn(desk, run)
        await becomes(desk.parts, child.id, lambda r: r.status == "cancelled")
        await becomes(desk.parts, run, lambda r: r.status == "cancelled")
        assert booked() == [("book", "train"), ("unbook", "train")]

    @pytest.mark.slow
    async def test_what_a_completed_one_did_is_undone_too(self, desk: Talk) -> None:
        run = await started(desk, "trip")
        await desk.say("Berlin")
        await heard(desk, "A hotel in Berlin?")
        await withdrawn(desk, run)
        await becomes(desk.parts, run, lambda r: r.status == "cancelled")
        assert booked()[2:] == [("unbook", "Berlin"), ("unbook", "train")]

    @pytest.mark.slow
    async def test_cancelled_where_it_asks_the_run_goes_the_other_way(self, desk: Talk) -> None:
        run = await started(desk, "trip")
        await desk.say("取消")
        assert (await becomes(desk.parts, run, lambda r: r.status == "rejected")).state == "bad"


class TestBranches:
    @pytest.mark.slow
    async def test_approvals_are_open_at_once_and_both_are_needed(self, desk: Talk) -> None:
        run = await started(desk, "sign_off")
        bob, carol = desk.approver("bob"), desk.approver("carol")
        first, second = await branches(desk, run)
        asked = await carol.waiting(second)
        assert asked.digest != (await bob.waiting(first)).digest
        await carol.decide(asked, "approve")
        assert (await run_of(desk.parts, run)).status == "waiting"
        await bob.decide(first, "approve")
        await becomes(desk.parts, run, lambda r: r.status == "completed")
        assert booked() == [("book", "budget"), ("book", "payment")]

    @pytest.mark.slow
    async def test_a_rejection_closes_the_other_and_undoes_all(self, desk: Talk) -> None:
        run = await started(desk, "sign_off")
        bob, carol = desk.approver("bob"), desk.approver("carol")
        first, second = await branches(desk, run)
        await bob.decide(first, "approve")
        await becomes(desk.parts, first, lambda r: r.status == "completed")
        await carol.decide(second, "reject")
        await becomes(desk.parts, run, lambda r: r.status == "rejected")
        assert booked() == UNDONE

    @pytest.mark.slow
    async def test_each_keeps_its_own_timers(self, clock: Clock) -> None:
        environment, desk = clock
        run = await started(desk, "sign_off")
        first, second = await branches(desk, run)
        await skip(environment, timedelta(hours=25))
        await becomes(desk.parts, first, lambda r: r.history[-1].event == "reminded")
        await skip(environment, timedelta(days=14))
        await becomes(desk.parts, second, lambda r: r.status == "expired")
        await becomes(desk.parts, first, lambda r: r.status == "cancelled")
        await becomes(desk.parts, run, lambda r: r.status == "rejected")

    @pytest.mark.slow
    async def test_a_nudge_of_the_whole_reaches_all(self, desk: Talk, api: AsyncClient) -> None:
        run = await started(desk, "sign_off")
        first, second = await branches(desk, run)
        hurried = await api.post(f"/v1/flow-runs/{run}/nudge", headers=BY_ALICE)
        again = await api.post(f"/v1/flow-runs/{run}/nudge", headers=BY_ALICE)
        assert (hurried.status_code, hurried.json()["id"]) == (200, run), hurried.text
        for part in (first, second):
            await becomes(desk.parts, part, lambda r: r.history[-1].event == "nudged")
        assert (again.status_code, "过一小时再试" in again.text) == (409, True)
        await withdrawn(desk, run)

    @pytest.mark.slow
    async def test_an_event_reaches_the_part_that_waits(self, desk: Talk, api: AsyncClient) -> None:
        run = await started(desk, "shipment")
        part = await child_of(desk, run)
        await becomes(desk.parts, part.id, lambda r: r.status == "waiting")
        where, keyed = f"/v1/flow-runs/{run}/events/arrived", {**BY_OLGA, "Idempotency-Key": run}
        told = await api.post(where, json={"boxes": 2}, headers=keyed)
        assert (told.status_code, told.json()["id"]) == (200, part.id), told.text
        assert (await api.post(where, json={"boxes": 2}, headers=keyed)).json() == told.json()
        await becomes(desk.parts, run, lambda r: r.state == "receipt")
        other = await api.post(where, json={"boxes": 1}, headers=BY_OLGA)
        assert (other.status_code, other.json()["id"]) == (200, run), other.text
        await becomes(desk.parts, run, lambda r: r.status == "completed")


class TestCallsThatDoNotWorkOut:
    @pytest.mark.slow
    async def test_it_is_made_again_later_and_then_held_for_operators(self, clock: Clock) -> None:
        environment, desk = clock
        BOOK.clear()
        OUTAGES[:] = [TransientToolError("gone"), PermanentToolError("account closed")]
        run = await started(desk, "payment")
        await becomes(desk.parts, run, lambda r: r.status == "waiting")
        await skip(environment, timedelta(minutes=61))
        record = await becomes(desk.parts, run, lambda r: r.history[-1].event == "held")
        assert "tried again" in [line.event for line in record.history]
        assert BOOK == []
        standing = await run_updates.operate(desk.client, record, Retried(by="olga"), "once")
        assert standing.status == "completed"
        assert [done for done, _ in booked()] == ["pay"]

    async def test_of_a_read_it_is_known_that_its_system_was_out_of_reach(self, desk: Talk) -> None:
        run = await started(desk, "price")
        assert (await becomes(desk.parts, run, lambda r: r.status == "rejected")).state == "bad"

    async def test_what_has_not_failed_is_not_made_again(self, desk: Talk) -> None:
        run = await started(desk, "delivery")
        with pytest.raises(Conflict):
            await run_updates.operate(desk.client, await run_of(desk.parts, run), Retried(), "once")


@asynccontextmanager
async def one_worker(client: Client, parts: Parts, queue: str) -> AsyncIterator[Parts]:
    async with furnished(parts, TOOLS, flows=FLOWS) as house, build_worker(client, house, queue):
        yield house


@pytest.mark.slow
async def test_another_worker_takes_a_family_over(real_client: Client, parts: Parts) -> None:
    """A second worker, which has seen nothing, takes the whole family over from its history."""
    BOOK.clear()
    queue, alice = uuid4().hex, await parts.directory.find("default", "alice")
    assert alice is not None
    async with one_worker(real_client, parts, queue) as house:
        talk = await Talk(real_client, house, alice, queue=queue).open()
        run = await started(talk, "sign_off")
        first, second = await branches(talk, run)
        await talk.approver("bob").decide(first, "approve")
        await becomes(parts, first, lambda r: r.status == "completed")
    async with one_worker(real_client, parts, queue):
        await withdrawn(talk, run)
        await becomes(parts, second, lambda r: r.status == "cancelled")
        await becomes(parts, run, lambda r: r.status == "cancelled")
    assert booked() == UNDONE


async def test_where_it_is_locked_its_requester_takes_nothing_back(desk: Talk) -> None:
    run = await started(desk, "loan")
    await becomes(desk.parts, run, lambda r: r.state == "spending")

    with pytest.raises(run_updates.RunLocked, match="The money is with you"):
        await withdrawn(desk, run)

    assert (await run_of(desk.parts, run)).status == "waiting"
    assert booked() == [("book", "loan")]
