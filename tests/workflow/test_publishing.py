"""What lists show is how a run stands, however slow the database and the directory are."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import Client

from company.people.claims import ClaimBook
from company.people.people import human_resources
from router.domain.records import RunRecord
from router.domain.run_history import HistoryEntry
from router.runtime.composition import Parts
from tests.table import each_row
from tests.workflow.desk import Approver, Talk, becomes, flow_of, person, run_of

pytestmark = pytest.mark.slow


class SlowHouse:
    """A tool that answers only once its run is being published, and a database even later."""

    def __init__(self, parts: Parts, claims: ClaimBook) -> None:
        self._submit, self._find = claims.submit, parts.directory.find
        self._publish = parts.store.runs.publish
        self._publishing, self.found = asyncio.Event(), 0

    async def submit(self, *given: Any, **more: Any) -> Any:
        await self._publishing.wait()
        return await self._submit(*given, **more)

    async def find(self, tenant: str, user: str) -> Any:
        self.found += self._publishing.is_set()
        return await self._find(tenant, user)

    async def publish(self, run: RunRecord, *more: Any, **how: Any) -> int | None:
        if run.status == "running" and not self._publishing.is_set():
            self._publishing.set()
            await self._approvers_are_known()
        ahead: int | None = await self._publish(run, *more, **how)
        return ahead

    async def _approvers_are_known(self) -> None:
        known = 0
        while not known or known != self.found:
            known = self.found
            await asyncio.sleep(0.3)


@pytest.mark.usefixtures("usual_patience")
async def test_what_happens_while_a_run_is_being_published_is_published_too(
    real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await Talk(real_client, parts, await person(parts, "alice")).open()
    await talk.say("报销打车费58元，2026年11月2日，发票号 PB-58，见客户")
    claims = (await parts.dependencies.resolve(human_resources)).claims
    slow = SlowHouse(parts, claims)
    monkeypatch.setattr(claims, "submit", slow.submit)
    monkeypatch.setattr(parts.directory, "find", slow.find)
    monkeypatch.setattr(parts.store.runs, "publish", slow.publish)
    turn = await talk.say("确认")
    assert slow.found
    assert (await Approver(real_client, parts, "bob").waiting(flow_of(turn).id)).active


@each_row("further", [0, 1, 5], ids=["of the same number", "next", "further"])
async def test_rows_of_what_temporal_was_made_to_forget_follow_the_run_again(
    real_client: Client, parts: Parts, further: int
) -> None:
    """As where its answer came too late, and the same task was given out once more."""
    talk = await Talk(real_client, parts, await person(parts, "alice")).open()
    turn = await talk.say("报销打车费58元，2026年11月2日，见客户")
    run = await run_of(parts, flow_of(turn).id)
    number = run.events + 1 + further
    line = HistoryEntry(at=datetime.now(UTC), state="review", event="forgotten", by="alice")
    forgotten = {"status": "waiting_approval", "history": [*run.history, line], "events": number}
    await parts.store.runs.publish(run.model_copy(update=forgotten), [])
    await talk.say("取消")
    ended = await becomes(parts, run.id, lambda record: record.status == "cancelled")
    assert ended.events > number
    assert "forgotten" not in {each.event for each in ended.history}
