"""Names that point at something: states, slots, tools, people who decide, and the flow's own."""

import re
from collections.abc import Collection, Iterator, Mapping

from router.documents.document import Place
from router.documents.validation import Complaint
from router.domain.errors import nearest
from router.flow.definition import Approve, State
from router.flow.engine.changes import TAKEN
from router.flow.validation.draft import DECISION, ERROR, UNSAID, Draft, complaint


def withdrawal_complaints(draft: Draft) -> Iterator[Complaint]:
    """What is wrong with how a completed run is taken back."""
    withdrawal = draft.definition.withdrawal
    if withdrawal is None:
        return
    yield from approval_complaints(("withdrawal", "approve"), withdrawal.approve)
    if not any(state.undoes for state in draft.definition.states.values()):
        yield complaint(
            ("withdrawal",), "no call has an undo: nothing is taken back", "add undo: to a call"
        )


def approval_complaints(here: Place, ask: Approve) -> Iterator[Complaint]:
    """What is wrong with who is asked to agree, and with what happens while they don't answer."""
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


NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


def complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything that points at nothing, or is called what it can't be called."""
    yield from _names(draft)
    yield from _unknown(("start",), draft.definition.start, draft.states, "state")
    for place, state in draft.each_state():
        for key, names in (("collect", state.collects), ("forget", state.forgets)):
            for number, name in enumerate(names):
                yield from _unknown((*place, key, number), name, draft.slots, "slot")
        yield from _targets(draft, place, state)
        yield from _tools(draft.tools, place, state)


def _names(draft: Draft) -> Iterator[Complaint]:
    definition = draft.definition
    if definition.flow not in (draft.name, UNSAID):
        yield complaint(
            ("flow",),
            f"the flow is called {definition.flow} and its file {draft.name}.yaml",
            f"call the file {definition.flow}.yaml, or the flow {draft.name}",
        )
    if definition.version < 1:
        yield complaint(
            ("version",), f"there is no version {definition.version}", "versions begin with 1"
        )
    named: list[tuple[Place, str]] = [(("flow",), definition.flow)]
    named += [(place, str(place[-1])) for place, _ in draft.each_state()]
    named += [(place, str(place[-1])) for place, _ in draft.each_slot() if place[-1] != "of"]
    named += [((*place, "save"), state.saves) for place, state in draft.each_state() if state.saves]
    for place, name in named:
        if not NAME.match(name) and name != UNSAID:
            yield complaint(
                place,
                f"{name!r} can't be a name here",
                "use small letters, digits and _, and a letter first",
            )
        if (name in TAKEN and "slots" in place) or (
            name in (DECISION, ERROR) and place[-1] == "save"
        ):
            yield complaint(place, f"{name} has a meaning of its own here", "choose another name")


def _unknown(place: Place, name: str, known: Collection[str], kind: str) -> Iterator[Complaint]:
    if name not in known and name != UNSAID:
        remedy = nearest(name, known) or f"there are {', '.join(sorted(known)) or 'none'}"
        yield complaint(place, f"there is no {kind} {name}", remedy)


def _targets(draft: Draft, place: Place, state: State) -> Iterator[Complaint]:
    for exit_, branches in state.exits().items():
        for number, branch in enumerate(branches):
            here = (*place, exit_, number, "to")
            yield from _unknown(here, branch.to, draft.states, "state")
    for number, branch_start in enumerate(state.batch.branches if state.batch else ()):
        yield from _unknown((*place, "parallel", number), branch_start, draft.states, "state")


def _tools(
    tools: Mapping[str, frozenset[str]] | None, place: Place, state: State
) -> Iterator[Complaint]:
    if tools is None:
        return
    for key, tool in state.tools.items():
        if _comes_later(tool, tools):
            continue
        yield from _unknown((*place, key), tool, tools, "tool")
        for argument in state.gives if tool in tools else ():
            kind = f"parameter of {tool} called"
            yield from _unknown((*place, "with", argument), argument, tools[tool], kind)


def _comes_later(tool: str, tools: Collection[str]) -> bool:
    """True where nobody knows yet whether there is such a tool: `crm__*` stands for those."""
    return any(name.endswith("*") and tool.startswith(name[:-1]) for name in tools)
