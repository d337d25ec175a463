"""One call of somebody else's Nexus operation: only a workflow can make one on every server.

Its id is made of the call's idempotency key: the call made again finds it, and what came of it.
"""

from datetime import timedelta
from typing import Any

from pydantic import JsonValue
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from router.extensions.http.nexus_call import KEY_HEADER, WORKFLOW, NexusCall


@workflow.defn(name=WORKFLOW)
class NexusCallWorkflow:
    """Temporal tries the operation again for as long as it may take; then it has failed."""

    @workflow.run
    async def run(self, call: NexusCall) -> JsonValue:
        """What the operation gives."""
        client: workflow.NexusClient[Any] = workflow.create_nexus_client(
            service=call.service, endpoint=call.endpoint
        )
        given: JsonValue = await client.execute_operation(
            call.operation,
            call.input,
            schedule_to_close_timeout=timedelta(seconds=call.seconds),
            headers={KEY_HEADER: call.key} if call.key else {},
        )
        return given
