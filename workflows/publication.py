"""A run as it is written down for lists, approvers and the Temporal UI. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from router.contracts.activities import Publish
from router.contracts.flow import CallLimits
from router.domain.messages import ENDED
from router.domain.records import (
    Amendment,
    ApprovalRecord,
    HistoryLine,
    LogEntry,
    Remedy,
    RunRecord,
)
from router.flow import deadlines, showing, withdrawing
from router.flow.events import Remind
from router.flow.model import FlowDefinition
from router.flow.run import Assignee, Run
from router.flow.values import files_in

NO_TOOLS: Mapping[str, CallLimits] = MappingProxyType({})


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
    tools: Mapping[str, CallLimits] = NO_TOOLS,
) -> Publish:
    """The rows of a run: itself, its approvals, and a notice for everyone reminded.

    Of a completed one that can be taken back also what that takes: how its `tools` are called.
    """
    undoing = _undoing(definition, run)
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
            history=[
                HistoryLine.model_validate(line, from_attributes=True) for line in run.history
            ],
            events=run.events,
            created_at=where.created_at,
            updated_at=now,
            readers=run.copied,
            files=_files(definition, run),
            withdraws=run.withdraws.run if run.withdraws else None,
            remedy=_remedy(undoing, run, tools) if undoing else None,
        ),
        approvals=_approvals(definition, run, where),
        entries=[entry for r in reminders for entry in _notices(definition, run, r, now)],
        amends=_amendment(run),
        definition=undoing.model_dump_json() if undoing else None,
    )


def _files(definition: FlowDefinition, run: Run) -> dict[str, str]:
    """What the files in the run's slots are called, by id."""
    shown = (
        file
        for name, slot in definition.slots.items()
        if run.slots.get(name) is not None
        for file in files_in(slot, run.slots[name])
    )
    return {file: run.files[file] for file in shown if file in run.files}


def _undoing(definition: FlowDefinition, run: Run) -> FlowDefinition | None:
    """The flow that takes back what this run did, where it is over and can be."""
    can = withdrawing.can_be_withdrawn(definition, run)
    return withdrawing.definition_of(definition) if can else None


def _remedy(undoing: FlowDefinition, run: Run, tools: Mapping[str, CallLimits]) -> Remedy:
    return Remedy(
        definition=undoing.fingerprint,
        done=[done.model_dump(mode="json") for done in run.done],
        tools={
            done.undo: tools[done.undo].model_dump(mode="json")
            for done in run.done
            if done.undo in tools
        },
        results=run.results,
    )


def _amendment(run: Run) -> Amendment | None:
    """What the run has to say of the one that it takes back: that it does, and how that ended."""
    if run.withdraws is None or not run.history:
        return None
    last = run.history[-1 if run.status in ENDED else 0]
    taken_back = run.status == "completed"
    event = f"withdrawal {run.status}" if run.status in ENDED else last.event
    return Amendment(
        tenant=run.requester.tenant,
        run=run.withdraws.run,
        withdrawn_by=run.id,
        status="cancelled" if taken_back else None,
        line=HistoryLine(
            at=last.at,
            state="",
            event="withdrawn" if taken_back else event,
            by=run.requester.id,
            comment=last.comment,
        ),
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
        due=_due(run),
        active=active,
        verdict=asked.verdict,
        comment=asked.comment,
    )


def _due(run: Run) -> datetime | None:
    """Until when it may be decided: before it goes to somebody else, or expires."""
    timers: dict[str, datetime] = {name: timer.due for name, timer in run.timers.items()}
    return deadlines.decide_by(run.approval, timers) if run.approval else None


def _notices(
    definition: FlowDefinition, run: Run, reminder: Remind, now: datetime
) -> list[LogEntry]:
    """A row for each person's own stream: a decision of theirs is awaited."""
    approval = run.approval
    title = approval.title if approval else definition.title
    awaited = {a.person: a.id for a in approval.waiting_for()} if approval else {}
    return [
        LogEntry(
            key=f"{run.id}:{run.events}:{reminder.reason}:{person}",
            kind="approval",
            at=now,
            recipient=person,
            data={
                "approval": awaited.get(person),
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
