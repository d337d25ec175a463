"""The flow machine: a pure function from a run and an event to the run after it.

    step(definition, run, event, now) -> (run, effects)

Only functions of their arguments run in it. What the run needs of the world stands in the
run as tasks and timers (see `router.flow.engine.run`); `effects` are what is said once.

A step takes the event in, then moves from state to state until the run waits for something
named: an answer (`collect`, `confirm`), a task, an approval, a timer; or has ended.
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
from router.flow.engine.run import Ending, Escalating, GoingBack, Leaving, Rescheduling, Run
from router.flow.engine.transitions import BROKEN, leave
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.language.templates import TextError
from router.flow.prompts import guidance, question

MOST_MOVES = 200
"""Moves in one step before a flow that never waits is ended; the loader refuses such files."""


def step(
    definition: FlowDefinition, run: Run, event: AnyEvent, now: datetime
) -> tuple[Run, list[Effect]]:
    """The run after the event, and what to say of it. A run that has ended stays as it is."""
    context = StepContext(elicitation.extended(definition, run), run.draft(), now)
    if context.ended:
        return context.run, []
    context.run.events += 1
    context.run.quiet = False
    HANDLERS[type(event)](context, event)
    advance(context)
    guidance.say_what_stays(context)
    guidance.help_with(run, context, refused=not isinstance(event, Unclear))
    waiting.keep_time(context, event)
    return context.run, context.effects


def advance(context: StepContext) -> None:
    """Move until the run waits for something named, or has ended."""
    for _ in range(MOST_MOVES):
        try:
            if not _move(context):
                _word_question(context)
                return
        except LookupNeeded as need:
            context.ask_world(need)
            if context.run.status not in ("collecting", "confirming", "waiting_approval"):
                context.run.status = "running"
            return
        except (ExpressionError, TextError) as error:
            context.run.offered = {}
            context.give_up(BROKEN, str(error))
    context.run.done = []
    context.note("failed", comment=f"more than {MOST_MOVES} moves without waiting")
    context.end("failed")


def _word_question(context: StepContext) -> None:
    """Find now that the question can't be worded, not when somebody wants to read it."""
    if not context.run.tasks:
        question.question(context.definition, context.run)


def _move(context: StepContext) -> bool:
    """One move; False where the run now waits."""
    run = context.run
    if context.ended or run.tasks or incidents.holds_approval(context):
        return False
    match run.pending:
        case Ending() | GoingBack() | Leaving(clears=int()):
            return compensation.unwind(context)
        case Leaving() as leaving:
            return leave(context, leaving)
        case Escalating() as escalating:
            return approval.escalate(context, escalating)
        case Rescheduling() as rescheduling:
            return decisions.reschedule(context, rescheduling)
    return context.state.execute(context)


def refusal_of(
    definition: FlowDefinition, run: Run, event: Decided | Retried | Reassigned, now: datetime
) -> RouterError | None:
    """Why this decision, or this word of an operator, can't be taken; None where it can."""
    context = StepContext(definition, run, now)
    if isinstance(event, Retried):
        return incidents.undo_retry_refusal(run) and incidents.retry_refusal(run)
    if isinstance(event, Reassigned):
        return incidents.reassign_refusal(context, event)
    return decisions.refusal(context, event)
