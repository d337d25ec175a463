"""Approvals: what waits for the caller's decision, and deciding it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from router.api import approvals
from router.api.approvals import DecisionBody, own_approval
from router.api.dependencies import Caller, Given, Offers, Paged, Services
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey
from router.api.params import StrictRoute
from router.domain.locale import Locale
from router.domain.messages import FlowStatus
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord, ChangedField
from router.flow.engine.run_parts.approvals import Verdict
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
    flow_title: str
    """What the flow is called."""
    title: str
    summary: dict[str, str]
    requester: str
    digest: str
    since: datetime
    due: datetime | None
    asked: list[str] = []
    """Whose decisions are awaited for the same request, the reader's among them: it can't be
    passed on to them."""
    changes: list[ChangedField] = []
    """How it differs from what was sent back, or changed by its requester, where it was."""
    bulk: bool
    """Whether it may be decided together with others, by one comment."""
    decision: Verdict | None = None
    """What the reader decided; with `decided=true`, as what follows."""
    comment: str | None = None
    decided_at: datetime | None = None
    status: FlowStatus | None = None
    """How the run stands that was decided on."""

    @classmethod
    def of(
        cls, record: ApprovalRecord, offered: Offers, locale: Locale, **more: Any
    ) -> "ApprovalView":
        """The row in this language; `more` are fields that it doesn't have."""
        kept = {"id", "flow", "requester", "digest", "since", "due", "bulk"}
        flow = offered.definition(record.flow)
        return cls(
            **record.model_dump(include=kept),
            flow_run=record.run,
            flow_title=flow.title.within(locale) if flow else record.flow,
            title=record.title.within(locale),
            summary=record.summary_in(locale),
            **more,
        )


class ApprovalPage(BaseModel):
    """What waits for the caller, or was decided by them, newest first."""

    items: list[ApprovalView]
    next: str | None
    waiting: int
    """How many wait for the caller's decision in all."""


class DecisionAnswer(BaseModel):
    """What a decision led to."""

    id: str
    decision: Verdict
    flow_run: RunStanding


OwnApproval = Annotated[ApprovalRecord, Depends(own_approval)]


DECIDED = "What the caller has decided, the latest first, in place of what waits."


@router.get("", responses=problems())
async def index(
    services: Given,
    caller: Caller,
    page: Paged,
    decided: Annotated[bool, Query(description=DECIDED)] = False,
) -> ApprovalPage:
    """List what waits for the caller's decision, or what they have decided."""
    approvals = services.store.runs
    listed, shown = (
        (approvals.decided_by, _decided) if decided else (approvals.waiting_for, _waiting)
    )
    found, following = await listed(caller.tenant, caller.id, page.after, page.limit)
    items = await shown(services, caller, found)
    waiting = await approvals.count_waiting(caller.tenant, caller.id)
    return ApprovalPage(items=items, next=following, waiting=waiting)


async def _waiting(
    services: Services, caller: Principal, found: Sequence[ApprovalRecord]
) -> list[ApprovalView]:
    runs = [each.run for each in found]
    asked: dict[str, list[str]] = {}
    for one in await services.store.runs.awaited(caller.tenant, runs):
        asked.setdefault(one.run, []).append(one.person)
    before = await services.store.runs.shown_before(caller.tenant, runs)
    return [
        ApprovalView.of(
            each,
            services.offered.of(caller.tenant),
            caller.locale,
            asked=asked.get(each.run, []),
            changes=each.changes_since(before.get(each.run, each), caller.locale),
        )
        for each in found
    ]


async def _decided(
    services: Services, caller: Principal, found: Sequence[ApprovalRecord]
) -> list[ApprovalView]:
    runs = {(each.tenant, each.run) for each in found}
    status = {run.id: run.status for run in await services.store.runs.standings(runs)}
    return [
        ApprovalView.of(
            each,
            services.offered.of(caller.tenant),
            caller.locale,
            decision=each.verdict,
            comment=each.comment,
            decided_at=each.decided_at,
            status=status.get(each.run),
        )
        for each in found
    ]


@router.post("/{approval}/decision", responses=problems(400, 404, 409, 413, 415))
async def decide(
    services: Given, caller: Caller, record: OwnApproval, key: IdempotencyKey, body: DecisionBody
) -> DecisionAnswer:
    """Decide, once. The same Idempotency-Key gets the first answer again."""
    standing = await approvals.decide(services, caller, record, body, key)
    return DecisionAnswer(id=record.id, decision=body.decision, flow_run=standing)
