"""The rules of a sub-agent's loop, as functions of what it has done so far."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from router.domain.messages import Usage
from router.domain.texts import Localised
from router.skill.skill import Skill

Stop = Literal["turns", "tokens", "seconds", "errors"]

MOST_ERRORS = 3
"""Steps in a row that came to nothing."""


class Progress(BaseModel):
    """What a run has done: its steps, their cost, and how many of the last came to nothing."""

    model_config = ConfigDict(frozen=True)

    steps: int = 0
    usage: Usage = Usage()
    errors: int = 0

    def after(self, usage: Usage, *, fruitless: bool) -> "Progress":
        """The progress after one more step."""
        return Progress(
            steps=self.steps + 1,
            usage=self.usage + usage,
            errors=self.errors + 1 if fruitless else 0,
        )


def why_stop(skill: Skill, progress: Progress, seconds_left: float) -> Stop | None:
    """Why no further step is taken; None where one is.

    >>> skill = Skill.model_construct(max_turns=2, token_budget=1000)
    >>> why_stop(skill, Progress(steps=2), 10.0)
    'turns'
    """
    if progress.errors >= MOST_ERRORS:
        return "errors"
    if progress.steps >= skill.max_turns:
        return "turns"
    if progress.usage.tokens >= skill.token_budget:
        return "tokens"
    return "seconds" if seconds_left <= 0 else None


STOPPED: dict[Stop, Localised] = {
    "turns": Localised(
        zh="步数用完了，还没有得出结论。", en="I ran out of steps before I had an answer."
    ),
    "tokens": Localised(
        zh="这次能用的额度用完了，还没有得出结论。",
        en="I used up what this may cost before I had an answer.",
    ),
    "seconds": Localised(
        zh="时间到了，还没有得出结论。", en="I ran out of time before I had an answer."
    ),
    "errors": Localised(
        zh="连续几步都没有进展，先停下了。", en="Several steps in a row led nowhere, so I stopped."
    ),
}
"""What the employee is told."""
