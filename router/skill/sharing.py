"""How the turns and tokens of a skill are shared among the steps of its plan. Pure.

What a step is promised is set aside, so that steps side by side can't spend the same twice, and
the reflection after them always has a turn. What a step doesn't use comes back to the others.
"""

from dataclasses import dataclass

from router.skill.loop import ALMOST, Progress, Stop
from router.skill.skill import Skill

LEAST_TURNS = 2
"""Of a step: one to call a tool, one to say what it found."""
LEAST_TOKENS = 500
REFLECTION = 1
"""Turns that are kept back for it."""


@dataclass(frozen=True)
class Share:
    """Model calls and tokens."""

    turns: int = 0
    tokens: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.turns + other.turns, self.tokens + other.tokens)


def left(skill: Skill, progress: Progress, promised: Share) -> Share:
    """What no step was promised yet, and the reflection doesn't need."""
    return Share(
        skill.max_turns - progress.steps - promised.turns - REFLECTION,
        int(ALMOST * skill.token_budget) - progress.usage.tokens - promised.tokens,
    )


def why_no_room(room: Share) -> Stop | None:
    """Why no further step can begin; None where one can.

    >>> why_no_room(Share(turns=1, tokens=9000))
    'turns'
    """
    if room.turns < LEAST_TURNS:
        return "turns"
    return "tokens" if room.tokens < LEAST_TOKENS else None


def share(room: Share, steps: int) -> Share | None:
    """What the next of so many steps gets; None where it isn't enough to begin with.

    >>> share(Share(turns=9, tokens=9000), 3)
    Share(turns=3, tokens=3000)
    """
    if why_no_room(room) is not None:
        return None
    return Share(max(LEAST_TURNS, room.turns // steps), max(LEAST_TOKENS, room.tokens // steps))
