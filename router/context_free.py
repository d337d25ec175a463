"""Workflows whose payloads read the same wherever they are.

Before each payload that goes into or out of a workflow Temporal's worker asks the workflow which
of its activities or children it is for, in case the converter, or a store for large payloads,
would like to know. Ours doesn't (`router.secrecy.codec`), and there is no such store; in the
sandbox each question means entering and leaving it, which took a tenth of a worker's Python.
"""

from collections.abc import Sequence
from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.converter import StorageDriverStoreContext
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.workflow import Info

_NOWHERE = StorageDriverStoreContext()
"""For payloads that are stored outside Temporal, which none of ours is."""


class ContextFreeRunner(WorkflowRunner):
    """Runs workflows as another runner does, and answers for them that no payload has a context."""

    def __init__(self, runner: WorkflowRunner) -> None:
        self._runner = runner

    def prepare_workflow(self, defn: Any) -> None:
        """As the other does."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """The other's, without contexts."""
        return _ContextFree(self._runner.create_instance(det))

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """As the other does."""
        self._runner.set_worker_level_failure_exception_types(types)


class _ContextFree(WorkflowInstance):
    def __init__(self, instance: WorkflowInstance) -> None:
        self._instance = instance

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        return self._instance.activate(act)

    def get_serialization_context(self, command_info: Any) -> None:  # noqa: ARG002
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:  # noqa: ARG002
        return _NOWHERE

    def get_info(self) -> Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()
