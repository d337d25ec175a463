"""The whole of it: people come, everything breaks, and in the end the books are read.

outcome = await chaos(Plan(conversations=20, kills=4), folder)
print(outcome.table())
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx

from tests.e2e.chaos import checker
from tests.e2e.chaos.blows import drawn, rage
from tests.e2e.chaos.crowd import Crowd, Plan
from tests.e2e.chaos.either import ANY, Either
from tests.e2e.chaos.house import House, house, ready
from tests.e2e.chaos.model import Wayward
from tests.e2e.chaos.outcome import Outcome
from tests.e2e.chaos.records import Records
from tests.e2e.chaos.rest import of_temporal
from tests.e2e.chaos.witness import Follower, Witness
from tests.e2e.storm.people import until
from tests.fakes.model_server import ModelServer

HEARD_WITHIN = 30.0


async def chaos(
    plan: Plan, folder: Path, say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Carry the plan out, what is kept and logged in `folder`; `say` hears how far it is."""
    model, began = Wayward(random.Random(plan.seed)), time.monotonic()
    async with (
        ModelServer(model) as server,
        house(folder, server.url) as at,
        _client(at, random.Random(f"{plan.seed}/api")) as http,
        _witness(plan, http) as desk,
    ):
        crowd, stormed = Crowd(plan, desk), time.monotonic()
        blows = drawn(plan.kills, plan.conversations, random.Random(plan.seed))
        await _raged(crowd, rage(at, blows, lambda: crowd.over, random.Random(plan.seed), say))
        outcome = Outcome(Counter(blow.name for blow in blows), time.monotonic() - stormed)
        await ready(at)
        unheard = await crowd.give_up_unheard()
        await _check(outcome, at, crowd, http)
    outcome.count(crowd, unheard, model, [one.false_starts for one in at.kept])
    outcome.seconds = time.monotonic() - began
    return outcome


def _client(at: House, draws: random.Random) -> httpx.AsyncClient:
    """Of both APIs: whoever was answered by one may be by the other the next time."""
    return httpx.AsyncClient(base_url=ANY, timeout=20, transport=Either(at.urls, draws))


async def _raged(crowd: Crowd, storm: Awaitable[None]) -> None:
    """Everybody comes and goes, and every blow is struck."""
    async with asyncio.TaskGroup() as group:
        group.create_task(crowd.come())
        group.create_task(_awaited(storm))


async def _awaited(storm: Awaitable[None]) -> None:
    await storm


@asynccontextmanager
async def _witness(plan: Plan, http: httpx.AsyncClient) -> AsyncIterator[Witness]:
    desk = Witness(http, plan.words_at_once, random.Random(f"{plan.seed}/desk"))
    try:
        yield desk
    finally:
        await desk.close()


async def _check(outcome: Outcome, at: House, crowd: Crowd, http: httpx.AsyncClient) -> None:
    desk = crowd.desk
    outcome.findings += await of_temporal(at.temporal)
    records = await Records.read(at.database)
    await _all_heard(desk.followers, records)
    await desk.close()
    anew = [Follower(one.user, one.conversation) for one in desk.followers]
    await _read_again(anew, http, records)
    outcome.records = records
    outcome.findings += [
        *crowd.broken,
        *checker.of_messages([*desk.said.values()], records),
        *checker.of_conversations(desk.opened, records),
        *checker.of_events(desk.followers, [one.heard for one in anew], records),
        *checker.of_requests(crowd.requests, records),
        *checker.of_writes(crowd.writes, records),
        *checker.of_rest(records),
        *(checker.Finding("wrong", what) for what in desk.strange),
        *(checker.Finding("wrong", end) for one in at.kept for end in one.ends_of_its_own),
    ]


async def _all_heard(followers: list[Follower], records: Records) -> None:
    """Wait until everybody has heard all there is, or would have by now."""
    last: Counter[str] = Counter()
    for row in records.log:
        if row["kind"] == "turn" or (row["kind"] == "message" and not row["message_id"]):
            last[row["conversation"]] = row["sequence"]

    async def ask() -> bool | None:
        return all(one.row >= last[one.conversation] for one in followers) or None

    with suppress(TimeoutError):  # what they haven't heard by then is said to be lost
        async with asyncio.timeout(HEARD_WITHIN):
            await until("everybody to have heard all", ask)
    await asyncio.sleep(0.5)  # all events of a row come at once, but perhaps in two pieces


async def _read_again(followers: list[Follower], http: httpx.AsyncClient, records: Records) -> None:
    """Have them hear everything from the beginning on."""
    tasks = [asyncio.create_task(one.follow(http)) for one in followers]
    try:
        await _all_heard(followers, records)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
