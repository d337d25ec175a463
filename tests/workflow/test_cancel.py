"""Trips and equipment taken back in whatever state they are: nothing of them stays done."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio.testing import WorkflowEnvironment

from company.people.people import human_resources
from company.people.records import EquipmentKind, Owner
from router.domain.messages import Turn
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import RunRecord
from router.flow.engine.events import Arrived
from router.gateway import run_updates
from router.gateway.withdrawals import Withdrawals
from router.runtime.composition import Parts
from router.story_runner.runner import skip
from tests.workflow.desk import QUEUE, Talk, becomes, flow_of, run_of, skipping, withdrawn, words
from tests.workflow.test_wider_flows import WENDY, child_of

CANCELLED = "好的，已取消。"
DEAR = "8000.00"
"""A trip's estimate for which finance is asked beside the manager."""


class Requests:
    """What one person asks for, taken as far as a state; and who decides."""

    def __init__(self, environment: WorkflowEnvironment, parts: Parts, talk: Talk) -> None:
        self.environment, self.parts, self.talk = environment, parts, talk
        self.owner = Owner(tenant=DEFAULT_TENANT, person=talk.person.id)

    async def day(self, ahead: int) -> str:
        now = await self.environment.get_current_time()
        return (now + timedelta(days=ahead)).date().isoformat()

    async def begin(self, flow: str, slots: dict[str, Any]) -> str:
        turn = await self.talk.press("start", flow=flow, slots=slots)
        return flow_of(turn).id

    async def trip(self, estimate: str = "800.00", **more: Any) -> str:
        """A trip that begins in twenty days and waits for its confirmation."""
        day = await self.day(20)
        money = {"amount": estimate, "currency": "CNY"}
        about = {"destination": "上海", "start": day, "end": day, "reason": "拜访客户"}
        slots = {**about, "transport": "train", "estimate": money, "companions": "无", **more}
        return await self.begin("business_trip", slots)

    async def equipment(self, **quantities: int) -> str:
        """Equipment that is needed in twenty days, waiting for its confirmation."""
        items = [{"kind": kind, "quantity": n} for kind, n in quantities.items()]
        about = {"reason": "新同事", "deliver_by": await self.day(20)}
        return await self.begin("equipment_request", {"items": items, **about})

    async def confirm(self, run: str, state: str) -> Turn:
        turn = await self.talk.say("确认")
        await self.reaches(run, state)
        return turn

    async def reaches(self, run: str, state: str) -> RunRecord:
        return await becomes(self.parts, run, lambda r: r.state == state)

    async def decide(self, person: str, run: str, verdict: str = "approve") -> None:
        await becomes(self.parts, run, lambda r: r.status == "waiting_approval")
        await self.talk.approver(person).decide(run, verdict)

    async def approve(self, run: str, state: str) -> None:
        """Confirm the run and have its manager agree, which takes it to this state."""
        await self.confirm(run, "manager")
        await self.decide("bob", run)
        await self.reaches(run, state)

    async def branches(self, run: str) -> list[str]:
        """The runs of manager and finance, both asked."""
        parts = [(await child_of(self.talk, run, number)).id for number in (0, 1)]
        for part in parts:
            await becomes(self.parts, part, lambda r: r.status == "waiting_approval")
        return parts

    async def call_off(self, run: str) -> None:
        await withdrawn(self.talk, run)
        await becomes(self.parts, run, lambda r: r.status == "cancelled")

    async def take_back(self, run: str) -> str:
        """Have a completed run withdrawn, by a run that its manager agrees to; that one's id."""
        record = await becomes(self.parts, run, lambda r: r.remedy is not None)
        withdrawing = Withdrawals(self.talk.client, QUEUE, self.parts.store.runs)
        asked = await withdrawing.begin(record, self.talk.person, "zh", None, uuid4().hex)
        await self.decide("bob", asked.id)
        await becomes(self.parts, run, lambda r: r.status == "cancelled")
        await becomes(self.parts, asked.id, lambda r: r.status == "completed")
        return asked.id

    async def booked_trips(self) -> int:
        people = await self.parts.dependencies.resolve(human_resources)
        trips = await people.trips.of(self.owner)
        return Counter(trip.status for trip in trips)["booked"]

    async def left(self, kind: EquipmentKind) -> int:
        people = await self.parts.dependencies.resolve(human_resources)
        return await people.stock.left(DEFAULT_TENANT, kind)

    async def on_the_desk_of(self, person: str) -> list[str]:
        """The runs that wait for this person's decision."""
        items, _ = await self.parts.store.runs.waiting_for(DEFAULT_TENANT, person, None, 200)
        return [item.run for item in items]

    async def times_cancelled(self) -> int:
        return "\n".join(await self.talk.texts()).count(CANCELLED)


@pytest.fixture(scope="module")
async def environment(parts: Parts) -> AsyncIterator[WorkflowEnvironment]:
    """A server of its own: weeks pass on its clock, which others' dates would be past after."""
    async with skipping(parts) as environment:
        yield environment


@pytest.fixture
def requests(environment: WorkflowEnvironment, parts: Parts, talk: Talk) -> Requests:
    return Requests(environment, parts, talk)


def undone(record: RunRecord) -> list[str]:
    """The undos that the run made, in their order."""
    lines = [h.comment or "" for h in record.history if h.event == "undone"]
    return [line.split("(")[-1].rstrip(")") for line in lines]


class TestTrips:
    @pytest.mark.slow
    async def test_while_it_asks_nothing_is_done(self, requests: Requests) -> None:
        asked: list[tuple[str, dict[str, Any]]] = [("details", {"reason": None}), ("review", {})]
        for state, more in asked:
            run = await requests.trip(**more)
            assert (await requests.reaches(run, state)).status in ("collecting", "confirming")
            await requests.call_off(run)
            assert undone(await run_of(requests.parts, run)) == []
        assert await requests.booked_trips() == 0

    async def test_taken_back_from_the_manager_it_is_nobodys(self, requests: Requests) -> None:
        run = await requests.trip()
        await requests.confirm(run, "manager")
        await requests.call_off(run)
        assert run not in await requests.on_the_desk_of("bob")
        assert await requests.booked_trips() == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("agreed", [0, 1])
    async def test_both_branches_end_and_it_is_said(self, requests: Requests, agreed: int) -> None:
        run = await requests.trip(DEAR)
        await requests.confirm(run, "both")
        branches = await requests.branches(run)
        for branch in branches[:agreed]:
            await requests.decide("bob", branch)
            await becomes(requests.parts, branch, lambda r: r.status == "completed")
        await requests.call_off(run)
        for branch in branches[agreed:]:
            assert (await run_of(requests.parts, branch)).status == "cancelled"
        assert await requests.booked_trips() == 0
        assert (await requests.talk.say("现在有什么在办？")).status == "done"
        assert await requests.times_cancelled() == 1

    @pytest.mark.slow
    async def test_confirmed_and_cancelled_each_turn_says_so_once(self, requests: Requests) -> None:
        run = await requests.trip(DEAR)
        turn = await requests.confirm(run, "both")
        said = words(turn)
        assert (said.count("Bob"), said.count("Erin"), "好的。" in said) == (1, 1, False), said
        assert (flow_of(turn).id, flow_of(turn).status) == (run, "waiting")
        branches = await requests.branches(run)
        assert words(await requests.talk.say("撤回")) == CANCELLED
        for one in (run, *branches):
            await becomes(requests.parts, one, lambda r: r.status == "cancelled")
        await requests.talk.say("现在有什么在办？")
        assert await requests.times_cancelled() == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("estimate", ["800.00", DEAR])
    async def test_a_trip_to_come_is_called_off(self, requests: Requests, estimate: str) -> None:
        run = await requests.trip(estimate)
        if estimate == DEAR:
            await requests.confirm(run, "both")
            for person, branch in zip(("bob", "erin"), await requests.branches(run), strict=True):
                await requests.decide(person, branch)
            await requests.reaches(run, "travelling")
        else:
            await requests.approve(run, "travelling")
        assert await requests.booked_trips() == 1
        await requests.call_off(run)
        assert undone(await run_of(requests.parts, run)) == ["cancel_trip"]
        assert await requests.booked_trips() == 0

    @pytest.mark.slow
    async def test_one_that_was_made_is_taken_back_but_its_claim(self, requests: Requests) -> None:
        run = await requests.trip()
        await requests.approve(run, "travelling")
        await skip(requests.environment, timedelta(days=22))
        await becomes(requests.parts, run, lambda r: r.status == "completed")
        claim = await child_of(requests.talk, run)
        other = await requests.take_back(run)
        assert undone(await run_of(requests.parts, other)) == ["cancel_trip"]
        assert await requests.booked_trips() == 0
        assert (claim.flow, claim.parent) == ("reimbursement", None)
        assert (await run_of(requests.parts, claim.id)).status == "collecting"
        await requests.call_off(claim.id)


class TestEquipment:
    @pytest.mark.slow
    async def test_while_it_asks_nothing_is_set_aside(self, requests: Requests) -> None:
        before = await requests.left("phone")
        for state, kind in (("details", "nothing"), ("review", "phone")):
            run = await requests.equipment(**{kind: 1})
            assert (await requests.reaches(run, state)).status in ("collecting", "confirming")
            await requests.call_off(run)
        assert await requests.left("phone") == before

    @pytest.mark.slow
    async def test_taken_back_from_its_approvers_it_is_nobodys(self, requests: Requests) -> None:
        before = await requests.left("phone")
        run = await requests.equipment(phone=1)
        await requests.confirm(run, "manager")
        await requests.call_off(run)
        assert run not in await requests.on_the_desk_of("bob")
        dear = await requests.equipment(phone=4)
        await requests.approve(dear, "finance")
        await requests.call_off(dear)
        assert dear not in await requests.on_the_desk_of("erin")
        assert await requests.left("phone") == before

    @pytest.mark.slow
    async def test_where_one_item_was_short_the_others_are_back(self, requests: Requests) -> None:
        before = await requests.left("phone")
        run = await requests.equipment(phone=1, projector=100)
        await requests.approve(run, "finance")
        await requests.decide("erin", run)
        await requests.reaches(run, "short")
        await requests.call_off(run)
        assert await requests.left("phone") == before

    @pytest.mark.slow
    @pytest.mark.parametrize("days", [0, 10], ids=["delivery", "still_waiting"])
    async def test_undelivered_it_goes_back_on_shelf(self, requests: Requests, days: int) -> None:
        before = (await requests.left("phone"), await requests.left("headset"))
        run = await requests.equipment(phone=1, headset=2)
        await requests.approve(run, "delivery")
        assert (await requests.left("phone"), await requests.left("headset")) != before
        await skip(requests.environment, timedelta(days=days))
        await requests.reaches(run, "still_waiting" if days else "delivery")
        await requests.call_off(run)
        assert undone(await run_of(requests.parts, run)) == ["release_equipment"] * 2
        assert (await requests.left("phone"), await requests.left("headset")) == before

    @pytest.mark.slow
    async def test_delivered_it_is_handed_back_on_approval(self, requests: Requests) -> None:
        before = await requests.left("keyboard")
        run = await requests.equipment(keyboard=3)
        await requests.approve(run, "delivery")
        await delivered(requests.talk, run)
        await becomes(requests.parts, run, lambda r: r.status == "completed")
        assert await requests.left("keyboard") == before - 3
        await requests.take_back(run)
        assert await requests.left("keyboard") == before


async def delivered(talk: Talk, run: str) -> None:
    """The warehouse reports it."""
    event = Arrived(by=WENDY.id, name="delivered", word=uuid4().hex)
    await run_updates.happen(talk.client, await run_of(talk.parts, run), WENDY, event)
