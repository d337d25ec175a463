"""The lines between states, from a lower to an upper edge, and the outlines of states."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from router.drawing.layout import Box, Ends, Layout
from router.flow.definition import KINDS, Outline

PORTS = 0.6
"""The part of a state's width that lines begin and end in: the rest may be slanted."""
MOST_APART = 26.0
CORNER = 7.0
NOTHING = 0.05
"""Pixels that are lost where coordinates are written."""

Point = tuple[float, float]


def lines(layout: Layout, edges: Sequence[Ends]) -> list[str]:
    """For every edge its path, as SVG writes one."""
    begins, ends = _ports(layout, edges)
    found = []
    for number, (source, target) in enumerate(edges):
        start = (begins[number], layout.boxes[source].bottom)
        end = (ends[number], layout.boxes[target].top)
        chain = layout.skeleton.chains[number]
        if number in layout.skeleton.back:
            found.append(_back(layout, number, target, start, end))
        else:
            found.append(_forward(layout, chain, start, end))
    return found


def _ports(layout: Layout, edges: Sequence[Ends]) -> tuple[dict[int, float], dict[int, float]]:
    """Where on its states each edge begins and ends: side by side, in the order they come from."""
    leaving: dict[str, list[tuple[float, int]]] = {}
    coming: dict[str, list[tuple[float, int]]] = {}
    for number, (source, target) in enumerate(edges):
        chain = layout.skeleton.chains[number]
        leaving.setdefault(source, []).append((layout.boxes[chain[1]].x, number))
        is_back = number in layout.skeleton.back
        last = layout.lanes[target] if is_back else layout.boxes[chain[-2]].x
        coming.setdefault(target, []).append((last, number))
    return _spread(layout, leaving), _spread(layout, coming)


def _spread(layout: Layout, ports: dict[str, list[tuple[float, int]]]) -> dict[int, float]:
    found = {}
    for name, wanted in ports.items():
        box = layout.boxes[name]
        # Those from a lane share a port, as they share the lane.
        places = sorted({x for x, _ in wanted})
        apart = min(MOST_APART, box.width * PORTS / len(places))
        for x, number in wanted:
            found[number] = box.x + (places.index(x) - (len(places) - 1) / 2) * apart
    return found


def _forward(layout: Layout, chain: Sequence[str], start: Point, end: Point) -> str:
    """Straight through each rank, in an S from one to the next."""
    rank_of = _rank_of(layout)
    through: list[Point] = [start, (start[0], layout.bands[rank_of[chain[0]]].bottom)]
    for point in chain[1:-1]:
        band, x = layout.bands[rank_of[point]], layout.boxes[point].x
        through += [(x, band.top), (x, band.bottom)]
    through += [(end[0], layout.bands[rank_of[chain[-1]]].top), end]
    return " ".join(_bends(through))


def _rank_of(layout: Layout) -> dict[str, int]:
    return {item: rank for rank, items in enumerate(layout.skeleton.ranks) for item in items}


def _bends(through: Sequence[Point]) -> Iterator[str]:
    yield f"M{_at(through[0])}"
    for (x1, y1), (x2, y2) in pairwise(through):
        # A line of no length would leave its arrow without a direction.
        if abs(x2 - x1) + abs(y2 - y1) < NOTHING:
            continue
        if abs(x2 - x1) < NOTHING:
            yield f"L{_at((x2, y2))}"
        else:
            middle = (y1 + y2) / 2
            yield f"C{_at((x1, middle))} {_at((x2, middle))} {_at((x2, y2))}"


def _back(layout: Layout, number: int, target: str, start: Point, end: Point) -> str:
    """Down to the label, out to the lane, up, and in from above: right angles, rounded."""
    label = layout.boxes[layout.skeleton.chains[number][1]]
    band = layout.bands[_rank_of(layout)[layout.skeleton.chains[number][1]]]
    source_band = layout.bands[_rank_of(layout)[layout.skeleton.chains[number][0]]]
    down = [start, (start[0], source_band.bottom), (label.x, band.top)]
    out, up = layout.tracks["out", number], layout.tracks["in", target]
    lane = layout.lanes[target]
    around = [(label.x, band.top), (label.x, out), (lane, out), (lane, up), (end[0], up), end]
    return " ".join([*_bends(down), *_corners(around)])


def _corners(points: Sequence[Point]) -> Iterator[str]:
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        yield f"L{_at(_towards(corner, before))}"
        yield f"Q{_at(corner)} {_at(_towards(corner, after))}"
    yield f"L{_at(points[-1])}"


def _towards(corner: Point, other: Point) -> Point:
    """A little way from the corner, or half of the way where that is less."""
    (x1, y1), (x2, y2) = corner, other
    far = max(abs(x2 - x1), abs(y2 - y1))
    share = min(CORNER, far / 2) / far if far else 0.0
    return (x1 + (x2 - x1) * share, y1 + (y2 - y1) * share)


def _at(point: Point) -> str:
    return f"{number(point[0])},{number(point[1])}"


def number(value: float) -> str:
    """A coordinate, written in one way only.

    >>> number(12.04), number(-0.01)
    ('12', '0')
    """
    rounded = round(value, 1) + 0.0
    return f"{rounded:.1f}".removesuffix(".0")


CUT = 14.0
"""Pixels by which slanted sides are slanted."""

END = Outline(radius=14)
"""Of a state in which the flow ends, whatever it does."""


def outline(kind: str, box: Box) -> str:
    """The outline of a state of this kind; `end` for one that ends the flow."""
    drawn = END if kind == "end" else KINDS[kind].outline
    if drawn.corners:
        return f'<polygon class="box" points="{_points(drawn.corners, box)}"/>'
    left, top = box.x - box.width / 2, box.top
    radius = min(drawn.radius, box.height / 2)
    rectangle = (
        f'<rect class="box" x="{number(left)}" y="{number(top)}" width="{number(box.width)}" '
        f'height="{number(box.height)}" rx="{number(radius)}"/>'
    )
    return rectangle + (_bars(left, box) if drawn.bars else "")


def _points(corners: Sequence[tuple[float, float, float]], box: Box) -> str:
    return " ".join(
        f"{number(box.x + x * box.width / 2 + cut * CUT)},{number(box.y + y * box.height / 2)}"
        for x, cut, y in corners
    )


def _bars(left: float, box: Box) -> str:
    """The second lines at the sides, by which flowcharts know what is done elsewhere."""
    inner = (left + 7, left + box.width - 7)
    bars = " ".join(f"M{number(x)},{number(box.top)}V{number(box.bottom)}" for x in inner)
    return f'<path class="bars" d="{bars}"/>'
