"""What time it is in a story.

The server's clock only goes forward, from the present on, for everybody. A story begins when
it says, so its workflows are told the server's time and so much more or less: every activation
of theirs carries a time of its own, and all that a workflow knows of the time comes from there.
Timers are lengths of time and need nothing. A workflow's story is the tenant in its id.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.workflow import Info

Shifts = Mapping[str, timedelta]
"""How far each tenant is ahead of the server."""


class ShiftingRunner(WorkflowRunner):
    """Runs workflows as another runner does, at the time of their stories."""

    def __init__(self, runner: WorkflowRunner, shifts: Shifts) -> None:
        self._runner = runner
        self._shifts = shifts

    def prepare_workflow(self, defn: Any) -> None:
        """As the other does."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """The other's, under the story's clock."""
        shift = self._shifts.get(tenant_of(det.info.workflow_id), timedelta())
        return _Shifted(self._runner.create_instance(det), shift)

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """As the other does."""
        self._runner.set_worker_level_failure_exception_types(types)


class _Shifted(WorkflowInstance):
    def __init__(self, instance: WorkflowInstance, shift: timedelta) -> None:
        self._instance = instance
        self._shift = shift

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        act.timestamp.FromDatetime(act.timestamp.ToDatetime() + self._shift)
        return self._instance.activate(act)

    def get_serialization_context(self, command_info: Any) -> Any:
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> Any:
        return self._instance.get_external_store_context(command_info)

    def get_info(self) -> Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()


def tenant_of(workflow_id: str) -> str:
    """Whose workflow it is.

    >>> tenant_of("leave_request/story-3/7h2k")
    'story-3'
    """
    _, _, rest = workflow_id.partition("/")
    return rest.partition("/")[0]
