"""The states as a graph: what is never reached, what is never left, what never rests."""

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from router.flow.model import State
from router.flow.validation.draft import Complaint, Draft, complaint

Steps = Mapping[str, AbstractSet[str]]
"""Where each name leads."""

RESTING = frozenset({"confirm", "approve", "wait"})
"""Kinds of state that wait for a person or for time, whatever is known already."""


def complaints(draft: Draft) -> Iterator[Complaint]:
    """What the way through the states lacks; nothing where some states couldn't be read."""
    if draft.mended:
        return
    states = draft.definition.states
    steps = {name: targets(state) & set(states) for name, state in states.items()}
    yield from _unreachable(draft, steps)
    yield from _endless(draft, steps)
    yield from _restless(draft, steps)


def targets(state: State) -> set[str]:
    """The states that a state can lead to."""
    exits = {branch.to for branches in state.exits().values() for branch in branches}
    return exits | set(state.parallel or ())


def reached_from(start: str, steps: Steps) -> set[str]:
    """Everything that can be come to, `start` included."""
    found, waiting = {start}, [start]
    while waiting:
        new = steps.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def cycle_through(name: str, steps: Steps) -> list[str]:
    """The shortest way from a name back to itself, without its end; empty where there is none.

    >>> cycle_through("a", {"a": {"b"}, "b": {"a"}})
    ['a', 'b']
    """
    ways = deque([[name]])
    seen: set[str] = set()
    while ways:
        way = ways.popleft()
        for step in sorted(steps.get(way[-1], set())):
            if step == name:
                return way
            if step not in seen:
                seen.add(step)
                ways.append([*way, step])
    return []


def _unreachable(draft: Draft, steps: Steps) -> Iterator[Complaint]:
    start = draft.definition.start
    if start not in steps:
        return
    for name in steps.keys() - reached_from(start, steps):
        yield complaint(
            ("states", name), f"no way leads to {name}", "lead some state there, or remove it"
        )


def _endless(draft: Draft, steps: Steps) -> Iterator[Complaint]:
    ends = {name for name, state in draft.definition.states.items() if state.end}
    for name in steps:
        if not reached_from(name, steps) & ends:
            yield complaint(
                ("states", name),
                f"from {name} the flow never ends",
                "lead some state after it to one with end: completed",
            )


def _restless(draft: Draft, steps: Steps) -> Iterator[Complaint]:
    """Cycles in which nothing waits: a `collect` waits only where its slots are forgotten.

    It waits too where a check led to it that refused: what to change is asked then.
    """
    states = draft.definition.states
    steps = {name: to - _asking_what_to_change(states, name) for name, to in steps.items()}
    moving = {name for name, state in states.items() if state.kind not in RESTING}
    unasking = {name for name in moving if states[name].kind != "collect"}
    reported: set[frozenset[str]] = set()
    for subset in (unasking, moving - _asking_anew(draft, moving)):
        inner = {name: steps[name] & subset for name in subset}
        for name in sorted(subset):
            cycle = cycle_through(name, inner)
            if cycle and frozenset(cycle) not in reported:
                reported.add(frozenset(cycle))
                yield complaint(
                    ("states", name),
                    f"this goes round without ever waiting: {' ▸ '.join([*cycle, name])}",
                    "have it ask, confirm or wait on the way, or forget what it collects",
                )


def _asking_what_to_change(states: Mapping[str, State], name: str) -> set[str]:
    """The states that a refused check leads to, and that then wait for an answer."""
    state = states[name]
    if state.kind != "check":
        return set()
    refused = {branch.to for branch in state.on_error}
    passed = {branch.to for branch in state.next}
    return {to for to in refused - passed if to in states and states[to].kind == "collect"}


def _asking_anew(draft: Draft, moving: AbstractSet[str]) -> set[str]:
    """The states that empty a slot which some `collect` then has to ask for again."""
    slots, states = draft.definition.slots, draft.definition.states
    asked = {n for n in draft.collected if n in slots and slots[n].required}
    return {name for name in moving if asked & set(states[name].forget)}
