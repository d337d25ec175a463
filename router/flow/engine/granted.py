"""The approvals in force of a run: who approved which slots, until somebody decides otherwise.

An approval covers a call while the slots are those that the approvers saw. A rejection, a return or
an expiry voids all approvals before it, and at a join those that other branches have got meanwhile.
"""

import hashlib
from collections.abc import Collection, Sequence

from router.domain.run_approvals import RunApproval
from router.flow.engine.context import canonical
from router.flow.engine.run import Approval, Run

MAX_GRANTED = 100
"""Approvals that a run keeps for the tool gate, which needs one that covers the call."""


def digest_slots(run: Run) -> str:
    """Return a digest of the run's slots, without the answers to what a tool asked back.

    A tool asks back within a call that was approved, and gets those answers beside its arguments.
    """
    asked_back = {name for inquiry in run.inquiries for name in inquiry.slots}
    known = {
        name: value
        for name, value in run.slots.items()
        if value is not None and name not in asked_back
    }
    return hashlib.sha256(canonical(known).encode()).hexdigest()[:32]


def grant(run: Run, approval: Approval) -> None:
    """Record everyone who approved, with what they approved.

    An agreement from before a return spares a person the question, but approves no call.
    """
    in_force = {(each.person, each.contents) for each in run.agreements if not each.voided}
    people = [
        one.person
        for one in approval.assignees
        if one.verdict == "approve"
        and (one.via != "carried" or (one.person, approval.contents) in in_force)
    ]
    new = [
        RunApproval(digest=approval.slots_digest, person=person, state=run.state)
        for person in people
    ]
    run.granted = list(dict.fromkeys([*run.granted, *new]))[-MAX_GRANTED:]
    run.declined = run.declined and not new


def void(run: Run, *, returned: bool = False) -> None:
    """Forget every approval: somebody decided otherwise, or nobody has decided.

    Whoever has agreed is asked again, except where the request was merely `returned`.
    """
    run.granted, run.declined = [], True
    kept = run.agreements if returned else []
    run.agreements = [each.replace(voided=True) for each in kept]


def take_over(run: Run, inherited: Collection[RunApproval], ended: Sequence[RunApproval]) -> None:
    """Take over what a branch ended with: what it voided of what it began with is void here too.

    What it merely began with isn't brought back where another branch has voided it since. An
    approval that it got makes up for one that was declined before the branches.
    """
    kept = [each for each in run.granted if each in ended or each not in inherited]
    new = [each for each in ended if each not in inherited]
    run.granted = list(dict.fromkeys([*kept, *new]))[-MAX_GRANTED:]
    run.declined = run.declined and not new
