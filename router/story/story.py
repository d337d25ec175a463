"""Stories: dialogues with a flow, and what is to come of each of their steps.

Steps of two sorts alternate as they like: acts, by which something happens (someone says or decides
something, time passes), and expectations, which hold or don't.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from router.domain.locale import Locale
from router.story.entries import BEGINS, Expectation, Failing, StepEntry, UserStep


@dataclass(frozen=True)
class StoryStep:
    """A step: where it stands in its file, how it reads there, and what it is."""

    line: int
    written: str = field(compare=False)
    entry: StepEntry | Expectation

    def __str__(self) -> str:
        return self.written


@dataclass(frozen=True)
class Story:
    """One dialogue: who has it, when it begins, and its steps."""

    name: str
    file: str
    line: int
    steps: tuple[StoryStep, ...]
    user: str = "alice"
    locale: Locale | None = None
    """What is spoken; None is the user's own language."""
    now: datetime = BEGINS
    """When it begins; without a time zone, in the user's."""
    failing: Mapping[str, Failing] = field(default_factory=dict)
    answers: Mapping[str, JsonValue] = field(default_factory=dict)
    """What tools answer in the place of being called."""
    model: bool = False
    """Whether there is a scripted model although no step says what it answers."""

    @property
    def has_model(self) -> bool:
        """True if there is a scripted model."""
        acts = (step.entry for step in self.steps)
        return self.model or any(
            isinstance(act, UserStep) and "model" in act.model_fields_set for act in acts
        )
