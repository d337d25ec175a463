"""What a turn and a request take of Temporal: actions, writes of visibility, events, bytes.

Counted in the histories that real ones leave, with `intent-router dev` and its Temporal server.
An action is what Temporal Cloud bills by (docs.temporal.io/cloud/actions): a workflow that starts,
child or anew; an update, a signal, a timer; search attributes set later; each attempt of an
activity; all local activities of one workflow task together. Queries leave nothing in a history:
of those, which the API asks now and then, nothing is said here. A write of visibility is a start,
an end, and each change of search attributes or of the memo. The model is scripted and answers at
once.

    python bench/actions.py
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from calling import Caller
from houses import House, on_sqlite
from load import SETTLED, SMALL_TALK, STATUS
from routed_turns import with_tool
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from tests.fakes.model_server import ModelServer

TURNS = 6
"""Of a kind, in one conversation: what is shown is what they left, by their number."""
BALANCE = "remind me of my annual leave balance"
"""No rule takes it, and a tool is near to it."""
LEAVE = ("我要请年假，下周一到周三，家里有事", "确认")
ENDS = ("COMPLETED", "FAILED", "TIMED_OUT", "CANCELED", "TERMINATED", "CONTINUED_AS_NEW")
ACTIONS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
        EventType.EVENT_TYPE_TIMER_STARTED,
    }
)
VISIBLE = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
        EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
        *(EventType.Value(f"EVENT_TYPE_WORKFLOW_EXECUTION_{end}") for end in ENDS),
    }
)


@dataclass(frozen=True)
class Taken:
    """What histories hold, of one or several workflows."""

    actions: float = 0
    visibility: float = 0
    events: float = 0
    tasks: float = 0
    """Workflow tasks, which are billed by nobody and are most of Temporal's work."""
    kib: float = 0

    def __sub__(self, other: "Taken") -> "Taken":
        return Taken(*(a - b for a, b in zip(self.values, other.values, strict=True)))

    def __truediv__(self, number: int) -> "Taken":
        return Taken(*(value / number for value in self.values))

    @property
    def values(self) -> list[float]:
        return [getattr(self, field.name) for field in fields(self)]


def taken_in(events: list[HistoryEvent]) -> Taken:
    """What one history holds."""
    together = {
        event.marker_recorded_event_attributes.workflow_task_completed_event_id
        for event in events
        if event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED
        and event.marker_recorded_event_attributes.marker_name == "core_local_activity"
    }
    attempts = sum(
        event.activity_task_started_event_attributes.attempt
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    )
    billed = sum(event.event_type in ACTIONS for event in events)
    return Taken(
        actions=billed + attempts + len(together),
        visibility=sum(event.event_type in VISIBLE for event in events),
        events=len(events),
        tasks=sum(e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED for e in events),
        kib=sum(event.ByteSize() for event in events) / 1024,
    )


class Histories:
    """All that there are by now."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def taken(self) -> Taken:
        """Together, once nothing is added any more: what follows an answer is part of it."""
        before = None
        while True:
            found = await self._sum()
            if found == before:
                return found
            before = found
            await asyncio.sleep(1.5)

    async def _sum(self) -> Taken:
        parts = []
        async for one in self._client.list_workflows():
            handle = self._client.get_workflow_handle(one.id, run_id=one.run_id)
            parts.append(taken_in([event async for event in handle.fetch_history_events()]))
        return Taken(*(sum(column) for column in zip(*(p.values for p in parts), strict=True)))


class Person:
    """Somebody who talks to the desk over HTTP."""

    def __init__(self, house: House, name: str) -> None:
        self._caller = Caller(house.port, name)

    async def begin(self) -> str:
        _, made = await self._caller.told("/v1/conversations", {})
        return str(made["id"])

    async def say(self, conversation: str, text: str) -> Mapping[str, Any]:
        path = f"/v1/conversations/{conversation}/messages"
        status, turn = await self._caller.told(path, {"text": text})
        if status != 200:
            raise SystemExit(f"{text!r} was answered with {status}: {turn}")
        return turn

    async def approve(self) -> None:
        """The one that waits for them."""
        _, body = await self._caller.get("/v1/approvals")
        (asked,) = json.loads(body)["items"]
        path = f"/v1/approvals/{asked['id']}/decision"
        decision = {"decision": "approve", "digest": asked["digest"]}
        status, answer = await self._caller.told(path, decision)
        if status != 200:
            raise SystemExit(f"the approval was answered with {status}: {answer}")


async def counted(house: House, histories: Histories) -> dict[str, Taken]:
    """By what is done, what it leaves."""
    alice, bob, found = Person(house, "alice"), Person(house, "bob"), {}
    here = await alice.begin()
    before = await histories.taken()
    await alice.say(here, SMALL_TALK)
    found["a conversation's first turn"] = (after := await histories.taken()) - before
    for name, text, by in (
        ("small talk", SMALL_TALK, None),
        ("a status question", STATUS, None),
        ("a model's turn with a tool", BALANCE, "llm"),
    ):
        # The first of a kind also says anew what the conversation is about.
        turns = [await alice.say(here, text)]
        before = await histories.taken()
        turns += [await alice.say(here, text) for _ in range(TURNS)]
        found[name] = ((after := await histories.taken()) - before) / TURNS
        if by is not None and {turn["route"]["by"] for turn in turns} != {by}:
            raise SystemExit(f"not all were decided by a model: {turns}")
    before = after
    for text in LEAVE:
        await alice.say(here, text)
    await bob.approve()
    found["a leave request, to its approval"] = await histories.taken() - before
    return found


async def measured() -> dict[str, Taken]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with ModelServer(with_tool) as model:
            asked = {"BASE_URL": model.url, "MODEL": "scripted", "API_KEY": "-"}
            given = {f"ROUTER_LLM_{name}": value for name, value in asked.items()}
            async with on_sqlite(Path(folder), 1000, **given) as (ours, _):
                await asyncio.sleep(SETTLED)
                return await counted(ours, Histories(await Client.connect(ours.address)))


def table(found: Mapping[str, Taken]) -> str:
    names = [field.name if field.name != "kib" else "KiB" for field in fields(Taken)]
    rows = [f"{'':36}" + "".join(f"{name:>12}" for name in names)]
    for name, taken in found.items():
        rows.append(f"{name:36}" + "".join(f"{value:>12.1f}" for value in taken.values))
    return "\n".join(rows)


def main() -> None:
    print(table(asyncio.run(measured())))


if __name__ == "__main__":
    main()
