"""Approvals: who is asked, what they are shown, what their verdicts lead to.

A run never approves itself and never passes for want of an approver: the requester is
taken out of those asked, and where nobody is left `otherwise` is asked, and where that is
nobody too the run ends as failed and says so.
"""

import hashlib
from collections.abc import Iterable

from pydantic import JsonValue

from router.domain.errors import Conflict, NotFound, RouterError
from router.domain.texts import Localised
from router.flow import texts
from router.flow.model import Approve
from router.flow.run import Approval, Assignee, Decided, Remind
from router.flow.walk import Walk, canonical, rendered

NOBODY = Localised(
    zh="没有找到可以审批的人，这次申请没有提交成功。请联系人事或管理员。",
    en="Nobody was found who could approve this, so it wasn't filed. Please contact HR or an "
    "administrator.",
)


def approve(walk: Walk) -> bool:
    """One move in an `approve` state; False where the run now waits for a verdict."""
    run = walk.run
    if run.approval is None:
        open_approval(walk)
    if run.approval is None:
        return True
    run.status = "waiting_approval"
    return False


def open_approval(walk: Walk) -> None:
    """Ask the approvers, with what they are shown bound to a digest."""
    ask = _asked_for(walk)
    people = _people(walk, (walk.evaluate(by) for by in ask.by))
    if not people and ask.otherwise:
        people = _people(walk, [walk.evaluate(ask.otherwise)])
    if not people:
        walk.give_up(NOBODY, "nobody to approve")
        return
    run = walk.run
    names = walk.look_up("names", list(people))
    called = [str(name) for name in names] if isinstance(names, list) else people
    walk.say(_sent_to(called))
    title = Localised(
        zh=rendered(walk.definition, run, ask.title, "zh"),
        en=rendered(walk.definition, run, ask.title, "en"),
    )
    summary, labels = _summary(walk)
    # Of values, never of words: a better wording mustn't void decisions, nor break a replay.
    shown: dict[str, JsonValue] = {
        "run": run.id,
        "flow": f"{walk.definition.flow} {walk.definition.version}",
        "state": run.state,
        "slots": run.slots,
    }
    run.approval = Approval(
        visit=run.visit,
        mode=ask.mode,
        title=title,
        summary=summary,
        labels=labels,
        digest=hashlib.sha256(canonical(shown).encode()).hexdigest()[:32],
        assignees=[_assignee(walk, person) for person in people],
        due=walk.now + ask.expire_after if ask.expire_after else None,
    )
    _start_timers(walk, ask)
    _remind(walk, "asked")


def _sent_to(names: list[str]) -> Localised:
    """Tells the requester whose decision is awaited now."""
    zh, en = "、".join(names), ", ".join(names)
    return Localised(
        zh=f"已提交给 {zh} 审批，有结果会在这里告诉你。",
        en=f"This is with {en} for approval now; you'll hear here as soon as it is decided.",
    )


def _asked_for(walk: Walk) -> Approve:
    ask = walk.state.approve
    if ask is None:  # pragma: no cover
        raise TypeError(f"state {walk.run.state} of {walk.definition.flow} asks for no approval")
    return ask


def _people(walk: Walk, answers: Iterable[JsonValue]) -> list[str]:
    """User ids without doubles, in order, and without the requester."""
    lists = (answer if isinstance(answer, list) else [answer] for answer in answers)
    people = dict.fromkeys(one for some in lists for one in some if isinstance(one, str))
    return [person for person in people if person and person != walk.run.requester.id]


def _assignee(walk: Walk, person: str, via: str = "asked") -> Assignee:
    run = walk.run
    taken = len(run.approval.assignees) if run.approval else 0
    seed = f"{walk.definition.flow}/{run.requester.tenant}/{run.id}/{run.visit}/{person}/{taken}"
    id_ = hashlib.sha256(seed.encode()).hexdigest()[:20]
    return Assignee.model_validate({"id": id_, "person": person, "since": walk.now, "via": via})


def _summary(walk: Walk) -> tuple[dict[str, Localised], dict[str, Localised]]:
    """What is known, as people read it: value and label by slot, both in both languages."""
    summary, labels = {}, {}
    for name, slot in walk.definition.slots.items():
        value = walk.run.slots.get(name)
        if value is not None and slot.label is not None:
            labels[name] = slot.label
            summary[name] = Localised(
                zh=texts.shown(slot, value, "zh", walk.run.files),
                en=texts.shown(slot, value, "en", walk.run.files),
            )
    return summary, labels


def _start_timers(walk: Walk, ask: Approve) -> None:
    if ask.remind_every:
        walk.set_timer("remind", walk.now + ask.remind_every)
    if ask.escalate_after and ask.escalate_to:
        walk.set_timer("escalate", walk.now + ask.escalate_after)
    if ask.expire_after:
        walk.set_timer("expire", walk.now + ask.expire_after)


def _remind(walk: Walk, reason: str) -> None:
    approval = walk.run.approval
    people = [a.person for a in approval.waiting_for()] if approval else []
    if people:
        walk.effects.append(Remind.model_validate({"people": people, "reason": reason}))


def refusal(walk: Walk, decided: Decided) -> RouterError | None:
    """Why this decision can't be taken; None where it can. Changes nothing.

    What isn't this person's to decide doesn't exist for them; what was decided, changed or
    closed meanwhile is a conflict.
    """
    approval = walk.run.approval
    gone = Conflict("This approval was closed meanwhile; load the list anew to see what waits.")
    if approval is None or walk.run.ending is not None:
        return gone
    mine = next((a for a in approval.assignees if a.id == decided.approval), None)
    if mine is None:
        return gone
    if mine.person != decided.by:
        return NotFound(f"There is no approval {decided.approval!r} for you.")
    if walk.run.leaving or mine not in approval.waiting_for():
        return Conflict("This approval was decided already; a decision counts once.")
    if decided.digest is not None and decided.digest != approval.digest:
        return Conflict("What was to be approved has changed since; look at it anew.")
    return _unusable(walk, approval, decided)


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
    return None


def decide(walk: Walk, decided: Decided) -> None:
    """Take a decision that `refusal` has nothing against."""
    approval = walk.run.approval
    if approval is None:
        return
    place = next(n for n, a in enumerate(approval.assignees) if a.id == decided.approval)
    mine = approval.assignees[place]
    walk.note(decided.verdict, decided.by, decided.comment)
    if decided.verdict == "add" and decided.to:
        approval.assignees.append(_assignee(walk, decided.to, via="added"))
        _remind(walk, "added")
        return
    mine.verdict, mine.comment, mine.at = decided.verdict, decided.comment, walk.now
    if decided.verdict == "delegate" and decided.to:
        via = "added" if mine.via == "added" else "delegated"
        approval.assignees.insert(place + 1, _assignee(walk, decided.to, via=via))
        _remind(walk, "delegated")
        return
    _conclude(walk, approval, decided)


def _conclude(walk: Walk, approval: Approval, decided: Decided) -> None:
    run = walk.run
    if decided.verdict == "approve" and not approval.agreed:
        if approval.mode == "sequential":
            _remind(walk, "asked")
        return
    run.results["decision"] = {
        "by": decided.by,
        "verdict": decided.verdict,
        "comment": decided.comment or "",
    }
    run.timers = {}
    if decided.verdict == "return":
        walk.say(_returned(decided.comment))
    exits = {"approve": "approved", "reject": "rejected", "return": "returned"}
    walk.leave(exits[decided.verdict], decided.by)


def _returned(comment: str | None) -> Localised:
    return Localised(
        zh=f"审批人退回了申请：{comment}" if comment else "审批人退回了申请，请修改后再提交。",
        en=f"The approver sent it back: {comment}"
        if comment
        else "The approver sent it back for changes.",
    )


def remind(walk: Walk, reason: str, by: str | None = None) -> None:
    """Remind those who are waited for; the reminder of the clock sets itself anew."""
    walk.note(reason, by)
    _remind(walk, reason)
    every = walk.state.approve.remind_every if walk.state.approve else None
    if reason == "reminded" and every:
        walk.set_timer("remind", walk.now + every)


def escalate(walk: Walk) -> bool:
    """Ask, in place of those who didn't answer, whoever the file names for that."""
    run = walk.run
    ask, approval = _asked_for(walk), run.approval
    if approval is None or ask.escalate_to is None:
        run.escalating = False
        return True
    late = approval.waiting_for()
    targets = [_people(walk, [walk.evaluate(ask.escalate_to, approver=a.person)]) for a in late]
    run.escalating = False
    asked = {a.person for a in approval.assignees}
    for one, instead in zip(late, targets, strict=True):
        new = [p for p in instead if p not in asked]
        if new:
            one.verdict, one.at = "escalated", walk.now
            via = "added" if one.via == "added" else "escalated"
            place = approval.assignees.index(one) + 1
            approval.assignees[place:place] = [_assignee(walk, p, via=via) for p in new]
            asked.update(new)
    walk.note("escalated", comment=", ".join(a.person for a in approval.waiting_for()))
    _remind(walk, "escalated")
    return True


def expire(walk: Walk) -> None:
    """Nobody decided in time: take the way that the file has for that, or end."""
    walk.note("expired")
    if walk.state.expired:
        walk.leave("expired")
    else:
        walk.run.ending = "expired"
        walk.run.approval = None
        walk.run.timers = {}
