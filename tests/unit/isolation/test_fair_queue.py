"""Whose job is next: tenants take turns, and so do the people of each."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from router.domain.locale import Localised
from router.isolation.fair_queue import FairQueue, QueueFull, QueueLimits

FULL = Localised(zh="满了", en="full")


class Bench:
    """Jobs that begin when it is their turn and end when told to."""

    def __init__(self, **limits: int) -> None:
        given = {"waiting_per_person": 50, "waiting_per_tenant": 50, **limits}
        self.queue = FairQueue(QueueLimits(**given, wait_seconds=None), FULL)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def send(self, tenant: str, person: str, name: str) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._job(tenant, person, name))
        await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await asyncio.sleep(0)

    async def cancel(self, *names: str) -> None:
        given_up = [self._tasks[name] for name in names]
        for task in given_up:
            task.cancel()
        await asyncio.wait(given_up)
        await asyncio.sleep(0)
        assert all(task.cancelled() for task in given_up)

    async def _job(self, tenant: str, person: str, name: str) -> None:
        async with self.queue.turn(tenant, person):
            self.begun.append(name)
            await self._ends[name].wait()


async def test_who_sends_one_job_waits_for_one_job_of_who_sent_forty() -> None:
    bench = Bench()
    for number in range(40):
        await bench.send("acme", "mallory", f"m{number}")
    await bench.send("acme", "alice", "a")
    await bench.send("globex", "bob", "b")
    for name in ("m0", "m1", "b", "a"):
        await bench.end(name)
    assert bench.begun == ["m0", "m1", "b", "a", "m2"]


async def test_of_a_person_one_job_runs_at_a_time_and_a_colleague_s_meanwhile() -> None:
    bench = Bench(processes=3)
    await bench.send("acme", "anna", "a1")
    await bench.send("acme", "anna", "a2")
    await bench.send("acme", "olga", "o1")
    assert bench.begun == ["a1", "o1"]
    await bench.end("a1")
    assert bench.begun == ["a1", "o1", "a2"]


async def test_one_process_is_kept_for_other_tenants() -> None:
    bench = Bench(processes=2)
    await bench.send("acme", "anna", "a1")
    await bench.send("acme", "olga", "o1")
    await bench.send("globex", "bob", "b1")
    assert bench.begun == ["a1", "b1"]


async def test_a_job_that_is_given_up_leaves_its_place_to_the_next() -> None:
    bench = Bench()
    for name in ("a1", "a2", "a3"):
        await bench.send("acme", "anna", name)
    await bench.cancel("a2")
    await bench.cancel("a1")
    assert bench.begun == ["a1", "a3"]
    await bench.end("a3")
    assert bench.queue.waiting == 0


async def test_jobs_that_are_given_up_at_once_leave_their_place_to_the_next() -> None:
    bench = Bench()
    for person, name in (("anna", "a1"), ("olga", "o1"), ("olga", "o2"), ("anna", "a2")):
        await bench.send("acme", person, name)
    await bench.cancel("a1", "o1")
    assert bench.begun == ["a1", "o2"]
    await bench.cancel("o2", "a2")
    await bench.send("globex", "bob", "b1")
    assert bench.begun == ["a1", "o2", "b1"]
    assert bench.queue.waiting == 0


async def test_what_a_person_and_a_tenant_may_have_wait_is_bounded() -> None:
    bench = Bench(waiting_per_person=2, waiting_per_tenant=3)
    await bench.send("acme", "anna", "running")
    for person, name in (("anna", "a1"), ("anna", "a2"), ("olga", "o1")):
        await bench.send("acme", person, name)
    async with AsyncExitStack() as stack:
        for tenant, person in (("acme", "anna"), ("acme", "peter")):
            with pytest.raises(QueueFull, match="full"):
                await stack.enter_async_context(bench.queue.turn(tenant, person))
    await bench.send("globex", "bob", "b1")
    assert bench.queue.waiting == 4


async def test_who_asks_how_long_it_takes_is_told_the_jobs_before() -> None:
    bench = Bench()
    for number in range(40):
        await bench.send("acme", "mallory", f"m{number}")
    assert bench.queue.jobs_before("acme", "alice") == 2
    assert bench.queue.jobs_before("acme", "mallory") == 40
