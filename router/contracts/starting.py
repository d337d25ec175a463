"""Starting a run of a flow from outside of workflows, with the first word to it."""

from temporalio.client import WithStartWorkflowOperation
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from router.contracts.flow import WORKFLOW, FlowStart
from router.contracts.search_attributes import of_run
from router.contracts.timeouts import TASK_TIMEOUT


def operation(
    start: FlowStart, workflow_id: str, task_queue: str, share: Priority
) -> WithStartWorkflowOperation[object, object]:
    """What starts the run unless it goes on already; refused where it is over.

    It can be used once: each try needs one of its own. The run takes this `share` of the workers.
    """
    definition, requester = start.definition, start.requester
    return WithStartWorkflowOperation(
        WORKFLOW,
        start,
        id=workflow_id,
        task_queue=task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        search_attributes=of_run(definition.flow, requester, start.conversation),
        task_timeout=TASK_TIMEOUT,
        priority=share,
        static_summary=f"{definition.title.en} of {requester.id}",
    )
