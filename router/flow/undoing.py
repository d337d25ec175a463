"""Taking back what was done: on cancel, on failure, and when a run goes back to an earlier state.

Every call that succeeded and names an `undo` is kept in `run.done`. Undoing goes through
them in reverse, one at a time, each an errand with a key of its own; one that can't be
taken back is said and noted, and the others are still taken back.
"""

from router.domain.texts import Localised
from router.flow.run import Done, Errand
from router.flow.walk import Walk


def unwind(walk: Walk) -> bool:
    """One move of a run that ends, or goes back; False while an undo is under way."""
    run = walk.run
    todo = due(walk)
    if todo:
        walk.run.status = "running"
        _take_back(walk, todo[-1])
        return False
    if run.ending is not None:
        walk.end(run.ending)
    elif run.back_to is not None:
        target, run.back_to = run.back_to, None
        walk.enter(target, run.leaving or "changed", run.leaving_by)
    return True


def due(walk: Walk) -> list[Done]:
    """What is still to be taken back, oldest first."""
    run = walk.run
    if run.ending is not None:
        return run.done
    return [done for done in run.done if done.visit > reached(walk, run.back_to)]


def reached(walk: Walk, state: str | None) -> int:
    """At which visit the run last entered this state; the present one where it never did."""
    visits = [v.visit for v in walk.run.trail if v.state == state]
    return visits[-1] if visits else walk.run.visit


def _take_back(walk: Walk, done: Done) -> None:
    state = walk.definition.states[done.state]
    id_ = f"undo:{done.state}:{done.visit}"
    walk.run.errands[id_] = Errand(
        id=id_,
        kind="undo",
        name=state.undo or "",
        arguments=done.arguments,
        key=f"{done.key}:undo",
        undoes=done.key,
    )


def taken_back(walk: Walk, errand: Errand, error: str | None = None) -> None:
    """An undo came back; `error` says why it couldn't be done."""
    run = walk.run
    run.done = [done for done in run.done if done.key != errand.undoes]
    walk.note(f"{errand.name}", comment=error)
    if error:
        walk.say(
            Localised(
                zh=f"有一步没能自动撤回（{errand.name}：{error}），请联系管理员处理。",
                en=f"One step couldn't be taken back ({errand.name}: {error}); "
                "please ask an administrator.",
            )
        )
