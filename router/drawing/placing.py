"""How far right each item stands: Sugiyama's third step.

Every item wants to be where its neighbours are. Given these wishes for a rank, the places
nearest to them that keep order and distances are an isotonic regression: subtract from each
wish what the items left of it need, and pool neighbours that are out of order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from router.drawing.ordering import Ranks

ROUNDS = 40
STRAIGHT = 8.0
"""How much more an edge's own points want to be in line than states want to be in the middle."""


@dataclass(frozen=True)
class Link:
    """Joins items of neighbouring ranks; `long` where both are points of one edge."""

    upper: str
    lower: str
    long: bool = False


def placed(
    ranks: Ranks, links: Sequence[Link], widths: Mapping[str, float], apart: float
) -> dict[str, float]:
    """The centre of every item; between two of a rank there are at least `apart` pixels."""
    joined: dict[str, dict[str, float]] = {item: {} for rank in ranks for item in rank}
    for link in links:
        weight = STRAIGHT if link.long else 1.0
        joined[link.upper][link.lower] = joined[link.lower][link.upper] = weight
    offsets = {item: x for rank in ranks for item, x in _packed(rank, widths, apart)}
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


def _packed(
    rank: Sequence[str], widths: Mapping[str, float], apart: float
) -> list[tuple[str, float]]:
    """The items side by side, as near as they may be."""
    found, edge = [], 0.0
    for item in rank:
        found.append((item, edge + widths[item] / 2))
        edge += widths[item] + apart
    return found


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
