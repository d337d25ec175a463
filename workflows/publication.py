"""What others hear of a run: the database, where lists read it, Temporal's UI, its conversation.

Each is told only where the run is something else than it was told last.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from temporalio import workflow

from router.contracts import activities
from router.contracts.activities import Publish
from router.contracts.conversation_state import News
from router.contracts.flow import CallLimits, FlowAnswer
from router.domain import records
from router.domain.hooks import LONGEST_TEXT, ApprovalEvent, ErrorEvent, VerdictEvent
from router.domain.messages import ENDED, Reply, TextReply, ToolCallView
from router.domain.name_lists import say_names
from router.domain.progress import ProgressPlace, ToolCallProgress, ToolStatus
from router.domain.records import LogEntry
from router.domain.run_history import HistoryEntry
from router.flow.definition import FlowDefinition
from router.flow.engine import compensation, decisions, elicitation
from router.flow.engine.events import Decided, Remind
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Approval
from router.flow.engine.run_parts.work import Task
from router.flow.prompts import question
from router.flow.slot_types.slot import files_in, slot_at
from workflows.activity import perform
from workflows.hook_runs import HookRuns

Tools = Mapping[str, CallLimits]


def of(
    definition: FlowDefinition,
    run: Run,
    created_at: datetime,
    reminders: list[Remind],
    tools: Tools,
) -> Publish:
    """The rows of this workflow's run, and how its `tools` are called where it can be undone."""
    where, now = workflow.info(), workflow.now()
    can = compensation.can_be_withdrawn(definition, run)
    undoing = compensation.definition_of(definition) if can else None
    return Publish(
        run=records.RunRecord(
            id=run.id,
            tenant=run.requester.tenant,
            workflow_id=where.workflow_id,
            run_id=where.run_id,
            flow=definition.flow,
            title=definition.title,
            version=definition.version,
            status=run.status,
            state=run.state,
            slots=run.form.slots,
            requester=run.requester.id,
            conversation=run.conversation,
            parent=run.parent,
            history=list(run.history),
            incident=run.open_incident,
            asked=_asked(definition, run),
            events=run.events,
            created_at=created_at,
            updated_at=now,
            readers=run.approvals.copied_people,
            files=_files(definition, run),
            withdraws=run.recovery.withdraws.run if run.recovery.withdraws else None,
            remedy=_remedy(undoing, run, tools) if undoing else None,
        ),
        approvals=approvals_of(definition, run, where.workflow_id),
        entries=[entry for r in reminders for entry in _notices(definition, run, r, now)],
        withdrawal_note=_withdrawal_note(run),
        definition=undoing.model_dump_json() if undoing else None,
    )


def _asked(definition: FlowDefinition, run: Run) -> dict[str, int]:
    """How often each slot was asked for, of those within items the one that was most often.

    Whether there are more items is no question that is asked again.
    """
    found: dict[str, int] = {}
    for path, times in run.question.times_asked.items():
        slot = slot_at(definition.slots, path)
        if slot is not None and slot.of is None:
            name = ".".join(key for key in path.split(".") if not key.isdecimal())
            found[name] = max(found.get(name, 0), times)
    return found


def _files(definition: FlowDefinition, run: Run) -> dict[str, str]:
    """What the files in the run's slots are called, by id."""
    known = {name: value for name, value in run.form.slots.items() if value is not None}
    slots = [(slot, known[name]) for name, slot in definition.slots.items() if name in known]
    shown = (file for slot, value in slots for file in files_in(slot, value))
    return {file: run.form.file_names[file] for file in shown if file in run.form.file_names}


def _remedy(undoing: FlowDefinition, run: Run, tools: Tools) -> records.Remedy:
    return records.Remedy(
        definition=undoing.fingerprint,
        done=[done.model_dump(mode="json") for done in run.recovery.done],
        tools={
            done.undo: tools[done.undo].model_dump(mode="json")
            for done in run.recovery.done
            if done.undo in tools
        },
        results=run.work.results,
    )


def _withdrawal_note(run: Run) -> records.WithdrawalNote | None:
    """What the run has to say of the one that it takes back: that it does, and how that ended."""
    if run.recovery.withdraws is None or not run.history:
        return None
    last = run.history[-1 if run.status in ENDED else 0]
    taken_back = run.status == "completed"
    event = f"withdrawal {run.status}" if run.status in ENDED else last.event
    return records.WithdrawalNote(
        tenant=run.requester.tenant,
        run=run.recovery.withdraws.run,
        withdrawn_by=run.id,
        status="cancelled" if taken_back else None,
        line=HistoryEntry(
            at=last.at,
            state="",
            event="withdrawn" if taken_back else event,
            by=run.requester.id,
            comment=last.comment,
        ),
    )


def approvals_of(definition: FlowDefinition, run: Run, id_: str) -> list[records.ApprovalRecord]:
    """The decisions of the approval that is under way, and of those before as they ended."""
    return [
        row for approval in run.approvals.known for row in _rows(definition, run, approval, id_)
    ]


def _rows(
    definition: FlowDefinition, run: Run, approval: Approval, id_: str
) -> Iterator[records.ApprovalRecord]:
    is_open = approval is run.approvals.current and run.status not in ENDED
    waiting = {a.id for a in approval.waiting_for()} if is_open else set()
    # Until when it may be decided: before it goes to somebody else, or expires.
    dues = {name: timer.due for name, timer in run.work.timers.items()} if is_open else {}
    due = decisions.decide_by(approval, dues)
    for asked in approval.assignees:
        yield records.ApprovalRecord(
            id=asked.id,
            tenant=run.requester.tenant,
            run=run.id,
            workflow_id=id_,
            flow=definition.flow,
            person=asked.person,
            requester=run.requester.id,
            title=approval.title,
            summary=approval.summary,
            labels=approval.labels,
            digest=approval.digest,
            since=asked.since,
            due=due,
            expires=approval.due,
            active=asked.id in waiting,
            verdict=asked.verdict,
            comment=asked.comment,
            decided_at=asked.at,
            bulk=approval.bulk,
        )


def _notices(flow: FlowDefinition, run: Run, reminder: Remind, now: datetime) -> list[LogEntry]:
    """A row for each person's own stream: a decision of theirs is awaited."""
    approval = run.approvals.current
    title = approval.title if approval else flow.title
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
                "flow": flow.flow,
                "reason": reminder.reason,
                "title": title.model_dump(),
                "requester": run.requester.id,
            },
        )
        for person in reminder.people
    ]


def details(definition: FlowDefinition, run: Run) -> str:
    """The run in a few lines of Markdown, for the Temporal UI."""
    known = question.summary(definition, run, "en")
    waiting = (
        [a.person for a in run.approvals.current.waiting_for()] if run.approvals.current else []
    )
    lines = [
        f"**{definition.title.en}** v{definition.version}: {run.status} in `{run.state}`",
        f"requester: {run.requester.id}",
        *([f"waiting for: {say_names(waiting).en}"] if waiting else []),
        *(f"- {label}: {value}" for label, value in known.items()),
    ]
    return "\n".join(lines)


class RunPublisher:
    """A run as the database has it, where lists, approvers and whoever watches read it."""

    def __init__(
        self,
        definition: FlowDefinition,
        tools: Tools,
        created_at: datetime,
        run: Run,
        hooks: HookRuns,
        outnumber: Callable[[int], None],
    ) -> None:
        """`hooks` are told what is published of `run`, from where it stands now.

        `outnumber` has the run count its events from behind a number on.
        """
        self._definition = definition
        self._tools = tools
        self._created_at = created_at
        self._hooks = hooks
        self._outnumber = outnumber
        self._failed = run.status == "failed"
        self._asked = _asked_in(run)
        self._published: tuple[object, ...] | None = None
        self._reminders: list[Remind] = []
        self._ends: list[LogEntry] = []
        self._one_at_a_time = asyncio.Lock()

    def remind(self, reminder: Remind) -> None:
        """Have people told, with the next publication, that their decision is awaited."""
        self._reminders.append(reminder)

    def note_end(self, run: Run, task: Task, status: ToolStatus) -> None:
        """Have it said with the next publication, lest the worker that was to say so has died."""
        if run.conversation is not None:
            place = ProgressPlace(run.conversation, run=workflow.info().workflow_id)
            progress = ToolCallProgress(place, task.id, task.name)
            self._ends.append(progress.finished(workflow.now(), status))

    def is_behind(self, run: Run) -> bool:
        """True where the run went on while what came before was being published."""
        return self._published != as_listed(run)

    async def publish(self, current: Callable[[], Run]) -> None:
        """Write the run, its approvals and notices, where something changed that a list shows."""
        async with self._one_at_a_time:
            # The run may go on meanwhile, and nothing else may happen to it for days.
            while not await self._publish(current()) or self.is_behind(current()):
                continue

    async def _publish(self, run: Run) -> bool:
        """False where it has to be published once more, by another number."""
        listed, reminders = as_listed(run), self._reminders
        if self._published == listed and not reminders:
            return True
        ends, self._reminders, self._ends = self._ends, [], []
        definition = elicitation.extended(self._definition, run)
        published = of(definition, run, self._created_at, reminders, self._tools)
        whole = published.replace(entries=[*ends, *published.entries])
        known = await perform(activities.PUBLISH, whole, summary=f"{run.status} in {run.state}")
        if known.ahead is not None:
            # Temporal was made to forget what is on record (docs/decisions/0017).
            self._reminders, self._ends = [*reminders, *self._reminders], [*ends, *self._ends]
            self._outnumber(known.ahead)
            return False
        self._hooks.known = known.hooks
        self._published = listed
        self._tell_hooks(run, published)
        return True

    def _tell_hooks(self, run: Run, published: Publish) -> None:
        """Have hooks hear of approvals that are new, or decided by now; of a run that failed."""
        before, self._asked = self._asked, self._asked | _asked_in(run)
        looking_on = self._hooks.at("on_approval")
        for row in published.approvals if looking_on else ():
            known = before.get(row.id)
            if row.verdict is not None and (known is None or known.verdict != row.verdict):
                self._hooks.tell(looking_on, _approval_event(run, row, "decided"))
            elif row.active and known is None:
                self._hooks.tell(looking_on, _approval_event(run, row, "requested"))
        if run.status == "failed" and not self._failed:
            self._failed = True
            self._hooks.tell(self._hooks.at("on_error"), _error_event(run, published.run))


@dataclass(frozen=True)
class _Asked:
    """What of an approver's decision was told already."""

    verdict: str | None


def _asked_in(run: Run) -> dict[str, _Asked]:
    """Those who were asked for a decision by now, by its id: in sequence not those behind."""
    found = {}
    for approval in run.approvals.known:
        waiting = {each.id for each in approval.waiting_for()}
        for each in approval.assignees:
            if each.verdict is not None or each.id in waiting:
                found[each.id] = _Asked(each.verdict)
    return found


def _whose(run: Run) -> dict[str, Any]:
    requester = run.requester
    return {
        "caller": requester,
        "locale": run.locale,
        "now": workflow.now().astimezone(ZoneInfo(requester.timezone)),
        "conversation": run.conversation,
        "flow_run": run.id,
    }


def verdict_event(definition: FlowDefinition, run: Run, event: Decided) -> VerdictEvent:
    """An approver's decision, as hooks are told of it before it is taken."""
    return VerdictEvent(
        **_whose(run),
        approver=event.by,
        verdict=event.verdict,
        comment=event.comment or "",
        to=event.to,
        approval=event.approval,
        flow=definition.flow,
        slots=run.form.slots,
    )


def _approval_event(
    run: Run, row: records.ApprovalRecord, happened: Literal["requested", "decided"]
) -> ApprovalEvent:
    return ApprovalEvent(
        **_whose(run),
        happened=happened,
        approver=row.person,
        verdict=row.verdict or "",
        comment=row.comment or "",
        approval=row.id,
        title=row.title,
        flow=row.flow,
    )


def _error_event(run: Run, published: records.RunRecord) -> ErrorEvent:
    last = published.history[-1] if published.history else None
    why = (last.comment or last.event) if last else published.status
    return ErrorEvent(**_whose(run), of="run", name=published.flow, error=why[:LONGEST_TEXT])


def as_listed(run: Run) -> tuple[object, ...]:
    """What lists show of the run, so far as it changes."""
    return (run.status, run.state, run.visit, len(run.history), run.approvals.current)


def _standing(run: Run) -> tuple[object, ...]:
    """What its conversation hears of, even where the run has nothing to say."""
    return (run.status, run.state, run.approvals.asks_to_amend)


class ConversationNotifier:
    """What a run has to tell its conversation, until that has heard it."""

    def __init__(self, run: Run) -> None:
        self.said: list[str] = []
        self.calls: list[ToolCallView] = []
        self.begun: list[str] = []
        self._events = run.events
        self._told_of = _standing(run)

    def has_news(self, run: Run) -> bool:
        """True where something happened to the run since its conversation last heard of it."""
        return self._events != run.events

    def owes(self, run: Run) -> bool:
        """True where its conversation will hear of something besides where the run stands."""
        return run.conversation is not None and bool(self.said or self.calls or self.begun)

    def answer(
        self, definition: FlowDefinition, run: Run, known_slot_sets: Collection[str] = ()
    ) -> FlowAnswer:
        """Return the run as it stands, with everything said and not yet told; it is told by this.

        The slots that a person may fill go along, unless they are in a set that is known.
        """
        view = question.view(definition, run)
        known = view.slot_set in known_slot_sets
        said: list[Reply] = [TextReply(text=text) for text in self.said]
        replies = said if run.question.quiet else [*said, *view.replies]
        answer = FlowAnswer(
            view=view,
            fillable={} if known else question.fillable(definition, run),
            replies=replies,
            calls=self.calls,
            begun=self.begun,
        )
        self.said, self.calls, self.begun = [], [], []
        self._events, self._told_of = run.events, _standing(run)
        return answer

    def news(self, definition: FlowDefinition, run: Run, at: datetime) -> News | None:
        """What there is to tell without being asked, and is told by this; None for nothing."""
        if not self.has_news(run):
            return None
        silent = not self.said and self._told_of == _standing(run)
        if silent or run.conversation is None:
            self._events = run.events
            return None
        answer = self.answer(definition, run)
        return News(view=answer.view, replies=answer.replies, at=at, fillable=answer.fillable)

    async def tell(self, definition: FlowDefinition, run: Run) -> None:
        """Tell the conversation what happened without its asking, if anything did."""
        news = self.news(definition, run, workflow.now())
        if news is None or run.conversation is None:
            return
        notify = activities.Notify(
            tenant=run.requester.tenant,
            conversation=run.conversation,
            requester=run.requester,
            news=news,
        )
        await perform(activities.NOTIFY, notify, summary=f"{run.status} in {run.state}")
