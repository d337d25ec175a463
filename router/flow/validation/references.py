"""Names that point at something: states, slots, tools, people who decide, and the flow's own."""

import re
from collections.abc import Collection, Iterator, Mapping

from router.domain.durations import MAX_WORKING_DAYS, fits_working_time
from router.domain.errors import nearest
from router.domain.principals import NameSelection
from router.flow.definition import LAST_VERSION, Approve, State
from router.flow.engine.changes import TAKEN
from router.flow.engine.documents import FILE, TYPE
from router.flow.engine.run_parts.approvals import MAX_APPROVERS
from router.flow.slot_types.slot import Slot
from router.flow.validation.unchecked import DECISION, ERROR, UNSAID, UncheckedFlow, complaint
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


def withdrawal_complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """What is wrong with how a completed run is taken back."""
    withdrawal = draft.definition.withdrawal
    if withdrawal is None:
        return
    yield from approval_complaints(("withdrawal", "approve"), withdrawal.approve)
    if not any(state.undoes for state in draft.definition.states.values()):
        what = "no call has an undo: nothing is taken back"
        yield complaint(("withdrawal",), what, "add undo: to a call")


def approval_complaints(here: Place, ask: Approve) -> Iterator[Complaint]:
    """What is wrong with who is asked to agree, and with what happens while they don't answer."""
    if not ask.by:
        yield complaint((*here, "by"), "nobody is asked", 'write by: "manager(requester)"')
    for key, sources in (("by", ask.by), ("cc", ask.cc)):
        if len(sources) > MAX_APPROVERS:
            what = f"{len(sources)} expressions each name somebody"
            yield complaint((*here, key), what, f"name {MAX_APPROVERS} people at most")
    if (ask.escalate_after is None) != (ask.escalate_to is None):
        what = "escalate_after and escalate_to mean nothing without each other"
        yield complaint(here, what, "write both, or neither")
    spans = {key: getattr(ask, key) for key in ("remind_every", "escalate_after", "expire_after")}
    for key, span in spans.items():
        if span is not None and span.total_seconds() < 1:
            yield complaint((*here, key), f"{key} is too short", "a second is the least")
        if span is not None and ask.hours == "working" and not fits_working_time(span):
            what = f"{key} is too long to be counted in working time"
            remedy = f"write P{MAX_WORKING_DAYS}D at most, or hours: calendar"
            yield complaint((*here, key), what, remedy)
    if ask.hours == "working" and not any(spans.values()):
        what = "nothing is counted in hours here"
        yield complaint((*here, "hours"), what, "add remind_every: P1D, say")


NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


FORBIDDEN_REMEDY = "call another one, or have an operator allow it under author_tools"


def complaints(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Everything that points at nothing, or is called what it can't be called."""
    yield from _names(draft)
    yield from _unknown(("start",), draft.definition.start, draft.states, "state")
    for place, state in draft.each_state():
        for key, names in (("collect", state.collects), ("forget", state.forgets)):
            for number, name in enumerate(names):
                yield from _unknown((*place, key, number), name, draft.slots, "slot")
        for exit_, branches in state.exits().items():
            for number, branch in enumerate(branches):
                here = (*place, exit_, number, "to")
                yield from _unknown(here, branch.to, draft.states, "state")
        for number, start in enumerate(state.batch.branches if state.batch else ()):
            yield from _unknown((*place, "parallel", number), start, draft.states, "state")
        if draft.tools is not None:
            yield from _tools(draft.tools, draft.known.usable, place, state)
    if draft.documents is not None:
        yield from _documents(draft.documents, ("slots",), draft.definition.slots)


def _names(draft: UncheckedFlow) -> Iterator[Complaint]:
    flow, version = draft.definition.flow, draft.definition.version
    if flow not in (draft.name, UNSAID):
        what = f"the flow is called {flow} and its file {draft.name}.yaml"
        yield complaint(("flow",), what, f"call the file {flow}.yaml, or the flow {draft.name}")
    if version < 1:
        yield complaint(("version",), f"there is no version {version}", "versions begin with 1")
    if version > LAST_VERSION:
        remedy = f"versions go up to {LAST_VERSION}"
        yield complaint(("version",), f"there is no version {version}", remedy)
    named: list[tuple[Place, str]] = [(("flow",), flow)]
    named += [(place, str(place[-1])) for place, _ in draft.each_state()]
    named += [(place, str(place[-1])) for place, _ in draft.each_slot() if place[-1] != "of"]
    named += [((*place, "save"), state.saves) for place, state in draft.each_state() if state.saves]
    for place, name in named:
        if not NAME.match(name) and name != UNSAID:
            remedy = "use small letters, digits and _, and a letter first"
            yield complaint(place, f"{name!r} can't be a name here", remedy)
        saved = place[-1] == "save" and name in (DECISION, ERROR)
        if saved or ("slots" in place and name in TAKEN):
            yield complaint(place, f"{name} has a meaning of its own here", "choose another name")


def _unknown(place: Place, name: str, known: Collection[str], kind: str) -> Iterator[Complaint]:
    if name not in known and name != UNSAID:
        remedy = nearest(name, known) or f"there are {', '.join(sorted(known)) or 'none'}"
        yield complaint(place, f"there is no {kind} {name}", remedy)


def _tools(
    tools: Mapping[str, frozenset[str]], usable: NameSelection, place: Place, state: State
) -> Iterator[Complaint]:
    for key, tool in state.tools.items():
        if not usable.has(tool) and tool != UNSAID:
            what = f"authors of this tenant can't use the tool {tool}"
            yield complaint((*place, key), what, FORBIDDEN_REMEDY)
        # `crm__*` stands for tools that nobody knows yet.
        if any(name.endswith("*") and tool.startswith(name[:-1]) for name in tools):
            continue
        yield from _unknown((*place, key), tool, tools, "tool")
        for argument in state.gives if tool in tools else ():
            kind = f"parameter of {tool} called"
            yield from _unknown((*place, "with", argument), argument, tools[tool], kind)


def _documents(
    types: Mapping[str, frozenset[str]], place: Place, slots: Mapping[str, Slot]
) -> Iterator[Complaint]:
    """What is wrong with the types of documents that slots name, and with fields of theirs."""
    for name, slot in slots.items():
        here = (*place, name)
        named = [((*here, "documents", n), one) for n, one in enumerate(slot.documents)]
        for value, choice in slot.choices.items():
            means = (*here, "choices", value, "documents")
            named += [((*means, n), one) for n, one in enumerate(choice.documents)]
        for where, one in named:
            yield from _unknown(where, one, types, "type of documents called")
        read = {one for other in slots.values() if other.kind.is_file for one in other.documents}
        if slot.sources and read and read <= types.keys():
            fields = {TYPE, FILE}.union(*(types[one] for one in read))
            for number, source in enumerate(slot.sources):
                field = source.partition(".")[2] or name
                kind = f"field of {' or '.join(sorted(read))} called"
                yield from _unknown((*here, "from", number), field, fields, kind)
        inner = slot.of if slot.of is not None else slot
        within = (name, "of", "fields") if slot.of is not None else (name, "fields")
        yield from _documents(types, (*place, *within), inner.fields)
