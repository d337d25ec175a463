"""Tools that reach other people's workflows: a signal to one, or a Nexus operation of theirs.

Which endpoint, service and operation a call goes to is text, and so is how the workflow's id
begins: no argument leads a call elsewhere. Both are done once, however often they are called: the
server knows a signal by its request id, and the call of an operation is a workflow of its own,
whose id is made of the key.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self
from uuid import uuid4

from pydantic import JsonValue, StrictStr, model_validator
from temporalio.api.common.v1 import Payloads, WorkflowExecution
from temporalio.api.workflowservice.v1 import SignalWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.converter import DataConverter
from temporalio.exceptions import (
    CancelledError,
    TemporalError,
    TerminatedError,
    WorkflowAlreadyStartedError,
)
from temporalio.exceptions import TimeoutError as TimedOut
from temporalio.service import RPCError, RPCStatusCode

from activities import provided
from router.domain.errors import (
    ArgumentsToolError,
    Fault,
    FaultyValue,
    PermanentToolError,
    TransientToolError,
    UnknownOutcome,
)
from router.domain.locale import Localised
from router.domain.summaries import cut_summary
from router.extensions.http.declaration import SECONDS, DeclaredToolEntry, EndpointReader, TextField
from router.extensions.http.endpoint import BodyTemplate, filled
from router.extensions.http.nexus_call import WORKFLOW, NexusCall
from router.extensions.http.selection import AnswerSelection
from router.extensions.http.template import Template, Variables
from router.formats.keepable import keepable
from router.formats.validation import Complaint, Entry
from router.formats.yaml_document import Place
from router.tool.context import Dependencies, Provider, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema, SchemaImplementation
from router.tool.tool import Permission, titled

LONGEST_ID = 200
RPC_SECONDS = 10.0
KIND = "temporal"


class SignalEntry(Entry):
    """A signal to a workflow of somebody else's."""

    name: TextField
    """What the signal is called there."""
    workflow_id: TextField
    """The workflow's id: it begins with text, then {parameter} and {context.…} are holes."""
    namespace: StrictStr | None = None
    """Otherwise our own."""


class NexusEntry(Entry):
    """A Nexus operation of somebody else's, which our namespace has an endpoint for."""

    endpoint: TextField
    """As Temporal has it registered."""
    service: TextField
    """The service's name there."""
    operation: TextField
    """The operation's name in it."""


class TemporalEntry(Entry):
    """Where a call goes, and what it brings: a signal or an operation."""

    signal: SignalEntry | None = None
    """A signal to a workflow."""
    nexus: NexusEntry | None = None
    """A Nexus operation."""
    input: Any = None
    """JSON, whose texts may have holes."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.signal is None) == (self.nexus is None):
            raise FaultyValue("{key} names no one thing to do", "write either signal or nexus")
        return self


class TemporalToolEntry(DeclaredToolEntry):
    """A tool that a workflow of somebody else's stands behind."""

    temporal: TemporalEntry
    """Which one, and what it is told."""


@dataclass(frozen=True)
class SignalTarget:
    """Which workflow is told what."""

    name: str
    workflow_id: Template
    namespace: str | None


@dataclass(frozen=True)
class NexusTarget:
    """Which operation is called."""

    endpoint: str
    service: str
    operation: str


@dataclass(frozen=True)
class DeclaredWorkflowTool:
    """A tool as it is declared."""

    name: str
    title: Localised
    permission: Permission
    schema: ArgumentSchema
    target: SignalTarget | NexusTarget
    input: BodyTemplate
    entry: TemporalToolEntry
    seconds: float
    wanted: AnswerSelection

    @property
    def system(self) -> str:
        """What is left alone where it fails again and again."""
        if isinstance(self.target, NexusTarget):
            return f"nexus:{self.target.endpoint}"
        return f"temporal:{self.target.namespace or 'own'}"


def declared_workflow_tool(
    entry: TemporalToolEntry, place: Place, environment: Variables
) -> tuple[list[DeclaredWorkflowTool], list[Complaint]]:
    """The tool that is declared; none where complaints say why it can't be one. Raises `Absent`."""
    schema, called = entry.parameters or ArgumentSchema({}), entry.temporal
    reading = EndpointReader((*place, "temporal"), environment, schema)
    target = _target(called, reading)
    input_ = reading.body(("input",), called.input)
    reading.complain_unused("input, or the workflow's id")
    reading.complaints += _misplaced(entry, place)
    if reading.complaints or target is None:
        return [], reading.complaints
    # An operation may only look something up; whoever signals changes something.
    declared = DeclaredWorkflowTool(
        name=entry.name,
        title=entry.title or titled(entry.name),
        permission=entry.permission or "write",
        schema=schema,
        target=target,
        input=input_,
        entry=entry,
        seconds=entry.timeout or SECONDS,
        wanted=AnswerSelection(entry.result, entry.items.most, frozenset(entry.items.keep)),
    )
    return [declared], []


def _target(called: TemporalEntry, reading: EndpointReader) -> SignalTarget | NexusTarget | None:
    if called.nexus is not None:
        return NexusTarget(called.nexus.endpoint, called.nexus.service, called.nexus.operation)
    if called.signal is None:
        return None
    place = ("signal", "workflow_id")
    template = reading.template(place, called.signal.workflow_id)
    if template is None:
        return None
    if not template or not isinstance(template[0], str):
        fault = Fault("the id begins with a hole", "write how it begins, as in order-{order}")
        reading.complain(place, fault)
        return None
    return SignalTarget(called.signal.name, template, called.signal.namespace)


def _misplaced(entry: TemporalToolEntry, place: Place) -> Iterator[Complaint]:
    if entry.temporal.signal is not None and entry.permission == "read":
        fault = Fault("a signal is a read", "leave permission out: it changes something there")
        yield Complaint((*place, "permission"), fault)
    if entry.idempotent is False:
        fault = Fault("it is done more than once", "leave idempotent out: the server sees to that")
        yield Complaint((*place, "idempotent"), fault)


@dataclass(frozen=True)
class WorkflowImplementation(SchemaImplementation):
    """Checks arguments by the declared schema, and tells somebody else's workflow."""

    target: SignalTarget | NexusTarget
    input: BodyTemplate
    wanted: AnswerSelection
    seconds: float
    writes: bool
    kind: str = KIND

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """The way to Temporal."""
        return frozenset({provided.temporal, provided.task_queue})

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """What the operation gives, as far as it is wanted; of a signal that it was taken.

        Raises:
            ArgumentsToolError: an argument fits nowhere.
            TransientToolError: Temporal is out of reach.
            PermanentToolError: there is no such workflow or endpoint, or it refuses.
            UnknownOutcome: a write's operation took longer than it may, or was stopped.
        """
        client = await (await dependencies.resolve(provided.temporal))()
        given = self.schema.given(arguments)
        told = filled(self.input, given, context)
        if isinstance(self.target, SignalTarget):
            workflow_id = _id_of(self.target, given, context)
            await _signal(client, self.target, workflow_id, told, context.key)
            return {"signalled": workflow_id}
        queue = await dependencies.resolve(provided.task_queue)
        call = NexusCall(
            endpoint=self.target.endpoint,
            service=self.target.service,
            operation=self.target.operation,
            input=told,
            key=context.key,
            seconds=self.seconds,
        )
        result = await self._result(client, call, context.caller.tenant, queue)
        kept: JsonValue = keepable(self.wanted.of(result))
        return kept

    async def _result(self, client: Client, call: NexusCall, tenant: str, queue: str) -> JsonValue:
        known = hashlib.sha256(call.key.encode()).hexdigest()[:32] if call.key else uuid4().hex
        id_ = f"nexus/{tenant}/{known}"
        try:
            try:
                handle = await client.start_workflow(
                    WORKFLOW,
                    call,
                    id=id_,
                    task_queue=queue,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                    execution_timeout=timedelta(seconds=call.seconds + RPC_SECONDS),
                    static_summary=cut_summary(
                        f"{call.operation} of {call.service} at {call.endpoint}"
                    ),
                )
            except WorkflowAlreadyStartedError:
                handle = client.get_workflow_handle(id_)
            result: JsonValue = await handle.result()
        except WorkflowFailureError as failure:
            raise self._failure(failure) from None
        except RPCError as error:
            raise _refusal(error, f"{call.service} at {call.endpoint}") from None
        return result

    def _failure(self, failure: WorkflowFailureError) -> Exception:
        cause = _innermost(failure)
        if isinstance(cause, TerminatedError | CancelledError):
            over = Localised(
                zh="有人在办完之前停掉了它", en="somebody stopped it before it was done"
            )
            return UnknownOutcome(over) if self.writes else PermanentToolError(over)
        if isinstance(cause, TimedOut):
            zh = f"在 {self.seconds:g} 秒内没有办完"
            en = f"it wasn't done within {self.seconds:g} s"
            late = Localised(zh=zh, en=en)
            return UnknownOutcome(late) if self.writes else TransientToolError(late)
        said = " ".join(str(cause).split())[:LONGEST_ID]
        return PermanentToolError(Localised(zh=f"对方没有办：{said}", en=f"it refused: {said}"))


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error.__cause__, TemporalError):
        error = error.__cause__
    return error


def _id_of(target: SignalTarget, given: Mapping[str, JsonValue], context: ToolContext) -> str:
    found = filled(target.workflow_id, given, context)
    text = found if isinstance(found, str) else ""
    if not text or len(text) > LONGEST_ID or not text.isprintable():
        zh, en = f"{text[:40]!r} 不是流程的编号", f"{text[:40]!r} is no id of a workflow"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return text


async def _signal(
    client: Client, target: SignalTarget, workflow_id: str, told: JsonValue, key: str
) -> None:
    """Signal it under the key: the server takes a request id once.

    Without our codec: nobody else has its keys.
    """
    payloads = await DataConverter.default.encode([] if told is None else [told])
    request = SignalWorkflowExecutionRequest(
        namespace=target.namespace or client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=workflow_id),
        signal_name=target.name,
        input=Payloads(payloads=payloads),
        request_id=key or uuid4().hex,
    )
    try:
        await client.workflow_service.signal_workflow_execution(
            request, timeout=timedelta(seconds=RPC_SECONDS)
        )
    except RPCError as error:
        raise _refusal(error, workflow_id) from None


_PASSING = frozenset(
    {
        *(RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED),
        *(RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.ABORTED, RPCStatusCode.INTERNAL),
    }
)


def _refusal(error: RPCError, what: str) -> Exception:
    """What to make of Temporal's refusal; said is the kind alone where it may have arguments."""
    said = f"{what}: {error.message}"
    if error.status in _PASSING:
        return TransientToolError(Localised(zh=f"Temporal 现在用不了（{said}）", en=said))
    if error.status == RPCStatusCode.NOT_FOUND:
        zh, en = f"没有在运行的 {what}", f"there is no {what} that runs"
        return PermanentToolError(Localised(zh=zh, en=en))
    return PermanentToolError(Localised(zh=f"Temporal 拒绝了（{said}）", en=said))
