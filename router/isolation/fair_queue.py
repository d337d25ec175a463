"""A queue in which tenants take turns, and so do the people of each tenant.

Many jobs of one person delay only that person: a single job of another tenant begins after at most
one job of each waiting tenant. One job of a person runs at a time. The number of waiting jobs is
bounded for each person and for each tenant.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from router.domain.errors import TooManyRequests
from router.domain.locale import Localised

RETRY_SECONDS = 5
"""Seconds after which a refused job is worth sending again."""


class QueueFull(TooManyRequests):
    """Too many jobs of the person or their tenant wait already, or the job has waited too long."""


@dataclass(frozen=True)
class QueueLimits:
    """How many jobs may run at once, and how many may wait.

    If there is more than one process, no tenant uses all of them: a tenant never waits for the jobs
    of a single other tenant.
    """

    processes: int = 1
    waiting_per_person: int = 3
    waiting_per_tenant: int = 20
    wait_seconds: float | None = 120.0
    """How long a job may wait; `None` for any time."""

    @property
    def processes_per_tenant(self) -> int:
        """How many jobs of a tenant run at once."""
        return max(1, self.processes - 1)


_Called = asyncio.Future[None]


@dataclass
class _Tenant:
    """The waiting jobs of a tenant by person, whose turn is next first."""

    people: dict[str, deque[_Called]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.people.values()))


class FairQueue:
    """Lets jobs begin one after the other.

    Args:
        limits: How many jobs may run at once, and how many may wait.
        full: The message of `QueueFull`.
    """

    def __init__(self, limits: QueueLimits, full: Localised) -> None:
        self._limits = limits
        self._full = full
        self._tenants: dict[str, _Tenant] = {}
        self._running: set[tuple[str, str]] = set()

    @asynccontextmanager
    async def turn(self, tenant: str, person: str) -> AsyncIterator[None]:
        """Hold one of the processes as soon as it is this person's turn; raises `QueueFull`."""
        called = self._enter(tenant, person)
        try:
            try:
                async with asyncio.timeout(self._limits.wait_seconds):
                    await called
            except TimeoutError:
                raise QueueFull(self._full, retry_after=RETRY_SECONDS) from None
            yield
        finally:
            self._leave(tenant, person, called)

    @property
    def waiting(self) -> int:
        """How many jobs wait for their turn."""
        return sum(map(len, self._tenants.values()))

    def jobs_before(self, tenant: str, person: str) -> int:
        """Return how many jobs run or wait before a new one of this person would begin, at most."""
        own = len(self._waiting_of(tenant, person)) + ((tenant, person) in self._running)
        others = len(self._running - {(tenant, person)})
        # Until then each other person has as many turns as this one needs.
        for name, waiting in self._tenants.items():
            for who, jobs in waiting.people.items():
                if (name, who) != (tenant, person):
                    others += min(len(jobs), own + 1)
        return own + others

    def _enter(self, tenant: str, person: str) -> _Called:
        waiting = self._tenants.get(tenant, _Tenant())
        too_many = len(waiting) >= self._limits.waiting_per_tenant
        if too_many or len(self._waiting_of(tenant, person)) >= self._limits.waiting_per_person:
            raise QueueFull(self._full, retry_after=RETRY_SECONDS)
        called: _Called = asyncio.get_running_loop().create_future()
        people = self._tenants.setdefault(tenant, waiting).people
        people.setdefault(person, deque()).append(called)
        self._call()
        return called

    def _waiting_of(self, tenant: str, person: str) -> deque[_Called]:
        return self._tenants.get(tenant, _Tenant()).people.get(person, deque())

    def _call(self) -> None:
        """Let all jobs begin that may."""
        while len(self._running) < self._limits.processes and (found := self._next()):
            called = self._waiting_of(*found)[0]
            if called.done():  # it was given up just now, and hasn't left yet
                self._forget(*found, called)
            else:
                self._pop(*found).set_result(None)
                self._running.add(found)

    def _next(self) -> tuple[str, str] | None:
        busy = Counter(tenant for tenant, _ in self._running)
        for tenant, waiting in self._tenants.items():
            if busy[tenant] < self._limits.processes_per_tenant:
                for person in waiting.people:
                    if (tenant, person) not in self._running:
                        return tenant, person
        return None

    def _pop(self, tenant: str, person: str) -> _Called:
        """Take the person's next job; what remains goes behind the others."""
        waiting = self._tenants.pop(tenant)
        jobs = waiting.people.pop(person)
        called = jobs.popleft()
        if jobs:
            waiting.people[person] = jobs
        if waiting.people:
            self._tenants[tenant] = waiting
        return called

    def _leave(self, tenant: str, person: str, called: _Called) -> None:
        try:
            if called.done() and not called.cancelled():
                self._running.discard((tenant, person))
            else:
                self._forget(tenant, person, called)
        finally:
            self._call()

    def _forget(self, tenant: str, person: str, called: _Called) -> None:
        """Let a job wait no more, if it does; nobody's turn changes."""
        jobs = self._waiting_of(tenant, person)
        if called not in jobs:
            return
        jobs.remove(called)
        if not jobs:
            del self._tenants[tenant].people[person]
        if not self._tenants[tenant].people:
            del self._tenants[tenant]
