"""What is wrong with a flow file that is YAML: everything at once, each with its remedy.

`read_shape` turns plain data into a definition, mending what it complains about so that the
rest can still be looked at; `complaints_about` then asks every check below.
"""

from collections.abc import Iterator

from router.flow.validation import (
    approvals,
    expressions,
    graph,
    patterns,
    references,
    slots,
    spoken_names,
)
from router.flow.validation.remarks import remarks, unheld_roles
from router.flow.validation.shape import Shape, read_shape
from router.flow.validation.unchecked import UncheckedFlow, Vocabulary
from router.formats.validation import Complaint

__all__ = [
    "Complaint",
    "Shape",
    "UncheckedFlow",
    "Vocabulary",
    "complaints_about",
    "read_shape",
    "remarks",
    "unheld_roles",
]

CHECKS = (
    references.complaints,
    slots.complaints,
    graph.exit_complaints,
    references.withdrawal_complaints,
    graph.graph_complaints,
    approvals.complaints,
    expressions.complaints,
    expressions.text_complaints,
    patterns.complaints,
    spoken_names.complaints,
)


def complaints_about(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything wrong with a definition, but for consequences of what had to be mended."""
    around = {place[:-1] for place in draft.mended}
    around |= {place[:-1] for place in around if place and isinstance(place[-1], int)}
    for check in CHECKS:
        yield from (found for found in check(draft) if found.place not in around)
