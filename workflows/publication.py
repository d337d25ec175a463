"""A run as it is written down for lists, approvers and the Temporal UI. Pure."""

from dataclasses import dataclass
from datetime import datetime

from router.contracts.activities import Publish
from router.domain.messages import ENDED
from router.domain.records import ApprovalRecord, HistoryLine, LogEntry, RunRecord
from router.flow import showing
from router.flow.model import FlowDefinition
from router.flow.run import Assignee, Remind, Run


@dataclass(frozen=True)
class Whereabouts:
    """Where the run is to be found in Temporal, and since when."""

    workflow_id: str
    run_id: str
    created_at: datetime


def of(
    definition: FlowDefinition,
    run: Run,
    where: Whereabouts,
    now: datetime,
    reminders: list[Remind],
) -> Publish:
    """The rows of a run: itself, its approvals, and a notice for everyone reminded."""
    return Publish(
        run=RunRecord(
            id=run.id,
            tenant=run.requester.tenant,
            workflow_id=where.workflow_id,
            run_id=where.run_id,
            flow=definition.flow,
            title=definition.title,
            version=definition.version,
            status=run.status,
            state=run.state,
            slots=run.slots,
            requester=run.requester.id,
            conversation=run.conversation,
            parent=run.parent,
            history=[HistoryLine.model_validate(line.model_dump()) for line in run.history],
            events=run.events,
            created_at=where.created_at,
            updated_at=now,
        ),
        approvals=_approvals(definition, run, where),
        entries=[entry for r in reminders for entry in _notices(definition, run, r, now)],
    )


def _approvals(definition: FlowDefinition, run: Run, where: Whereabouts) -> list[ApprovalRecord]:
    if run.approval is None:
        return []
    waiting = {a.id for a in run.approval.waiting_for()} if run.status not in ENDED else set()
    return [_approval(definition, run, where, a, a.id in waiting) for a in run.approval.assignees]


def _approval(
    definition: FlowDefinition, run: Run, where: Whereabouts, asked: Assignee, active: bool
) -> ApprovalRecord:
    approval = run.approval
    if approval is None:  # pragma: no cover
        raise TypeError(f"run {run.id} has no approval")
    return ApprovalRecord(
        id=asked.id,
        tenant=run.requester.tenant,
        run=run.id,
        workflow_id=where.workflow_id,
        flow=definition.flow,
        person=asked.person,
        requester=run.requester.id,
        title=approval.title,
        summary=approval.summary,
        labels=approval.labels,
        digest=approval.digest,
        since=asked.since,
        due=approval.due,
        active=active,
        verdict=asked.verdict,
        comment=asked.comment,
    )


def _notices(
    definition: FlowDefinition, run: Run, reminder: Remind, now: datetime
) -> list[LogEntry]:
    """A row for each person's own stream: a decision of theirs is awaited."""
    approval = run.approval
    title = approval.title if approval else definition.title
    return [
        LogEntry(
            key=f"{run.id}:{run.events}:{reminder.reason}:{person}",
            kind="approval",
            at=now,
            recipient=person,
            data={
                "flow_run": run.id,
                "flow": definition.flow,
                "reason": reminder.reason,
                "title": title.model_dump(),
                "requester": run.requester.id,
            },
        )
        for person in reminder.people
    ]


def details(definition: FlowDefinition, run: Run) -> str:
    """The run in a few lines of Markdown, for the Temporal UI."""
    known = showing.summary(definition, run, "en")
    waiting = [a.person for a in run.approval.waiting_for()] if run.approval else []
    lines = [
        f"**{definition.title.en}** v{definition.version}: {run.status} in `{run.state}`",
        f"requester: {run.requester.id}",
        *([f"waiting for: {', '.join(waiting)}"] if waiting else []),
        *(f"- {label}: {value}" for label, value in known.items()),
    ]
    return "\n".join(lines)
