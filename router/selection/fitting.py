"""Thresholds from a development file: labelled messages of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from router.selection.selected import Signs, Thresholds

PRECISION = 0.95
"""How often what is called clear should be right."""

LOST = 0.01
"""The share of messages for a capability that the gate may turn away."""


@dataclass(frozen=True)
class Judged:
    """A labelled message and what the search came to."""

    signs: Signs
    wanted: bool
    """Whether the label is any capability."""

    right: bool
    """Whether it is the first candidate."""


def fitted_thresholds(rows: Sequence[Judged], default: Thresholds | None = None) -> Thresholds:
    """The thresholds that part these rows best; the default's where they can't tell.

    `known` balances wanted messages let through against unwanted ones kept out; `needs_tool`
    turns away as many as it may without losing more than `LOST` of the wanted; `margin` is the
    smallest that makes `PRECISION` of what is clear right.
    """
    default = default or Thresholds()
    wanted = [row.signs for row in rows if row.wanted]
    unwanted = [row.signs for row in rows if not row.wanted]
    if not wanted:
        return default
    gate = min(float(np.quantile([signs.needs_tool for signs in wanted], LOST)), 0.5)
    known = default.known
    if unwanted:
        known = _parting([s.known for s in wanted], [s.known for s in unwanted])
    passed = [row for row in rows if row.signs.known >= known and row.signs.needs_tool >= gate]
    return Thresholds(known=known, needs_tool=gate, margin=_margin(passed, default.margin))


def _parting(above: Sequence[float], below: Sequence[float]) -> float:
    """The value with the best mean of both sides' shares on their own side of it."""
    high, low = np.sort(above), np.sort(below)
    cuts = np.unique(np.concatenate([high, low]))
    kept = 1 - np.searchsorted(high, cuts) / len(high)
    refused = np.searchsorted(low, cuts) / len(low)
    return float(cuts[int(np.argmax(kept + refused))])


def _margin(rows: Sequence[Judged], default: float) -> float:
    """The smallest margin from which on enough are right."""
    if not rows:
        return default
    ordered = sorted(rows, key=lambda row: -row.signs.margin)
    margins = np.array([row.signs.margin for row in ordered])
    right = np.cumsum([row.right for row in ordered]) / np.arange(1, len(ordered) + 1)
    last_of_equals = np.append(margins[1:] < margins[:-1], [True])
    enough = np.flatnonzero((right >= PRECISION) & last_of_equals)
    return float(margins[enough[-1]]) if len(enough) else float(margins[0])
