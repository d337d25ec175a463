"""Sends the work with models, and that with tools, to queues of their own where there are such.

Workflows don't know: which queue an activity goes to is the worker's to say, isn't compared when
a history is replayed, and may change while workflows run.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.worker import (
    Interceptor,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

from router.contracts import activities

OF_MODELS = frozenset(
    stub.name
    for stub in (
        activities.DECIDE,
        activities.PHRASE,
        activities.THINK,
        activities.CONDENSE,
        activities.PLAN,
        activities.REFLECT,
    )
)
OF_TURNS = frozenset({activities.TELL_FLOW.name, activities.NOTIFY.name})
"""Whatever is neither, and no local activity, is a tool's name."""
MODELS_WAIT = timedelta(seconds=60)
"""For a worker of the models' queue; a turn that finds none says that it failed, and isn't
left hanging."""


@dataclass(frozen=True)
class Queues:
    """Where activities go; None is the queue of the workflow itself."""

    models: str | None = None
    tools: str | None = None

    def of(self, activity: str) -> str | None:
        """The queue of an activity by its name.

        >>> Queues("models", "tools").of("decide"), Queues("models", "tools").of("get_balance")
        ('models', 'tools')
        """
        if activity in OF_MODELS:
            return self.models
        return None if activity in OF_TURNS else self.tools


class Diverting(Interceptor):
    """A worker's interceptor: activities of its workflows go to these queues."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    def workflow_interceptor_class(
        self, _: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """What each workflow run is wrapped in; made here, so that it knows the queues."""
        queues = self._queues

        class Outbound(WorkflowOutboundInterceptor):
            def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:  # noqa: A002
                divert(input, queues)
                return super().start_activity(input)

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

        return Inbound


def divert(started: StartActivityInput, queues: Queues) -> None:
    """Have the activity go where its kind of work is done."""
    queue = queues.of(started.activity)
    if queue is None:
        return
    started.task_queue = queue
    if started.activity in OF_MODELS:
        started.schedule_to_start_timeout = MODELS_WAIT
