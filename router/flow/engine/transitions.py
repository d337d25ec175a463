"""From state to state: leaving by an exit, going back to where something was asked for."""

from router.domain.locale import Localised
from router.flow.engine import compensation
from router.flow.engine.context import StepContext
from router.flow.engine.run import GoingBack, Leaving

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


def refused(context: StepContext) -> Localised:
    """Why a check refused, for whoever is then asked what to change."""
    error = context.run.results.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return Localised(zh=f"这样办不了：{message}", en=f"That can't be done: {message}")


def go_back(context: StepContext, names: set[str]) -> bool:
    """Ask anew where one of these slots was asked for before; False where none was."""
    earlier = _collecting_state(context, names) if names else None
    if earlier is None or earlier == context.run.state:
        return False
    context.run.held = None
    go(context, earlier, "changed", context.run.requester.id)
    return True


def _collecting_state(context: StepContext, names: set[str]) -> str | None:
    """The earliest state on the way here that collects one of these slots.

    A slot that no state asks for (half days, say) goes to the last state that collected; None
    where none did, and nothing would take it.
    """
    passed = [v.state for v in context.run.trail if context.definition.states[v.state].collects]
    affected = (s for s in passed if names & set(context.definition.states[s].collects))
    return next(affected, passed[-1] if passed else None)
