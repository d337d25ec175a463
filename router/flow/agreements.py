"""What people have agreed to in a run and its branches, so that nobody is asked for it twice.

An agreement is to contents: a digest of what the requester said and what came of it. It counts
once in a state, and anew after the run was sent back. A branch begins with those of its run and
hands over its own when it ends; the others, which may wait for the same person by then, are told:

    branch a    bob agrees ─▸ ended ─┐
    run                              ├─▸ Finished ─▸ Agreed ─┐
    branch b    bob is asked ────────────────────────────────┴─▸ carried over
"""

from collections.abc import Iterable

from router.domain.texts import Localised
from router.flow import verdicts
from router.flow.events import Agreed
from router.flow.model import Approve
from router.flow.rules import STAND_INS_AND_SKIPS
from router.flow.run import Agreement, Approval, Assignee
from router.flow.walk import Walk

CARRIED_OVER = "agreement carried over"
BEFORE = Localised(
    zh="审批人已经同意过同样的内容，不再重复审批。",
    en="The approver agreed to the same elsewhere in this request and isn't asked again.",
)


def found(walk: Walk, ask: Approve, person: str, contents: str) -> Agreement | None:
    """The person's agreement to these contents that spares them being asked here, if any."""
    if not ask.skip_same or walk.definition.rules < STAND_INS_AND_SKIPS:
        return None
    those = (
        each
        for each in walk.run.agreements
        if (each.person, each.contents) == (person, contents) and walk.run.state not in each.counted
    )
    return next(those, None)


def carry_over(walk: Walk, person: str, contents: str) -> None:
    """Have what the person agreed to before count in this state too."""
    run = walk.run
    run.agreements = [
        each.counting_in(run.state) if (each.person, each.contents) == (person, contents) else each
        for each in run.agreements
    ]
    walk.note(CARRIED_OVER, person)


def merged(known: Iterable[Agreement], told: Iterable[Agreement]) -> list[Agreement]:
    """Those that are known and those of a branch, each once, counting wherever it did in either."""
    whole = {_identity(each): each for each in known}
    for each in told:
        same = whole.get(_identity(each), each)
        whole[_identity(each)] = same.counting_in(*each.counted)
    return list(whole.values())


def unknown(known: Iterable[Agreement], told: Iterable[Agreement]) -> list[Agreement]:
    """Those of a branch that are news to its run."""
    old = {_identity(each) for each in known}
    return [each for each in told if _identity(each) not in old]


def _identity(agreement: Agreement) -> tuple[object, ...]:
    return agreement.person, agreement.contents, agreement.at


def hear(walk: Walk, event: Agreed) -> None:
    """Know what was agreed to in another branch: whoever is asked for the same agrees here too."""
    run = walk.run
    run.agreements = merged(run.agreements, event.agreements)
    approval = run.approval
    if approval is None or run.leaving is not None or run.ending is not None:
        return
    known = [one.id for one in approval.waiting_for()]
    carried = [one for one in approval.asked if _has_agreed(walk, approval, one)]
    for one in carried:
        one.via, one.verdict, one.at = "carried", "approve", walk.now
        carry_over(walk, one.person, approval.contents)
    if carried:
        walk.say(BEFORE)
        verdicts.go_on(walk, approval, carried[-1].person, known)


def _has_agreed(walk: Walk, approval: Approval, one: Assignee) -> bool:
    """True of one who is still to decide, and agreed before; who asked somebody first waits."""
    ask = walk.state.approve
    if ask is None or not one.open or one.behind is not None:
        return False
    return found(walk, ask, one.person, approval.contents) is not None
