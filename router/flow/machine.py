"""The flow machine: a pure function from a run and an event to the run after it.

    step(definition, run, event, now) -> (run, effects)

Only functions of their arguments run in it. What the run needs of the world stands in the
run as errands and timers (see `router.flow.run`); `effects` are what is said once.

A step takes the event in, then moves from state to state until the run waits for something
named: an answer (`collect`, `confirm`), an errand, an approval, a timer; or has ended.
Where an expression needs a lookup the move stops half-way, having changed nothing that it
wouldn't change again, and is made anew when the answer is there.
"""

from datetime import datetime

from router.domain.errors import RouterError
from router.flow import (
    approving,
    deadlines,
    explaining,
    idling,
    inquiring,
    misses,
    operating,
    showing,
    stuck,
    undoing,
    verdicts,
)
from router.flow.events import AnyEvent, Decided, Effect, Reassigned, Retried, Unclear
from router.flow.expressions import ExpressionError, LookupNeeded
from router.flow.model import FlowDefinition
from router.flow.moving import BROKEN, MOVES, leave
from router.flow.run import Run
from router.flow.taking import TAKERS
from router.flow.texts import TextError
from router.flow.walk import Walk

MOST_MOVES = 200
"""Moves in one step before a flow that never waits is ended; the loader refuses such files."""


def step(
    definition: FlowDefinition, run: Run, event: AnyEvent, now: datetime
) -> tuple[Run, list[Effect]]:
    """The run after the event, and what to say of it. A run that has ended stays as it is."""
    walk = Walk(inquiring.extended(definition, run), run.draft(), now)
    if walk.ended:
        return walk.run, []
    walk.run.events += 1
    walk.run.quiet = False
    TAKERS[type(event)](walk, event)
    advance(walk)
    explaining.say_what_stays(walk)
    misses.help_with(run, walk, refused=not isinstance(event, Unclear))
    idling.keep_time(walk, event)
    return walk.run, walk.effects


def advance(walk: Walk) -> None:
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


def _word_question(walk: Walk) -> None:
    """Find now that the question can't be worded, not when somebody wants to read it."""
    if not walk.run.errands:
        showing.question(walk.definition, walk.run)


def _move(walk: Walk) -> bool:
    """One move; False where the run now waits."""
    run = walk.run
    if walk.ended or run.errands or operating.holds_approval(walk):
        return False
    if run.ending is not None or run.clearing is not None or run.back_to is not None:
        return undoing.unwind(walk)
    if run.leaving is not None:
        return leave(walk)
    if run.escalating:
        return approving.escalate(walk)
    if run.rescheduling is not None:
        return deadlines.reschedule(walk)
    return MOVES[walk.state.kind](walk)


def refusal_of(
    definition: FlowDefinition, run: Run, event: Decided | Retried | Reassigned, now: datetime
) -> RouterError | None:
    """Why this decision, or this word of an operator, can't be taken; None where it can."""
    walk = Walk(definition, run, now)
    if isinstance(event, Retried):
        return stuck.retry_refusal(run) and operating.retry_refusal(run)
    if isinstance(event, Reassigned):
        return operating.reassign_refusal(walk, event)
    return verdicts.refusal(walk, event)
