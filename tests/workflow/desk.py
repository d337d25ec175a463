"""Talking to workflows as the API does, without HTTP in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from temporalio import client as temporal
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.testing import WorkflowEnvironment

from router.contracts import conversation, flow
from router.contracts.conversation_state import ConversationState
from router.contracts.failures import ended_meanwhile
from router.contracts.flow import ApprovalDecision, DecisionTaken
from router.contracts.start_options import CONTINUE_AFTER
from router.domain.locale import Locale
from router.domain.messages import FlowSummary, Message, Turn
from router.domain.principals import DEFAULT_TENANT, Principal
from router.domain.records import ApprovalRecord, ConversationRecord, LogEntry, RunRecord
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Cancelled, Decided
from router.formats.yaml_document import read_yaml
from router.gateway import run_updates
from router.gateway.retries import watched
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.model_server import Behaviour, ModelServer
from tests.temporal import register_attributes, skipping_server

QUEUE = "test"


def defined(text: str) -> FlowDefinition:
    """The flow that is written here as its file would be."""
    return FlowDefinition.model_validate(read_yaml(text).data)


@asynccontextmanager
async def skipping(parts: Parts) -> AsyncIterator[WorkflowEnvironment]:
    """A server whose clock is moved by `environment.sleep`, with the project's worker on it."""
    async with await skipping_server() as environment:
        await register_attributes(environment.client)
        async with build_worker(environment.client, parts, QUEUE):
            yield environment


async def person(parts: Parts, name: str) -> Principal:
    found = await parts.directory.find(DEFAULT_TENANT, name)
    assert found is not None
    return found


def flow_of(turn: Turn) -> FlowSummary:
    """The run that the turn was about."""
    assert turn.flow is not None, turn
    return turn.flow


def texts(turn: Turn) -> list[str]:
    return [reply.text for reply in turn.replies]


def words(turn: Turn) -> str:
    return "\n".join(texts(turn))


@dataclass
class Talk:
    """One conversation of one person."""

    client: Client
    parts: Parts
    person: Principal
    locale: Locale = "zh"
    continue_after: int = CONTINUE_AFTER
    queue: str = QUEUE
    id: str = field(default_factory=lambda: uuid4().hex[:12])
    state: ConversationState | None = None
    models: Sequence[ModelServer] = ()
    """The scripted servers of the house; the first is asked first."""

    @property
    def model(self) -> ModelServer:
        return self.models[0]

    @property
    def handle(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(conversation.workflow_id(DEFAULT_TENANT, self.id))

    async def open(self) -> "Talk":
        await self.parts.store.conversations.create(
            ConversationRecord(
                id=self.id,
                tenant=DEFAULT_TENANT,
                owner=self.person.id,
                locale=self.locale,
                created_at=datetime.now(UTC),
            )
        )
        return self

    async def another(self, who: str = "alice", locale: Locale = "zh") -> "Talk":
        """A conversation of somebody's, with the same house."""
        speaker, id_ = await person(self.parts, who), uuid4().hex[:12]
        return await replace(self, person=speaker, locale=locale, id=id_).open()

    def approver(self, name: str) -> "Approver":
        return Approver(self.client, self.parts, name)

    async def say(self, text: str, message_id: str = "", **more: Any) -> Turn:
        return await self.send(Message(text=text), message_id, **more)

    async def scripted(self, text: str, *behaviours: Behaviour) -> Turn:
        """Say this to a model that does these."""
        self.model.then(*behaviours)
        return await self.say(text)

    async def send(self, message: Message, message_id: str = "", **more: Any) -> Turn:
        """Send it; once more, as the API does, where the run ended under it to continue as new."""
        name = message_id or uuid4().hex
        submission = conversation.Submission(
            message_id=name, message=message, caller=self.person, **more
        )
        try:
            return await self._submitted(submission)
        except temporal.WorkflowUpdateFailedError as failed:
            if not ended_meanwhile(failed.cause):
                raise
        return await self._submitted(submission)

    async def _submitted(self, submission: conversation.Submission) -> Turn:
        start: temporal.WithStartWorkflowOperation[Any, Any] = temporal.WithStartWorkflowOperation(
            conversation.WORKFLOW,
            conversation.ConversationStart(
                tenant=DEFAULT_TENANT,
                conversation=self.id,
                owner=self.person.id,
                locale=self.locale,
                continue_after=self.continue_after,
                state=self.state,
            ),
            id=conversation.workflow_id(DEFAULT_TENANT, self.id),
            task_queue=self.queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        )
        sending: Awaitable[Turn] = self.client.execute_update_with_start_workflow(
            conversation.SUBMIT,
            submission,
            start_workflow_operation=start,
            id=conversation.update_id(submission.message_id, submission.digest),
            result_type=Turn,
        )
        return await watched(start, sending)

    async def press(self, kind: str, message_id: str = "", **about: Any) -> Turn:
        """Press a button, or send a form: an action of this kind; a yes is to what is asked."""
        if kind == "confirm" and "question" not in about:
            asked = (await self.status()).asked
            about["question"] = getattr(asked, "question", None) or ""
        message = Message.model_validate({"action": {"type": kind, **about}})
        return await self.send(message, message_id)

    async def status(self) -> conversation.ConversationStatus:
        status: conversation.ConversationStatus = await self.handle.query(
            conversation.STATUS, result_type=conversation.ConversationStatus
        )
        return status

    async def transcript(self) -> list[LogEntry]:
        return await self.parts.store.log.transcript(DEFAULT_TENANT, self.id, None, 2000)

    async def texts(self) -> list[str]:
        return [str(line.data["text"]) for line in await self.transcript()]

    async def waiting_leave(self, opening: str = "我要请年假，12月7日到8日，家里有事") -> str:
        """File a leave request and confirm it; the run's id."""
        turn = await self.say(opening)
        assert flow_of(turn).status == "confirming", turn
        turn = await self.say("确认")
        assert flow_of(turn).status == "waiting_approval", turn
        return flow_of(turn).id


@dataclass
class Approver:
    """Somebody who decides."""

    client: Client
    parts: Parts
    person: str

    async def waiting(self, run: str) -> ApprovalRecord:
        items, _ = await self.parts.store.runs.waiting_for(DEFAULT_TENANT, self.person, None, 200)
        return next(item for item in items if item.run == run)

    async def decide(
        self, on: ApprovalRecord | str, verdict: str, *, word: str | None = None, **more: str
    ) -> DecisionTaken:
        """Decide an approval, or what waits in the run of this id; `word` makes it one decision."""
        approval = await self.waiting(on) if isinstance(on, str) else on
        event = {"by": self.person, "approval": approval.id, "digest": approval.digest}
        decided = Decided.model_validate({**event, "verdict": verdict, **more})
        handle = self.client.get_workflow_handle(approval.workflow_id)
        taken: DecisionTaken = await handle.execute_update(
            flow.DECIDE, ApprovalDecision(event=decided), id=word, result_type=DecisionTaken
        )
        return taken


async def run_of(parts: Parts, run: str) -> RunRecord:
    found = await parts.store.runs.find(DEFAULT_TENANT, run)
    assert found is not None
    return found


async def becomes(parts: Parts, run: str, fits: Callable[[RunRecord], bool]) -> RunRecord:
    for _ in range(3000):
        if fits(found := await run_of(parts, run)):
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"still {found.status} in {found.state}: {found.history}")


async def heard(talk: Talk, text: str) -> None:
    for _ in range(3000):
        if any(text in line for line in await talk.texts()):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"never heard {text!r}: {await talk.texts()}")


async def closed(talk: Talk) -> None:
    for _ in range(3000):
        if (await talk.handle.describe()).status == temporal.WorkflowExecutionStatus.COMPLETED:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the conversation is still open")


async def withdrawn(talk: Talk, run: str) -> run_updates.RunStanding:
    """Take a run back from outside its conversation."""
    record, event = await run_of(talk.parts, run), Cancelled(by=talk.person.id)
    return await run_updates.tell(talk.client, record, talk.person, event, uuid4().hex)
