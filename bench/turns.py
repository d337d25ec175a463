"""A pattern-routed flow turn beside a bare Temporal workflow of the same shape.

Both run in this process against one dev server (in a file, as `intent-router dev` has it):

* ours: a message of a conversation that answers what a flow asked. The conversation's update
  understands it (local activity), tells the flow (an activity that updates its workflow) and
  writes the event log;
* bare: an update that runs a local activity, then an activity that updates a second workflow.
  Nothing is computed and nothing is kept.

Turns of the two are taken in alternation, so that a drifting machine drifts for both.

    python bench/turns.py [TURNS]
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from bare import BareFirst, BareSecond, BareTeller, bare_read
from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import SearchAttributeKey, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from router.contracts import conversation
from router.contracts.conversation import ConversationStart, Submission
from router.domain.messages import Message, Turn
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import ConversationRecord
from router.runtime.composition import Parts, assembled
from router.runtime.worker import build_worker
from router.settings import Settings

TURNS = 200
WARM_UP = 20
KEYWORDS = (
    *("RouteKind", "RouteTarget", "RouteBy", "FlowName", "FlowState", "FlowStatus"),
    *("Requester", "ConversationId", "Tenant"),
)
START, TOO_EARLY = "2027-03-10", "2027-03-09"
"""The end is answered with a day before the start, over and over, and asked for again."""


async def bare_turns(client: Client, queue: str) -> Callable[[int], Awaitable[None]]:
    second, first = f"second-{uuid4()}", f"first-{uuid4()}"
    await client.start_workflow("BareSecond", id=second, task_queue=queue)
    handle = await client.start_workflow("BareFirst", second, id=first, task_queue=queue)

    async def turn(number: int) -> None:
        await handle.execute_update("turn", f"word {number}", result_type=str)

    return turn


Say = Callable[[str], Awaitable[Turn]]


async def conversation_of(user: str, client: Client, parts: Parts, queue: str) -> Say:
    """A new conversation, by what is said in it."""
    caller = await parts.directory.find(DEFAULT_TENANT, user)
    assert caller is not None
    id_ = uuid4().hex
    await parts.store.conversations.create(
        ConversationRecord(
            id=id_, tenant=DEFAULT_TENANT, owner=user, locale="zh", created_at=_now()
        )
    )

    async def say(text: str) -> Turn:
        message = Message(text=text)
        start = ConversationStart(tenant=DEFAULT_TENANT, conversation=id_, owner=user, locale="zh")
        name = uuid4().hex
        turn: Turn = await client.execute_update_with_start_workflow(
            conversation.SUBMIT,
            Submission(message_id=name, message=message, caller=caller),
            start_workflow_operation=WithStartWorkflowOperation(
                conversation.WORKFLOW,
                start,
                id=conversation.workflow_id(DEFAULT_TENANT, id_),
                task_queue=queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            ),
            id=conversation.update_id(name, message.digest),
            result_type=Turn,
        )
        return turn

    return say


async def our_turns(client: Client, parts: Parts, queue: str) -> Callable[[int], Awaitable[None]]:
    say = await conversation_of("alice", client, parts, queue)
    for opening in ("我要请年假", START):
        await say(opening)

    async def turn(_: int) -> None:
        answered = await say(TOO_EARLY)
        if answered.route.by != "slot":
            raise SystemExit(f"not a turn of the flow: {answered}")

    return turn


def _now():
    from datetime import UTC, datetime

    return datetime.now(UTC)


async def timed(turn: Callable[[int], Awaitable[None]], number: int) -> float:
    began = time.perf_counter()
    await turn(number)
    return (time.perf_counter() - began) * 1000


def percentile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100)[round(share * 100) - 1]


async def measure(turns: int) -> tuple[list[float], list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(data=Path(folder))
        async with temporal(folder) as client, assembled(settings) as parts:
            bare = Worker(
                client,
                task_queue="bare",
                workflows=[BareFirst, BareSecond],
                activities=[bare_read, BareTeller(client).bare_tell],
            )
            async with bare, build_worker(client, parts, "router"):
                theirs = await bare_turns(client, "bare")
                ours = await our_turns(client, parts, "router")
                return await alternated(ours, theirs, turns)


@asynccontextmanager
async def temporal(folder: str) -> AsyncIterator[Client]:
    """A client of a dev server that keeps its state in a file."""
    attributes = [SearchAttributeKey.for_keyword(name) for name in KEYWORDS]
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).with_name("temporal")),
        dev_server_database_filename=f"{folder}/temporal.db",
        data_converter=pydantic_data_converter,
        search_attributes=[*attributes, SearchAttributeKey.for_keyword_list("Assignee")],
    ) as server:
        yield server.client


async def alternated(
    ours: Callable[[int], Awaitable[None]], theirs: Callable[[int], Awaitable[None]], turns: int
) -> tuple[list[float], list[float]]:
    mine: list[float] = []
    bare: list[float] = []
    for number in range(turns + WARM_UP):
        took = await timed(ours, number), await timed(theirs, number)
        if number >= WARM_UP:
            mine.append(took[0])
            bare.append(took[1])
    return mine, bare


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    ours, bare = asyncio.run(measure(turns))
    print(f"A flow turn, {turns} of each, one at a time, milliseconds")
    print(f"{'':28}{'p50':>8}{'p95':>8}")
    for name, values in (("intent-router", ours), ("bare Temporal", bare)):
        print(f"{name:28}{percentile(values, 0.5):8.1f}{percentile(values, 0.95):8.1f}")
    ratios = (percentile(ours, share) / percentile(bare, share) for share in (0.5, 0.95))
    print(f"{'ratio':28}" + "".join(f"{ratio:8.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
