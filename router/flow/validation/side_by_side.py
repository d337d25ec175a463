"""What a state does side by side: for items that are none, in branches that never join."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from router.documents.yaml_document import Place
from router.flow.model import State
from router.flow.validation.draft import Complaint, Draft, complaint
from router.flow.validation.graph import reached_from, targets

MOST_AT_ONCE = 10
MOST_ATTEMPTS = 100


def complaints(draft: Draft) -> Iterator[Complaint]:
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
    if slot is not None and slot.type != "list":
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
