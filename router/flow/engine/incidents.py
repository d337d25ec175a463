"""Calls and undos that don't work out: tried again, then held for an operator.

`retry` has a call made again, by a timer, while its system is out of reach; `hold` has the run
wait for an operator. What needs code that isn't deployed is held whatever the file says, and looks
after growing pauses whether it is back. An undo that fails is tried ten times after growing
pauses, then by an operator or never (`Cancelled.final`); the rest is taken back all the same.
"""

from datetime import timedelta

from router.domain.errors import Conflict, Forbidden, NotDeployed, RouterError
from router.domain.locale import Localised
from router.domain.run_history import Incident, IncidentKind
from router.domain.visible_text import one_line
from router.flow.engine import decisions
from router.flow.engine.context import StepContext
from router.flow.engine.events import Decided, Failed, Reassigned, Retried
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import Done, FailureKind, HeldKind
from router.flow.engine.run_parts.work import Ending, GoingBack, Task

OUT_OF_REACH = Localised(
    zh="对方系统暂时连不上，稍后会自动再试，办好了告诉你。",
    en="The system behind this is out of reach; it will be tried again, and you'll hear.",
)
HELD = Localised(
    zh="这一步没有办成，已经转给管理员处理，有结果会告诉你。",
    en="This step didn't work out. An administrator has to look into it; you'll hear.",
)
WITHOUT_EFFECT: frozenset[HeldKind | None] = frozenset({"permanent", "arguments"})
"""Failures that certainly did nothing. The ledger gives the same answer for ever under a key that
failed so; under any other the same key is what keeps it from happening twice."""
WORTH_ANOTHER_TRY: frozenset[FailureKind] = frozenset({"unavailable", "unknown"})
"""A write whose system was out of reach may have been done. Under the same key it is sent again
only where its tool honours keys; of any other the ledger says `unknown` once more."""


def rests(run: Run) -> bool:
    """True where the call isn't to be made now, but later or when an operator says so."""
    return run.recovery.held is not None or "retry" in run.work.timers


def put_off(context: StepContext, task: Task, failed: Failed) -> bool:
    """Have a call that failed made later, where the file wants that; False where it doesn't."""
    run, state, kind = context.run, context.state, failed.kind
    passes = kind in WORTH_ANOTHER_TRY and not failed.final
    run.recovery.tries += passes
    if passes and state.patience and run.recovery.tries < state.patience.attempts:
        if run.recovery.tries == 1:
            context.say(OUT_OF_REACH)
        context.set_timer("retry", context.now + state.patience.every)
        return True
    if not state.holds or (kind == "arguments" and "on_error" in state.exits()):
        return False
    hold_over_call(context, task, failed)
    return True


def waits_for_operator(context: StepContext) -> bool:
    """True where an approval, or what lacks code or usable values, is held.

    It ends, or is gone back from, anyway. A call that is held for another reason waits in its own
    state.
    """
    run = context.run
    ends = isinstance(run.work.pending, Ending | GoingBack)
    if run.recovery.held is None or ends:
        return False
    if context.state.kind != "approve" and run.recovery.held not in ("missing", "data"):
        return False
    # Nobody is, where it is decided and what comes next can't be looked up.
    awaited = run.approvals.current is not None and run.approvals.current.waiting_for()
    run.status = "waiting_approval" if awaited else "waiting"
    return True


MAX_REASON_CHARS = 300
DATA_FAILED = "data failed"
"""The line of a run's history that says why a step can't be made with what the run knows."""


def hold_over_data(context: StepContext, error: Exception) -> None:
    """Have the run wait for an operator, since it can't continue with what it knows."""
    why = one_line(f"{type(error).__name__}: {error}", MAX_REASON_CHARS)
    context.note(DATA_FAILED, comment=why)
    hold(context, "data", describe(context, "data", why))
    context.run.status = "waiting"


CODE_MISSING = "code missing"
"""The line of a run's history that names the slot type or kind of state that isn't deployed."""


def hold_without_code(context: StepContext, error: NotDeployed) -> None:
    """Have the run wait until a slot type or a kind of state that it needs is deployed again."""
    why = error.said.within(context.run.locale)
    context.note(CODE_MISSING, comment=why)
    hold(context, "missing", describe(context, "code", why))
    context.run.status = "waiting"


def describe(context: StepContext, kind: IncidentKind, detail: str, name: str = "") -> Incident:
    """Describe what an operator has to see to from now on."""
    return Incident(kind=kind, at=context.now, name=name, detail=detail)


def hold_over_call(context: StepContext, task: Task, failed: Failed) -> None:
    """Have the run wait for an operator, since this call failed."""
    hold(context, failed.kind, describe(context, "call", failed.error, task.name))


def hold_over_lookup(context: StepContext, task: Task, failed: Failed) -> None:
    """Have the run wait for an operator, since this lookup failed."""
    incident = describe(context, "lookup", failed.error, task.name)
    hold(context, failed.kind, incident, f"{task.name}: {failed.error}")


def hold(
    context: StepContext, kind: HeldKind, incident: Incident, comment: str | None = None
) -> None:
    """Have the run wait for an operator, who is told of the incident."""
    run = context.run
    run.recovery.held, run.recovery.incident = kind, incident
    context.note("held", comment=comment)
    # An approver who doesn't answer is none of the requester's business.
    if run.approvals.current is None and not run.recovery.missing_tries:
        context.say(HELD)
    if kind == "missing" and run.recovery.missing_tries < MOST_TRIES:
        # While workers are replaced one after the other, an old one lacks what is new.
        context.set_timer("retry", context.now + FIRST_PAUSE * 2**run.recovery.missing_tries)
        run.recovery.missing_tries += 1


OVER_LIMIT = "over limit"
"""The history line that says which limit a run has reached; `held` follows it."""


def hold_over_limit(context: StepContext, why: str) -> None:
    """Have a run that has reached a limit wait for an operator, whom the history tells why."""
    context.note(OVER_LIMIT, comment=why)
    hold(context, "permanent", describe(context, "over_limit", why))
    # What was looked up is asked again when an operator has the run go on.
    context.run.work.lookup_answers = {}


def retry(context: StepContext, event: Retried) -> None:
    """Make the call again now; its tries are counted anew."""
    run = context.run
    if retry_refusal(run) is not None:
        return
    context.note("retried", event.by)
    run.recovery.again += run.recovery.held in WITHOUT_EFFECT
    if run.recovery.held == "data":
        # Another answer of the world may be one that the run can continue with.
        run.work.lookup_answers = {}
    run.recovery.held, run.recovery.tries, run.recovery.missing_tries = None, 0, 0
    run.work.drop_timers("retry")
    decisions.look_again(context)


def retry_refusal(run: Run) -> RouterError | None:
    """Why nothing can be made again; None where something can."""
    if run.work.ending is None and rests(run):
        return None
    return Conflict("No call of this run waits to be made again.")


def reassign(context: StepContext, event: Reassigned) -> None:
    """Ask someone else, as if the one who was asked had passed it on."""
    decided = _passed_on(context.run, event)
    if decided is not None and decisions.refusal(context, decided) is None:
        context.note("reassigned", event.by, f"{event.instead_of} ▸ {event.to}")
        decisions.decide(context, decided.replace(by=event.by))


NOT_THEIR_OWN = Localised(
    zh="自己的申请由谁审批，不能由自己指定；请别的管理员来转交。",
    en="Nobody says who decides a request of their own: have another operator reassign it.",
)


def reassign_refusal(context: StepContext, event: Reassigned) -> RouterError | None:
    """Why someone else can't be asked; None where they can."""
    if event.by == context.run.requester.id:
        return Forbidden(NOT_THEIR_OWN)
    decided = _passed_on(context.run, event)
    if decided is None:
        return Conflict(f"This run doesn't wait for a decision of {event.instead_of!r}.")
    return decisions.refusal(context, decided)


def _passed_on(run: Run, event: Reassigned) -> Decided | None:
    waiting = run.approvals.current.waiting_for() if run.approvals.current else []
    mine = next((one for one in waiting if one.person == event.instead_of), None)
    if mine is None:
        return None
    return Decided(
        by=mine.person, approval=mine.id, verdict="delegate", to=event.to, comment=event.comment
    )


FIRST_PAUSE = timedelta(minutes=1)
MOST_TRIES = 10
"""With pauses that double, that is most of a day; an operator may have it tried at any time."""

LATER = Localised(
    zh="有一步暂时没能撤回，会自动再试，撤回了告诉你。",
    en="One step couldn't be taken back yet. It will be tried again; you'll hear.",
)
UNDO_HELD = Localised(
    zh="有一步没能撤回，已经转给管理员处理，有结果会告诉你。",
    en="One step couldn't be taken back. An administrator has to look into it; you'll hear.",
)
SETTLED = Localised(
    zh="之前没能撤回的，现在也撤回了。", en="What couldn't be taken back before now has been."
)
LEFT = Localised(
    zh="管理员结束了这件事，没能撤回的那一步保持原样。",
    en="An administrator has closed this. What couldn't be taken back stays as it is.",
)


def put_off_undo(context: StepContext, task: Task, failed: Failed) -> None:
    """Keep what an undo couldn't take back, and say so, though not with every try."""
    run = context.run
    number, done = next((n, d) for n, d in enumerate(run.recovery.done) if d.key == task.undoes)
    tries = MOST_TRIES if failed.final else done.tries + 1
    here = run.recovery.done[number] = done.replace(task=task.id, failed=failed.kind, tries=tries)
    if not _passes(here) and run.recovery.owes != "operator":
        incident = describe(context, "undo", failed.error, task.name)
        run.recovery.owes, run.recovery.incident = "operator", incident
        context.note("held")
        context.say(UNDO_HELD)
    elif run.recovery.owes is None:
        run.recovery.owes = "later"
        context.say(LATER)


def rest(context: StepContext) -> None:
    """Wait: for the next try, where there is one, and for an operator in any case."""
    run = context.run
    run.status = "waiting"
    tries = [done.tries for done in run.recovery.done if _passes(done)]
    if tries and "retry" not in run.work.timers:
        context.set_timer("retry", context.now + FIRST_PAUSE * 2 ** (min(tries) - 1))


def try_later_ones(context: StepContext) -> None:
    """The pause is over: what may have passed is tried again, and whether code is back."""
    run = context.run
    if run.recovery.held == "missing":
        context.note("retried")
        run.recovery.held = None
        decisions.look_again(context)
        return
    context.note("tried again")
    run.recovery.done = [d.replace(failed=None) if _passes(d) else d for d in run.recovery.done]


def retry_undo(context: StepContext, event: Retried) -> None:
    """Try everything again now, as if for the first time.

    What was refused has another key then: under its own it would be answered as it was for ever.
    """
    run = context.run
    context.note("retried", event.by)
    run.work.timers, run.recovery.owes = {}, "later"
    for number, done in enumerate(run.recovery.done):
        if done.failed is not None:
            again = done.again + (done.failed in WITHOUT_EFFECT)
            run.recovery.done[number] = done.replace(failed=None, tries=0, again=again)


def undo_retry_refusal(run: Run) -> RouterError | None:
    """Why no undo can be made again; None where one can."""
    if any(done.failed for done in run.recovery.done) and not run.work.tasks:
        return None
    return Conflict("No undo of this run waits to be made again.")


def leave(context: StepContext) -> None:
    """Let what couldn't be taken back be, on an operator's word; the rest is still taken back."""
    run = context.run
    left = [done for done in run.recovery.done if done.failed]
    run.recovery.done = [done for done in run.recovery.done if not done.failed]
    for done in left:
        context.note("left undone", comment=f"{done.state} ({done.undo})")
    if left:
        context.say(LEFT)
        run.recovery.owes, run.recovery.says_cancelled = None, False
        run.work.drop_timers("retry")
        # What is still done wasn't withdrawn.
        if run.work.ending == "completed":
            run.work.pending = Ending(status="cancelled")


def settle(context: StepContext) -> None:
    """Say that nothing is owed any more, to whoever was told that something is."""
    if context.run.recovery.owes is not None:
        context.run.recovery.owes = None
        context.say(SETTLED)


def _passes(done: Done) -> bool:
    """True for what failed, and is tried again by itself."""
    return done.failed in WORTH_ANOTHER_TRY and done.tries < MOST_TRIES
