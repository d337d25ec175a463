"""The outlines of states, one for each kind."""

from collections.abc import Sequence

from router.drawing.layout import Box
from router.drawing.routing import number

CUT = 14.0
"""Pixels by which slanted sides are slanted."""

# Corners from the upper left, clockwise: x in halves of the width (and cuts), y in halves
# of the height.
Corner = tuple[float, float, float]
SHAPES: dict[str, Sequence[Corner]] = {
    "collect": ((-1, 1, -1), (1, 0, -1), (1, -1, 1), (-1, 0, 1)),
    "check": ((-1, 0.6, -1), (1, -0.6, -1), (1, 0, 0), (1, -0.6, 1), (-1, 0.6, 1), (-1, 0, 0)),
    "confirm": ((-1, 1.2, -1), (1, -1.2, -1), (1, 0, 0), (1, -1.2, 1), (-1, 1.2, 1), (-1, 0, 0)),
    "approve": ((-1, 0, -1), (1, 0, -1), (1, -1, 1), (-1, 1, 1)),
}
ROUNDED = {"say": 8.0, "end": 14.0, "wait": 1000.0}
"""Radii of rectangles with round corners; one that is too large makes a pill."""


def outline(kind: str, box: Box) -> str:
    """The outline of a state of this kind; a rectangle where the kind has none of its own."""
    if kind in SHAPES:
        return f'<polygon class="box" points="{_points(SHAPES[kind], box)}"/>'
    left, top = box.x - box.width / 2, box.top
    radius = min(ROUNDED.get(kind, 2.0), box.height / 2)
    rectangle = (
        f'<rect class="box" x="{number(left)}" y="{number(top)}" width="{number(box.width)}" '
        f'height="{number(box.height)}" rx="{number(radius)}"/>'
    )
    return rectangle + (_bars(left, box) if kind == "call" else "")


def _points(corners: Sequence[Corner], box: Box) -> str:
    return " ".join(
        f"{number(box.x + x * box.width / 2 + cut * CUT)},{number(box.y + y * box.height / 2)}"
        for x, cut, y in corners
    )


def _bars(left: float, box: Box) -> str:
    """The second lines at the sides, by which flowcharts know what is done elsewhere."""
    inner = (left + 7, left + box.width - 7)
    bars = " ".join(f"M{number(x)},{number(box.top)}V{number(box.bottom)}" for x in inner)
    return f'<path class="bars" d="{bars}"/>'
