"""Taking what was handed to people, whichever front end it is done at: the one way to it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCStatusCode

from router.api.dependencies import Services
from router.api.params import derived_id, fresh_id
from router.contracts.conversation import (
    ATTEND,
    WORKFLOW,
    ConversationStart,
    HandOffDeed,
    HandOffStanding,
    workflow_id,
)
from router.contracts.start_options import task_timeout
from router.domain.errors import Conflict, NotFound, Unconfirmed
from router.domain.hand_offs import NOBODY_HAS_IT, DeedKind, HandOffRecord, NamedPerson
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.records import ConversationRecord, LogEntry
from router.gateway.retries import TRANSIENT, UNCONFIRMED, persistently, watched
from router.telemetry.loop_stalls import LATENESS

EARLIER = 20
"""Things that were said before it was handed over, and that whoever takes it may read."""
OWN = Localised(zh="不能接手自己的转人工。", en="You can't take what you asked for yourself.")


def helps(services: Services, person: Principal) -> bool:
    """True where the person may take what people of their tenant want somebody for."""
    desk = services.hand_off_desk(person.tenant)
    return desk is not None and desk.has(person)


async def attend(
    services: Services,
    person: Principal,
    record: HandOffRecord,
    kind: DeedKind,
    *,
    text: str = "",
    key: str | None = None,
    any_agent: bool = False,
) -> HandOffRecord:
    """Take it, speak in it, or give it back; the same `key` does it once.

    Raises `Conflict` where somebody else has it, it is over, it is their own, or the same words
    were said just before and there is no key to tell a repeat from another deed, `NotFound` where
    its conversation is gone, `Unconfirmed` where it isn't known in time whether it was done.
    """
    if record.requester == person.id:
        raise Conflict(OWN)
    conversation = await services.store.conversations.find(record.tenant, record.conversation)
    if conversation is None:
        raise NotFound("There is no such hand-off.")
    deed = HandOffDeed(
        hand_off=record.id,
        kind=kind,
        by=NamedPerson.of(person),
        text=text,
        word=derived_id("hand_off", record.id, kind, person.id, key or fresh_id()),
        any_agent=any_agent,
        has_key=key is not None,
    )
    queue = services.settings.task_queue
    share = services.fairness.share(record.tenant, record.requester)
    try:
        standing = await _told(services.temporal, queue, share, conversation, deed)
    except Conflict as error:
        if error.said == NOBODY_HAS_IT:
            await _closed(services, record)
        raise
    return standing.record


_CLOSING = TRANSIENT | {RPCStatusCode.NOT_FOUND}
DEED_WINDOW_S = 25.0
"""How long a deed is sent again before its outcome is told as unknown."""


async def _told(
    temporal: Client,
    task_queue: str,
    share: Priority,
    record: ConversationRecord,
    deed: HandOffDeed,
) -> HandOffStanding:
    """Have its workflow do it; the same word does nothing twice."""

    async def delivered() -> HandOffStanding:
        operation: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            WORKFLOW,
            ConversationStart(
                tenant=record.tenant,
                conversation=record.id,
                owner=record.owner,
                locale=record.locale,
            ),
            id=workflow_id(record.tenant, record.id),
            task_queue=task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            task_timeout=task_timeout(LATENESS.seconds),
            priority=share,
        )
        telling = temporal.execute_update_with_start_workflow(
            ATTEND,
            deed,
            start_workflow_operation=operation,
            id=deed.word,
            result_type=HandOffStanding,
        )
        return await watched(operation, telling)

    try:
        async with asyncio.timeout(DEED_WINDOW_S):
            return await persistently(delivered, _CLOSING, keep_trying=lambda _: True)
    except TimeoutError as error:
        raise Unconfirmed(UNCONFIRMED) from error


async def _closed(services: Services, record: HandOffRecord) -> None:
    """Have lists know what is over: its workflow was ended by hand, and said nothing."""
    now = await services.store.hand_offs.find(record.tenant, record.id)
    if now is not None and now.state != "closed":
        closed = now.replace(
            state="closed",
            ending="unanswered",
            closed_at=datetime.now(UTC),
            waiting_since=None,
            due=None,
            version=now.version + 1,
        )
        await services.store.hand_offs.publish(closed)


async def said_in(
    services: Services, record: HandOffRecord, after: int | None, limit: int
) -> list[LogEntry]:
    """What whoever has it may read, oldest first: some of what was said before, and all since.

    Nothing of what is said once it is over, and nothing of any other conversation.
    """
    log, place = services.store.log, (record.tenant, record.conversation)
    if after is None:
        after = await log.back_from(*place, record.since, EARLIER)
    else:
        after = max(after, await log.back_from(*place, record.since, EARLIER))
    found = await log.transcript(*place, after, limit)
    until = record.closed_at
    return [entry for entry in found if until is None or entry.at <= until]
