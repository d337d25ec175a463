"""Budgets of the languages inside flow files: what evaluating may cost, counted and never timed.

Workflow code is replayed, so no clock can stop an expression or a text. Evaluation counts steps
instead, and ends at a step that is the same on every machine. One step takes 0.2 to 1 µs of
processor time on the machine in docs/benchmarks.md.
"""

from router.domain.errors import RouterError

MAX_EVALUATION_STEPS = 50_000
"""Steps of one expression or one text."""
MAX_TURN_STEPS = 200_000
"""Steps of everything that a run evaluates in one of its turns, and of a file's examination."""
CHARS_PER_STEP = 64
"""Characters that are copied or compared in one step."""


class BudgetExceeded(RouterError):
    """An evaluation needs more steps than its budget has."""


class StepBudget:
    """Counts the steps of an evaluation, within those of the turn that it belongs to."""

    def __init__(
        self, max_steps: int = MAX_EVALUATION_STEPS, within: "StepBudget | None" = None
    ) -> None:
        self.max_steps = max_steps
        self.steps = 0
        self._within = within

    def charge(self, steps: int = 1) -> None:
        """Count these steps; `BudgetExceeded` where there are no more."""
        self.steps += steps
        if self.steps > self.max_steps:
            raise BudgetExceeded(f"takes more than {self.max_steps:,} steps; let a tool compute it")
        if self._within is not None:
            self._within.charge(steps)

    def charge_text(self, chars: int) -> None:
        """Count the copying or comparing of a text."""
        self.charge(1 + chars // CHARS_PER_STEP)


def turn_budget() -> StepBudget:
    """Make the budget of one turn of a run."""
    return StepBudget(MAX_TURN_STEPS)
