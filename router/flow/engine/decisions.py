"""Who decides, by when, whether they may, and what their verdicts lead to.

A decision is bound to the digest of what was shown, to one person, and to one use. When spans of
`hours: working` end is looked up, counted from a moment that the run keeps: the answer comes in a
later step, whose `now` is another.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pydantic import JsonValue

from router.domain.errors import ApprovalClosed, Conflict, NotFound, RouterError
from router.domain.locale import Localised
from router.domain.visible_text import one_line, quoted
from router.flow.definition import Approve
from router.flow.engine.context import StepContext
from router.flow.engine.events import Decided, Remind
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import (
    MAX_APPROVERS,
    MAX_ASSIGNEES,
    Agreement,
    Approval,
    Assignee,
)
from router.flow.engine.run_parts.work import (
    Opening,
    Rescheduling,
    Reviewing,
    ReviewReason,
    TimerName,
)

Via = Literal["asked", "stands_in", "carried", "delegated", "added", "escalated"]


@dataclass(frozen=True)
class Approver:
    """Somebody to be asked, by which expression; `stands_in` is who is away, where one is."""

    person: str
    stands_in: str | None = None
    source: str = ""


MAX_ADDED = 50
"""People whom approvers ask in one approval besides those whom the file names."""


class TooManyPeople(Exception):
    """More people are named than one approval can ask or tell."""


def check_number(people: Collection[str], source: str) -> None:
    """Raise `TooManyPeople` for more people than `MAX_APPROVERS`, named by this expression."""
    if len(people) > MAX_APPROVERS:
        raise TooManyPeople(
            f"{source} names {len(people)} people; one approval asks or tells {MAX_APPROVERS} at "
            "most. Name fewer in the directory and retry, or terminate the run"
        )


def to_ask(context: StepContext, ask: Approve) -> list[Approver]:
    """Those whom the file asks, else those it asks otherwise; perhaps nobody."""
    return named(context, ask.by) or named(context, [ask.otherwise])


def named(context: StepContext, sources: Sequence[str | None], **more: JsonValue) -> list[Approver]:
    """Those whom these expressions name and who are there, or whoever stands in for them.

    Raises `TooManyPeople`.
    """
    found: dict[str, str] = {}
    for source in filter(None, sources):
        for person in others(context, [context.evaluate(source, **more)]):
            found.setdefault(person, source)
    check_number(found, ", ".join(filter(None, sources)))
    asked: dict[str, Approver] = {}
    for (person, source), other in zip(found.items(), _stand_ins(context, [*found]), strict=True):
        if other is not None:
            one = person if other in ("", context.run.requester.id) else other
            asked.setdefault(one, Approver(one, person if one != person else None, source))
    return list(asked.values())


def others(context: StepContext, answers: Iterable[JsonValue]) -> list[str]:
    """User ids without doubles, in order, and without the requester."""
    lists = (answer if isinstance(answer, list) else [answer] for answer in answers)
    people = dict.fromkeys(one for some in lists for one in some if isinstance(one, str))
    return [person for person in people if person and person != context.run.requester.id]


def _stand_ins(context: StepContext, people: Sequence[str]) -> list[str | None]:
    """Who is asked in place of each, perhaps themselves; None of whoever is gone."""
    if not people:
        return []
    requester, pending = context.run.requester.id, context.run.work.pending
    since = pending.since if isinstance(pending, Opening | Reviewing) else context.now
    answer = context.look_up("stand_ins", list(people), requester, since.isoformat())
    instead = answer if isinstance(answer, list) and len(answer) == len(people) else people
    return [None if one is None else str(one) for one in instead]


def gone(context: StepContext, people: Sequence[Assignee]) -> list[Assignee]:
    """Those who aren't in the directory any more."""
    answers = _stand_ins(context, [one.person for one in people])
    return [one for one, other in zip(people, answers, strict=True) if other is None]


def instead_of(
    context: StepContext, ask: Approve, approval: Approval, left: Sequence[Assignee]
) -> list[Approver] | None:
    """Who is asked in place of these, who are gone and had the same place; None for nobody.

    Nobody is needed (an empty list) where others are waited for who do as well.
    """
    first = left[0]
    standing = [a for a in approval.assignees if a.open and a not in left]
    asked = {a.person for a in approval.assignees if a.open or a.verdict == "approve"}
    known = first.stands_in or first.person
    for sources in ([first.source] if first.source else ask.by), [ask.otherwise], [ask.escalate_to]:
        found = named(context, sources, approver=known)
        if new := [one for one in found if one.person not in asked]:
            return new
        if first.via != "added" and any(_does_as_well(approval, one, first) for one in standing):
            return []
    return None


def _does_as_well(approval: Approval, one: Assignee, other: Assignee) -> bool:
    same = approval.mode == "any" or bool(one.source and one.source == other.source)
    return one.via != "added" and same


def replace(
    context: StepContext,
    approval: Approval,
    before: Sequence[Assignee],
    new: Sequence[Approver],
    via: Via,
) -> list[Assignee]:
    """Ask these in place of those who don't decide any more; nobody where others do as well.

    Raises `TooManyPeople`.
    """
    first, last = before[0], before[-1]
    if len(approval.assignees) + len(new) > MAX_ASSIGNEES:
        raise TooManyPeople(
            f"{len(approval.assignees)} people were asked for one approval, and {MAX_ASSIGNEES} "
            "are the most. Have it decided, or terminate the run"
        )
    asked = [assignee(context, one, "added" if first.via == "added" else via) for one in new]
    place = approval.assignees.index(last) + 1
    for one in asked:
        one.source = first.source
    approval.assignees[place:place] = asked
    for one in before:
        one.verdict, one.at = "escalated", context.now
        if asked:
            approval.pass_on(one, asked[-1])
    return asked


def copied(context: StepContext, ask: Approve, asked: list[Approver]) -> list[str]:
    """Those who are told of it without being asked, in the order of the file."""
    approvers = [one.stands_in or one.person for one in asked]
    answers = [context.evaluate(source, approver=a) for source in ask.cc for a in approvers]
    known = {one.person for one in asked}
    told = [person for person in others(context, answers) if person not in known]
    check_number(told, f"cc: {', '.join(ask.cc)}")
    return told


def assignee(context: StepContext, asked: Approver, via: Via = "asked") -> Assignee:
    """The person with an approval of their own, whose id nobody else's is."""
    run = context.run
    taken = len(run.approvals.current.assignees) if run.approvals.current else 0
    place = f"{context.definition.flow}/{run.requester.tenant}/{run.id}/{run.visit}"
    id_ = hashlib.sha256(f"{place}/{asked.person}/{taken}".encode()).hexdigest()[:20]
    person, away = asked.person, asked.stands_in
    via = "stands_in" if via == "asked" and away else via
    return Assignee(
        id=id_, person=person, since=context.now, via=via, stands_in=away, source=asked.source
    )


def tell_those_awaited(context: StepContext, reason: str) -> None:
    """Tell those whose decision is awaited now that it is, and why they hear of it."""
    approval = context.run.approvals.current
    tell(context, [a.person for a in approval.waiting_for()] if approval else [], reason)


def tell(context: StepContext, people: list[str], reason: str) -> None:
    """Tell these people of the approval."""
    if people:
        context.effects.append(Remind.model_validate({"people": people, "reason": reason}))


FOR_EACH_TURN: list[TimerName] = ["remind", "escalate"]
"""What begins anew with whoever comes next; when the approval expires stays as it was."""


def moments(
    context: StepContext,
    ask: Approve,
    person: str,
    since: datetime,
    timers: Collection[TimerName] = ("remind", "escalate", "expire"),
) -> dict[TimerName, datetime]:
    """When those of the timers that the file wants are due; may raise `LookupNeeded`."""
    wanted: dict[TimerName, timedelta | None] = {
        "remind": ask.remind_every,
        "escalate": ask.escalate_after if ask.escalate_to else None,
        "expire": ask.expire_after,
    }
    spans = {name: span for name, span in wanted.items() if span and name in timers}
    return {name: _due(context, ask, person, since, span) for name, span in spans.items()}


def _due(
    context: StepContext, ask: Approve, person: str, since: datetime, span: timedelta
) -> datetime:
    if ask.hours == "calendar":
        return since + span
    duration: dict[str, JsonValue] = {"days": span.days, "hours": span.seconds / 3600}
    answer = context.look_up("working_time", person, since.isoformat(), duration)
    try:
        due = datetime.fromisoformat(str(answer))
    except ValueError:
        return since + span
    return due if due.tzinfo else since + span


def set_anew(context: StepContext, timers: list[TimerName]) -> None:
    """Have these timers begin now, or as soon as it is looked up when they are due."""
    run, ask = context.run, context.state.asks
    if ask is None or run.approvals.current is None:
        return
    if ask.hours == "calendar":
        for name, due in moments(context, ask, "", context.now, timers).items():
            context.set_timer(name, due)
    elif not run.work.departs:
        reviewing = run.work.pending if isinstance(run.work.pending, Reviewing) else None
        waiting = reviewing.then if reviewing else run.work.pending
        earlier = waiting.timers if isinstance(waiting, Rescheduling) else []
        both = list(dict.fromkeys([*earlier, *timers]))
        then = Rescheduling(timers=both, since=context.now)
        run.work.pending = reviewing.replace(then=then) if reviewing else then


def look_again(context: StepContext, reason: ReviewReason | None = None) -> None:
    """Have the directory asked anew who of those waited for is gone, and the others told."""
    run, before = context.run, context.run.work.pending
    if run.approvals.current is None or run.work.departs:
        return
    if run.recovery.held is not None:
        context.note("looked again")
        run.recovery.held = None
    then = before if isinstance(before, Rescheduling) else None
    if isinstance(before, Reviewing):
        then = before.then
        reason = "escalated" if before.reason == "escalated" else reason or before.reason
    run.work.lookup_answers = {}
    run.work.pending = Reviewing(since=context.now, reason=reason, then=then)


def reschedule(context: StepContext, pending: Rescheduling) -> bool:
    """One move: set the timers that wait for a lookup."""
    run, ask = context.run, context.state.asks
    if ask and run.approvals.current and run.approvals.current.waiting_for():
        person = run.approvals.current.waiting_for()[0].person
        for name, due in moments(context, ask, person, pending.since, pending.timers).items():
            context.set_timer(name, due)
    run.work.pending = None
    return True


def decide_by(approval: Approval, timers: dict[str, datetime]) -> datetime | None:
    """Until when whoever is waited for may decide: before it goes up, or expires."""
    known = [timers[name] for name in ("escalate", "expire") if name in timers]
    return min(known, default=approval.due)


MOST_PASSED_ON = 10
"""How often one approval may be delegated before somebody has to decide it."""
EXITS = {"approve": "approved", "reject": "rejected", "return": "returned"}


CHANGED = Localised(
    zh="申请人改了这份申请，这一次审批已经作废；请看新的。",
    en="Its requester has changed this request, so this approval is void; see the new one.",
)


def _was_changed(run: Run, decided: Decided) -> bool:
    closed = [one for approval in run.approvals.ended for one in approval.assignees]
    mine = next((one for one in closed if one.id == decided.approval), None)
    return mine is not None and (mine.person, mine.verdict) == (decided.by, "changed")


DONE = {
    "approve": Localised(zh="同意", en="approved"),
    "reject": Localised(zh="拒绝", en="rejected"),
    "return": Localised(zh="退回", en="returned"),
    "delegate": Localised(zh="转交", en="passed on"),
}


def decided_already(verdict: str, at: datetime | None, by: str | None = None) -> Conflict:
    """Build the refusal of a decision after another one, with what was decided, when and by whom.

    Args:
        verdict: the verdict that was counted.
        at: when that was, in the reader's time zone where it is known.
        by: the person who decided; None where that is the reader.
    """
    done = DONE.get(verdict, Localised(zh=verdict, en=verdict))
    moment = f"{at:%Y-%m-%d %H:%M} {at.tzname() or ''}".strip() if at else ""
    zh_when, en_when = (f"在 {moment} ", f" at {moment}") if moment else ("", "")
    zh = f"{by or '您'} 已经{zh_when}{done.zh}过了；一份审批只算一次。"
    en = f"{by or 'You'} {done.en} this already{en_when}; a decision counts once."
    return Conflict(Localised(zh=zh, en=en))


def is_repeat(run: Run, decided: Decided) -> bool:
    """Return whether this person has made the very same decision on the same digest before.

    A decision whose answer was lost is sent again, perhaps at another front end. One with a comment
    that the first one didn't have is another decision: its comment would be lost otherwise.
    """
    found = _found(run, decided)
    if found is None:
        return False
    approval, mine = found
    if mine.person != decided.by or decided.digest not in (None, approval.digest):
        return False
    if decided.verdict == "add":
        return _has_added(run, approval, decided)
    if mine.verdict != decided.verdict or mine.implied:
        return False
    if decided.comment not in (None, mine.comment):
        return False
    return decided.verdict != "delegate" or any(
        one.person == decided.to and one.since == mine.at for one in approval.assignees
    )


def _has_added(run: Run, approval: Approval, decided: Decided) -> bool:
    """Return whether this person asked the same one in addition, in the same place."""
    added = {one.since for one in approval.assignees if one.person == decided.to}
    return any(
        (line.event, line.by) == (_noted(decided), decided.by)
        and decided.comment in (None, line.comment)
        and line.at in added
        for line in run.history
    )


def _noted(decided: Decided) -> str:
    """Return the event under which the run's history has this decision."""
    return " ".join(filter(None, (decided.verdict, decided.position)))


def _found(run: Run, decided: Decided) -> tuple[Approval, Assignee] | None:
    every = ((approval, one) for approval in run.approvals.known for one in approval.assignees)
    return next((each for each in every if each[1].id == decided.approval), None)


def refusal(context: StepContext, decided: Decided) -> RouterError | None:
    """Why this decision can't be taken; None where it can. Changes nothing.

    What isn't this person's to decide doesn't exist for them; what was decided, changed or
    closed meanwhile is a conflict. One that `is_repeat` is refused too: it counted already.
    """
    approval = context.run.approvals.current
    if _was_changed(context.run, decided):
        return Conflict(CHANGED)
    found = _found(context.run, decided)
    if found is not None and found[1].person != decided.by:
        return NotFound(f"There is no approval {decided.approval!r} for you.")
    if found is None or approval is None or context.run.work.ending is not None:
        return _closed(found)
    if found[0] is not approval:
        return _closed(found)
    return _used(context, approval, found[1], decided) or _unusable(context, approval, decided)


def _closed(found: tuple[Approval, Assignee] | None) -> Conflict:
    """Say what closed an approval, where that was a decision."""
    made = _decision_made(*found) if found is not None else None
    closed = "This approval was closed meanwhile; load the list anew to see what waits."
    return made or ApprovalClosed(closed)


def _decision_made(approval: Approval, mine: Assignee) -> Conflict | None:
    """Say what this person has decided, or else whose decision settled the approval, if any did."""
    if mine.verdict in DONE:
        return decided_already(str(mine.verdict), mine.at)
    made = [one for one in approval.assignees if one.verdict in EXITS and one.at is not None]
    last = max(made, key=lambda one: one.at or one.since, default=None)
    if last is None or (last.verdict == "approve" and not approval.agreed):
        return None
    return decided_already(str(last.verdict), last.at, last.person)


def _used(
    context: StepContext, approval: Approval, mine: Assignee, decided: Decided
) -> Conflict | None:
    """Why this person's one decision is spent, not due yet, or about something else."""
    counted = _decision_made(approval, mine) or Conflict(
        "This approval was decided already; a decision counts once."
    )
    if context.run.work.departs:
        return counted
    waiting = approval.waiting_for()
    if mine.open and mine not in waiting and (first := _first_before(approval, mine)):
        return Conflict(f"It isn't your turn yet: {first} decides first.")
    said_outright = mine.implied and decided.verdict == "approve"
    if mine not in waiting and not said_outright:
        return counted
    if decided.digest in (None, approval.digest):
        return None
    return Conflict(
        "What was to be approved has changed since; load the approval anew and decide on what it "
        "says now."
    )


def _first_before(approval: Approval, mine: Assignee) -> str | None:
    """Return who has to decide before this person; None where it isn't a matter of turns."""
    if mine.behind is not None:
        return next((a.person for a in approval.assignees if a.id == mine.behind), "somebody")
    if approval.mode == "sequential" and mine.via != "added":
        return next((one.person for one in approval.waiting_for()), None)
    return None


def _unusable(context: StepContext, approval: Approval, decided: Decided) -> Conflict | None:
    """Why the verdict, fitting as it is, leads nowhere."""
    to, asked = decided.to, approval.assignees
    faults = {
        "This flow can't be returned for changes; approve or reject it.": (
            decided.verdict == "return" and "returned" not in context.state.exits()
        )
    }
    if decided.verdict in ("delegate", "add"):
        passed_on = sum(a.verdict == "delegate" for a in asked)
        added = sum(a.via in ("delegated", "added") for a in asked)
        faults |= {
            f"Say in `to` whom to {decided.verdict}.": not to,
            "Nobody approves a request of their own; name someone else in `to`.": (
                to == context.run.requester.id
            ),
            f"{to!r} is asked already; name someone else in `to`.": (
                any(a.person == to and a.open for a in asked)
            ),
            f"This was passed on {passed_on} times already; approve, reject or return it.": (
                decided.verdict == "delegate" and passed_on >= MOST_PASSED_ON
            ),
            f"{added} people were added to this approval already; no more can be.": (
                added >= MAX_ADDED
            ),
        }
    return next((Conflict(what) for what, holds in faults.items() if holds), None)


def decide(context: StepContext, decided: Decided) -> None:
    """Take a decision that `refusal` has nothing against; what it was held for is seen anew."""
    run, approval = context.run, context.run.approvals.current
    if approval is None:
        return
    held, run.recovery.held = run.recovery.held, None
    _take(context, approval, decided)
    if held is not None:
        look_again(context)


def _take(context: StepContext, approval: Approval, decided: Decided) -> None:
    mine = next(a for a in approval.assignees if a.id == decided.approval)
    known = [a.id for a in approval.waiting_for()]
    context.note(_noted(decided), decided.by, decided.comment)
    if mine.implied:
        mine.implied, mine.comment, mine.at = False, decided.comment, context.now
        return
    if decided.verdict == "add" and decided.to:
        _add(context, approval, mine, decided)
        return
    mine.verdict, mine.comment, mine.at = decided.verdict, decided.comment, context.now
    if decided.verdict == "delegate" and decided.to:
        via: Via = "added" if mine.via == "added" else "delegated"
        other = assignee(context, Approver(decided.to, source=mine.source), via)
        approval.assignees.insert(approval.assignees.index(mine) + 1, other)
        approval.pass_on(mine, other)
        set_anew(context, FOR_EACH_TURN)
        tell(context, [other.person] if other in approval.waiting_for() else [], "delegated")
    elif decided.verdict == "approve":
        _remember(context, approval, decided.by or "")
        go_on(context, approval, decided, known)
    else:
        settle(context, decided)


def _add(context: StepContext, approval: Approval, mine: Assignee, decided: Decided) -> None:
    """Ask one more: before the one who adds them, after, or at the same time."""
    other = assignee(context, Approver(decided.to or ""), "added")
    if decided.position is None:
        approval.assignees.append(other)
        # One whose turn comes later hears of it then.
        tell(context, [other.person] if other in approval.waiting_for() else [], "added")
        return
    place = approval.assignees.index(mine)
    if decided.position == "before":
        approval.assignees.insert(place, other)
        other.behind, mine.behind = mine.behind, other.id
    else:
        mine.verdict, mine.implied = "approve", True
        mine.comment, mine.at = decided.comment, context.now
        _remember(context, approval, mine.person)
        approval.assignees.insert(place + 1, other)
        approval.pass_on(mine, other)
        # In sequence, have whoever would be next wait for the one who was put in between.
        still = [a for a in approval.asked if a.open]
        if approval.mode == "sequential" and still:
            still[0].behind = other.id
    set_anew(context, FOR_EACH_TURN)
    tell(context, [other.person], "added")


def _remember(context: StepContext, approval: Approval, person: str) -> None:
    if approval.contents:
        state, contents = context.run.state, approval.contents
        agreed = Agreement(person=person, contents=contents, counted=[state], at=context.now)
        context.run.approvals.agreements.append(agreed)


def go_on(context: StepContext, approval: Approval, agreed: Decided, known: list[str]) -> None:
    """Somebody has agreed: take the way on, or tell whoever comes next, unless `known` to them."""
    if approval.agreed:
        settle(context, agreed)
    else:
        # Tell whoever's turn has come by this; those who were awaited before know.
        awaited = approval.waiting_for()
        if approval.mode == "sequential" or any(a.behind for a in awaited):
            set_anew(context, FOR_EACH_TURN)
            tell(context, [a.person for a in awaited if a.id not in known], "asked")


def settle(context: StepContext, decided: Decided) -> None:
    """The approval has come to this; take the way that leads to."""
    run, by, comment = context.run, decided.by or "", decided.comment or ""
    name, verdict = one_line(decided.name or by), decided.verdict
    run.work.results["decision"] = {"by": by, "name": name, "verdict": verdict, "comment": comment}
    # Whatever is looked up for the approval isn't needed any more.
    run.work.timers, run.work.tasks = {}, {}
    if verdict == "approve" and run.approvals.current is not None:
        run.approvals.grant(run.state)
    else:
        run.approvals.void(returned=verdict == "return")
    tell(context, run.approvals.current.cc if run.approvals.current else [], "decided")
    if verdict == "return":
        zh, en = "审批人退回了申请，请修改后再提交。", "The approver sent it back for changes."
        if comment:
            zh = f"审批人 {name} 退回了申请：{quoted(comment)}"
            en = f"{name}, who was to approve it, sent it back: {quoted(comment)}"
        context.say(Localised(zh=zh, en=en))
        run.approvals.slots_before = dict(run.form.slots)
        run.approvals.count_agreements_again()
    context.leave(EXITS[verdict], by)
