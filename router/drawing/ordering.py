"""Who stands left of whom within a rank: Sugiyama's second step, by barycentres.

Sweeping down and up, each rank is sorted by where the neighbours in the rank before stand; of
all orders come to, the one with the fewest crossings is kept.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

Ranks = list[list[str]]
"""The items of every rank, left to right."""

SWEEPS = 12


def ordered(ranks: Ranks, links: Sequence[tuple[str, str]]) -> Ranks:
    """The same ranks, each in an order with few crossings. `links` join neighbouring ranks."""
    above: dict[str, list[str]] = {item: [] for rank in ranks for item in rank}
    below: dict[str, list[str]] = {item: [] for rank in ranks for item in rank}
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
