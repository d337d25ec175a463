"""What the fitting of thresholds learns from a labelled line."""

from collections.abc import Collection

from router.selection.fitting import Judged
from router.selection.selected import Selection


def judged(label: str, found: Selection, capabilities: Collection[str]) -> Judged:
    """A line's label beside what was searched for its text.

    A label that names no capability (`none`, `reply`, …) says that nothing here is meant.
    """
    first = found.candidates[0].name if found.candidates else None
    return Judged(signs=found.signs, wanted=label in capabilities, right=first == label)
