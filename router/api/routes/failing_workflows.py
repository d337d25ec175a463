"""Workflows that stand still because their task fails again and again, for operators."""

from datetime import datetime

from fastapi import APIRouter, Request
from pydantic import BaseModel

from router.api.dependencies import AppState, Audited, Given, Operator
from router.api.errors import problems
from router.api.params import StrictRoute
from router.api.runs import TemporalRun
from router.gateway.failing_workflows import FailingWorkflow
from router.settings import Settings

router = APIRouter(
    prefix="/v1/failing-workflows",
    tags=["operators"],
    route_class=StrictRoute,
)


class FailingWorkflowView(BaseModel):
    """A running workflow whose task has failed several times in a row."""

    workflow_type: str
    since: datetime | None
    """When the task failed first since it last succeeded; null if the history doesn't say."""
    attempt: int
    """The number of the try that is under way or waits; 0 if that isn't known."""
    cause: str
    """Temporal's name of the cause, such as `NonDeterministicError` or `TimedOut`."""
    error: str
    """The reason in one line. An exception's message, which may quote what people wrote, is in it
    only if ROUTER_OPERATORS_READ_WORDS is set."""
    temporal: TemporalRun

    @classmethod
    def of(cls, found: FailingWorkflow, settings: Settings) -> "FailingWorkflowView":
        """Build what operators may see of the workflow."""
        failure = found.failure
        return cls(
            workflow_type=found.workflow_type,
            since=failure.since,
            attempt=failure.attempt,
            cause=failure.cause,
            error=failure.describe(quoting=settings.operators_read_words),
            temporal=TemporalRun.named(found.workflow_id, found.run_id, settings),
        )


class FailingWorkflowList(BaseModel):
    """The workflows of the caller's tenant, the newest first, as of at most a minute ago."""

    items: list[FailingWorkflowView]
    complete: bool
    """False if more workflows fail than are listed here, of this tenant or another."""
    trouble: str | None
    """Why it can't be told which workflows fail; the items are then those that were known last."""


@router.get("", responses=problems(404))
async def index(
    request: Request, services: Given, operator: Operator, audit: Audited
) -> FailingWorkflowList:
    """List the caller's tenant's workflows whose task fails again and again."""
    await audit.note("workflows.list")
    state = await AppState.of(request).failing_workflows.latest()
    mine = [each for each in state.found.listed if each.tenant == operator.tenant]
    return FailingWorkflowList(
        items=[FailingWorkflowView.of(each, services.settings) for each in mine],
        complete=not state.found.unlisted and not state.trouble,
        trouble=state.trouble or None,
    )
