"""Having a file read that somebody handed in: once, however many ask for it."""

from dataclasses import dataclass

from temporalio.client import Client
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from router.contracts.document import WORKFLOW, ReadFile, workflow_id
from router.contracts.limits import make_attributes
from router.contracts.start_options import REQUESTER, TENANT, task_timeout
from router.domain.summaries import cut_summary
from router.gateway.retries import RPC_TIMEOUT, own_errors
from router.telemetry.loop_stalls import LATENESS


@dataclass(frozen=True)
class DocumentReading:
    """Starts the workflows that read files."""

    temporal: Client
    task_queue: str

    async def begin(
        self, tenant: str, file: str, owner: str, share: Priority = Priority.default
    ) -> None:
        """Have the file read, unless that is under way or done; raises `Unavailable`."""
        with own_errors():
            try:
                await self.temporal.start_workflow(
                    WORKFLOW,
                    ReadFile(tenant=tenant, file=file),
                    id=workflow_id(tenant, file),
                    task_queue=self.task_queue,
                    # One that was terminated, or failed, is begun anew when somebody asks.
                    id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    task_timeout=task_timeout(LATENESS.seconds),
                    search_attributes=make_attributes({TENANT: tenant, REQUESTER: owner}),
                    priority=share,
                    rpc_timeout=RPC_TIMEOUT,
                    static_summary=cut_summary(file),
                )
            except WorkflowAlreadyStartedError:
                return
