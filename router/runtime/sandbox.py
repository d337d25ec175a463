"""What workflows run in: Temporal's sandbox, made cheap to enter and to leave."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from temporalio import worker as temporal
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import StorageDriverStoreContext, WorkflowSerializationContext
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import Info

from router.flow.registration import find_added_kinds, find_added_types
from router.telemetry.metrics import CACHED_WORKFLOWS
from router.telemetry.temporal_logs import RUN_NAMES

PASSED_THROUGH = (
    *("router", "workflows", "pydantic", "annotated_types", "cel", "jinja2", "markupsafe"),
)
"""Loaded once, not once per workflow run: 10 ms of CPU instead of 120. They do no I/O, which
import-linter holds them to."""


def sandbox() -> temporal.WorkflowRunner:
    """What workflows run in: Temporal's sandbox, less what need not be loaded for each run.

    Call it once the slot types and kinds of states of extensions are registered: workflows share
    the packages in which they are defined.
    """
    added = {
        each.__module__.partition(".")[0] for each in (*find_added_types(), *find_added_kinds())
    }
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH, *added)
    return OneContextRunner(SandboxedWorkflowRunner(restrictions=restrictions))


def cached() -> int:
    """How many workflows this process keeps in memory."""
    return len(_CACHED)


def _take_apart(instance: Any) -> None:
    """Have nothing of a workflow that has left the cache point back at it.

    Its last activation has ended its tasks. What it had then goes as soon as nobody holds it, and
    needn't wait for a collection of garbage, which passes over what is frozen
    (`router.runtime.garbage_collection`). It is the SDK's: of another shape it stays garbage.
    """
    names = vars(instance).get("globals_and_locals", {})
    run = getattr(names.get("__temporal_in_sandbox"), "instance", None)
    parts = (getattr(run, "_object", None), run, vars(instance).get("importer"), instance)
    for part in parts:
        if part is not None:
            _empty(vars(part))
    names.clear()


def _empty(attributes: dict[str, Any]) -> None:
    """Take all out but what futures ask whose error nobody has taken: that is no news any more."""
    for name in attributes.keys() - {"_deleting"}:
        del attributes[name]


_CACHED: WeakSet["_OneContext"] = WeakSet()
CACHED_WORKFLOWS.set_function(cached)
_NOWHERE = StorageDriverStoreContext()
"""For payloads that are stored outside Temporal, which none of ours is."""


class OneContextRunner(temporal.WorkflowRunner):
    """Runs workflows as another runner does, and answers for them what each payload's context is.

    It is the workflow itself, whatever is done with the payload: that tells whose it is. Temporal's
    worker asks before each payload; answered in the sandbox it is a tenth of its Python.
    """

    def __init__(self, runner: temporal.WorkflowRunner) -> None:
        self._runner = runner

    def prepare_workflow(self, defn: Any) -> None:
        """As the other does."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: temporal.WorkflowInstanceDetails) -> temporal.WorkflowInstance:
        """The other's, all of whose payloads have one context."""
        # A log line of Temporal's core names the run alone.
        RUN_NAMES.note(det.info.run_id, det.info.workflow_id, det.info.workflow_type)
        context = WorkflowSerializationContext(det.info.namespace, det.info.workflow_id)
        made = _OneContext(self._runner.create_instance(det), context)
        _CACHED.add(made)
        return made

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """As the other does."""
        self._runner.set_worker_level_failure_exception_types(types)


class _OneContext(temporal.WorkflowInstance):
    def __init__(
        self, instance: temporal.WorkflowInstance, context: WorkflowSerializationContext
    ) -> None:
        self._instance = instance
        self._context = context

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        completion = self._instance.activate(act)
        if any(job.HasField("remove_from_cache") for job in act.jobs):
            _take_apart(self._instance)
        return completion

    def get_serialization_context(
        self,
        command_info: Any,  # noqa: ARG002
    ) -> WorkflowSerializationContext:
        return self._context

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:  # noqa: ARG002
        return _NOWHERE

    def get_info(self) -> Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()
