"""What is under way when a house is upgraded, and what it has come to afterwards."""

from dataclasses import dataclass
from functools import partial

from tests.drills.desk import Person, until

FLOWS = {
    "pause": """\
flow: pause
version: 1
title: {zh: "歇一会儿", en: "A pause"}
description: {zh: "等一会儿。", en: "Waits for a while."}
triggers: {roles: [employee], patterns: ['^pause$']}
start: while
states:
  while: {wait: {for: PT3M}, next: done}
  done: {say: {zh: "歇好了。", en: "The pause is over."}, end: completed}
""",
    "parcel": """\
flow: parcel
version: 1
title: {zh: "包裹", en: "A parcel"}
description: {zh: "等包裹送到。", en: "Waits for a parcel."}
triggers: {roles: [employee], patterns: ['^parcel$']}
start: way
states:
  way: {wait: {event: arrived, roles: [operator]}, next: done}
  done: {say: {zh: "包裹到了。", en: "The parcel is here."}, end: completed}
""",
}
"""Beside the flows that ship: a timer that goes off after the house was stopped, and an event."""
WISH = "I want to take leave from next Monday to Tuesday, family visit"
REST = "annual leave"


@dataclass
class People:
    """Those of `tests.drills.desk.PEOPLE`; bob and carol decide, olga reports what arrives."""

    alice: Person
    bob: Person
    carol: Person
    erin: Person
    frank: Person
    olga: Person


@dataclass
class Open:
    """Runs that wait, each for something else; and the balances before."""

    people: People
    balances: dict[str, float]
    approval: str
    gathering: str
    timer: str
    event: str

    @classmethod
    async def begun(cls, people: People) -> "Open":
        """Begin them: one waits for its approver, one for words, a moment and an event each."""
        balances = {name: await getattr(people, name).balance() for name in ("alice", "frank")}
        approval = await people.alice.hands_in()
        gathering = await people.frank.says(WISH)
        run = str(gathering["flow"]["id"])
        await until("it is asked which leave", partial(people.frank.sees, run, "collecting"))
        return cls(
            people,
            balances,
            approval,
            str(gathering["conversation"]),
            await cls._started(people.carol, "pause"),
            await cls._started(people.carol, "parcel"),
        )

    @staticmethod
    async def _started(person: Person, flow: str) -> str:
        turn = await person.says(flow)
        run = str(turn["flow"]["id"])
        await until(f"{flow} waits", partial(person.sees, run, "waiting"))
        return run

    async def all_wait(self) -> None:
        """Nothing of it is lost: whoever asks is told what waits."""
        people = self.people
        assert [one["flow_run"] for one in await people.bob.inbox()].count(self.approval) == 1
        assert await people.alice.sees(self.approval, "waiting_approval")
        assert await people.carol.sees(self.event, "waiting")
        assert (await people.carol.run(self.timer))["status"] in {"waiting", "completed"}

    async def words_go_on(self) -> str:
        """What was being gathered is, in the same conversation; the run waits for its approver."""
        turn = await self.people.frank.says(REST, self.gathering)
        return await self.people.frank.confirms(self.gathering, str(turn["flow"]["id"]))

    async def end(self, gathered: str) -> None:
        """Each is approved, reported or due, ends, and has done what it does once."""
        people = self.people
        await people.alice.takes_leave(self.approval, people.bob, self.balances["alice"])
        await people.frank.takes_leave(gathered, people.bob, self.balances["frank"])
        told = await people.olga.http.post(f"/flow-runs/{self.event}/events/arrived", json={})
        assert told.is_success, told.text
        for run in (self.event, self.timer):
            await until(f"{run} ends", partial(people.carol.sees, run, "completed"))
        assert await people.bob.inbox() == []
        again = await people.bob.http.get("/approvals", params={"decided": "true"})
        decided = [one["flow_run"] for one in again.raise_for_status().json()["items"]]
        assert sorted(decided) == sorted({*decided}), "an approval was decided twice"


@dataclass
class Request:
    """A leave request that one release begins, and another may end."""

    person: Person
    approver: Person
    balance: float
    run: str

    @classmethod
    async def begun(cls, person: Person, approver: Person) -> "Request":
        """It waits for its approver."""
        return cls(person, approver, await person.balance(), await person.hands_in())

    async def ends(self) -> None:
        """It is approved, and takes its days once."""
        await self.person.takes_leave(self.run, self.approver, self.balance)
