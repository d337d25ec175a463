"""Doing what a story's acts say, by the same ways that the API goes.

Letting time pass on the test server.

Its clock may skip while nobody holds a lock on it; tasks under way hold one each. Now and then
the server forgets to let go of one (seen with 1.40, once in some twenty stories on a busy machine:
nothing is pending in any workflow, and the clock goes on at its usual pace). Then one is
let go of in its place, which is what the server's own interface offers for that.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from temporalio.api.testservice.v1 import UnlockTimeSkippingRequest
from temporalio.client import WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from router.contracts import conversation
from router.contracts.conversation import ConversationStart, Submission
from router.domain.errors import Conflict, NotFound, Unavailable
from router.domain.locale import Locale
from router.domain.messages import ENDED, Message, Turn
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord, ConversationRecord, RunRecord
from router.flow.engine.events import Arrived, Cancelled, Decided, Nudged
from router.gateway import run_updates
from router.story.story import (
    Act,
    ApproverDecides,
    EventHappens,
    TimePasses,
    ToolsFail,
    UserActs,
    UserNudges,
    UserWithdraws,
)
from router.story_runner.environment import QUEUE, Environment

AT_ONCE = timedelta(days=7)
"""A call that takes long is given up by the client, and every timer on the way takes its time."""
STUCK_AFTER = 2.0
"""Seconds of real time; a week takes a tenth of that."""
MOST_LOOKS = 15


async def skip(environment: WorkflowEnvironment, duration: timedelta) -> None:
    """Return when so much time has passed, with all that was due in it begun.

    Raises:
        Unavailable: the clock stands.
    """
    while duration > timedelta():
        part = min(duration, AT_ONCE)
        await _skip(environment, part)
        duration -= part


async def _skip(environment: WorkflowEnvironment, part: timedelta) -> None:
    sleeping = asyncio.ensure_future(environment.sleep(part))
    try:
        for _ in range(MOST_LOOKS):
            before = await environment.get_current_time()
            await asyncio.wait([sleeping], timeout=STUCK_AFTER)
            if sleeping.done():
                await sleeping
                return
            moved = await environment.get_current_time() - before
            if moved < 2 * timedelta(seconds=STUCK_AFTER):
                await environment.client.test_service.unlock_time_skipping(
                    UnlockTimeSkippingRequest()
                )
    except RPCError as error:
        raise Unavailable(f"the test server can't skip {part}: {error}; try again") from error
    finally:
        sleeping.cancel()
    raise Unavailable(f"the test server's clock doesn't get through {part}: try again")


MOST_RUNS = 200


class Actor:
    """Acts in one story: its user, its approvers, its time, its tools.

    Every act raises `RouterError` where it is refused.
    """

    def __init__(self, house: Environment, user: Principal, locale: Locale) -> None:
        self.house = house
        self.user = user
        self.locale = locale
        self.conversation = uuid4().hex[:12]
        self._acts: dict[type, Callable[[Any], Awaitable[None]]] = {
            UserActs: self._say,
            ApproverDecides: self._decide,
            TimePasses: self._pass,
            ToolsFail: self._fail,
            UserWithdraws: self._withdraw,
            UserNudges: self._nudge,
            EventHappens: self._happen,
        }

    async def open(self) -> None:
        """Begin the conversation."""
        await self.house.parts.store.conversations.create(
            ConversationRecord(
                id=self.conversation,
                tenant=self.user.tenant,
                owner=self.user.id,
                locale=self.locale,
                created_at=datetime.now(UTC),
            )
        )

    async def act(self, step: Act) -> None:
        """Do it; returns when it was taken, not when all that follows from it is done."""
        await self._acts[type(step)](step)

    async def close(self) -> None:
        """End what is left, lest its timers ring in the next story."""
        for id_ in await self.workflows():
            try:
                await self.house.client.get_workflow_handle(id_).terminate("the story is over")
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise

    async def workflows(self) -> list[str]:
        """The ids of all that belong to the story, the conversation's last."""
        own = conversation.workflow_id(self.user.tenant, self.conversation)
        return [*(run.workflow_id for run in await self.runs()), own]

    async def runs(self) -> list[RunRecord]:
        """All runs of the story, newest first."""
        found, _ = await self.house.parts.store.runs.listed(
            self.user.tenant, None, None, None, None, MOST_RUNS
        )
        return found

    async def waiting(self) -> list[ApprovalRecord]:
        """All decisions that are awaited, the longest awaited first."""
        ids = [run.id for run in await self.runs()]
        return await self.house.parts.store.runs.awaited(self.user.tenant, ids)

    async def _say(self, step: UserActs) -> None:
        await self._send(step.message)

    async def _send(self, message: Message) -> None:
        name, tenant = uuid4().hex, self.user.tenant
        await self.house.client.execute_update_with_start_workflow(
            conversation.SUBMIT,
            Submission(message_id=name, message=message, caller=self.user),
            start_workflow_operation=WithStartWorkflowOperation(
                conversation.WORKFLOW,
                ConversationStart(
                    tenant=tenant,
                    conversation=self.conversation,
                    owner=self.user.id,
                    locale=self.locale,
                ),
                id=conversation.workflow_id(tenant, self.conversation),
                task_queue=QUEUE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            ),
            id=conversation.update_id(name, message.digest),
            result_type=Turn,
        )

    async def _decide(self, step: ApproverDecides) -> None:
        waiting = await self.waiting()
        theirs = [approval for approval in waiting if approval.person == step.approver]
        if not theirs:
            others = ", ".join(f"{one.person} ({one.flow})" for one in waiting) or "nobody"
            raise NotFound(f"nothing waits for {step.approver}; waited for is {others}")
        event = Decided(
            by=step.approver,
            approval=theirs[0].id,
            verdict=step.verdict,
            comment=step.comment,
            to=step.to,
            digest=theirs[0].digest,
        )
        await run_updates.decide(self.house.client, theirs[0], event, uuid4().hex)

    async def _pass(self, step: TimePasses) -> None:
        await skip(self.house.environment, step.duration)

    async def _fail(self, step: ToolsFail) -> None:
        self.house.books[self.user.tenant].failing.update(step.failing)

    async def _withdraw(self, step: UserWithdraws) -> None:
        await self._tell(Cancelled(by=self.user.id, comment=step.comment))

    async def _nudge(self, _: UserNudges) -> None:
        await self._tell(Nudged(by=self.user.id))

    async def _tell(self, event: Cancelled | Nudged) -> None:
        going = [run for run in await self.runs() if run.status not in ENDED]
        if not going:
            raise Conflict("no flow is going on")
        await run_updates.tell(self.house.client, going[0], self.user, event, uuid4().hex)

    async def _happen(self, step: EventHappens) -> None:
        run, teller = await self._hearing(step.name)
        event = Arrived(by=teller.id, name=step.name, value=dict(step.payload))
        await run_updates.happen(self.house.client, run, teller, event)

    async def _hearing(self, name: str) -> tuple[RunRecord, Principal]:
        """The newest run that is to be told of the event, and somebody who may tell it."""
        for run in await self.runs():
            for teller in self.house.parts.directory.everyone(self.user.tenant):
                with suppress(NotFound):
                    await run_updates.event_known(self.house.client, run, teller, name)
                    return run, teller
        raise NotFound(f"nothing that is going on waits for the event {name}")
