"""An outage of the router's own database around a tool's call: it takes time, and nothing else.

Each transaction of a call is lost in turn, before it reaches the database or after it was
committed. The outage is over within the attempt of the activity, or lasts longer than that.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from pydantic import JsonValue
from sqlalchemy import Connection
from temporalio.activity import ActivityCancellationDetails
from temporalio.common import RawValue
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import outages
from activities.call_tool import ToolActivity
from activities.outages import outage_window
from activities.progress import ProgressPublisher
from activities.tool_caller import ToolCaller
from router.contracts.activities import LookupAnswer, ToolCall
from router.contracts.outages import progress_of
from router.domain.errors import BackendUnavailable, PermanentToolError
from router.domain.principals import Principal
from router.store.database import Database
from router.store.live import InProcessLive
from router.store.store import Store
from router.tool.context import Dependencies, ToolContext
from router.tool.registry import Registry
from router.tool.tool import tool
from tests.table import each_row

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ALICE = Principal(id="alice", name="Alice")
NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
CONVERTER = pydantic_data_converter.payload_converter
LONG = "long " * 20_000
"""A result of more bytes than a person is shown at once."""

Result = TypeVar("Result")


class FaultyDatabase(Database):
    """Loses transactions when it is told to; with `hangs`, it never says so."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.transactions = 0
        self.lost = range(0)
        self.committed = False
        """Whether the first one that is lost was committed."""
        self.hangs = False
        self.is_losing = asyncio.Event()

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        return await self._done(super().read, work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        return await self._done(super().write, work)

    async def _done(self, do: Any, work: Callable[[Connection], Result]) -> Result:
        number, self.transactions = self.transactions, self.transactions + 1
        if number not in self.lost:
            result: Result = await do(work)
            return result
        if self.committed and number == self.lost.start:
            await do(work)
        self.is_losing.set()
        if self.hangs:
            await asyncio.Event().wait()
        raise BackendUnavailable("the database is away")


@dataclass
class House:
    """Tools of all kinds over such a database, called as a workflow has them called."""

    database: FaultyDatabase
    sent: list[str] = field(default_factory=list)
    beats: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = Store(self.database)

        def answer(ctx: ToolContext) -> JsonValue:
            self.sent.append(ctx.key)
            return {"time": len(self.sent)}

        async def look(ctx: ToolContext) -> JsonValue:
            """Look."""
            return answer(ctx)

        async def put(ctx: ToolContext) -> JsonValue:
            """Write, honouring the key."""
            return answer(ctx)

        async def shoot(ctx: ToolContext) -> JsonValue:
            """Write, whatever the key."""
            return answer(ctx)

        async def refuse(ctx: ToolContext) -> JsonValue:
            """Write nothing, and say why."""
            answer(ctx)
            raise PermanentToolError("the account is closed")

        async def tell_all(ctx: ToolContext) -> JsonValue:
            """Look, at more than fits."""
            answer(ctx)
            return LONG

        self.registry = Registry()
        self.registry.add(tool(permission="read", per_minute=100)(look))
        self.registry.add(tool(permission="write")(put))
        self.registry.add(tool(permission="write", idempotent=False)(shoot))
        self.registry.add(tool(permission="write", idempotent=False)(refuse))
        self.registry.add(tool(permission="read")(tell_all))

    async def once(self, call: ToolCall, attempt: int = 1, details: Sequence[Any] = ()) -> Any:
        """One attempt of the activity."""
        store, live = self.store, ProgressPublisher(InProcessLive())
        books = (store.ledger, store.audit, store.results)
        caller = ToolCaller(self.registry, Dependencies(), *books)
        self.environment = ActivityEnvironment()
        self.environment.payload_converter = CONVERTER
        self.environment.info = replace(
            self.environment.info,
            activity_type=call.tool,
            attempt=attempt,
            heartbeat_details=details,
        )
        self.environment.on_heartbeat = lambda *told: self.beats.append(told)
        given = [RawValue(CONVERTER.to_payload(call))]
        answer = await self.environment.run(ToolActivity(caller, live).call_tool, given)
        assert isinstance(answer, LookupAnswer)
        return answer.value

    async def call(self, call: ToolCall) -> Any:
        """All attempts: the activity is begun again after an outage, as `workflows.tool_calls`."""
        while True:
            try:
                return await self.once(call)
            except ApplicationError as failure:
                progress = progress_of(failure)
                if progress is None:
                    return failure.message
                call = call.replace(progress=progress)

    async def came_to(self, key: str) -> tuple[int, str | None, list[tuple[str, str]]]:
        """How often it was sent, what the ledger knows of it, and its rows in the audit."""
        known = await self.store.ledger.find(key)
        rows = await self.store.audit.of_person("default", "alice", 20)
        audited: list[tuple[str, str]] = [
            (row.decision, row.outcome) for row in rows if row.key == key
        ]
        times = sum(sent.endswith(key) for sent in self.sent)
        return times, known.status if known else None, audited


def call_of(name: str, key: str) -> ToolCall:
    authority = None if name in ("look", "tell_all") else f"flow/default/{key}"
    return ToolCall(tool=name, arguments={}, caller=ALICE, key=key, now=NOW, flow_run=authority)


@pytest.fixture
async def house(database: Database, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setattr(outages, "FIRST_PAUSE_S", 0.001)
    return House(FaultyDatabase(f"sqlite:///{database.name}"))


TRANSACTIONS = 6
"""More than any of the calls takes."""
ANSWERS = {"refuse": "failed", "put": "done", "shoot": "done", "look": None, "tell_all": None}
"""What the ledger knows of each tool's call in the end."""


@each_row("name", ANSWERS)
@each_row("committed", [False, True], ids=["lost before", "lost after it was committed"])
@each_row("window", [10.0, 0.0], ids=["over within the attempt", "longer than the attempt"])
@each_row("first", range(TRANSACTIONS))
async def test_a_call_is_made_and_recorded_once_whatever_transaction_is_lost(
    house: House, name: str, committed: bool, window: float, first: int
) -> None:
    key = f"{name}-{committed}-{window}-{first}"
    begins = house.database.transactions + first
    house.database.lost, house.database.committed = range(begins, begins + 3), committed
    with outage_window(window):
        answer = await house.call(call_of(name, key))
    house.database.lost = range(0)
    ledger = ANSWERS[name]
    outcome = "failed" if name == "refuse" else "done"
    assert "away" not in str(answer)
    times, *recorded = await house.came_to(key)
    # A read whose result is too long to be carried is made again.
    is_repeated = name == "tell_all" and not window
    assert times == 1 or (is_repeated and times == 2)
    assert recorded == [ledger, [("admitted", outcome)]]


async def test_a_result_in_hand_survives_the_worker_that_waits_for_the_database(
    house: House,
) -> None:
    """By the heartbeats: a write that knows no keys isn't sent again, and isn't unknown."""
    call = call_of("shoot", "k")
    house.database.lost = range(1, 100)
    with outage_window(10.0):
        dying = asyncio.create_task(house.once(call))
        await house.database.is_losing.wait()
        while not any(house.beats):  # noqa: ASYNC110
            await asyncio.sleep(0)
        (details,) = [beat for beat in house.beats if beat][:1]
        dying.cancel()  # outside of `ActivityEnvironment.cancel`: as if it were killed
        house.environment.worker_shutdown()
        with suppress(ApplicationError, asyncio.CancelledError):
            await dying
    house.database.lost = range(0)
    answer = await house.once(call, attempt=2, details=details)
    assert answer == {"time": 1}
    assert await house.came_to("k") == (1, "done", [("admitted", "done")])


async def test_who_stops_a_call_that_has_answered_does_not_stop_its_record(house: House) -> None:
    house.database.lost = range(1, 6)
    with outage_window(10.0):
        stopped = asyncio.create_task(house.once(call_of("shoot", "k")))
        await house.database.is_losing.wait()
        details = ActivityCancellationDetails(cancel_requested=True)
        house.environment.cancel(cancellation_details=details)
        answer = await stopped
    assert answer == {"time": 1}
    assert await house.came_to("k") == (1, "done", [("admitted", "done")])


async def test_a_worker_that_shuts_down_hands_the_result_to_its_workflow(house: House) -> None:
    house.database.lost = range(1, 1_000)
    with outage_window(10.0):
        ending = asyncio.create_task(house.once(call_of("shoot", "k")))
        await house.database.is_losing.wait()
        house.environment.worker_shutdown()
        with pytest.raises(ApplicationError) as left:
            await ending
    house.database.lost = range(0)
    progress = progress_of(left.value)
    assert progress is not None
    assert await house.call(call_of("shoot", "k").replace(progress=progress)) == {"time": 1}
    assert await house.came_to("k") == (1, "done", [("admitted", "done")])


async def test_a_database_that_hangs_is_held_to_be_away(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "TRY_TIMEOUT_S", 0.05)
    house.database.hangs, house.database.lost = True, range(1, 3)
    assert await house.call(call_of("shoot", "k")) == {"time": 1}
    assert await house.came_to("k") == (1, "done", [("admitted", "done")])


async def test_outside_of_an_activity_nobody_is_kept_waiting_for_a_call_that_is_not_begun(
    house: House,
) -> None:
    store = house.store
    books = (store.ledger, store.audit, store.results)
    house.database.lost = range(100)
    with pytest.raises(BackendUnavailable):
        await ToolCaller(house.registry, Dependencies(), *books).call(call_of("put", "k"))
    assert house.sent == []
