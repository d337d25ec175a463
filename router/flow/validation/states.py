"""The states as a graph: ways out, what is never reached or left, what is done side by side.

Each kind of state has its ways out: those it needs, those it may have.

The states as a graph: what is never reached, what is never left, what never rests.

What a state does side by side: for items that are none, in branches that never join.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import timedelta
from difflib import get_close_matches
from typing import NamedTuple

from router.documents.document import Place
from router.documents.validation import Complaint
from router.flow.definition import EXIT_NAMES, Approve, State
from router.flow.validation.draft import Draft, complaint


class Exits(NamedTuple):
    """The exits a kind of state must have, and those that it may have besides."""

    needed: tuple[str, ...]
    possible: tuple[str, ...] = ()


EXITS = {
    "collect": Exits(("next",)),
    "check": Exits(("next",), ("on_error",)),
    "call": Exits(("next",), ("on_error",)),
    "flow": Exits((), ("completed", "otherwise", "next")),
    "parallel": Exits(("join",), ("otherwise",)),
    "confirm": Exits(("confirmed", "declined")),
    "approve": Exits(("approved", "rejected"), ("returned", "expired")),
    "wait": Exits(("next",), ("late",)),
    "say": Exits((), ("next",)),
}
BELONGING = {
    "with": ("call", "check", "flow"),
    "retry": ("call",),
    "hold": ("call",),
    "each": ("call", "flow"),
    "at_once": ("call", "flow"),
    "detached": ("flow",),
    "wait_for": ("parallel",),
    "rest": ("parallel",),
    "save": ("call", "flow", "parallel"),
    "undo": ("call",),
    "forget": ("say",),
    "end": ("say",),
    "keep": ("say",),
}
"""Keys that mean something in some kinds of state only."""


def exit_complaints(draft: Draft) -> Iterator[Complaint]:
    """States that can't be left, exits never taken, keys that do nothing."""
    for place, state in draft.each_state():
        yield from _exits(place, state)
        yield from _branches(place, state)
        yield from _belonging(place, state)
        yield from _collect(place, state)
        if state.approve is not None:
            yield from _approval((*place, "approve"), state.approve)
            yield from _expiring(place, state, state.approve)
        yield from _waiting(place, state)
        yield from _ending(place, state)
    yield from _withdrawal(draft)


def _exits(place: Place, state: State) -> Iterator[Complaint]:
    allowed, present = EXITS[state.kind], state.exits()
    for name in allowed.needed:
        if name not in present:
            yield complaint(
                place, f"{place[-1]} can't be left: it has no {name}", f"add {name}: <state>"
            )
    for name in present:
        if name not in allowed.needed + allowed.possible:
            possible = ", ".join(allowed.needed + allowed.possible)
            yield complaint(
                (*place, name),
                f"{place[-1]} never leaves by {name}",
                f"a state with {state.kind} leaves by {possible}",
            )


def _branches(place: Place, state: State) -> Iterator[Complaint]:
    for exit_, branches in state.exits().items():
        if branches[-1].condition is not None:
            yield complaint(
                (*place, exit_),
                f"there is no way out of {place[-1]}.{exit_} where no condition holds",
                "end the list with {to: <state>} without if",
            )
        for number, branch in enumerate(branches[:-1]):
            if branch.condition is None:
                yield complaint(
                    (*place, exit_, number),
                    f"the branches after the one to {branch.to} are never taken",
                    "give it an if, or put it last",
                )


def _belonging(place: Place, state: State) -> Iterator[Complaint]:
    fields = {"with": "arguments"}
    for key, kinds in BELONGING.items():
        if state.kind not in kinds and getattr(state, fields.get(key, key)):
            yield complaint(
                (*place, key),
                f"{key} does nothing in a state with {state.kind}",
                f"move it to a state with {' or '.join(kinds)}",
            )


def _collect(place: Place, state: State) -> Iterator[Complaint]:
    if state.collect == ():
        yield complaint((*place, "collect"), "nothing is collected", "name the slots to ask for")


def _withdrawal(draft: Draft) -> Iterator[Complaint]:
    """What is wrong with how a completed run is taken back."""
    withdrawal = draft.definition.withdrawal
    if withdrawal is None:
        return
    yield from _approval(("withdrawal", "approve"), withdrawal.approve)
    if not any(state.undo for state in draft.definition.states.values()):
        yield complaint(
            ("withdrawal",), "no call has an undo: nothing is taken back", "add undo: to a call"
        )


def _approval(here: Place, ask: Approve) -> Iterator[Complaint]:
    if not ask.by:
        yield complaint((*here, "by"), "nobody is asked", 'write by: "manager(requester)"')
    if (ask.escalate_after is None) != (ask.escalate_to is None):
        yield complaint(
            here,
            "escalate_after and escalate_to mean nothing without each other",
            "write both, or neither",
        )
    spans = {key: getattr(ask, key) for key in ("remind_every", "escalate_after", "expire_after")}
    for key, span in spans.items():
        if span is not None and span.total_seconds() < 1:
            yield complaint((*here, key), f"{key} is too short", "a second is the least")
    if ask.hours == "working" and not any(spans.values()):
        yield complaint(
            (*here, "hours"), "nothing is counted in hours here", "add remind_every: P1D, say"
        )


def _expiring(place: Place, state: State, ask: Approve) -> Iterator[Complaint]:
    if state.expired and ask.expire_after is None:
        yield complaint(
            (*place, "expired"), "this approval never expires", "add expire_after: P14D to approve"
        )


def _waiting(place: Place, state: State) -> Iterator[Complaint]:
    wait = state.wait
    if wait is None:
        return
    ends = (wait.until is not None) + (wait.duration is not None)
    if ends > 1 or (not ends and wait.event is None):
        yield complaint(
            (*place, "wait"), "a wait has one end", 'write either until: "…" or for: PT24H'
        )


def _ending(place: Place, state: State) -> Iterator[Complaint]:
    if state.kind != "say":
        return
    if bool(state.next) == bool(state.end):
        what = "goes on and ends at once" if state.end else "neither goes on nor ends"
        yield complaint(place, f"{place[-1]} {what}", "write either next: or end:")
    if state.keep and state.end in (None, "completed"):
        what = "what was done stays done there anyway"
        yield complaint((*place, "keep"), what, "leave keep: out, or end otherwise")


Steps = Mapping[str, AbstractSet[str]]
"""Where each name leads."""

RESTING = frozenset({"confirm", "approve", "wait"})
"""Kinds of state that wait for a person or for time, whatever is known already."""


def graph_complaints(draft: Draft) -> Iterator[Complaint]:
    """What the way through the states lacks, as far as it can be made out.

    A state that is misnamed counts as the one that is meant. Where nobody knows which that is, or
    a state couldn't be read, the way may lead anywhere, and nothing is said of what that changes.
    """
    states = draft.definition.states
    doubtful = {name for name, state in states.items() if _is_doubtful(draft, name, state)}
    likely = {
        name: {meant for to in targets(state) if (meant := _meant(to, states))}
        for name, state in states.items()
    }
    possible = {name: set(states) if name in doubtful else to for name, to in likely.items()}
    yield from _unreachable(draft, possible)
    if draft.states <= states.keys():
        yield from _endless(draft, possible)
    if not any(place[:1] == ("slots",) for place in draft.mended):
        yield from _restless(draft, likely, doubtful)


def _is_doubtful(draft: Draft, name: str, state: State) -> bool:
    """True where it isn't known where all the state leads."""
    mended = (place for place in draft.mended if place[:2] == ("states", name))
    if any(_hides_an_exit(place[2:], state) for place in mended):
        return True
    return any(_meant(to, draft.definition.states) is None for to in targets(state))


def _hides_an_exit(place: Place, state: State) -> bool:
    """True for a mended place within a state where a way out of it stood, or may have stood."""
    keys = {info.alias or name: name for name, info in State.model_fields.items()}
    if not place or place[0] in (*EXIT_NAMES, "parallel"):
        return True
    near = get_close_matches(str(place[0]), keys, n=1)
    return place[0] not in keys and not (near and keys[near[0]] in state.model_fields_set)


def _meant(name: str, states: Mapping[str, State]) -> str | None:
    """The state of this name, or else the nearest; None where none is near."""
    near = [name] if name in states else get_close_matches(name, sorted(states), n=1)
    return near[0] if near else None


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
    start = _meant(draft.definition.start, draft.definition.states)
    if start is None:
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


def _restless(draft: Draft, steps: Steps, doubtful: AbstractSet[str]) -> Iterator[Complaint]:
    """Cycles in which nothing waits: a `collect` waits only where its slots are forgotten.

    It waits too where a check led to it that refused: what to change is asked then.
    """
    states = draft.definition.states
    steps = {name: to - _asking_what_to_change(states, name) for name, to in steps.items()}
    moving = {name for name, state in states.items() if not rests(state)} - doubtful
    reported: set[frozenset[str]] = set()
    for cycle in _rounds(draft, steps, frozenset(moving), set()):
        if frozenset(cycle) in reported:
            continue
        reported.add(frozenset(cycle))
        yield complaint(
            ("states", cycle[0]),
            f"this goes round without ever waiting: {' ▸ '.join([*cycle, cycle[0]])}",
            "have it ask, confirm, or wait for a while or an event, or forget what it collects",
        )


def rests(state: State) -> bool:
    """True for a state that waits at every visit, whatever is known already.

    A moment may be past when the state is entered, and then nothing is waited for: a span isn't.
    """
    waited = state.wait
    if waited is None:
        return state.kind in RESTING
    return waited.until is None and waited.duration != timedelta()


def _rounds(
    draft: Draft, steps: Steps, among: frozenset[str], seen: set[frozenset[str]]
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
    parts = {
        frozenset(other for other in reached[name] if name in reached[other]) for name in steps
    }
    return sorted(
        (p for p in parts if len(p) > 1 or any(name in steps[name] for name in p)), key=sorted
    )


def _anew(draft: Draft, part: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Of the first slot that the part both forgets and asks for: who forgets it, and who asks."""
    states, slots = draft.definition.states, draft.definition.slots
    for name, slot in sorted(slots.items()):
        if not slot.required or slot.lookup is not None:
            continue
        forgetting = frozenset(n for n in part if name in states[n].forget)
        asking = frozenset(n for n in part if name in (states[n].collect or ()))
        if forgetting and asking:
            return forgetting, asking
    return frozenset(), frozenset()


def _asking_what_to_change(states: Mapping[str, State], name: str) -> set[str]:
    """The states that a refused check leads to, and that then wait for an answer."""
    state = states[name]
    if state.kind != "check":
        return set()
    refused = {branch.to for branch in state.on_error}
    passed = {branch.to for branch in state.next}
    return {to for to in refused - passed if to in states and states[to].kind == "collect"}


MOST_AT_ONCE = 10
MOST_ATTEMPTS = 100


def parallel_complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything wrong with `each`, `flow` and `parallel` in themselves."""
    for place, state in draft.each_state():
        yield from _each(draft, place, state)
        yield from _retry(place, state)
        yield from _flow(place, state)
        yield from _parallel(draft, place, state)


def _each(draft: Draft, place: Place, state: State) -> Iterator[Complaint]:
    if state.each is None:
        if state.at_once is not None:
            yield complaint((*place, "at_once"), "one thing is always at once", "add each: slots.…")
        return
    before, _, name = state.each.strip().partition("slots.")
    slot = draft.definition.slots.get(name) if not before else None
    if slot is not None and slot.kind.made_of != "of":
        yield complaint(
            (*place, "each"),
            f"{state.each} is no list but of type {slot.type}",
            "name a slot of type list, or leave each out",
        )
    if state.at_once is not None and not 1 <= state.at_once <= MOST_AT_ONCE:
        yield complaint(
            (*place, "at_once"),
            f"{state.at_once} at once can't be",
            f"from 1 to {MOST_AT_ONCE}",
        )


def _retry(place: Place, state: State) -> Iterator[Complaint]:
    if state.each is not None:
        for key in ("retry", "hold"):
            if getattr(state, key):
                yield complaint(
                    (*place, key),
                    f"{key} is for one call, and each makes several",
                    f"leave {key} out, or make the call in a flow of its own",
                )
    if state.retry is None:
        return
    if not 2 <= state.retry.attempts <= MOST_ATTEMPTS:  # noqa: PLR2004
        yield complaint(
            (*place, "retry", "attempts"),
            f"{state.retry.attempts} calls in all can't be",
            f"from 2 to {MOST_ATTEMPTS}",
        )
    if state.retry.every.total_seconds() < 1:
        yield complaint((*place, "retry", "every"), "every is too short", "a second is the least")


def _flow(place: Place, state: State) -> Iterator[Complaint]:
    if state.flow is None:
        return
    needed, wrong = ("next", "completed") if state.detached else ("completed", "next")
    exits = state.exits()
    if needed not in exits:
        yield complaint(
            place, f"{place[-1]} can't be left: it has no {needed}", f"add {needed}: <state>"
        )
    for name in (wrong, *(["otherwise"] if state.detached else [])):
        if name in exits:
            yield complaint(
                (*place, name),
                f"{place[-1]} never leaves by {name}",
                "a flow that is detached leaves by next, any other by completed and otherwise",
            )


def _parallel(draft: Draft, place: Place, state: State) -> Iterator[Complaint]:
    if state.parallel is None:
        return
    here = (*place, "parallel")
    if len(state.parallel) < 2 or len(set(state.parallel)) < len(state.parallel):  # noqa: PLR2004
        yield complaint(here, "branches are two or more different ones", "name their first states")
    if any(b.condition for b in state.join):
        yield complaint(
            (*place, "join"), "branches join in one state", "write join: <state>, and branch there"
        )
    if not state.join or draft.mended:
        return
    join = state.join[0].to
    states = draft.definition.states
    inner = {n: targets(s) & set(states) if n != join else set() for n, s in states.items()}
    for number, branch in enumerate(state.parallel):
        if branch in states:
            yield from _branch(states, (*here, number), branch, join, inner)


def _branch(
    states: Mapping[str, State],
    place: Place,
    branch: str,
    join: str,
    inner: Mapping[str, AbstractSet[str]],
) -> Iterator[Complaint]:
    within = reached_from(branch, inner)
    if branch == join or join not in within:
        yield complaint(
            place,
            f"the branch {branch} never comes to {join}, where the branches join",
            f"lead some state after {branch} to {join}",
        )
    owner = str(place[1])
    if owner in within - {join}:
        yield complaint(
            place,
            f"the branch {branch} comes back to {owner}, and would begin itself again",
            f"lead it to {join} instead",
        )
    for name in sorted(within - {join}):
        for key in ("collect", "forget"):
            if getattr(states[name], key):
                yield complaint(
                    ("states", name, key),
                    f"{name} stands in a branch of {owner}, where slots stay as they are",
                    f"ask before {owner}, or after {join}",
                )
