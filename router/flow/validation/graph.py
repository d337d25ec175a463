"""The states as a graph: what can't be left, is never reached, never ends or never rests."""

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches

from router.flow.definition import State, keys_of
from router.flow.validation.unchecked import UncheckedFlow, complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


def exit_complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """States that can't be left, branches that are never taken, and what their kinds find."""
    for place, state in draft.each_state():
        for name in state.needs:
            if name not in state.exits():
                what = f"{place[-1]} can't be left: it has no {name}"
                yield complaint(place, what, f"add {name}: <state>")
        yield from _branches(place, state)
        found = [*state.complaints(place), *state.complaints_within(place, draft.definition)]
        found += () if draft.mended else state.complaints_of_ways(place, draft.definition)
        yield from (Complaint(*one) for one in found)


def _branches(place: Place, state: State) -> Iterator[Complaint]:
    for exit_, branches in state.exits().items():
        if branches[-1].condition is not None:
            what = f"there is no way out of {place[-1]}.{exit_} where no condition holds"
            yield complaint((*place, exit_), what, "end the list with {to: <state>} without if")
        for number, branch in enumerate(branches[:-1]):
            if branch.condition is None:
                what = f"the branches after the one to {branch.to} are never taken"
                yield complaint((*place, exit_, number), what, "give it an if, or put it last")


Steps = Mapping[str, AbstractSet[str]]
"""Where each name leads."""


def graph_complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """What the way through the states lacks, as far as it can be made out.

    A state that is misnamed counts as the one that is meant. Where nobody knows which that is, or
    a state couldn't be read, the way may lead anywhere, and nothing is said of what that changes.
    """
    states = draft.definition.states
    doubtful = {name for name, state in states.items() if _is_doubtful(draft, name, state)}
    meant = {name: {_meant(to, states) for to in state.targets()} for name, state in states.items()}
    likely = {name: {to for to in targets if to is not None} for name, targets in meant.items()}
    possible = {name: set(states) if name in doubtful else to for name, to in likely.items()}
    start = _meant(draft.definition.start, states)
    for name in possible.keys() - reached_from(start, possible) if start is not None else ():
        remedy = "lead some state there, or remove it"
        yield complaint(("states", name), f"no way leads to {name}", remedy)
    ending = _leading_to({name for name, state in states.items() if state.ends}, possible)
    for name in possible if draft.states <= states.keys() else ():
        if name not in ending:
            remedy = "lead some state after it to one with end: completed"
            yield complaint(("states", name), f"from {name} the flow never ends", remedy)
    if not any(place[:1] == ("slots",) for place in draft.mended):
        yield from _restless(draft, likely, doubtful)


def _is_doubtful(draft: UncheckedFlow, name: str, state: State) -> bool:
    """True where it isn't known where all the state leads."""
    mended = (place[2:] for place in draft.mended if place[:2] == ("states", name))
    hidden = any(_hides_an_exit(place, state) for place in mended)
    return hidden or any(_meant(to, draft.definition.states) is None for to in state.targets())


def _hides_an_exit(place: Place, state: State) -> bool:
    """True for a mended place within a state where a way out of it stood, or may have stood."""
    fields = {key: name for key, (name, _) in keys_of(State).items()}
    if not place or place[0] in (*state.needs, *state.may, "parallel"):
        return True
    near = get_close_matches(str(place[0]), fields, n=1)
    return place[0] not in fields and not (near and fields[near[0]] in state.model_fields_set)


def _meant(name: str, states: Mapping[str, State]) -> str | None:
    """The state of this name, or else the nearest; None where none is near."""
    near = [name] if name in states else get_close_matches(name, sorted(states), n=1)
    return near[0] if near else None


def reached_from(start: str, steps: Steps) -> set[str]:
    """Everything that can be come to, `start` included."""
    found, waiting = {start}, [start]
    while waiting:
        new = steps.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _leading_to(names: AbstractSet[str], steps: Steps) -> set[str]:
    """Everything from which one of the names can be come to, themselves included."""
    before: dict[str, set[str]] = {}
    for name, to in steps.items():
        for each in to:
            before.setdefault(each, set()).add(name)
    found, waiting = {*names}, [*names]
    while waiting:
        new = before.get(waiting.pop(), set()) - found
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


def _restless(
    draft: UncheckedFlow, steps: Steps, doubtful: AbstractSet[str]
) -> Iterator[Complaint]:
    """Cycles in which nothing waits: a `collect` waits only where its slots are forgotten.

    It waits too where a check led to it that refused: what to change is asked then. And whatever
    follows an event has waited for it, though a moment that is past leaves at once by `late`.
    """
    states = draft.definition.states
    steps = {name: to - _resting_after(states, name) for name, to in steps.items()}
    moving = {name for name, state in states.items() if not state.rests} - doubtful
    reported: set[frozenset[str]] = set()
    for cycle in _rounds(draft, steps, frozenset(moving), set()):
        if frozenset(cycle) in reported:
            continue
        reported.add(frozenset(cycle))
        what = f"this goes round without ever waiting: {' ▸ '.join([*cycle, cycle[0]])}"
        remedy = "have it ask, confirm, or wait for a while or an event, or forget what it collects"
        yield complaint(("states", cycle[0]), what, remedy)


def _rounds(
    draft: UncheckedFlow, steps: Steps, among: frozenset[str], seen: set[frozenset[str]]
) -> Iterator[list[str]]:
    """Ways round among these states on which no slot is both forgotten and asked for again.

    Where a slot is both, a way round that never asks leaves out whatever forgets it, or whatever
    asks for it: each is looked through.
    """
    if among in seen:
        return
    seen.add(among)
    inner = {name: steps[name] & among for name in among}
    for part in _parts(inner):
        forgetting, asking = _anew(draft, part)
        if forgetting:
            yield from _rounds(draft, steps, part - forgetting, seen)
            yield from _rounds(draft, steps, part - asking, seen)
        else:
            yield cycle_through(min(part), {name: inner[name] & part for name in part})


def _parts(steps: Steps) -> list[frozenset[str]]:
    """The sets of states of which each leads to every other, and back to itself."""
    reached = {name: reached_from(name, steps) for name in steps}
    parts = {frozenset(n for n in reached[name] if name in reached[n]) for name in steps}
    round_ = (part for part in parts if len(part) > 1 or any(name in steps[name] for name in part))
    return sorted(round_, key=sorted)


def _anew(draft: UncheckedFlow, part: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Of the first slot that the part both forgets and asks for: who forgets it, and who asks."""
    states, slots = draft.definition.states, draft.definition.slots
    for name in sorted(n for n, slot in slots.items() if slot.required and slot.lookup is None):
        forgetting = frozenset(n for n in part if name in states[n].forgets)
        asking = frozenset(n for n in part if name in states[n].collects)
        if forgetting and asking:
            return forgetting, asking
    return frozenset(), frozenset()


def _resting_after(states: Mapping[str, State], name: str) -> set[str]:
    """The states that it can't lead to without having waited, or having them wait."""
    state, exits = states[name], states[name].exits()
    led = {exit_: {branch.to for branch in branches} for exit_, branches in exits.items()}
    if state.kind == "check":
        refused, passed = led.get("on_error", set()), led.get("next", set())
        return {to for to in refused - passed if to in states and states[to].collects}
    if state.awaits is not None and state.awaits.event is not None:
        return led.get("next", set()) - led.get("late", set())
    return set()
