"""What approvers decide: whether they may, and what their verdicts lead to.

A decision is bound to the digest of what was shown, to one person, and to one use.
"""

from router.domain.errors import ApprovalClosed, Conflict, NotFound, RouterError
from router.domain.texts import Localised
from router.flow import deadlines
from router.flow.approvers import Asked, Via, assignee, tell, tell_if_awaited
from router.flow.events import Decided
from router.flow.run import Agreement, Approval, Assignee
from router.flow.walk import Walk

MOST_PASSED_ON = 10
"""How often one approval may be delegated before somebody has to decide it."""
MOST_ASKED = 50
"""People asked in one approval, those added and delegated to among them."""
EXITS = {"approve": "approved", "reject": "rejected", "return": "returned"}


def refusal(walk: Walk, decided: Decided) -> RouterError | None:
    """Why this decision can't be taken; None where it can. Changes nothing.

    What isn't this person's to decide doesn't exist for them; what was decided, changed or
    closed meanwhile is a conflict.
    """
    approval = walk.run.approval
    gone = ApprovalClosed(
        "This approval was closed meanwhile; load the list anew to see what waits."
    )
    if approval is None or walk.run.ending is not None:
        return gone
    mine = next((a for a in approval.assignees if a.id == decided.approval), None)
    if mine is None:
        return gone
    if mine.person != decided.by:
        return NotFound(f"There is no approval {decided.approval!r} for you.")
    return _used(walk, approval, mine, decided) or _unusable(walk, approval, decided)


def _used(walk: Walk, approval: Approval, mine: Assignee, decided: Decided) -> Conflict | None:
    """Why this person's one decision is spent, not due yet, or about something else."""
    if walk.run.leaving:
        return Conflict("This approval was decided already; a decision counts once.")
    if mine.open and mine.behind is not None and mine not in approval.waiting_for():
        first = next((a.person for a in approval.assignees if a.id == mine.behind), "somebody")
        return Conflict(f"It isn't your turn yet: {first} decides first.")
    said_outright = mine.implied and decided.verdict == "approve"
    if mine not in approval.waiting_for() and not said_outright:
        return Conflict("This approval was decided already; a decision counts once.")
    if decided.digest is not None and decided.digest != approval.digest:
        return Conflict(
            "What was to be approved has changed since; load the approval anew and decide on "
            "what it says now."
        )
    return None


def _unusable(walk: Walk, approval: Approval, decided: Decided) -> RouterError | None:
    """Why the verdict, fitting as it is, leads nowhere."""
    if decided.verdict == "return" and not walk.state.returned:
        return Conflict("This flow can't be returned for changes; approve or reject it.")
    if decided.verdict not in ("delegate", "add"):
        return None
    if not decided.to:
        return Conflict(f"Say in `to` whom to {decided.verdict}.")
    if decided.to == walk.run.requester.id:
        return Conflict("Nobody approves a request of their own; name someone else in `to`.")
    if any(a.person == decided.to and a.open for a in approval.assignees):
        return Conflict(f"{decided.to!r} is asked already; name someone else in `to`.")
    return _too_many(approval, decided)


def _too_many(approval: Approval, decided: Decided) -> Conflict | None:
    passed_on = sum(a.verdict == "delegate" for a in approval.assignees)
    if decided.verdict == "delegate" and passed_on >= MOST_PASSED_ON:
        return Conflict(
            f"This was passed on {passed_on} times already; approve, reject or return it."
        )
    if len(approval.assignees) >= MOST_ASKED:
        return Conflict(f"{MOST_ASKED} people were asked already; no more can be.")
    return None


def decide(walk: Walk, decided: Decided) -> None:
    """Take a decision that `refusal` has nothing against."""
    approval = walk.run.approval
    if approval is None:
        return
    mine = next(a for a in approval.assignees if a.id == decided.approval)
    known = [a.id for a in approval.waiting_for()]
    walk.note(_noted(decided), decided.by, decided.comment)
    if mine.implied:
        mine.implied, mine.comment, mine.at = False, decided.comment, walk.now
        return
    if decided.verdict == "add" and decided.to:
        _add(walk, approval, mine, decided)
        return
    mine.verdict, mine.comment, mine.at = decided.verdict, decided.comment, walk.now
    if decided.verdict == "delegate" and decided.to:
        _delegate(walk, approval, mine, decided.to)
    else:
        _conclude(walk, approval, decided, known)


def _noted(decided: Decided) -> str:
    return f"{decided.verdict} {decided.position}" if decided.position else decided.verdict


def _delegate(walk: Walk, approval: Approval, mine: Assignee, to: str) -> None:
    via: Via = "added" if mine.via == "added" else "delegated"
    other = assignee(walk, Asked(to), via)
    approval.assignees.insert(approval.assignees.index(mine) + 1, other)
    approval.pass_on(mine, other)
    deadlines.next_turn(walk)
    tell_if_awaited(walk, other, "delegated")


def _add(walk: Walk, approval: Approval, mine: Assignee, decided: Decided) -> None:
    """Ask one more: before the one who adds them, after, or at the same time."""
    other = assignee(walk, Asked(decided.to or ""), "added")
    if decided.position is None:
        approval.assignees.append(other)
        tell_if_awaited(walk, other, "added")
        return
    place = approval.assignees.index(mine)
    if decided.position == "before":
        approval.assignees.insert(place, other)
        other.behind, mine.behind = mine.behind, other.id
    else:
        mine.verdict, mine.implied = "approve", True
        mine.comment, mine.at = decided.comment, walk.now
        _remember(walk, approval, mine.person)
        approval.assignees.insert(place + 1, other)
        approval.pass_on(mine, other)
        _hold_the_next(approval, other)
    deadlines.next_turn(walk)
    tell(walk, [other.person], "added")


def _hold_the_next(approval: Approval, added: Assignee) -> None:
    """In sequence, have whoever would be next wait for the one who was put in between."""
    still = [a for a in approval.asked if a.open]
    if approval.mode == "sequential" and still:
        still[0].behind = added.id


def _remember(walk: Walk, approval: Approval, person: str) -> None:
    if approval.contents:
        state, contents = walk.run.state, approval.contents
        agreed = Agreement(person=person, contents=contents, counted=[state], at=walk.now)
        walk.run.agreements.append(agreed)


def _conclude(walk: Walk, approval: Approval, decided: Decided, known: list[str]) -> None:
    if decided.verdict == "approve":
        _remember(walk, approval, decided.by or "")
        go_on(walk, approval, decided.by or "", known, decided.comment)
        return
    settle(walk, decided.verdict, decided.by or "", decided.comment)


def go_on(
    walk: Walk, approval: Approval, by: str, known: list[str], comment: str | None = None
) -> None:
    """Somebody has agreed: take the way on, or tell whoever comes next, unless `known` to them."""
    if approval.agreed:
        settle(walk, "approve", by, comment)
    else:
        _next_in_line(walk, approval, known)


def _next_in_line(walk: Walk, approval: Approval, known: list[str]) -> None:
    """Tell whoever's turn has come by this; those who were awaited before know."""
    awaited = approval.waiting_for()
    turn = approval.mode == "sequential" or any(a.behind for a in awaited)
    if turn:
        deadlines.next_turn(walk)
        tell(walk, [a.person for a in awaited if a.id not in known], "asked")


def settle(walk: Walk, verdict: str, by: str, comment: str | None = None) -> None:
    """The approval has come to this; take the way that leads to."""
    run = walk.run
    run.results["decision"] = {"by": by, "verdict": verdict, "comment": comment or ""}
    run.timers = {}
    tell(walk, run.approval.cc if run.approval else [], "decided")
    if verdict == "return":
        walk.say(_returned(comment))
        run.before = dict(run.slots)
        run.agreements = [each.counting_anew() for each in run.agreements]
    walk.leave(EXITS[verdict], by)


def _returned(comment: str | None) -> Localised:
    return Localised(
        zh=f"审批人退回了申请：{comment}" if comment else "审批人退回了申请，请修改后再提交。",
        en=f"The approver sent it back: {comment}"
        if comment
        else "The approver sent it back for changes.",
    )
