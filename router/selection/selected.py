"""What a search comes to, and when it counts as clear."""

from dataclasses import dataclass
from typing import Literal

from router.domain.capabilities import Capability, CapabilityKind

Verdict = Literal["clear", "several", "none"]


@dataclass(frozen=True)
class Candidate:
    """A capability that may be meant."""

    capability: Capability
    score: float
    """0 to 1: of the first, the probability that the message is for any capability at all;
    of the others less, the further they are behind."""

    @property
    def kind(self) -> CapabilityKind:
        """Flow, skill or tool."""
        return self.capability.kind

    @property
    def name(self) -> str:
        """The capability's name."""
        return self.capability.name


@dataclass(frozen=True)
class Signs:
    """What the verdict is read from."""

    known: float
    """The probability that the message is for any of the capabilities, 0 to 1."""

    needs_tool: float
    """The probability that it takes a tool and not only words, 0 to 1."""

    margin: float
    """How far the first is ahead of the second, in standard deviations of the scores."""


@dataclass(frozen=True)
class Thresholds:
    """Where the verdicts part. `router.selection.fitting` finds them for a set of one's own."""

    known: float = 0.5
    """Below this nothing here is meant."""

    needs_tool: float = 0.1
    """Below this words are enough, whatever is nearest."""

    margin: float = 1.0
    """From this on the first is clearly ahead."""


@dataclass(frozen=True)
class Selection:
    """The capabilities that a message may be for, best first, and how sure that is."""

    candidates: tuple[Candidate, ...]
    verdict: Verdict
    signs: Signs
    notes: tuple[str, ...] = ()
    """What went otherwise than planned, such as an encoder that failed."""


def verdict(signs: Signs, thresholds: Thresholds) -> Verdict:
    """`none` where nothing here is meant, `clear` where one thing is, else `several`.

    >>> verdict(Signs(known=0.9, needs_tool=0.8, margin=2.5), Thresholds())
    'clear'
    """
    if signs.known < thresholds.known or signs.needs_tool < thresholds.needs_tool:
        return "none"
    return "clear" if signs.margin >= thresholds.margin else "several"
