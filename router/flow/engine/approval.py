"""Approvals: what people are shown, what they agreed to, what happens while nobody answers.

A run never approves itself and never passes for want of an approver. An agreement is to contents:
a digest of what the requester said and what came of it. It counts once in a state, and anew after
a return. Branches hand over theirs as they end, and the others are told.
"""

import hashlib
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from router.domain.locale import LOCALES, Localised
from router.domain.name_lists import say_names
from router.domain.run_history import Incident
from router.domain.visible_text import one_line
from router.flow.definition import Approve
from router.flow.engine import decisions, documents, incidents
from router.flow.engine.context import StepContext, canonical, in_both_languages
from router.flow.engine.decisions import Approver, assignee, tell, tell_those_awaited
from router.flow.engine.events import Agreed, Decided
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Approval, Assignee
from router.flow.engine.run_parts.work import Ending, Opening, Reviewing, ReviewReason
from router.flow.engine.slots import captions, unshown
from router.flow.language import templates

REMARKS = "=remarks"
"""The key, which no slot has, of what is to be known of the files."""
CARRIED_OVER = "agreement carried over"
BEFORE = Localised(
    zh="审批人已经同意过同样的内容，不再重复审批。",
    en="The approver agreed to the same elsewhere in this request and isn't asked again.",
)


def agreed_before(context: StepContext, ask: Approve, person: str, contents: str) -> bool:
    """True where the person's agreement to these contents spares them being asked here."""
    run = context.run
    same = (a for a in run.approvals.agreements if (a.person, a.contents) == (person, contents))
    return ask.skip_same and any(run.state not in a.counted for a in same)


def carry_over(context: StepContext, person: str, contents: str) -> None:
    """Have what the person agreed to before count in this state too."""
    context.run.approvals.count_agreement(person, contents, context.run.state)
    context.note(CARRIED_OVER, person)


def hear(context: StepContext, event: Agreed) -> None:
    """Know what was agreed to in another branch: whoever is asked for the same agrees here too."""
    run = context.run
    run.approvals.merge_agreements(event.agreements)
    approval = run.approvals.current
    if approval is None or run.work.departs:
        return
    known = [one.id for one in approval.waiting_for()]
    carried = [one for one in approval.asked if _has_agreed(context, approval, one)]
    for one in carried:
        one.via, one.verdict, one.at = "carried", "approve", context.now
        carry_over(context, one.person, approval.contents)
    if carried:
        context.say(BEFORE)
        decisions.go_on(context, approval, _agreeing(carried[-1].id, carried[-1].person), known)


def _agreeing(approval: str, person: str) -> Decided:
    return Decided(by=person, approval=approval, verdict="approve")


def _has_agreed(context: StepContext, approval: Approval, one: Assignee) -> bool:
    """True of one who is still to decide, and agreed before; who asked somebody first waits."""
    ask = context.state.asks
    if ask is None or not one.open or one.behind is not None:
        return False
    return agreed_before(context, ask, one.person, approval.contents)


NOBODY = Localised(
    zh="没有找到可以审批的人，这次申请没有提交成功。请联系人事或管理员。",
    en="Nobody was found who could approve this, so it wasn't filed. Please contact HR or an "
    "administrator.",
)


def approve(context: StepContext) -> bool:
    """One move in an `approve` state; False where the run now waits for a verdict."""
    run = context.run
    if run.approvals.current is None:
        try:
            open_approval(context)
        except decisions.TooManyPeople as error:
            incidents.hold_over_limit(context, str(error))
            return True
    if run.approvals.current is None or run.work.departs:
        return True
    run.status = "waiting_approval"
    return False


def open_approval(context: StepContext) -> None:
    """Ask the approvers, with what they are shown bound to a digest.

    Everything is looked up before anything is changed: this is done anew with every answer.
    """
    run, ask = context.run, _asked_for(context)
    pending = run.work.pending
    run.work.pending = opening = (
        pending if isinstance(pending, Opening) else Opening(since=context.now)
    )
    asked = decisions.to_ask(context, ask)
    if not asked:
        context.give_up(NOBODY, "nobody to approve")
        return
    # The same in every state, and in every branch of a run.
    contents = _digest({k: value for k, value in _contents(context).items() if k != "run"})
    people = [assignee(context, one) for one in asked]
    for one in people:
        if agreed_before(context, ask, one.person, contents):
            one.via, one.verdict, one.at = "carried", "approve", context.now
    summary, labels = _summary(context)
    approval = Approval(
        visit=run.visit,
        mode=ask.mode,
        title=_titled(context, ask),
        summary=summary,
        labels=labels,
        digest=_digest({**_contents(context), "state": run.state}),
        assignees=people,
        contents=contents,
        slots_digest=digest_slots(run),
        bulk=ask.bulk,
    )
    awaited = approval.waiting_for()
    dues = decisions.moments(context, ask, awaited[0].person, opening.since) if awaited else {}
    approval.due = dues.get("expire")
    approval.cc = decisions.copied(context, ask, asked)
    ids: list[JsonValue] = [one.person for one in people]
    answer = context.look_up("names", ids)
    names = answer if isinstance(answer, list) else ids
    run.work.pending, run.approvals.current = None, approval
    run.approvals.slots_before, run.approvals.confirmed_slots = None, None
    for name, due in dues.items():
        context.set_timer(name, due)
    called = {one.person: str(name) for one, name in zip(people, names, strict=False)}
    _announce(context, approval, called)


def _titled(context: StepContext, ask: Approve) -> Localised:
    """On one line, whatever it says: what is decided on stands below it."""
    title = in_both_languages(context.definition, context.run, ask.title, context.budget)
    return Localised(zh=one_line(title.zh), en=one_line(title.en))


def _contents(context: StepContext) -> dict[str, JsonValue]:
    # Of values, never of words: a better wording mustn't void decisions, nor break a replay.
    run, definition = context.run, context.definition
    flow = f"{definition.flow} {definition.version}"
    # Of what is shown: what serves to look up another slot is in that.
    silent = unshown(definition)
    slots = {name: value for name, value in run.form.slots.items() if name not in silent}
    return {"run": run.id, "flow": flow, "slots": slots}


def digest_slots(run: Run) -> str:
    """Return a digest of the run's slots, without the answers to what a tool asked back.

    A tool asks back within a call that was approved, and gets those answers beside its arguments.
    """
    return _digest(run.form.known_slots())


def _digest(shown: Mapping[str, JsonValue]) -> str:
    return hashlib.sha256(canonical(shown).encode()).hexdigest()[:32]


def _announce(context: StepContext, approval: Approval, names: Mapping[str, str]) -> None:
    """Tell everyone concerned, and go on where all have agreed to the same before."""
    run = context.run
    for one in approval.assignees:
        if one.stands_in:
            context.note("stands in", one.person, f"for {one.stands_in}, who is away")
    carried = [one.person for one in approval.assignees if one.via == "carried"]
    for person in carried:
        carry_over(context, person, approval.contents)
    if carried:
        zh, en = _listed(carried, names)
        agreed = Localised(
            zh=f"{zh} 已经同意过同样的内容，不再重复审批。",
            en=f"{en} agreed to the same before and isn't asked again.",
        )
        context.say(agreed)
    run.approvals.add_copied(approval.cc)
    if approval.agreed:
        decisions.settle(context, _agreeing("", carried[-1]))
        return
    zh, en = _listed([a.person for a in approval.assignees if a.open], names)
    sent = Localised(
        zh=f"已提交给 {zh} 审批，有结果会在这里告诉你。",
        en=f"This is with {en} for approval now; you'll hear here as soon as it is decided.",
    )
    context.say(sent)
    tell_those_awaited(context, "asked")
    tell(context, approval.cc, "copied")


def _listed(people: list[str], names: Mapping[str, str]) -> tuple[str, str]:
    said = say_names([names.get(person, person) for person in people])
    return said.zh, said.en


def _asked_for(context: StepContext) -> Approve:
    ask = context.state.asks
    if ask is None:  # pragma: no cover
        raise TypeError(f"{context.run.state} of {context.definition.flow} asks for no approval")
    return ask


def _summary(context: StepContext) -> tuple[dict[str, Localised], dict[str, Localised]]:
    """What is known, as people read it: value and label by slot, both in both languages."""
    summary, labels, form = {}, {}, context.run.form
    for name, caption in captions(context.definition).items():
        slot, value = context.definition.slots[name], form.slots.get(name)
        if value is not None:
            labels[name] = caption
            zh, en = (templates.shown(slot, value, loc, form.file_names) for loc in LOCALES)
            summary[name] = Localised(zh=zh, en=en)
    if said := documents.remarks(context.definition, context.run):
        labels[REMARKS] = Localised(zh="请注意", en="Please note")
        zh, en = ("\n".join(text.within(locale) for text in said) for locale in LOCALES)
        summary[REMARKS] = Localised(zh=zh, en=en)
    return summary, labels


def remind(context: StepContext, reason: ReviewReason, by: str | None = None) -> None:
    """Remind those who are waited for and still there; the clock's reminder sets itself anew."""
    context.note(reason, by)
    if reason == "reminded":
        decisions.set_anew(context, ["remind"])
    decisions.look_again(context, reason)


LEFT = "approver left"


def review(context: StepContext, pending: Reviewing) -> bool:
    """Ask others in place of those who are gone; hold the run if that were too many people."""
    try:
        return _review(context, pending)
    except decisions.TooManyPeople as error:
        incidents.hold_over_limit(context, str(error))
        return True


def _review(context: StepContext, pending: Reviewing) -> bool:
    """Ask others in place of those who are gone, or didn't answer, and tell who is waited for.

    Everything is looked up before anything is changed, as it is where an approval is opened.
    """
    run, ask, approval = context.run, _asked_for(context), context.run.approvals.current
    if approval is None:
        run.work.pending = pending.then
        return True
    waiting = approval.waiting_for()
    gone = decisions.gone(context, waiting)
    late = [one for one in waiting if one not in gone]
    above = [_above(context, ask, one) for one in late] if pending.reason == "escalated" else []
    places = _by_place(gone)
    instead = [decisions.instead_of(context, ask, approval, those) for those in places]
    run.work.pending = pending.then
    for one, targets in zip(late, above, strict=False):
        asked = {a.person for a in approval.assignees}
        if new := [target for target in targets if target.person not in asked]:
            decisions.replace(context, approval, [one], new, "escalated")
    left, anew = list[Assignee](), list[Assignee]()
    for those, found in zip(places, instead, strict=True):
        if found is None:
            left += those
        else:
            anew += _ask_instead(context, approval, those, found)
    _tell_of_review(context, pending.reason, left, anew)
    return True


def _above(context: StepContext, ask: Approve, one: Assignee) -> list[Approver]:
    # In place of a stand-in, those above whom they stand in for.
    return decisions.named(context, [ask.escalate_to], approver=one.stands_in or one.person)


def _by_place(gone: Iterable[Assignee]) -> list[list[Assignee]]:
    """Those whom the same expression named together: who is asked now is asked for all of them."""
    places: dict[tuple[str, bool], list[Assignee]] = {}
    for one in gone:
        places.setdefault((one.source, one.via == "added"), []).append(one)
    return list(places.values())


def _ask_instead(
    context: StepContext, approval: Approval, gone: list[Assignee], found: list[Approver]
) -> list[Assignee]:
    asked = {a.person for a in approval.assignees if a.open} if gone[0].via != "added" else ()
    new = [one for one in found if one.person not in asked]
    names = (say_names([one.person for one in people]).en for people in (gone, found) if people)
    context.note(LEFT, comment=" ▸ ".join(names))
    return decisions.replace(context, approval, gone, new, "asked")


def _tell_of_review(
    context: StepContext, reason: ReviewReason | None, left: list[Assignee], anew: list[Assignee]
) -> None:
    """Tell those who are there; the run is held for whoever is gone with nobody in their place."""
    awaited = context.run.approvals.current.waiting_for() if context.run.approvals.current else []
    new = [one.person for one in awaited if one in anew]
    others = [one.person for one in awaited if one not in anew and one not in left]
    if reason == "escalated" and others:
        context.note(reason, comment=say_names(others).en)
    if reason is not None:
        tell(context, others, reason)
    tell(context, new, "asked")
    if anew:
        decisions.set_anew(context, decisions.FOR_EACH_TURN)
    if left:
        people = [one.person for one in left]
        incident = Incident(kind="approver", at=context.now, people=people)
        names = say_names(people).en
        why = f"gone from the directory, with nobody named instead: {names}; have it reassigned"
        incidents.hold(context, "permanent", incident, why)


def expire(context: StepContext) -> None:
    """Nobody decided in time: take the way that the file has for that, or end."""
    context.note("expired")
    context.run.work.tasks = {}
    context.run.approvals.void()
    if "expired" in context.state.exits():
        context.leave("expired")
    else:
        context.run.work.pending = Ending(status="expired")
        context.run.approvals.close()
        context.run.work.timers = {}
