"""Runs as the rules and models that read answers see them: with the slots that may be filled."""

from router.flow.definition import FlowDefinition
from router.flow.engine.run import Run
from router.flow.prompts.question import fillable, view
from router.flow.view import FormView


def form(definition: FlowDefinition, run: Run) -> FormView:
    """Return the view of a run with its slots."""
    seen = view(definition, run)
    return seen.with_slots({seen.slot_set: fillable(definition, run)})
