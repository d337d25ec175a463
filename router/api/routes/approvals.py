"""Approvals: what waits for the caller's decision, and deciding it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from router.api import approving
from router.api.approving import DecisionBody, own_approval
from router.api.body import StrictRoute
from router.api.deps import Caller, Given, Paged
from router.api.idempotency import IdempotencyKey
from router.api.problems import problems
from router.contracts.runs import RunStanding
from router.domain.records import ApprovalRecord
from router.domain.texts import Locale
from router.flow.run import Verdict

router = APIRouter(prefix="/v1/approvals", tags=["approvals"], route_class=StrictRoute)


class ApprovalView(BaseModel):
    """A decision that the reader is asked for, in their language.

    `digest` stands for exactly what is shown here: sent back with the decision, it makes sure
    that nothing else is decided.
    """

    id: str
    flow_run: str
    flow: str
    title: str
    summary: dict[str, str]
    requester: str
    digest: str
    since: datetime
    due: datetime | None

    @classmethod
    def of(cls, record: ApprovalRecord, locale: Locale) -> "ApprovalView":
        """The row in this language."""
        return cls(
            id=record.id,
            flow_run=record.run,
            flow=record.flow,
            title=record.title.within(locale),
            summary={
                record.labels[slot].within(locale): value.within(locale)
                for slot, value in record.summary.items()
            },
            requester=record.requester,
            digest=record.digest,
            since=record.since,
            due=record.due,
        )


class ApprovalPage(BaseModel):
    """What waits for the caller, newest first."""

    items: list[ApprovalView]
    next: str | None


class DecisionAnswer(BaseModel):
    """What a decision led to."""

    id: str
    decision: Verdict
    flow_run: RunStanding


async def _own_approval(approval: str, services: Given, caller: Caller) -> ApprovalRecord:
    return await own_approval(services, caller, approval)


OwnApproval = Annotated[ApprovalRecord, Depends(_own_approval)]


@router.get("", responses=problems())
async def index(services: Given, caller: Caller, page: Paged) -> ApprovalPage:
    """List what waits for the caller's decision."""
    found, following = await services.store.runs.waiting_for(
        caller.tenant, caller.id, page.after, page.limit
    )
    items = [ApprovalView.of(record, caller.locale) for record in found]
    return ApprovalPage(items=items, next=following)


@router.post("/{approval}/decision", responses=problems(400, 404, 409, 413, 415))
async def decide(
    services: Given,
    caller: Caller,
    record: OwnApproval,
    key: IdempotencyKey,
    body: DecisionBody,
) -> DecisionAnswer:
    """Decide, once. The same Idempotency-Key gets the first answer again."""
    standing = await approving.decide(services, caller, record, body, key)
    return DecisionAnswer(id=record.id, decision=body.decision, flow_run=standing)
