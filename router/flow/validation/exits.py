"""Each kind of state has its ways out: those it needs, those it may have."""

from collections.abc import Iterator
from typing import NamedTuple

from router.documents.yaml_document import Place
from router.flow.model import Approve, State
from router.flow.validation.draft import Complaint, Draft, complaint


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


def complaints(draft: Draft) -> Iterator[Complaint]:
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
