"""When a call doesn't work out: tried again later, held for an operator, and what operators do.

A tool's own tries are over within minutes. What its file says comes after them: `retry` calls
it again for as long as its system is out of reach, at intervals kept by a timer; `hold` has the
run wait for an operator, who has the call made again or ends the run.
"""

from router.domain.errors import Conflict, RouterError
from router.domain.texts import Localised
from router.flow import verdicts
from router.flow.events import Decided, Failed, Reassigned, Retried
from router.flow.run import Errand, FailureKind, Run
from router.flow.walk import Walk

OUT_OF_REACH = Localised(
    zh="对方系统暂时连不上，稍后会自动再试，办好了告诉你。",
    en="The system behind this is out of reach; it will be tried again, and you'll hear.",
)
HELD = Localised(
    zh="这一步没有办成，已经转给管理员处理，有结果会告诉你。",
    en="This step didn't work out. An administrator has to look into it; you'll hear.",
)
WITHOUT_EFFECT: frozenset[FailureKind | None] = frozenset({"permanent", "arguments"})
"""Failures that certainly did nothing. The ledger gives the same answer for ever under a key that
failed so; under any other the same key is what keeps it from happening twice."""
WORTH_ANOTHER_TRY: frozenset[FailureKind] = frozenset({"unavailable", "unknown"})
"""A write whose system was out of reach may have been done. Under the same key it is sent again
only where its tool honours keys; of any other the ledger says `unknown` once more."""


def rests(walk: Walk) -> bool:
    """True where the call isn't to be made now, but later or when an operator says so."""
    run = walk.run
    if run.held is None and "retry" not in run.timers:
        return False
    run.status = "waiting"
    return True


def put_off(walk: Walk, kind: FailureKind) -> bool:
    """Have a call that failed made later, where the file wants that; False where it doesn't."""
    run, state = walk.run, walk.state
    run.tries += kind in WORTH_ANOTHER_TRY
    if kind in WORTH_ANOTHER_TRY and state.retry and run.tries < state.retry.attempts:
        if run.tries == 1:
            walk.say(OUT_OF_REACH)
        walk.set_timer("retry", walk.now + state.retry.every)
        return True
    if not state.hold or (kind == "arguments" and state.on_error):
        return False
    _hold(walk, kind)
    return True


def hold_lookup(walk: Walk, errand: Errand, failed: Failed) -> None:
    """Have an approval wait where something it has to know can't be looked up.

    Whoever was asked already may decide all the same, which has it looked up again too.
    """
    _hold(walk, failed.kind, f"{errand.name}: {failed.error}")


def holds_approval(walk: Walk) -> bool:
    """True where an approval waits for an operator; it ends, or is gone back from, without one."""
    run = walk.run
    if run.held is None or walk.state.kind != "approve" or run.ending or run.back_to:
        return False
    run.status = "waiting" if run.approval is None else "waiting_approval"
    return True


def _hold(walk: Walk, kind: FailureKind, why: str | None = None) -> None:
    walk.run.held = kind
    walk.note("held", comment=why)
    # An approver who doesn't answer is none of the requester's business.
    if walk.run.approval is None:
        walk.say(HELD)


def retry(walk: Walk, event: Retried) -> None:
    """Make the call again now; its tries are counted anew."""
    run = walk.run
    if retry_refusal(run) is not None:
        return
    walk.note("retried", event.by)
    run.again += run.held in WITHOUT_EFFECT
    run.held, run.tries = None, 0
    run.timers = {name: timer for name, timer in run.timers.items() if name != "retry"}


def retry_refusal(run: Run) -> RouterError | None:
    """Why nothing can be made again; None where something can."""
    if run.ending is None and (run.held is not None or "retry" in run.timers):
        return None
    return Conflict("No call of this run waits to be made again.")


def reassign(walk: Walk, event: Reassigned) -> None:
    """Ask someone else, as if the one who was asked had passed it on."""
    decided = _passed_on(walk.run, event)
    if decided is not None and verdicts.refusal(walk, decided) is None:
        walk.note("reassigned", event.by, f"{event.instead_of} ▸ {event.to}")
        verdicts.decide(walk, decided.model_copy(update={"by": event.by}))


def reassign_refusal(walk: Walk, event: Reassigned) -> RouterError | None:
    """Why someone else can't be asked; None where they can."""
    decided = _passed_on(walk.run, event)
    if decided is None:
        return Conflict(f"This run doesn't wait for a decision of {event.instead_of!r}.")
    return verdicts.refusal(walk, decided)


def _passed_on(run: Run, event: Reassigned) -> Decided | None:
    waiting = run.approval.waiting_for() if run.approval else []
    mine = next((one for one in waiting if one.person == event.instead_of), None)
    if mine is None:
        return None
    return Decided(
        by=mine.person, approval=mine.id, verdict="delegate", to=event.to, comment=event.comment
    )
