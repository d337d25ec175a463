"""A change of what was handed in, wished for by its requester while others decide.

It is weighed on a copy: everything that it touches is looked up and checked before anything is
changed. What would be different is said back, and only a yes acts: the approval is closed as
`changed`, what was done since is taken back, and the run is walked anew with all else kept. A
decision that comes before the yes wins, and the requester is told so.
"""

from collections.abc import Iterable

from router.domain.locale import Localised
from router.domain.messages import ENDED
from router.flow.definition import FlowDefinition
from router.flow.engine import form, parallel, room
from router.flow.engine.compensation import reached
from router.flow.engine.context import StepContext
from router.flow.engine.events import Amended, AmendmentJudged, Answered, Confirmed, ToQuestion
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Amendment
from router.flow.engine.run_parts.work import Ending, GoingBack
from router.flow.engine.slots import look_up_one, root
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.language.templates import TextError
from router.flow.prompts import question

FORBIDDEN = Localised(
    zh="这种申请提交后不能改。要改的话，先撤回，再重新申请。",
    en="This kind of request can't be changed once it is handed in. Withdraw it and ask anew.",
)
NOT_WAITING = Localised(
    zh="它现在不在等人审批，改不了，没有任何改变。",
    en="It isn't waiting for anybody's decision, so it can't be changed; nothing was.",
)
TOO_LATE = Localised(
    zh="刚才要改的内容没有生效：审批先有了结果。",
    en="The change was not made: the approval was settled first.",
)
LASTS = Localised(
    zh="已经办了一步撤不回来的事（{state}），所以不能再改了。",
    en="A step has been done that can't be taken back ({state}), so it can't be changed any more.",
)
NOTHING_NEW = Localised(
    zh="和现在的内容一样，没有改。", en="That is what it says; nothing was changed."
)
AS_IT_WAS = Localised(
    zh="好的，不改了，还按原来的内容等审批。",
    en="All right, it stays as it was, and still waits for approval.",
)
STILL_WAITS = Localised(zh="申请没有改，还在等审批。", en="Nothing was changed; it still waits.")
UNDECIDABLE = Localised(zh="这样改办不下去。", en="It can't go on with such a change.")
REPLACED = Localised(
    zh="又提出了另一个修改，这一个没有生效。",
    en="Another change was asked for; this one wasn't made.",
)
NO_SUCH = Localised(zh="没有这一项。", en="There is no such field.")
EXPLAINED = Localised(
    zh="“确认”就按这样改，并重新审批；“不”就还按原来的等审批。也可以直接说要改成什么。",
    en="“Yes” makes the change, and it is approved anew; “no” leaves it as it was. You can also "
    "just say what it should be.",
)


def refusal(definition: FlowDefinition, run: Run) -> Localised | None:
    """Why what was handed in can't be changed now; None where it can. Changes nothing."""
    if not _is_awaited(definition, run):
        return NOT_WAITING
    if not definition.amend:
        return FORBIDDEN
    return None


def _is_awaited(definition: FlowDefinition, run: Run) -> bool:
    """True while somebody's decision, or that of its branches, is what the whole request awaits."""
    is_branch = run.parent is not None and run.parent.startswith(f"{definition.flow}/")
    if run.status in ENDED or run.work.departs or run.recovery.withdraws is not None or is_branch:
        return False
    state = definition.states.get(run.state)
    branches = state.batch.branches if state is not None and state.batch else ()
    if branches and run.work.batch is not None:
        return any(state.asks for state in definition.states.values())
    return run.approvals.current is not None


def propose(context: StepContext, event: Amended) -> None:
    """Have the change weighed; one that nobody has answered yet is a part of it."""
    run, before = context.run, context.run.approvals.amendment
    if before is not None and before.word:
        judge(context, before, REPLACED)
    earlier = before.slots if before is not None and not before.word and not event.word else {}
    wanted = Amendment(
        slots={**earlier, **event.slots}, number=run.events, visit=run.visit, word=event.word
    )
    run.approvals.amendment = wanted
    if why := refusal(context.definition, run):
        _drop(context, why)
    elif room.is_too_much(run.form, wanted.slots):
        _drop(context, room.TOO_MUCH)


def judge(
    context: StepContext,
    wanted: Amendment,
    why: Localised | None = None,
    problems: dict[str, Localised] | None = None,
) -> None:
    """Tell whoever waits for it what came of the change."""
    if wanted.word:
        judged = AmendmentJudged(word=wanted.word, why=why, problems=problems or {})
        context.effects.append(judged)


def _drop(
    context: StepContext, why: Localised, problems: dict[str, Localised] | None = None
) -> None:
    """Leave everything as it is, and say why: by front ends that is told to whoever asked."""
    wanted, context.run.approvals.amendment = context.run.approvals.amendment, None
    if wanted is None:
        return
    judge(context, wanted, why, problems)
    if not wanted.word:
        for said in [*(problems or {}).values(), why]:
            context.say(said)


def overtaken(context: StepContext) -> None:
    """Drop a change where the approval was settled, or ended, before it was made."""
    run, wanted = context.run, context.run.approvals.amendment
    if wanted is None:
        return
    if run.visit == wanted.visit and _is_awaited(context.definition, run):
        return
    taken_back = run.status == "cancelled" or (
        isinstance(run.work.pending, Ending) and run.work.pending.status == "cancelled"
    )
    if taken_back and not wanted.word:
        run.approvals.amendment = None
    else:
        _drop(context, TOO_LATE)


def answer(context: StepContext, event: ToQuestion) -> None:
    """The requester answers whether the change is to be made."""
    match event:
        case Answered(slots=slots) | Confirmed(slots=slots, value=False) if slots:
            propose(context, Amended(by=event.by, slots=slots))
        case Confirmed(value=True):
            _make(context)
        case _:
            _drop(context, AS_IT_WAS)


def lookup_failed(context: StepContext, task: str, error: str) -> bool:
    """True where it was for a change, which is dropped with the reason."""
    wanted = context.run.approvals.amendment
    if wanted is None or task not in wanted.tasks:
        return False
    problem = Localised(zh=error, en=error)
    _drop(
        context, STILL_WAITS, dict.fromkeys(sorted({root(path) for path in wanted.slots}), problem)
    )
    return True


def weigh(context: StepContext) -> bool:
    """One move: find what the change would come to; False where there is nothing to find now."""
    run, wanted = context.run, context.run.approvals.amendment
    if wanted is None or wanted.after is not None or context.ended:
        return False
    if any(id_ in run.work.tasks for id_ in wanted.tasks):
        return False
    trial = StepContext(
        context.definition, _as_if_asked(run, wanted), context.now, budget=context.budget
    )
    try:
        refused = _unknown(context.definition, wanted.slots) or form.take_offered(trial)
        while not trial.run.work.tasks and look_up_one(trial):
            pass
    except LookupNeeded as need:
        trial.ask_world(need)
        refused = {}
    except (ExpressionError, TextError):
        _drop(context, STILL_WAITS, {root(path): UNDECIDABLE for path in wanted.slots})
        return True
    if trial.run.work.tasks:
        for id_, task in trial.run.work.tasks.items():
            run.work.tasks.setdefault(id_, task.replace(slot=""))
        run.approvals.amendment = wanted.replace(tasks=[*trial.run.work.tasks])
        return True
    _conclude(context, trial.run, refused)
    return True


def _as_if_asked(run: Run, wanted: Amendment) -> Run:
    """A copy of the run that takes the change as it would where it asked."""
    trial = run.draft()
    trial.form.offered_values, trial.work.tasks, trial.question.path = dict(wanted.slots), {}, None
    return trial


def _unknown(definition: FlowDefinition, slots: Iterable[str]) -> dict[str, Localised]:
    places = {path: path.removesuffix(".more") for path in slots}
    return {path: NO_SUCH for path, at in places.items() if definition.slot_at(at) is None}


def _conclude(context: StepContext, trial: Run, refused: dict[str, Localised]) -> None:
    run, wanted = context.run, context.run.approvals.amendment
    if wanted is None:
        return
    if refused:
        _drop(context, STILL_WAITS, refused)
    elif trial.form.slots == run.form.slots:
        _drop(context, NOTHING_NEW)
    elif (why := _irrevocable(context, wanted)) is not None:
        _drop(context, why)
    else:
        # Their names are known to the trial alone: they are shown before they are taken.
        run.form.file_names = trial.form.file_names
        run.approvals.amendment = wanted.replace(after=trial.form.slots)
        if wanted.word:
            _make(context)


def _irrevocable(context: StepContext, wanted: Amendment) -> Localised | None:
    """What was done since what is to be changed was asked for, and would be done once more."""
    target, run = _asked_in(context, wanted), context.run
    if target is None:
        return NOT_WAITING
    since = reached(context, target)
    done = next((visit for visit in run.recovery.lasting if visit.visit > since), None)
    if done is None:
        return None
    name = context.definition.states[done.state].name
    called = name or Localised(zh=done.state, en=done.state)
    zh, en = LASTS.zh.format(state=called.zh), LASTS.en.format(state=called.en)
    return Localised(zh=zh, en=en)


def _asked_in(context: StepContext, wanted: Amendment) -> str | None:
    """The state that first asked for something that is to be changed; else the last that asked."""
    states, names = context.definition.states, {root(path) for path in wanted.slots}
    passed = [v.state for v in context.run.recovery.trail if states[v.state].collects]
    affected = (state for state in passed if names & set(states[state].collects))
    return next(affected, passed[-1] if passed else None)


def _make(context: StepContext) -> None:
    """Make the change: nothing stands in the way any more."""
    run, wanted = context.run, context.run.approvals.amendment
    target = _asked_in(context, wanted) if wanted else None
    if wanted is None or wanted.after is None or target is None:
        return
    said = [
        f"{c.caption.en}: {c.before.en} ▸ {c.now.en}"
        for c in question.changed_values(context.definition, run)
    ]
    context.note("changed", run.requester.id, "; ".join(said))
    run.approvals.close_as_changed(context.now)
    run.approvals.slots_before, run.approvals.confirmed_slots = dict(run.form.slots), wanted.after
    run.approvals.count_agreements_again()
    run.work.tasks = {id_: task for id_, task in run.work.tasks.items() if task.kind == "flow"}
    parallel.stop(context, changed=True)
    run.approvals.amendment, run.work.batch, run.recovery.held = None, None, None
    run.form.offered_values, run.question.asks_what_to_change = dict(wanted.slots), False
    run.work.timers, run.status = {}, "running"
    run.work.pending = GoingBack(to=target, event="walked anew", by=run.requester.id)
    judge(context, wanted)


def is_about(question: str | None) -> bool:
    """True for the name of a question whether to make a change."""
    return question is not None and f":{MARK}" in question


MARK = "amend."
