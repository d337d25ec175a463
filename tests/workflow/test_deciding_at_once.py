"""Decisions of many people at one moment, and the same decision sent again, over HTTP."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.domain.principals import Principal
from router.gateway import run_updates
from router.gateway.update_queue import UpdateLine, UpdateQueue
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.table import each_row
from tests.workflow.desk import Talk, person, run_of
from tests.workflow.test_approvals import Desk, handing_in
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

CROWD = 90


@asynccontextmanager
async def asked(client: Client, parts: Parts, people: int, **ask: Any) -> AsyncIterator[Desk]:
    """A request that waits for so many people, and everybody's connection to the API."""
    queue, everyone = uuid4().hex, parts.directory.everyone()
    crowd = [
        Principal(id=f"p{number}", name=f"P{number}", locale="en", roles=frozenset({"crowd"}))
        for number in range(people)
    ]
    house = replace(parts, directory=FileDirectory([*everyone, *crowd]))
    async with (
        furnished(house, [], flows=[handing_in(by="role('crowd')", **ask)]) as crowded,
        build_worker(client, crowded, queue),
        served(crowded, client, queue) as http,
    ):
        talk = Talk(client, crowded, await person(crowded, "alice"), queue=queue)
        desk = Desk(await talk.open(), http)
        await desk.ask()
        yield desk


async def decided(desk: Desk, user: str, shown: dict[str, Any], **more: str) -> httpx.Response:
    body = {"decision": "approve", "digest": shown["digest"], **more}
    return await desk.http.post(
        f"/v1/approvals/{shown['id']}/decision",
        json=body,
        headers={"Authorization": f"Bearer {user}"},
    )


class QueuesOfProcesses:
    """The queues that so many API processes have, each of which gets every so-manieth request."""

    def __init__(self, processes: int) -> None:
        self._queues = itertools.cycle([UpdateQueue() for _ in range(processes)])

    def turn(self, workflow_id: str) -> AbstractAsyncContextManager[UpdateLine]:
        return next(self._queues).turn(workflow_id)


@pytest.mark.slow
@each_row("processes", [1, 2, 5])
async def test_everybody_who_decides_at_the_same_moment_is_counted_once(
    real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    """Five processes together send more than Temporal takes."""
    monkeypatch.setattr(run_updates, "UPDATES", QueuesOfProcesses(processes))
    async with asked(real_client, parts, CROWD, mode="all") as desk:
        people = [f"p{number}" for number in range(CROWD)]
        shown = {who: (await desk.waiting(who))[0] for who in people}
        answers = await asyncio.gather(*(decided(desk, who, shown[who]) for who in people))
        assert Counter(answer.status_code for answer in answers) == {200: CROWD}
        run = await run_of(desk.talk.parts, desk.run)
        assert run.status == "completed"
        counted = Counter(line.by for line in run.history if line.event == "approve")
        assert set(counted.values()) == {1}


AGAIN: tuple[tuple[str, dict[str, str], int, str], ...] = (
    ("the same verdict", {}, 200, ""),
    ("another verdict", {"decision": "reject"}, 409, "You approved this already at 20"),
    ("another digest", {"digest": "another"}, 409, "You approved this already at 20"),
    ("with a comment", {"comment": "only this once"}, 409, "You approved this already at 20"),
)


@each_row("ends", [False, True])
async def test_a_decision_sent_again_is_answered_by_what_was_decided(
    real_client: Client, parts: Parts, ends: bool
) -> None:
    """By the run while it goes on, and by what is on record once it is over."""
    people = 1 if ends else 2
    async with asked(real_client, parts, people, mode="all") as desk:
        (shown,) = await desk.waiting("p0")
        first = await decided(desk, "p0", shown)
        assert first.status_code == 200
        assert first.json()["flow_run"]["status"] == ("completed" if ends else "waiting_approval")
        for what, more, status, said in AGAIN:
            again = await decided(desk, "p0", shown, **more)
            assert again.status_code == status, (what, again.text)
            if status == 200:
                assert again.json() == first.json(), what
            else:
                assert said in again.json()["detail"], (what, again.text)
        run = await run_of(desk.talk.parts, desk.run)
        assert [line.by for line in run.history if line.event == "approve"] == ["p0"]
