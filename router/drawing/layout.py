"""Where everything stands: Sugiyama's steps, from ranks to boxes.

States stand on even ranks, one below the lowest that leads to them, labels on the odd ones, each
rank sorted by barycentres and placed by isotonic regression. Edges that lead back are set aside
first: they go up in a lane right of everything, one for all that lead to the same state.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

Ends = tuple[str, str]
"""An edge: from, to."""


def back_edges(names: Iterable[str], edges: Sequence[Ends]) -> frozenset[int]:
    """The numbers of the edges that close a cycle, walking from the names in their order.

    >>> back_edges(["a", "b"], [("a", "b"), ("b", "a")])
    frozenset({1})
    """
    leaving = defaultdict[str, list[int]](list)
    for number, (source, _) in enumerate(edges):
        leaving[source].append(number)
    found: set[int] = set()
    done: set[str] = set()
    for name in names:
        if name not in done:
            found |= _closing(name, edges, leaving, done)
    return frozenset(found)


def _closing(
    start: str, edges: Sequence[Ends], leaving: Mapping[str, Sequence[int]], done: set[str]
) -> set[int]:
    """Depth first from `start`, by hand: a long flow is deeper than Python's own stack."""
    found: set[int] = set()
    way = [(start, iter(leaving.get(start, ())))]
    above = {start}
    while way:
        name, numbers = way[-1]
        number = next(numbers, None)
        if number is None:
            way.pop()
            above.discard(name)
            done.add(name)
            continue
        target = edges[number][1]
        if target in above:
            found.add(number)
        elif target not in done:
            above.add(target)
            way.append((target, iter(leaving.get(target, ()))))
    return found


def ranks(names: Sequence[str], edges: Iterable[Ends]) -> dict[str, int]:
    """The rank of each name, by the longest way to it along edges that have no cycle.

    >>> ranks(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    {'a': 0, 'b': 1, 'c': 2}
    """
    below: dict[str, list[str]] = {name: [] for name in names}
    left = dict.fromkeys(names, 0)
    for source, target in edges:
        below[source].append(target)
        left[target] += 1
    found = dict.fromkeys(names, 0)
    free = [name for name in names if not left[name]]
    for name in free:  # grows while it is walked: whatever has nothing above it left
        for target in below[name]:
            found[target] = max(found[target], found[name] + 1)
            left[target] -= 1
            if not left[target]:
                free.append(target)
    return found


Ranks = list[list[str]]
"""The items of every rank, left to right."""

SWEEPS = 12


def ordered(ranks: Ranks, links: Sequence[tuple[str, str]]) -> Ranks:
    """The same ranks, each in an order with few crossings. `links` join neighbouring ranks."""
    above, below = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    best, fewest = ranks, crossings(ranks, below)
    for sweep in range(SWEEPS):
        ranks = _swept(ranks, above) if sweep % 2 == 0 else _swept(ranks[::-1], below)[::-1]
        found = crossings(ranks, below)
        if found < fewest:
            best, fewest = ranks, found
    return best


def _swept(ranks: Ranks, neighbours: Mapping[str, Sequence[str]]) -> Ranks:
    """Every rank but the first, sorted by the barycentres of what its items join before it."""
    swept = [list(ranks[0])] if ranks else []
    for rank in ranks[1:]:
        before = {item: place for place, item in enumerate(swept[-1])}
        own = {item: float(place) for place, item in enumerate(rank)}
        for item in rank:
            if joined := [before[each] for each in neighbours[item]]:
                own[item] = sum(joined) / len(joined)
        swept.append(sorted(rank, key=own.__getitem__))
    return swept


def crossings(ranks: Ranks, below: Mapping[str, Sequence[str]]) -> int:
    """How many pairs of links cross.

    >>> crossings([["a", "b"], ["c", "d"]], {"a": ["d"], "b": ["c"]})
    1
    """
    return sum(_between(*pair, below) for pair in pairwise(ranks))


def _between(upper: list[str], lower: list[str], below: Mapping[str, Sequence[str]]) -> int:
    places = {item: place for place, item in enumerate(lower)}
    seen: list[int] = []
    count = 0
    for item in upper:
        ends = sorted(places[each] for each in below[item])
        count += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return count


ROUNDS = 40
STRAIGHT = 8.0
"""How much more an edge's own points want to be in line than states want to be in the middle."""


@dataclass(frozen=True)
class RankLink:
    """Joins items of neighbouring ranks; `long` where both are points of one edge."""

    upper: str
    lower: str
    long: bool = False


def placed(
    ranks: Ranks, links: Sequence[RankLink], widths: Mapping[str, float], apart: float
) -> dict[str, float]:
    """The centre of every item; between two of a rank there are at least `apart` pixels."""
    joined: dict[str, dict[str, float]] = {item: {} for rank in ranks for item in rank}
    for link in links:
        weight = STRAIGHT if link.long else 1.0
        joined[link.upper][link.lower] = joined[link.lower][link.upper] = weight
    # The items of a rank side by side, as near as they may be.
    offsets: dict[str, float] = {}
    for rank in ranks:
        edges = accumulate((widths[item] + apart for item in rank), initial=0.0)
        offsets |= {i: edge + widths[i] / 2 for i, edge in zip(rank, edges, strict=False)}
    places = dict(offsets)
    for turn in range(ROUNDS):
        for rank in ranks if turn % 2 == 0 else ranks[::-1]:
            wishes = [_wish(item, joined[item], places) for item in rank]
            found = nearest_in_order(
                [at - offsets[i] for i, (at, _) in zip(rank, wishes, strict=True)],
                [weight for _, weight in wishes],
            )
            places.update({item: at + offsets[item] for item, at in zip(rank, found, strict=True)})
    left = min((places[item] - widths[item] / 2 for item in places), default=0.0)
    return {item: at - left for item, at in places.items()}


def _wish(
    item: str, joined: Mapping[str, float], places: Mapping[str, float]
) -> tuple[float, float]:
    """Where an item would like to be, and how much."""
    if not joined:
        return places[item], 0.1
    weight = sum(joined.values())
    return sum(places[other] * much for other, much in joined.items()) / weight, weight


def nearest_in_order(wishes: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers that never fall and are nearest to the wishes, by weighted squares.

    >>> nearest_in_order([1.0, 5.0, 3.0], [1.0, 1.0, 1.0])
    [1.0, 4.0, 4.0]
    """
    pools: list[tuple[float, float, int]] = []
    for wish, weight in zip(wishes, weights, strict=True):
        mean, heft, size = wish, weight, 1
        while pools and pools[-1][0] > mean:
            before, more, count = pools.pop()
            mean = (mean * heft + before * more) / (heft + more)
            heft, size = heft + more, size + count
        pools.append((mean, heft, size))
    return [mean for mean, _, size in pools for _ in range(size)]


APART = 28.0
"""Pixels between neighbours of a rank."""
GAP = 30.0
"""Pixels between ranks, where lines bend."""
TRACK = 9.0
"""Pixels between lines that run side by side within a gap."""
LANE = 16.0
"""Pixels between lanes."""
MARGIN = 20.0

BoxSize = tuple[float, float]


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
    sizes: dict[str, BoxSize]

    @cached_property
    def rank_of(self) -> dict[str, int]:
        """By item: its rank, once they are in order."""
        return {item: rank for rank, items in enumerate(self.ranks) for item in items}


@dataclass
class Layout:
    """Everything in its place, in pixels."""

    width: float
    height: float
    boxes: dict[str, Box]
    skeleton: Skeleton
    bands: list[Band]
    lanes: dict[str, float]
    """By state: where the edges that lead back to it go up."""
    tracks: dict[tuple[str, int | str], float]
    """How high a line back runs: `("out", edge)` to its lane, `("in", state)` from it."""

    def band_of(self, item: str) -> Band:
        """What the item's rank takes."""
        return self.bands[self.skeleton.rank_of[item]]


def laid_out(
    sizes: Mapping[str, BoxSize], edges: Sequence[Ends], labels: Sequence[BoxSize]
) -> Layout:
    """The layout of states of these sizes, the first on top, with a label for every edge."""
    skeleton = _skeleton(sizes, edges, labels)
    links = [
        RankLink(upper, lower, upper not in sizes and lower not in sizes)
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


def _skeleton(
    sizes: Mapping[str, BoxSize], edges: Sequence[Ends], labels: Sequence[BoxSize]
) -> Skeleton:
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
    rank_of = skeleton.rank_of
    # By the rank above a gap, what runs sideways in the gap.
    running: dict[int, list[tuple[str, int | str]]] = {}
    for number in sorted(skeleton.back):
        running.setdefault(rank_of[label_of(number)], []).append(("out", number))
    for target in dict.fromkeys(edges[number][1] for number in sorted(skeleton.back)):
        running.setdefault(rank_of[target] - 1, []).append(("in", target))
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
    lanes = _lanes(skeleton, edges, right)
    middle = [(band.top + band.bottom) / 2 for band in bands]
    boxes = {
        item: Box(places[item] + MARGIN, middle[rank], *skeleton.sizes[item])
        for item, rank in rank_of.items()
    }
    wide = max([right, *lanes.values()]) + MARGIN
    return Layout(wide, y, boxes, skeleton, bands, lanes, tracks)


def _lanes(skeleton: Skeleton, edges: Sequence[Ends], right: float) -> dict[str, float]:
    """The lanes, those of short ways inside those of long ones."""
    rank_of = skeleton.rank_of
    lowest: dict[str, int] = {}
    for number in sorted(skeleton.back):
        target = edges[number][1]
        lowest[target] = max(lowest.get(target, 0), rank_of[label_of(number)])
    inner_first = sorted(lowest, key=lambda target: (lowest[target] - rank_of[target], target))
    return {target: right + MARGIN + LANE * n for n, target in enumerate(inner_first)}
