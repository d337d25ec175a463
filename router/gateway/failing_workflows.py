"""Workflows whose tasks fail again and again: which they are, since when, and why.

Temporal retries a failed workflow task without end, so such a workflow stands still and still
counts as running. After some failures in a row, three by deploy/temporal-dynamic-config.yaml, the
server sets the search attribute `TemporalReportedProblems`, and it removes it at the first success:
one query finds all such workflows. The reason is read from the end of each history.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic

from temporalio.api.common.v1 import WorkflowExecution as ExecutionName
from temporalio.api.enums.v1 import EventType, TimeoutType, WorkflowTaskFailedCause
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client, WorkflowExecution
from temporalio.converter import DataConverter, WorkflowSerializationContext
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.service import RPCError, RPCStatusCode

from router.contracts import conversation, document, flow, skill_run
from router.domain.errors import RouterError, Unavailable
from router.gateway.lost_runs import at_once
from router.gateway.retries import RPC_TIMEOUT
from router.secrecy.codec import tenant_of
from router.secrecy.redaction import redact
from router.telemetry.metrics import FAILING_WORKFLOWS

PROBLEMS = "TemporalReportedProblems"
"""The search attribute: `category=…` and `cause=…` of the last failure."""
LISTED_MAX = 100
"""Workflows that one look names; the others are only counted."""
EXAMINED_MAX = 10
"""Workflows whose history one look reads: it costs two calls each."""
LOGGED_MAX = 20
"""Workflows that one look writes into the log."""
BRIEFLY_NAMED_MAX = 5
TAIL_EVENTS = 50
MESSAGE_CHARS_MAX = 300
LOOK_INTERVAL_S = 15.0
"""As often as Prometheus reads metrics by default."""
STALE_AFTER_S = 3 * LOOK_INTERVAL_S
WORKFLOW_TYPES = (conversation.WORKFLOW, flow.WORKFLOW, skill_run.WORKFLOW, document.WORKFLOW)

REMEDY = (
    "Temporal tries each of them again by itself: deploy the version from before or a mended one, "
    "and it continues where it stands. The Temporal UI shows each run's history "
    "(docs/operations.md, Workflow tasks that fail)"
)
NOT_REPORTED = (
    f"can't be told: this Temporal server has no search attribute {PROBLEMS}; upgrade it to 1.30 "
    "or later"
)

_RAISED = "WorkflowWorkerUnhandledFailure"
"""The cause if workflow code raised an exception."""
_TASK_ERROR = "WorkflowTaskError"
"""What `workflows.background` raises from the exception of a task in the background."""
_FAILED = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
_TIMED_OUT = EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT
_COMPLETED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_NOT_TRIED = TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START

_log = logging.getLogger(__name__)


class ProblemsNotReported(RouterError):
    """The Temporal server doesn't say which workflows' tasks fail."""

    def __init__(self) -> None:
        super().__init__(NOT_REPORTED)


@dataclass(frozen=True)
class TaskFailure:
    """Why a workflow's task failed last."""

    cause: str
    """Temporal's name, such as `NonDeterministicError`; `TimedOut` if no worker answered."""
    error_type: str = ""
    """The exception's class; "" if it wasn't an exception."""
    place: str = ""
    """Where it was raised, such as `workflows/flow.py:231`."""
    message: str = ""
    """Its words, redacted and cut."""
    may_quote: bool = False
    """True if the message may quote what people wrote."""
    since: datetime | None = None
    """When the task failed first since it last succeeded, as far as the end of the history says."""
    attempt: int = 0
    """The number of the try that is under way or waits; 0 if that isn't known. A signal or an
    update makes the server count from 1 again."""

    def describe(self, *, quoting: bool) -> str:
        """Return the reason in one line, with a message that may quote people only if `quoting`."""
        what = self.error_type if self.error_type and self.cause == _RAISED else self.cause
        where = f" at {self.place}" if self.place else ""
        told = f": {self.message}" if self.message and (quoting or not self.may_quote) else ""
        return f"{what}{where}{told}"


@dataclass(frozen=True)
class FailingWorkflow:
    """A running workflow whose task has failed several times in a row."""

    workflow_id: str
    run_id: str
    workflow_type: str
    failure: TaskFailure

    @property
    def tenant(self) -> str:
        """The tenant that its id names; "" if it names none."""
        return tenant_of(self.workflow_id)

    def describe(self, *, quoting: bool = False) -> str:
        """Return the workflow and its failure in one line."""
        named = f"{self.workflow_id} ({self.workflow_type}, run {self.run_id})"
        return f"{named} {self.describe_failure(quoting=quoting)}"

    def describe_failure(self, *, quoting: bool = False) -> str:
        """Return since when its task fails, how often, and why."""
        failure = self.failure
        since = f" since {failure.since:%Y-%m-%d %H:%M:%S} UTC" if failure.since else ""
        tries = f" (attempt {failure.attempt})" if failure.attempt else ""
        return f"fails{since}{tries}: {failure.describe(quoting=quoting)}"


@dataclass(frozen=True)
class FailingWorkflows:
    """All of them: the newest by name, and how many there are of each type."""

    listed: Sequence[FailingWorkflow] = ()
    by_type: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.by_type.values())

    @property
    def unlisted(self) -> int:
        """How many there are beyond those that are named."""
        return self.total - len(self.listed)

    def describe(self, *, quoting: bool) -> str:
        """Return a line for each workflow that is named, and one for the others."""
        lines = [each.describe(quoting=quoting) for each in self.listed]
        if self.unlisted:
            lines.append(f"and {self.unlisted} more: see the Temporal UI, {PROBLEMS} is not null")
        return "\n".join(lines)


def describe_briefly(found: FailingWorkflows) -> str:
    """Return some words for whoever needs no token to ask: nothing that people wrote, few ids."""
    if not found.total:
        return ""
    named = [each.describe() for each in found.listed[:BRIEFLY_NAMED_MAX]]
    more = found.total - len(named)
    others = f"; and {more} more: `intent-router doctor` lists them" if more else ""
    return f"these workflows stand still, since their task fails: {'; '.join(named)}{others}"


def failing_query(queue: str) -> str:
    """Return the visibility query for this deployment's failing workflows.

    >>> failing_query("router")
    "TemporalReportedProblems IS NOT NULL AND ExecutionStatus = 'Running' AND TaskQueue = 'router'"
    """
    quoted = queue.replace("'", "''")
    return f"{PROBLEMS} IS NOT NULL AND ExecutionStatus = 'Running' AND TaskQueue = '{quoted}'"


async def list_failing_workflows(client: Client, queue: str) -> FailingWorkflows:
    """List the failing workflows with the reason as the list has it; histories aren't read.

    Raises:
        ProblemsNotReported: The server doesn't know the search attribute.
        RPCError: Temporal can't be asked.
    """
    query = failing_query(queue)
    listing = client.list_workflows(
        query, page_size=LISTED_MAX, limit=LISTED_MAX, rpc_timeout=RPC_TIMEOUT
    )
    try:
        found = [_from_listing(each) async for each in listing]
        by_type = dict(Counter(each.workflow_type for each in found))
        if len(found) == LISTED_MAX:
            by_type = await _count_by_type(client, query, {*by_type, *WORKFLOW_TYPES})
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT and PROBLEMS in error.message:
            raise ProblemsNotReported from error
        raise
    return FailingWorkflows(found, by_type)


async def _count_by_type(client: Client, query: str, types: Iterable[str]) -> dict[str, int]:
    async def count(name: str) -> int:
        narrowed = f"{query} AND WorkflowType = '{name.replace(chr(39), chr(39) * 2)}'"
        return (await client.count_workflows(narrowed, rpc_timeout=RPC_TIMEOUT)).count

    names = sorted(types)
    counts = await at_once(names, count)
    return {name: number for name, number in zip(names, counts, strict=True) if number}


def _from_listing(listed: WorkflowExecution) -> FailingWorkflow:
    """Build it from a listed execution, whose search attribute names the cause."""
    values = (p.value for p in listed.typed_search_attributes if p.key.name == PROBLEMS)
    problems = [str(each) for each in next(values, [])]
    return FailingWorkflow(
        listed.id, listed.run_id, listed.workflow_type, TaskFailure(cause_of_problems(problems))
    )


def cause_of_problems(problems: Iterable[str]) -> str:
    """Return the cause that the values of the search attribute name.

    >>> cause_of_problems(["category=WorkflowTaskFailed", "cause=WorkflowTaskFailedCauseBadBinary"])
    'BadBinary'
    >>> cause_of_problems(["category=WorkflowTaskTimedOut", "cause=StartToClose"])
    'TimedOut'
    """
    named = dict(each.partition("=")[::2] for each in problems)
    if named.get("category") == "WorkflowTaskTimedOut":
        return "TimedOut"
    return named.get("cause", "unknown").removeprefix("WorkflowTaskFailedCause")


async def find_failing_workflows(client: Client, queue: str) -> FailingWorkflows:
    """List the failing workflows, the first of them with the error in their history.

    Raises:
        ProblemsNotReported: The server doesn't know the search attribute.
        RPCError: Temporal can't be asked.
    """
    found = await list_failing_workflows(client, queue)
    examined = await at_once(
        found.listed[:EXAMINED_MAX], lambda each: examine_workflow(client, each)
    )
    return FailingWorkflows([*examined, *found.listed[EXAMINED_MAX:]], found.by_type)


async def examine_workflow(client: Client, workflow: FailingWorkflow) -> FailingWorkflow:
    """Return the workflow with the reason that the end of its history has.

    Where the history says nothing more, as of one that has ended meanwhile, it is returned as is.
    """
    name = ExecutionName(workflow_id=workflow.workflow_id, run_id=workflow.run_id)
    service, namespace = client.workflow_service, client.namespace
    try:
        history = await service.get_workflow_execution_history_reverse(
            GetWorkflowExecutionHistoryReverseRequest(
                namespace=namespace, execution=name, maximum_page_size=TAIL_EVENTS
            ),
            timeout=RPC_TIMEOUT,
        )
        described = await service.describe_workflow_execution(
            DescribeWorkflowExecutionRequest(namespace=namespace, execution=name),
            timeout=RPC_TIMEOUT,
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return workflow
        raise
    failures = failures_in_a_row(history.history.events)
    if not failures:
        return workflow
    failure = replace(
        await _read_failure(client, workflow, failures[0]),
        since=failures[-1].event_time.ToDatetime(UTC),
        attempt=described.pending_workflow_task.attempt,
    )
    return replace(workflow, failure=failure)


def failures_in_a_row(newest_first: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    """Return the failures and timeouts of workflow tasks since the last success, newest first.

    A task that no worker took up in time wasn't tried, so it doesn't count.
    """
    found = []
    for event in newest_first:
        if event.event_type == _COMPLETED:
            break
        timeout = event.workflow_task_timed_out_event_attributes.timeout_type
        if event.event_type == _FAILED or (
            event.event_type == _TIMED_OUT and timeout != _NOT_TRIED
        ):
            found.append(event)
    return found


async def _read_failure(
    client: Client, workflow: FailingWorkflow, event: HistoryEvent
) -> TaskFailure:
    if event.event_type == _TIMED_OUT:
        return TaskFailure("TimedOut", message="no worker answered within the task's time limit")
    failed = event.workflow_task_failed_event_attributes
    cause = _camel_case(WorkflowTaskFailedCause.Name(failed.cause))
    converter = client.data_converter.with_context(
        WorkflowSerializationContext(client.namespace, workflow.workflow_id)
    )
    try:
        raised, message, trace = await _read_exception(converter, failed.failure)
        if raised == _TASK_ERROR and failed.failure.HasField("cause"):
            # Its message names the task as well as the exception, which says what and where.
            raised, _, trace = await _read_exception(converter, failed.failure.cause)
    except RouterError as unreadable:
        return TaskFailure(cause, message=str(unreadable))
    return TaskFailure(
        cause=cause,
        error_type=raised,
        place=place_in_trace(trace),
        message=_cut(message),
        may_quote=cause == _RAISED and raised not in _own_error_names(),
    )


async def _read_exception(converter: DataConverter, encoded: Failure) -> tuple[str, str, str]:
    """Return the class of the exception, its message and its stack trace."""
    failure = Failure()
    failure.CopyFrom(encoded)
    # Neither is shown, and one that can't be decoded would hide the rest.
    if failure.HasField("application_failure_info"):
        failure.application_failure_info.ClearField("details")
    failure.ClearField("cause")
    error = await converter.decode_failure(failure)
    raised = (error.type or "") if isinstance(error, ApplicationError) else type(error).__name__
    if isinstance(error, FailureError):
        # Where failures are encrypted, only what it was made from has the stack.
        return raised, error.message, error.failure.stack_trace if error.failure else ""
    return raised, str(error), failure.stack_trace


def _camel_case(name: str) -> str:
    """Return the name as the search attribute has it.

    >>> _camel_case("WORKFLOW_TASK_FAILED_CAUSE_PAYLOADS_TOO_LARGE")
    'PayloadsTooLarge'
    """
    words = name.removeprefix("WORKFLOW_TASK_FAILED_CAUSE_").split("_")
    return "".join(word.capitalize() for word in words)


def _own_error_names() -> set[str]:
    """Return the names of this project's errors, which are written to be read and quote nobody."""
    names, open_classes = set[str](), [RouterError]
    while open_classes:
        each = open_classes.pop()
        names.add(each.__name__)
        open_classes += each.__subclasses__()
    return names


def _cut(message: str) -> str:
    line = redact(" ".join(message.split()))
    return line if len(line) <= MESSAGE_CHARS_MAX else f"{line[: MESSAGE_CHARS_MAX - 1]}…"


_FRAME = re.compile(r'^ {0,9}File "([^"\n]{1,255})", line (\d{1,9})', re.MULTILINE)
_LIBRARY = re.compile(r"/site-packages/|/lib/python\d")


def place_in_trace(trace: str) -> str:
    """Return the innermost place outside of libraries: its file, with the folder, and its line.

    >>> place_in_trace('File "/app/workflows/flow.py", line 7, in _run')
    'workflows/flow.py:7'
    """
    frames = _FRAME.findall(trace[-20_000:])
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])]
    if not frames:
        return ""
    path, line = (own or frames)[-1]
    return f"{'/'.join(path.split('/')[-2:])}:{line}"


@dataclass(frozen=True)
class MonitorState:
    """What the last look found; `trouble` says why it couldn't be told."""

    found: FailingWorkflows = FailingWorkflows()
    trouble: str = ""


class FailingWorkflowMonitor:
    """Looks for failing workflows some times a minute, for metrics, the log and `/readyz`."""

    def __init__(self, client: Client, queue: str) -> None:
        self._client = client
        self._queue = queue
        self._looking = asyncio.Lock()
        self._state: MonitorState | None = None
        self._looked_at = 0.0
        self._known: dict[str, FailingWorkflow] = {}
        """By run id: those of the last look, with what their histories said."""
        self._next_examined = 0

    async def run(self) -> None:
        """Look until cancelled; an error that nobody foresaw is logged, and doesn't end it."""
        while True:
            try:
                await self.look()
            except Exception:  # noqa: BLE001 - else nobody would hear of any again
                _log.exception("a look for workflows whose tasks fail failed")
            await asyncio.sleep(LOOK_INTERVAL_S)

    async def latest(self) -> MonitorState:
        """Return what the last look found; looks itself only if that was too long ago."""
        if self._state is not None and self._is_fresh():
            return self._state
        async with self._looking:
            if self._state is not None and self._is_fresh():
                return self._state
            return await self._look()

    async def look(self) -> MonitorState:
        """Ask Temporal now."""
        async with self._looking:
            return await self._look()

    def _is_fresh(self) -> bool:
        return monotonic() - self._looked_at <= STALE_AFTER_S

    async def _look(self) -> MonitorState:
        before = self._state
        try:
            found = await self._find()
        except ProblemsNotReported as error:
            FAILING_WORKFLOWS.clear()
            self._state = MonitorState(trouble=str(error))
        except (RPCError, Unavailable) as error:
            # What was found before is no longer known, and "none" would be a guess.
            known = before.found if before else FailingWorkflows()
            self._state = MonitorState(known, f"can't be told: Temporal can't be asked ({error})")
        else:
            self._report(found)
            self._state = MonitorState(found)
        if self._state.trouble and (before is None or not before.trouble):
            _log.warning("which workflows' tasks fail %s", self._state.trouble)
        self._looked_at = monotonic()
        return self._state

    async def _find(self) -> FailingWorkflows:
        """List them; read the histories of those that are new, and of a few of the others."""
        found = await list_failing_workflows(self._client, self._queue)
        new = [each for each in found.listed if each.run_id not in self._known]
        old = [each for each in found.listed if each.run_id in self._known]
        turn = self._next_examined % len(old) if old else 0
        chosen = [*new, *old[turn:], *old[:turn]][:EXAMINED_MAX]
        self._next_examined = turn + max(0, EXAMINED_MAX - len(new))
        examined = await at_once(chosen, lambda each: examine_workflow(self._client, each))
        details = {**self._known, **{each.run_id: each for each in examined}}
        listed = [details.get(each.run_id, each) for each in found.listed]
        return FailingWorkflows(listed, found.by_type)

    def _report(self, found: FailingWorkflows) -> None:
        """Set the metric, and log each workflow that is new and each that runs again."""
        FAILING_WORKFLOWS.clear()
        for name in {*WORKFLOW_TYPES, *found.by_type}:
            FAILING_WORKFLOWS.labels(name).set(found.by_type.get(name, 0))
        now = {each.run_id: each for each in found.listed}
        new = [each for run_id, each in now.items() if run_id not in self._known]
        for each in new[:LOGGED_MAX]:
            _log.warning("a workflow's task fails again and again: %s", each.describe())
        if len(new) > LOGGED_MAX:
            _log.warning("the tasks of %d more workflows fail", len(new) - LOGGED_MAX)
        # Beyond what is listed nothing is known of one that is missing.
        gone = [] if found.unlisted else [self._known[run] for run in self._known.keys() - now]
        for each in gone[:LOGGED_MAX]:
            _log.info("the task of workflow %s no longer fails", each.workflow_id)
        self._known = now
