"""What a run does in each kind of state, and how it leaves one.

A move is `move(context) -> bool`: False where the run now waits. It changes nothing before all that
it needs of the world is known (`LookupNeeded`), since it is made anew when the answer is there.
"""

from collections.abc import Callable

from router.domain.locale import Localised
from router.flow.engine import (
    approval,
    compensation,
    elicitation,
    form,
    incidents,
    parallel,
    waiting,
)
from router.flow.engine.changes import CHANGE
from router.flow.engine.context import StepContext
from router.flow.engine.events import Say
from router.flow.engine.run import Ending, GoingBack, Leaving, Task
from router.flow.engine.slots import forget, root

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
    missing = any(run.slots.get(name) is None for name in run.options)
    turned_down = event == "on_error" and context.state.kind == "check" and not missing
    run.changing = context.definition.states[target].kind == "collect" and (
        turned_down or event in ("declined", "returned")
    )
    if turned_down and run.changing:
        context.say(refused(context))
    if any(done.visit > compensation.reached(context, target) for done in run.done):
        run.pending = GoingBack(to=target, event=event, by=by)
        return
    context.enter(target, event, by)


def _call(context: StepContext) -> bool:
    run, state = context.run, context.state
    if state.each is not None:
        return parallel.go_on(context)
    if incidents.rests(context):
        return False
    id_ = f"{run.state}:{run.visit}"
    key = f"{context.definition.flow}/{run.requester.tenant}/{run.id}:{id_}"
    key += f":again{run.again}" if run.again else ""
    run.tasks[id_] = Task(
        id=id_,
        kind="call",
        name=state.call or "",
        arguments=context.arguments(),
        key=key,
        answers=elicitation.answers(context, run.state),
    )
    run.status = "running"
    return False


def _check(context: StepContext) -> bool:
    run, state = context.run, context.state
    id_ = f"{run.state}:{run.visit}"
    run.tasks[id_] = Task(
        id=id_, kind="check", name=state.check or "", arguments=context.arguments()
    )
    run.status = "running"
    return False


def refused(context: StepContext) -> Localised:
    """Why a check refused, for whoever is then asked what to change."""
    error = context.run.results.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return Localised(zh=f"这样办不了：{message}", en=f"That can't be done: {message}")


def _collect(context: StepContext) -> bool:
    """A move where slots are asked for, or back to where one was that is to be put right."""
    run = context.run
    if run.offered and go_back(context, form.corrected(context)):
        return True
    known = set(run.slots)
    moved = form.collect(context)
    return go_back(context, form.lacking(context, known)) or moved


def go_back(context: StepContext, names: set[str]) -> bool:
    """Ask anew where one of these slots was asked for before; False where none was."""
    earlier = _collecting_state(context, names) if names else None
    if earlier is None or earlier == context.run.state:
        return False
    context.run.held = None
    go(context, earlier, "changed", context.run.requester.id)
    return True


def _confirm(context: StepContext) -> bool:
    run = context.run
    if run.offered and go_back(context, _offered(context)):
        return True
    run.status, run.offered = "confirming", {}
    return False


def _offered(context: StepContext) -> set[str]:
    """The slots that are being put right, and the one that is to be asked for anew."""
    names = {root(path) for path in context.run.offered}
    anew = context.run.offered.get(CHANGE)
    return {*names, root(anew)} if isinstance(anew, str) else names


def _collecting_state(context: StepContext, names: set[str]) -> str | None:
    """The earliest state on the way here that collects one of these slots.

    A slot that no state asks for (half days, say) goes to the last state that collected; None
    where none did, and nothing would take it.
    """
    passed = [v.state for v in context.run.trail if context.definition.states[v.state].collect]
    affected = (s for s in passed if names & set(context.definition.states[s].collect or ()))
    return next(affected, passed[-1] if passed else None)


def _say(context: StepContext) -> bool:
    run, state = context.run, context.state
    if state.say is not None:
        context.effects.append(Say(text=context.render(state.say)))
    forget(context, state.forget)
    if state.end is None:
        context.leave("next")
    elif state.end != "completed" and not state.keep:
        run.pending = Ending(status=state.end)
    elif run.withdraws is not None and state.end == "completed":
        run.done = [*run.withdraws.done, *run.done]
        run.pending = Ending(status=state.end)
    else:
        context.end(state.end)
    return True


EXECUTORS: dict[str, Callable[[StepContext], bool]] = {
    "collect": _collect,
    "check": _check,
    "call": _call,
    "confirm": _confirm,
    "approve": approval.approve,
    "flow": parallel.go_on,
    "parallel": parallel.go_on,
    "wait": waiting.wait,
    "say": _say,
}
"""What a run does in a state, by the kind of the state."""
