"""The flow machine: a pure function from a run and an event to the run after it.

    step(definition, run, event, now) -> (run, effects)

Only functions of their arguments run in it. What the run needs of the world stands in the
run as errands and timers (see `router.flow.engine.run`); `effects` are what is said once.

A step takes the event in, then moves from state to state until the run waits for something
named: an answer (`collect`, `confirm`), an errand, an approval, a timer; or has ended.
Where an expression needs a lookup the move stops half-way, having changed nothing that it
wouldn't change again, and is made anew when the answer is there.
"""

from datetime import datetime

from router.domain.errors import RouterError
from router.flow.definition import FlowDefinition
from router.flow.engine import approval, compensation, decisions, elicitation, incidents, waiting
from router.flow.engine.context import StepContext
from router.flow.engine.events import AnyEvent, Decided, Effect, Reassigned, Retried, Unclear
from router.flow.engine.handlers import HANDLERS
from router.flow.engine.run import Run
from router.flow.engine.states import BROKEN, EXECUTORS, leave
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.language.templates import TextError
from router.flow.prompts import guidance, question

MOST_MOVES = 200
"""Moves in one step before a flow that never waits is ended; the loader refuses such files."""


def step(
    definition: FlowDefinition, run: Run, event: AnyEvent, now: datetime
) -> tuple[Run, list[Effect]]:
    """The run after the event, and what to say of it. A run that has ended stays as it is."""
    walk = StepContext(elicitation.extended(definition, run), run.draft(), now)
    if walk.ended:
        return walk.run, []
    walk.run.events += 1
    walk.run.quiet = False
    HANDLERS[type(event)](walk, event)
    advance(walk)
    guidance.say_what_stays(walk)
    guidance.help_with(run, walk, refused=not isinstance(event, Unclear))
    waiting.keep_time(walk, event)
    return walk.run, walk.effects


def advance(walk: StepContext) -> None:
    """Move until the run waits for something named, or has ended."""
    for _ in range(MOST_MOVES):
        try:
            if not _move(walk):
                _word_question(walk)
                return
        except LookupNeeded as need:
            walk.ask_world(need)
            if walk.run.status not in ("collecting", "confirming", "waiting_approval"):
                walk.run.status = "running"
            return
        except (ExpressionError, TextError) as error:
            walk.run.offered = {}
            walk.give_up(BROKEN, str(error))
    walk.run.done = []
    walk.note("failed", comment=f"more than {MOST_MOVES} moves without waiting")
    walk.end("failed")


def _word_question(walk: StepContext) -> None:
    """Find now that the question can't be worded, not when somebody wants to read it."""
    if not walk.run.errands:
        question.question(walk.definition, walk.run)


def _move(walk: StepContext) -> bool:
    """One move; False where the run now waits."""
    run = walk.run
    if walk.ended or run.errands or incidents.holds_approval(walk):
        return False
    if run.ending is not None or run.clearing is not None or run.back_to is not None:
        return compensation.unwind(walk)
    if run.leaving is not None:
        return leave(walk)
    if run.escalating:
        return approval.escalate(walk)
    if run.rescheduling is not None:
        return decisions.reschedule(walk)
    return EXECUTORS[walk.state.kind](walk)


def refusal_of(
    definition: FlowDefinition, run: Run, event: Decided | Retried | Reassigned, now: datetime
) -> RouterError | None:
    """Why this decision, or this word of an operator, can't be taken; None where it can."""
    walk = StepContext(definition, run, now)
    if isinstance(event, Retried):
        return incidents.undo_retry_refusal(run) and incidents.retry_refusal(run)
    if isinstance(event, Reassigned):
        return incidents.reassign_refusal(walk, event)
    return decisions.refusal(walk, event)
