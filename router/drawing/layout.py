"""Where everything stands: boxes for states and labels, lines for the ways between them.

States stand on even ranks. The odd ones between them belong to labels, so that a label has a
place of its own, which nothing else is put into; an edge over several ranks has a point on
each. An edge that leads back leaves downwards to its label, goes out to a lane right of
everything, up, and into its state from above; edges back to one state share its lane.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from router.drawing.ordering import Ranks, ordered
from router.drawing.placing import Link, placed
from router.drawing.ranks import Ends, back_edges, ranks

APART = 28.0
"""Pixels between neighbours of a rank."""
GAP = 30.0
"""Pixels between ranks, where lines bend."""
TRACK = 9.0
"""Pixels between lines that run side by side within a gap."""
LANE = 16.0
"""Pixels between lanes."""
MARGIN = 20.0

Size = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle, by its centre."""

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Band:
    """What a rank takes from top to bottom."""

    top: float
    bottom: float


@dataclass
class Skeleton:
    """The graph with a point for every edge on every rank that it passes."""

    ranks: Ranks
    chains: list[list[str]]
    """By edge: its source, its points, and its target, or only its label where it leads back."""
    back: frozenset[int]
    sizes: dict[str, Size]


@dataclass
class Layout:
    """Everything in its place, in pixels."""

    width: float
    height: float
    boxes: dict[str, Box]
    skeleton: Skeleton
    bands: list[Band]
    lanes: dict[str, float] = field(default_factory=dict)
    """By state: where the edges that lead back to it go up."""
    tracks: dict[tuple[str, int | str], float] = field(default_factory=dict)
    """How high a line back runs: `("out", edge)` to its lane, `("in", state)` from it."""


def laid_out(sizes: Mapping[str, Size], edges: Sequence[Ends], labels: Sequence[Size]) -> Layout:
    """The layout of states of these sizes, the first on top, with a label for every edge."""
    skeleton = _skeleton(sizes, edges, labels)
    links = [
        Link(upper, lower, upper not in sizes and lower not in sizes)
        for chain in skeleton.chains
        for upper, lower in pairwise(chain)
    ]
    skeleton.ranks = ordered(skeleton.ranks, [(link.upper, link.lower) for link in links])
    widths = {name: size[0] for name, size in skeleton.sizes.items()}
    places = placed(skeleton.ranks, links, widths, APART)
    return _stacked(skeleton, places, edges)


def label_of(edge: int) -> str:
    """What the label of an edge is called among the boxes."""
    return f"\0{edge}"


def _skeleton(sizes: Mapping[str, Size], edges: Sequence[Ends], labels: Sequence[Size]) -> Skeleton:
    names = list(sizes)
    back = back_edges(names, edges)
    level = ranks(names, [ends for number, ends in enumerate(edges) if number not in back])
    # A label below the lowest states too: what leads back from there has one.
    found: Ranks = [[] for _ in range(2 * max(level.values(), default=0) + 2)]
    for name in names:
        found[2 * level[name]].append(name)
    own, chains = dict(sizes), []
    for number, (source, target) in enumerate(edges):
        first = 2 * level[source] + 1
        last = first + 1 if number in back else 2 * level[target]
        points = [label_of(number)]
        points += [f"{label_of(number)}\0{rank}" for rank in range(first + 1, last)]
        own |= dict.fromkeys(points[1:], (0.0, 0.0)) | {points[0]: labels[number]}
        for rank, point in enumerate(points, first):
            found[rank].append(point)
        chains.append([source, *points] if number in back else [source, *points, target])
    return Skeleton(found, chains, back, own)


def _stacked(skeleton: Skeleton, places: Mapping[str, float], edges: Sequence[Ends]) -> Layout:
    """Ranks below each other, with room between them for what runs sideways there."""
    rank_of = {item: rank for rank, items in enumerate(skeleton.ranks) for item in items}
    running = _running(skeleton, rank_of, edges)
    bands: list[Band] = []
    tracks: dict[tuple[str, int | str], float] = {}
    y = MARGIN
    for rank, items in enumerate([[], *skeleton.ranks]):
        height = max((skeleton.sizes[item][1] for item in items), default=0.0)
        bands.append(Band(y, y + height))
        y += height + GAP / 2
        for line in running.get(rank - 1, ()):
            tracks[line] = y
            y += TRACK
        y += GAP / 2
    bands = bands[1:]
    right = max((places[i] + skeleton.sizes[i][0] / 2 for i in places), default=0.0) + MARGIN
    lanes = _lanes(skeleton, rank_of, edges, right)
    boxes = {
        item: Box(
            places[item] + MARGIN,
            (bands[rank].top + bands[rank].bottom) / 2,
            *skeleton.sizes[item],
        )
        for item, rank in rank_of.items()
    }
    wide = max([right, *lanes.values()]) + MARGIN
    return Layout(wide, y, boxes, skeleton, bands, lanes, tracks)


def _running(
    skeleton: Skeleton, rank_of: Mapping[str, int], edges: Sequence[Ends]
) -> dict[int, list[tuple[str, int | str]]]:
    """By the rank above a gap, what runs sideways in the gap."""
    found: dict[int, list[tuple[str, int | str]]] = {}
    for number in sorted(skeleton.back):
        found.setdefault(rank_of[label_of(number)], []).append(("out", number))
    for target in dict.fromkeys(edges[number][1] for number in sorted(skeleton.back)):
        found.setdefault(rank_of[target] - 1, []).append(("in", target))
    return found


def _lanes(
    skeleton: Skeleton, rank_of: Mapping[str, int], edges: Sequence[Ends], right: float
) -> dict[str, float]:
    """The lanes, those of short ways inside those of long ones."""
    lowest: dict[str, int] = {}
    for number in sorted(skeleton.back):
        target = edges[number][1]
        lowest[target] = max(lowest.get(target, 0), rank_of[label_of(number)])
    inner_first = sorted(lowest, key=lambda target: (lowest[target] - rank_of[target], target))
    return {target: right + MARGIN + LANE * n for n, target in enumerate(inner_first)}
