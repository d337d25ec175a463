"""Who decides, by when, whether they may, and what their verdicts lead to.

A decision is bound to the digest of what was shown, to one person, and to one use. When spans of
`hours: working` end is looked up, counted from a moment that the run keeps: the answer comes in a
later step, whose `now` is another.
"""

import hashlib
from collections.abc import Collection, Iterable
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
from router.flow.engine.run import (
    Agreement,
    Approval,
    Assignee,
    Escalating,
    Opening,
    Rescheduling,
    TimerName,
)

Via = Literal["asked", "stands_in", "carried", "delegated", "added", "escalated"]


@dataclass(frozen=True)
class Approver:
    """Somebody to be asked; `stands_in` is who is away, where it is for someone else."""

    person: str
    stands_in: str | None = None


def to_ask(context: StepContext, ask: Approve) -> list[Approver]:
    """Those whom the file asks, else those it asks otherwise; perhaps nobody."""
    people = others(context, (context.evaluate(by) for by in ask.by))
    if not people and ask.otherwise:
        people = others(context, [context.evaluate(ask.otherwise)])
    return present(context, people)


def others(context: StepContext, answers: Iterable[JsonValue]) -> list[str]:
    """User ids without doubles, in order, and without the requester."""
    lists = (answer if isinstance(answer, list) else [answer] for answer in answers)
    people = dict.fromkeys(one for some in lists for one in some if isinstance(one, str))
    return [person for person in people if person and person != context.run.requester.id]


def present(context: StepContext, people: list[str]) -> list[Approver]:
    """These people, or whoever stands in for those of them who are away; nobody twice."""
    if not people:
        return []
    requester, pending = context.run.requester.id, context.run.pending
    since = pending.since if isinstance(pending, Opening | Escalating) else context.now
    answer = context.look_up("stand_ins", list(people), requester, since.isoformat())
    instead = answer if isinstance(answer, list) and len(answer) == len(people) else people
    asked: dict[str, Approver] = {}
    for person, other in zip(people, instead, strict=True):
        found = other if isinstance(other, str) and other not in ("", requester) else person
        asked.setdefault(found, Approver(found, person if found != person else None))
    return list(asked.values())


def copied(context: StepContext, ask: Approve, asked: list[Approver]) -> list[str]:
    """Those who are told of it without being asked, in the order of the file."""
    approvers = [one.stands_in or one.person for one in asked]
    answers = [context.evaluate(source, approver=a) for source in ask.cc for a in approvers]
    known = {one.person for one in asked}
    return [person for person in others(context, answers) if person not in known]


def assignee(context: StepContext, asked: Approver, via: Via = "asked") -> Assignee:
    """The person with an approval of their own, whose id nobody else's is."""
    run = context.run
    taken = len(run.approval.assignees) if run.approval else 0
    place = f"{context.definition.flow}/{run.requester.tenant}/{run.id}/{run.visit}"
    id_ = hashlib.sha256(f"{place}/{asked.person}/{taken}".encode()).hexdigest()[:20]
    person, away = asked.person, asked.stands_in
    via = "stands_in" if via == "asked" and away else via
    return Assignee(id=id_, person=person, since=context.now, via=via, stands_in=away)


def tell_those_awaited(context: StepContext, reason: str) -> None:
    """Tell those whose decision is awaited now that it is, and why they hear of it."""
    approval = context.run.approval
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
    if ask is None or run.approval is None:
        return
    if ask.hours == "calendar":
        for name, due in moments(context, ask, "", context.now, timers).items():
            context.set_timer(name, due)
    elif not run.departs:
        passed_up = run.pending if isinstance(run.pending, Escalating) else None
        waiting = passed_up.then if passed_up else run.pending
        earlier = waiting.timers if isinstance(waiting, Rescheduling) else []
        both = list(dict.fromkeys([*earlier, *timers]))
        then = Rescheduling(timers=both, since=context.now)
        run.pending = passed_up.model_copy(update={"then": then}) if passed_up else then


def pass_up(context: StepContext) -> None:
    """Have the approval go to somebody else, unless the run goes on from it already."""
    run = context.run
    if not run.departs:
        then = run.pending if isinstance(run.pending, Rescheduling) else None
        run.pending = Escalating(since=context.now, then=then)


def reschedule(context: StepContext, pending: Rescheduling) -> bool:
    """One move: set the timers that wait for a lookup."""
    run, ask = context.run, context.state.asks
    if ask and run.approval and run.approval.waiting_for():
        person = run.approval.waiting_for()[0].person
        for name, due in moments(context, ask, person, pending.since, pending.timers).items():
            context.set_timer(name, due)
    run.pending = None
    return True


def decide_by(approval: Approval, timers: dict[str, datetime]) -> datetime | None:
    """Until when whoever is waited for may decide: before it goes up, or expires."""
    known = [timers[name] for name in ("escalate", "expire") if name in timers]
    return min(known, default=approval.due)


MOST_PASSED_ON = 10
"""How often one approval may be delegated before somebody has to decide it."""
MOST_ASKED = 50
"""People asked in one approval, those added and delegated to among them."""
EXITS = {"approve": "approved", "reject": "rejected", "return": "returned"}


def refusal(context: StepContext, decided: Decided) -> RouterError | None:
    """Why this decision can't be taken; None where it can. Changes nothing.

    What isn't this person's to decide doesn't exist for them; what was decided, changed or
    closed meanwhile is a conflict.
    """
    approval = context.run.approval
    closed = "This approval was closed meanwhile; load the list anew to see what waits."
    gone = ApprovalClosed(closed)
    if approval is None or context.run.ending is not None:
        return gone
    mine = next((a for a in approval.assignees if a.id == decided.approval), None)
    if mine is None:
        return gone
    if mine.person != decided.by:
        return NotFound(f"There is no approval {decided.approval!r} for you.")
    return _used(context, approval, mine, decided) or _unusable(context, approval, decided)


def _used(
    context: StepContext, approval: Approval, mine: Assignee, decided: Decided
) -> Conflict | None:
    """Why this person's one decision is spent, not due yet, or about something else."""
    if context.run.departs:
        return Conflict("This approval was decided already; a decision counts once.")
    if mine.open and mine.behind is not None and mine not in approval.waiting_for():
        first = next((a.person for a in approval.assignees if a.id == mine.behind), "somebody")
        return Conflict(f"It isn't your turn yet: {first} decides first.")
    said_outright = mine.implied and decided.verdict == "approve"
    if mine not in approval.waiting_for() and not said_outright:
        return Conflict("This approval was decided already; a decision counts once.")
    if decided.digest in (None, approval.digest):
        return None
    return Conflict(
        "What was to be approved has changed since; load the approval anew and decide on what it "
        "says now."
    )


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
            f"{MOST_ASKED} people were asked already; no more can be.": len(asked) >= MOST_ASKED,
        }
    return next((Conflict(what) for what, holds in faults.items() if holds), None)


def decide(context: StepContext, decided: Decided) -> None:
    """Take a decision that `refusal` has nothing against."""
    approval = context.run.approval
    if approval is None:
        return
    mine = next(a for a in approval.assignees if a.id == decided.approval)
    known = [a.id for a in approval.waiting_for()]
    verdict = " ".join(filter(None, (decided.verdict, decided.position)))
    context.note(verdict, decided.by, decided.comment)
    if mine.implied:
        mine.implied, mine.comment, mine.at = False, decided.comment, context.now
        return
    if decided.verdict == "add" and decided.to:
        _add(context, approval, mine, decided)
        return
    mine.verdict, mine.comment, mine.at = decided.verdict, decided.comment, context.now
    if decided.verdict == "delegate" and decided.to:
        other = assignee(
            context, Approver(decided.to), "added" if mine.via == "added" else "delegated"
        )
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
        context.run.agreements.append(agreed)


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
    run.results["decision"] = {"by": by, "name": name, "verdict": verdict, "comment": comment}
    run.timers = {}
    tell(context, run.approval.cc if run.approval else [], "decided")
    if verdict == "return":
        zh, en = "审批人退回了申请，请修改后再提交。", "The approver sent it back for changes."
        if comment:
            zh = f"审批人 {name} 退回了申请：{quoted(comment)}"
            en = f"{name}, who was to approve it, sent it back: {quoted(comment)}"
        context.say(Localised(zh=zh, en=en))
        run.before = dict(run.slots)
        run.agreements = [each.counting_anew() for each in run.agreements]
    context.leave(EXITS[verdict], by)
