"""Everybody who comes: requests and visits, so many of them open at once."""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.e2e.chaos.checker import Finding
from tests.e2e.chaos.visits import Visit, Write
from tests.e2e.chaos.witness import Witness
from tests.e2e.storm.requests import Request
from tests.e2e.storm.weeks import full_week

REQUESTS = 0.4
"""The share of conversations that are about leave or a claim."""
EVERYBODY = ("alice", "bob", "carol", "dave", "erin", "frank", "gina", "olga")


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    conversations: int = 500
    kills: int = 50
    seed: int = 20261122
    open_at_once: int = 24
    words_at_once: int = 8


@dataclass
class Crowd:
    """Those who have come, and how it went."""

    plan: Plan
    desk: Witness
    over: int = 0
    requests: list[Request] = field(default_factory=list)
    """Those that were carried through."""
    writes: list[Write] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)
    """Those that came to something that people can't make sense of."""

    async def come(self) -> None:
        """Everybody, until the last has gone."""
        room = asyncio.Semaphore(self.plan.open_at_once)
        async with asyncio.TaskGroup() as group:
            for someone in self._everybody():
                group.create_task(self._through(someone, room))

    def _everybody(self) -> list[Request | Visit]:
        draws = random.Random(self.plan.seed)
        monday = full_week(datetime.now(UTC).date())
        people: list[Request | Visit] = []
        for number in range(self.plan.conversations):
            own = random.Random(f"{self.plan.seed}/{number}")
            if draws.random() < REQUESTS:
                locale = draws.choice(("zh", "en"))
                people.append(Request(number, self.desk, own, monday, locale))
            else:
                people.append(Visit(number, self.desk, own, self.writes))
        return people

    async def _through(self, someone: Request | Visit, room: asyncio.Semaphore) -> None:
        async with room:
            try:
                await someone.carry_through()
            except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
                about = f"{type(someone).__name__} {someone.number} in {someone.conversation}"
                self.broken.append(Finding("wrong", f"{about} broke off: {error!r}"))
            else:
                if isinstance(someone, Request):
                    self.requests.append(someone)
            self.over += 1

    async def give_up_unheard(self) -> int:
        """Take back runs that ask something, which began in turns that were heard to fail.

        As those would who find one among their own.
        """
        unheard = 0
        for person in EVERYBODY:
            for status in ("collecting", "confirming"):
                path = f"/v1/flow-runs?limit=200&status={status}"
                for run in (await self.desk.get(person, path))["items"]:
                    unheard += 1
                    await self.desk.post(person, f"/v1/flow-runs/{run['id']}/withdraw")
        return unheard
