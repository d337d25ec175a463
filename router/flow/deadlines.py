"""When an approver is reminded, passed over, or too late.

Spans of `hours: working` end at a moment that depends on holidays, so it is looked up and
recorded with the run. What has to be looked up is counted from a moment that the run keeps:
the answer comes in a later step, whose `now` is another.
"""

from datetime import datetime, timedelta

from pydantic import JsonValue

from router.flow.model import Approve
from router.flow.rules import STAND_INS_AND_SKIPS
from router.flow.run import Approval, Rescheduling, TimerName
from router.flow.walk import Walk

FOR_EACH_TURN: list[TimerName] = ["remind", "escalate"]
"""What begins anew with whoever comes next; when the approval expires stays as it was."""


def spans(ask: Approve) -> dict[TimerName, timedelta]:
    """The timers that the file wants, and how long they run."""
    wanted: dict[TimerName, timedelta | None] = {
        "remind": ask.remind_every,
        "escalate": ask.escalate_after if ask.escalate_to else None,
        "expire": ask.expire_after,
    }
    return {name: span for name, span in wanted.items() if span}


def moments(
    walk: Walk, ask: Approve, person: str, since: datetime, timers: list[TimerName] | None = None
) -> dict[TimerName, datetime]:
    """When the timers are due (all of the file, or these); may raise `LookupNeeded`."""
    wanted = {n: span for n, span in spans(ask).items() if timers is None or n in timers}
    return {name: _due(walk, ask, person, since, span) for name, span in wanted.items()}


def _due(walk: Walk, ask: Approve, person: str, since: datetime, span: timedelta) -> datetime:
    if ask.hours == "calendar":
        return since + span
    duration: dict[str, JsonValue] = {"days": span.days, "hours": span.seconds / 3600}
    answer = walk.look_up("working_time", person, since.isoformat(), duration)
    try:
        due = datetime.fromisoformat(str(answer))
    except ValueError:
        return since + span
    return due if due.tzinfo else since + span


def set_anew(walk: Walk, timers: list[TimerName]) -> None:
    """Have these timers begin now, or as soon as it is looked up when they are due."""
    ask, approval = walk.state.approve, walk.run.approval
    if ask is None or approval is None:
        return
    if ask.hours == "calendar":
        for name, due in moments(walk, ask, "", walk.now, timers).items():
            walk.set_timer(name, due)
    else:
        pending = walk.run.rescheduling.timers if walk.run.rescheduling else []
        both = list(dict.fromkeys([*pending, *timers]))
        walk.run.rescheduling = Rescheduling(timers=both, since=walk.now)


def next_turn(walk: Walk) -> None:
    """Somebody else's turn has come: they have as long as whoever was asked first."""
    if walk.definition.rules >= STAND_INS_AND_SKIPS:
        set_anew(walk, FOR_EACH_TURN)


def reschedule(walk: Walk) -> bool:
    """One move: set the timers that wait for a lookup."""
    run, ask = walk.run, walk.state.approve
    if run.rescheduling and ask and run.approval and run.approval.waiting_for():
        person = run.approval.waiting_for()[0].person
        pending = run.rescheduling
        for name, due in moments(walk, ask, person, pending.since, pending.timers).items():
            walk.set_timer(name, due)
    run.rescheduling = None
    return True


def decide_by(approval: Approval, timers: dict[str, datetime]) -> datetime | None:
    """Until when whoever is waited for may decide: before it goes up, or expires."""
    known = [timers[name] for name in ("escalate", "expire") if name in timers]
    return min(known, default=approval.due)
