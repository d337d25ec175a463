"""Approvals: what waits for the caller's decision, and deciding it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from router.api import approvals
from router.api.approvals import DecisionBody, own_approval
from router.api.dependencies import Caller, Given, Paged
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey
from router.api.params import StrictRoute
from router.domain.locale import Locale
from router.domain.records import ApprovalRecord
from router.flow.engine.run import Verdict
from router.gateway.run_updates import RunStanding

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
    asked: list[str] = []
    """Whose decisions are awaited for the same request, the reader's among them: it can't be
    passed on to them."""

    @classmethod
    def of(
        cls, record: ApprovalRecord, locale: Locale, asked: Sequence[str] = ()
    ) -> "ApprovalView":
        """The row in this language."""
        kept = {"id", "flow", "requester", "digest", "since", "due"}
        return cls(
            **record.model_dump(include=kept),
            flow_run=record.run,
            title=record.title.within(locale),
            summary=record.summary_in(locale),
            asked=list(asked),
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


OwnApproval = Annotated[ApprovalRecord, Depends(own_approval)]


@router.get("", responses=problems())
async def index(services: Given, caller: Caller, page: Paged) -> ApprovalPage:
    """List what waits for the caller's decision."""
    found, following = await services.store.runs.waiting_for(
        caller.tenant, caller.id, page.after, page.limit
    )
    asked: dict[str, list[str]] = {}
    for one in await services.store.runs.awaited(caller.tenant, [each.run for each in found]):
        asked.setdefault(one.run, []).append(one.person)
    items = [ApprovalView.of(each, caller.locale, asked.get(each.run, ())) for each in found]
    return ApprovalPage(items=items, next=following)


@router.post("/{approval}/decision", responses=problems(400, 404, 409, 413, 415))
async def decide(
    services: Given, caller: Caller, record: OwnApproval, key: IdempotencyKey, body: DecisionBody
) -> DecisionAnswer:
    """Decide, once. The same Idempotency-Key gets the first answer again."""
    standing = await approvals.decide(services, caller, record, body, key)
    return DecisionAnswer(id=record.id, decision=body.decision, flow_run=standing)
