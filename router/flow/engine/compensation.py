"""Ways back and on: leaving a state, going back to one, and taking back what was done.

Calls that succeeded and name an `undo` stand in `run.recovery.done`, and are undone in reverse,
one at a time; what can't be is for `incidents`. A completed run is taken back by a run of its own,
which asks for approval first: rejected or expired it leaves everything as it is.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.run_history import HistoryEntry
from router.flow.definition import FlowDefinition, State, Triggers
from router.flow.engine import incidents
from router.flow.engine.context import StepContext
from router.flow.engine.events import Failed, StartedOver
from router.flow.engine.run import History, Run
from router.flow.engine.run_parts.form import Form
from router.flow.engine.run_parts.recovery import Done, Recovery, Visit, Withdraws
from router.flow.engine.run_parts.work import Ending, GoingBack, Leaving, Task, Work

ASKED, AGREED, REFUSED, LAPSED = "withdrawal", "taken_back", "kept", "lapsed"

_TAKEN_BACK = Localised(
    zh="已同意撤回，正在取消已经办了的事。",
    en="The withdrawal was agreed to; what had been done is being undone.",
)
UNDONE = Localised(
    zh="已经撤回，之前办了的事都取消了。",
    en="It is taken back: everything that had been done has been undone.",
)
_KEPT = Localised(
    zh="撤回没有获批，原来的申请不变。{{ results.decision|remark }}",
    en="The withdrawal was not approved; the request stands as it was."
    " {{ results.decision|remark }}",
)
_LAPSED = Localised(
    zh="没有人审批这次撤回，原来的申请不变。",
    en="Nobody decided on the withdrawal; the request stands as it was.",
)


def can_be_withdrawn(definition: FlowDefinition, run: Run) -> bool:
    """True for a completed run that did something its file has a way to take back."""
    undoable = run.status == "completed" and bool(run.recovery.done)
    return definition.withdrawal is not None and undoable


def definition_of(definition: FlowDefinition) -> FlowDefinition:
    """The flow that takes back a completed run of this one; its file must have a `withdrawal`."""
    if definition.withdrawal is None:
        raise TypeError(f"{definition.flow} has no withdrawal")
    ask = definition.withdrawal.approve
    states: dict[str, dict[str, object]] = {
        ASKED: {"approve": ask, "approved": AGREED, "rejected": REFUSED},
        AGREED: {"say": _TAKEN_BACK, "end": "completed"},
        REFUSED: {"say": _KEPT, "end": "rejected"},
    }
    if ask.expire_after is not None:
        states[ASKED]["expired"] = LAPSED
        states[LAPSED] = {"say": _LAPSED, "end": "expired"}
    zh, en = f"撤回{definition.title.zh}", f"Withdrawal: {definition.title.en}"
    read = {name: State.model_validate(state) for name, state in states.items()}
    return definition.replace(
        title=Localised(zh=zh, en=en),
        triggers=Triggers(),
        withdrawal=None,
        start=ASKED,
        states=read,
    )


def with_what_it_undoes(  # noqa: PLR0913 - a run is made of all these
    run: Run,
    *,
    withdraws: str,
    done: Sequence[Done],
    slots: dict[str, JsonValue],
    results: dict[str, JsonValue],
    files: dict[str, str],
    comment: str | None,
    now: datetime,
) -> Run:
    """The new run as it begins, knowing what the run `withdraws` knew."""
    by = run.requester.id
    asked = HistoryEntry(at=now, state="", event="withdrawal asked", by=by, comment=comment)
    first = Withdraws(run=withdraws, done=list(done))
    return run.replace(
        form=Form(slots=slots, file_names=files),
        work=Work(results=results),
        recovery=Recovery(withdraws=first),
        history=History([asked]),
    )


CANCELLED = Localised(zh="好的，已取消。", en="All right, that's cancelled.")
CANCELLING = Localised(
    zh="好的，正在取消。有一步已经在办了，一有结果就告诉你。",
    en="All right, cancelling. One step is under way already; you'll hear what became of it.",
)

TAKING_BACK = Localised(
    zh="好的，正在撤回已经办好的部分，全部撤回之后告诉你。",
    en="All right, what was done already is being taken back; you'll hear when all of it has been.",
)
ANEW = Localised(zh="好的，从头来。", en="All right, from the beginning.")
STARTED_OVER = "started_over"
UNDER_WAY = Localised(
    zh="已经在撤回了，全部撤回之后告诉你。",
    en="It is being taken back already; you'll hear when all of it has been.",
)


def say_cancelled(context: StepContext) -> None:
    """Tell the requester, unless another run does; runs that were started end first."""
    under_way = {task.kind for task in context.run.work.tasks.values()} - {"undo"}
    if context.run.recovery.told_elsewhere or under_way == {"flow"}:
        return
    if under_way:
        context.say(CANCELLING)
    else:
        _say_cancelled(context)


def _say_cancelled(context: StepContext) -> None:
    """That it is cancelled; where something is to be taken back first, that, and the rest then."""
    run = context.run
    run.recovery.says_cancelled = bool(run.recovery.done)
    context.say(TAKING_BACK if run.recovery.says_cancelled else CANCELLED)


def start_over(context: StepContext, event: StartedOver) -> None:
    """Forget every answer, and go back to the start once what was done is taken back."""
    run = context.run
    context.say(ANEW)
    run.form.forget_answers()
    run.work.results, run.question.asks_what_to_change = {}, False
    # As if the start had been entered before anything was done: then all of it is after that.
    run.recovery.trail = [Visit(state=context.definition.start, visit=0)]
    run.work.pending = GoingBack(to=context.definition.start, event=STARTED_OVER, by=event.by)


def unwind(context: StepContext) -> bool:
    """One move of a run that ends, or goes back; False while an undo is under way."""
    run = context.run
    todo = due(context)
    if ready := [done for done in todo if done.failed is None]:
        run.status = "running"
        task = _undo(run, ready[-1])
        run.work.tasks[task.id] = task
        return False
    if todo:
        incidents.rest(context)
        return False
    incidents.settle(context)
    match run.work.pending:
        case Ending(status=status):
            if run.recovery.withdraws is not None and status == "completed":
                context.say(UNDONE)
            elif run.recovery.says_cancelled:
                context.say(CANCELLED)
            context.end(status)
        case GoingBack() as back:
            context.enter(back.to, back.event, back.by)
        case Leaving() as leaving:
            run.work.pending = leaving.replace(clears=None)
    return True


def due(context: StepContext) -> list[Done]:
    """What is still to be taken back, oldest first."""
    run = context.run
    match run.work.pending:
        case Ending():
            return run.recovery.done
        case GoingBack(to=to):
            return [done for done in run.recovery.done if done.visit > reached(context, to)]
        case Leaving(clears=visit):
            return [done for done in run.recovery.done if done.visit == visit]
    return []


def reached(context: StepContext, state: str) -> int:
    """At which visit the run last entered this state; the present one where it never did."""
    visits = [v.visit for v in context.run.recovery.trail if v.state == state]
    return visits[-1] if visits else context.run.visit


def _undo(run: Run, done: Done) -> Task:
    key = f"{done.key}:undo" + (f":again{done.again}" if done.again else "")
    id_ = f"undo:{done.state}:{done.visit}" + (f":{done.part}" if done.part is not None else "")
    # Runs that were started hand over what they did under the names of their own states.
    place = done.state, done.visit, done.part
    so_far = run.recovery.done[: run.recovery.done.index(done) + 1]
    alike = sum((other.state, other.visit, other.part) == place for other in so_far)
    id_ = done.task or (f"{id_}#{alike}" if alike > 1 else id_)
    name, arguments = done.undo, done.arguments
    return Task(id=id_, kind="undo", name=name, arguments=arguments, key=key, undoes=done.key)


def taken_back(context: StepContext, task: Task, failed: Failed | None = None) -> None:
    """An undo came back; its failure tells operators, not the requester, why it wasn't done."""
    run = context.run
    this = next(done for done in run.recovery.done if done.key == task.undoes)
    step = f"{this.state} ({task.name})"
    if failed:
        context.note("undo failed", comment=f"{step}: {failed.error}")
        incidents.put_off_undo(context, task, failed)
    else:
        context.note("undone", comment=step)
        run.recovery.done = [done for done in run.recovery.done if done is not this]


def called_off(
    context: StepContext, task: Task, *, lasts: bool = False, unknown: bool = False
) -> None:
    """A call came back that was under way when the run was cancelled: say what is left of it.

    `lasts`: it was done, and nothing takes it back. `unknown`: nobody can tell whether it was.
    """
    if not lasts and not unknown:
        last = not any(other.may_change_something for other in context.run.work.tasks.values())
        if last and not context.run.recovery.told_elsewhere:
            _say_cancelled(context)
        return
    step = task.name
    context.note("unknown" if unknown else "done before it was cancelled", comment=step)
    unsure = Localised(
        zh=f"取消时有一步正在办（{step}），没法确认它生效了没有。请到实际办理的系统里查一下。",
        en=f"One step was under way when you cancelled ({step}), and it may or may not have been "
        "done. Please look in the system where it takes effect.",
    )
    too_late = Localised(
        zh=f"取消晚了一步：{step} 已经办成，没法自动撤回。要撤回的话，请联系管理员处理。",
        en=f"The cancellation came too late: {step} had been done already and can't be taken back "
        "from here. Please ask an administrator if it has to be.",
    )
    context.say(unsure if unknown else too_late)


BROKEN = Localised(
    zh="流程出错了，没法继续，已经通知管理员。",
    en="This flow ran into an error and can't go on; the administrators were told.",
)


def leave(context: StepContext, leaving: Leaving) -> bool:
    """Take the exit that was chosen, to the first branch whose condition holds."""
    for branch in context.state.exits().get(leaving.exit, ()):
        if branch.condition is None or context.evaluate(branch.condition) is True:
            go(context, branch.to, leaving.exit, leaving.by)
            return True
    context.give_up(BROKEN, f"no branch of {context.run.state}.{leaving.exit} holds")
    return True


def go(context: StepContext, target: str, event: str, by: str | None) -> None:
    """Enter a state, once what was done since an earlier visit of it is taken back."""
    run = context.run
    # Where it is asked which of several is meant, nothing was refused yet.
    missing = any(run.form.slots.get(name) is None for name in run.form.options)
    turned_down = event == "on_error" and context.state.kind == "check" and not missing
    run.question.asks_what_to_change = context.definition.states[target].kind == "collect" and (
        turned_down or event in ("declined", "returned")
    )
    if turned_down and run.question.asks_what_to_change:
        context.say(refused(context))
    if any(done.visit > reached(context, target) for done in run.recovery.done):
        run.work.pending = GoingBack(to=target, event=event, by=by)
        return
    context.enter(target, event, by)


def refused(context: StepContext) -> Localised:
    """Why a check refused, for whoever is then asked what to change."""
    error = context.run.work.results.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return Localised(zh=f"这样办不了：{message}", en=f"That can't be done: {message}")


def go_back(context: StepContext, names: set[str]) -> bool:
    """Ask anew where one of these slots was first asked for on the way here; False where none was.

    A slot that no state asks for (half days, say) goes to the last state that collected.
    """
    states = context.definition.states
    passed = (
        [v.state for v in context.run.recovery.trail if states[v.state].collects] if names else []
    )
    affected = (state for state in passed if names & set(states[state].collects))
    earlier = next(affected, passed[-1] if passed else None)
    if earlier is None or earlier == context.run.state:
        return False
    context.run.recovery.held = None
    go(context, earlier, "changed", context.run.requester.id)
    return True
