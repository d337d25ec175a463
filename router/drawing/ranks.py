"""Which state stands above which: Sugiyama's first step.

Edges that lead back to where the way has come from are set aside; without them the graph has
no cycle, and each state stands one rank below the lowest of those that lead to it.
"""

from collections.abc import Iterable, Mapping, Sequence

Ends = tuple[str, str]
"""An edge: from, to."""


def back_edges(names: Iterable[str], edges: Sequence[Ends]) -> frozenset[int]:
    """The numbers of the edges that close a cycle, walking from the names in their order.

    >>> back_edges(["a", "b"], [("a", "b"), ("b", "a")])
    frozenset({1})
    """
    leaving: dict[str, list[int]] = {}
    for number, (source, _) in enumerate(edges):
        leaving.setdefault(source, []).append(number)
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
