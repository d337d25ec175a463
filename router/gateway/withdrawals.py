"""Taking back a completed run: the way to start the run that does it, for requests and tools."""

import hashlib
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client
from temporalio.common import Priority

from router.contracts import flow
from router.contracts.flow import CallLimits, FlowAnswer, FlowStart, Tell
from router.domain.errors import Conflict
from router.domain.locale import Locale, Localised
from router.domain.messages import ENDED
from router.domain.principals import Principal
from router.domain.records import RunRecord
from router.flow.definition import FlowDefinition
from router.flow.engine import compensation
from router.flow.engine.events import Began
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import Done
from router.gateway import run_updates
from router.gateway.retries import RPC_TIMEOUT, watched
from router.gateway.run_updates import RunStanding
from router.store.flow_runs import Runs


@dataclass(frozen=True)
class Withdrawals:
    """Starts runs that take back completed ones, with this `share` of the workers."""

    temporal: Client
    task_queue: str
    runs: Runs
    share: Priority = Priority.default

    async def begin(
        self, run: RunRecord, caller: Principal, locale: Locale, comment: str | None, word: str
    ) -> RunStanding:
        """Ask once per `word` for approval to take this run back; how the run stands that does so.

        Raises `Conflict` where it can't be, or that is under way or done, and `Unconfirmed`.
        """
        if run.status == "cancelled" and run.withdrawn_by is not None:
            raise Conflict("The run has been taken back already.")
        other = await self.under_way(run)
        if other is not None and other.status not in ENDED:
            raise Conflict(f"The run is being taken back already: see flow run {other.id}.")
        if run.status != "completed" or run.remedy is None:
            raise _cannot(run)
        remedy = run.remedy
        kept = await self.runs.definition(remedy.definition)
        if kept is None:
            raise _cannot(run)
        begun = compensation.with_what_it_undoes(
            Run(id=_id_of(run), requester=caller, conversation=run.conversation, locale=locale),
            withdraws=run.id,
            done=[Done.model_validate(done) for done in remedy.done],
            slots=run.slots,
            results=remedy.results,
            files=run.files,
            comment=comment,
            now=datetime.now(UTC),
        )
        start = FlowStart(
            definition=FlowDefinition.model_validate_json(kept),
            requester=caller,
            conversation=run.conversation,
            locale=locale,
            tools={name: CallLimits.model_validate(tool) for name, tool in remedy.tools.items()},
            run=begun,
        )
        view = (await self._tell(start, begun.id, word)).view
        return RunStanding(id=view.id, status=view.status, state=view.state)

    async def under_way(self, run: RunRecord) -> RunStanding | None:
        """How the run stands that was last begun to take this one back, if any."""
        if run.withdrawn_by is None:
            return None
        other = await self.runs.find(run.tenant, run.withdrawn_by)
        return RunStanding(id=other.id, status=other.status, state=other.state) if other else None

    async def _tell(self, start: FlowStart, run: str, word: str) -> FlowAnswer:
        id_ = flow.workflow_id(start.definition.flow, start.requester.tenant, run)
        event = Began(by=start.requester.id)

        async def attempt() -> FlowAnswer:
            operation = run_updates.operation(start, id_, self.task_queue, self.share)
            telling: Awaitable[FlowAnswer] = self.temporal.execute_update_with_start_workflow(
                flow.TELL,
                Tell(event=event, locale=start.locale, aside=True),
                start_workflow_operation=operation,
                id=word,
                result_type=FlowAnswer,
                rpc_timeout=RPC_TIMEOUT,
            )
            return await watched(operation, telling)

        over = "The run was taken back, or that was refused, a moment ago."
        return await run_updates.in_time(attempt, id_, over)


def _id_of(run: RunRecord) -> str:
    """The same for everybody who asks at once; another after a withdrawal that was refused."""
    seed = f"withdrawal/{run.tenant}/{run.id}/{run.withdrawn_by or ''}"
    return hashlib.sha256(seed.encode()).hexdigest()[:20]


def _cannot(run: RunRecord) -> Conflict:
    zh = f"它已经结束了（{run.status}），这种申请不能撤回。"
    en = f"The run is {run.status}; it can't be taken back any more."
    return Conflict(Localised(zh=zh, en=en))
