"""Approvals with everything real: orders, copies, stand-ins, working time and files, over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import pytest
from httpx import AsyncClient
from temporalio.client import Client

from activities.look_up import after_working
from company.calendar.work_calendar import WorkCalendar
from router.directory.file import FileDirectory
from router.domain.principals import DEFAULT_TENANT, Absence
from router.flow.definition import FlowDefinition
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.workflow.desk import Talk, flow_of, person, run_of
from tests.workflow.test_files import HAND_IN, hand_in
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

ASK: dict[str, Any] = {
    "by": "'bob'",
    "title": {"zh": "看 {{ shown.receipt }}", "en": "See {{ shown.receipt }}"},
    "cc": "'gina'",
    "hours": "working",
    "remind_every": "P1D",
    "escalate_after": "P1DT4H",
    "escalate_to": "'carol'",
    "expire_after": "P9D",
}


def handing_in(*, twice: bool = False, **ask: Any) -> FlowDefinition:
    """A receipt that is approved, `twice` by the same."""
    whole = HAND_IN.model_dump()
    states: dict[str, Any] = {
        "details": whole["states"]["details"],
        "review": {**whole["states"]["review"], "confirmed": "looking"},
        "looking": {
            "approve": ASK | ask,
            "approved": "again" if twice else "yes",
            "rejected": "no",
        },
        "again": {"approve": ASK | ask, "approved": "yes", "rejected": "no"},
        "yes": {"end": "completed"},
        "no": {"end": "rejected"},
    }
    return FlowDefinition.model_validate({**whole, "states": states})


@dataclass
class Desk:
    """Alice's conversation, and everybody's connection to the API."""

    talk: Talk
    http: AsyncClient
    file: str = field(default_factory=lambda: uuid4().hex[:24])
    run: str = ""

    async def ask(self) -> None:
        await hand_in(self.talk.parts, self.file, "alice")
        await self.talk.say("我要交收据")
        await self.talk.press("form", values={"receipt": self.file})
        turn = await self.talk.press("confirm", value=True)
        assert flow_of(turn).status == "waiting_approval", turn
        self.run = flow_of(turn).id

    async def get(self, path: str, user: str) -> httpx.Response:
        return await self.http.get(path, headers={"Authorization": f"Bearer {user}"})

    async def waiting(self, user: str) -> list[dict[str, Any]]:
        items = (await self.get("/v1/approvals?limit=200", user)).json()["items"]
        return [item for item in items if item["flow_run"] == self.run]

    async def decide(self, user: str, decision: str, id_: str = "", **more: str) -> httpx.Response:
        shown = {one["id"]: one["digest"] for one in await self.waiting(user)}
        approval = id_ or next(iter(shown))
        more = {"digest": shown.get(approval, "unseen"), **more}
        return await self.http.post(
            f"/v1/approvals/{approval}/decision",
            json={"decision": decision, **more},
            headers={"Authorization": f"Bearer {user}"},
        )


@asynccontextmanager
async def desk(client: Client, parts: Parts, *, away: str = "", **ask: Any) -> AsyncIterator[Desk]:
    """The desk of a house where `away` is, with dave in their place."""
    queue = uuid4().hex
    flows = [handing_in(**ask)]
    async with (
        furnished(_with_someone_away(parts, away), [], flows=flows) as house,
        build_worker(client, house, queue),
        served(house, client, queue) as http,
    ):
        talk = Talk(client, house, await person(house, "alice"), queue=queue)
        desk = Desk(await talk.open(), http)
        await desk.ask()
        yield desk


Desks = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def opened(real_client: Client, parts: Parts) -> Desks:
    return partial(desk, real_client, parts)


def _with_someone_away(parts: Parts, away: str) -> Parts:
    today = date.today()  # noqa: DTZ011 - a day more on either side covers every zone
    absence = Absence(first=today - timedelta(days=2), last=today + timedelta(days=2))
    people = [
        one.model_copy(update={"delegate": "dave", "away": (absence,)}) if one.id == away else one
        for one in parts.directory.everyone()
    ]
    return replace(parts, directory=FileDirectory(people))


@pytest.mark.slow
async def test_the_one_added_before_decides_before_the_one_who_added_them(opened: Desks) -> None:
    async with opened() as d:
        mine = (await d.waiting("bob"))[0]["id"]
        added = await d.decide("bob", "add", to="erin", position="before")
        assert added.status_code == 200, added.text
        assert await d.waiting("bob") == []
        early = await d.decide("bob", "approve", mine)
        assert (early.status_code, "erin" in early.json()["detail"]) == (409, True)
        assert (await d.decide("erin", "approve")).json()["flow_run"]["state"] == "looking"
        assert (await d.decide("bob", "approve")).json()["flow_run"]["status"] == "completed"


@pytest.mark.slow
async def test_what_somebody_decided_is_on_record_where_they_are_not_asked_the_same_again(
    opened: Desks,
) -> None:
    async with opened(twice=True) as d:
        (mine,) = await d.waiting("bob")
        assert (await d.decide("bob", "approve")).json()["flow_run"]["status"] == "completed"
        kept = await d.talk.parts.store.runs.find_approval(DEFAULT_TENANT, mine["id"])
        assert kept is not None
        assert (kept.verdict, kept.active) == ("approve", False)


@pytest.mark.slow
async def test_a_position_belongs_to_adding_and_is_after_by_default(opened: Desks) -> None:
    async with opened() as d:
        for bad in (
            {"decision": "approve", "position": "before"},
            {"decision": "delegate", "to": "erin", "position": "after"},
            {"decision": "add", "to": "erin", "position": "beside"},
        ):
            assert (await d.decide("bob", **bad)).status_code == 422
        assert len(await d.waiting("bob")) == 1
        await d.decide("bob", "add", to="erin")
        assert await d.waiting("bob") == []
        assert (await d.decide("erin", "approve")).json()["flow_run"]["status"] == "completed"


async def test_of_two_who_race_where_one_is_enough_the_slower_hears_who_decided_what(
    opened: Desks,
) -> None:
    decided = {
        "bob": ("bob", {"bob": "同意", "carol": "approved"}),
        "carol": ("carol", {"bob": "拒绝", "carol": "rejected"}),
    }
    async with opened(by=["'bob'", "'carol'"], mode="any", escalate_to="'erin'") as d:
        bobs, carols = [(await d.waiting(who))[0]["id"] for who in decided]
        both = await asyncio.gather(
            d.decide("bob", "approve", bobs), d.decide("carol", "reject", carols)
        )
        quicker, slower = ("bob", "carol") if both[0].status_code == 200 else ("carol", "bob")
        told = dict(zip(decided, both, strict=True))
        later = {
            "bob": await d.decide("bob", "reject", bobs),
            "carol": await d.decide("carol", "approve", carols),
        }
    name, verdict = decided[quicker]
    assert told[quicker].status_code == 200
    for answer in (told[slower], later[slower]):
        assert answer.status_code == 409
        assert name in answer.json()["detail"].lower()
        assert verdict[slower] in answer.json()["detail"]
    assert later[quicker].status_code == 409
    assert verdict[quicker] in later[quicker].json()["detail"]


@pytest.mark.slow
async def test_those_with_a_copy_may_look_but_not_decide(opened: Desks) -> None:
    async with opened() as d:
        run, file = f"/v1/flow-runs/{d.run}", f"/v1/files/{d.file}"
        (item,) = await d.waiting("bob")
        assert item["summary"] == {"收据": "alice.pdf"}
        assert item["title"] == "看 alice.pdf"
        for user, seen in (("bob", 200), ("gina", 200), ("frank", 404), ("erin", 404)):
            assert (await d.get(run, user)).status_code == seen
            assert (await d.get(file, user)).status_code == seen
        assert await d.waiting("gina") == []
        assert (await d.decide("gina", "approve", item["id"])).status_code == 404
        await d.decide("bob", "approve")
        assert (await d.get(file, "bob")).content == b"%PDF-1 of alice"
        assert (await d.get(file, "gina")).status_code == 200
        assert (await d.get(run, "alice")).json()["files"] == {d.file: "alice.pdf"}


@pytest.mark.slow
async def test_an_operator_says_not_who_decides_their_own_request(
    real_client: Client, parts: Parts
) -> None:
    alice = (await person(parts, "alice")).also(frozenset({"operator"}))
    others = [one for one in parts.directory.everyone() if one.id != "alice"]
    house = replace(parts, directory=FileDirectory([alice, *others]))
    passed_on = {"instead_of": "bob", "to": "gina"}
    async with desk(real_client, house) as d:
        for user, status, waits in (("alice", 403, "bob"), ("olga", 200, "gina")):
            path, who = f"/v1/flow-runs/{d.run}/reassign", {"Authorization": f"Bearer {user}"}
            answer = await d.http.post(path, json=passed_on, headers=who)
            assert answer.status_code == status, answer.text
            assert [one for one in ("bob", "gina") if await d.waiting(one)] == [waits]


@pytest.mark.slow
async def test_whoever_stands_in_is_asked_and_both_are_in_the_history(opened: Desks) -> None:
    async with opened(away="bob") as d:
        assert await d.waiting("bob") == []
        assert (await d.decide("dave", "approve")).json()["flow_run"]["status"] == "completed"
        record = await run_of(d.talk.parts, d.run)
        line = next(line for line in record.history if line.event == "stands in")
        assert (line.by, line.comment) == ("dave", "for bob, who is away")


@pytest.mark.slow
async def test_it_is_due_in_the_working_time_of_whoever_is_asked(opened: Desks) -> None:
    async with opened() as d:
        (item,) = await d.waiting("bob")
        bob = await person(d.talk.parts, "bob")
        since = datetime.fromisoformat(item["since"])
        due = after_working(WorkCalendar.load(), bob, since, {"days": 1, "hours": 4})
        off = abs(datetime.fromisoformat(item["due"]) - due)
        assert off < timedelta(seconds=5)
