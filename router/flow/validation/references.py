"""Names that point at something: states, slots, tools, outside events, and the flow's own.

Names that point at something: states, slots, tools, and the flow's own.

Outside events: who may tell them, and what they bring.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from router.documents.document import Place
from router.documents.validation import Complaint
from router.domain.errors import nearest
from router.flow.definition import State, Wait
from router.flow.engine.changes import TAKEN
from router.flow.validation.draft import DECISION, ERROR, UNSAID, Draft, complaint

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


def complaints(draft: Draft) -> Iterator[Complaint]:
    """Everything that points at nothing, or is called what it can't be called."""
    yield from _names(draft)
    yield from _unknown(("start",), draft.definition.start, draft.states, "state")
    for place, state in draft.each_state():
        yield from _slots(draft, place, state)
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
    named += [((*place, "save"), state.save) for place, state in draft.each_state() if state.save]
    for place, name in named:
        yield from _badly_named(place, name)


def _badly_named(place: Place, name: str) -> Iterator[Complaint]:
    if not NAME.match(name) and name != UNSAID:
        yield complaint(
            place,
            f"{name!r} can't be a name here",
            "use small letters, digits and _, and a letter first",
        )
    if (name in TAKEN and "slots" in place) or (name in (DECISION, ERROR) and place[-1] == "save"):
        yield complaint(place, f"{name} has a meaning of its own here", "choose another name")


def _unknown(place: Place, name: str, known: Collection[str], kind: str) -> Iterator[Complaint]:
    if name not in known and name != UNSAID:
        remedy = nearest(name, known) or f"there are {', '.join(sorted(known)) or 'none'}"
        yield complaint(place, f"there is no {kind} {name}", remedy)


def _slots(draft: Draft, place: Place, state: State) -> Iterator[Complaint]:
    for key, names in (("collect", state.collect or ()), ("forget", state.forget)):
        for number, name in enumerate(names):
            yield from _unknown((*place, key, number), name, draft.slots, "slot")


def _targets(draft: Draft, place: Place, state: State) -> Iterator[Complaint]:
    for exit_, branches in state.exits().items():
        for number, branch in enumerate(branches):
            here = (*place, exit_, number, "to")
            yield from _unknown(here, branch.to, draft.states, "state")
    for number, branch_start in enumerate(state.parallel or ()):
        yield from _unknown((*place, "parallel", number), branch_start, draft.states, "state")


def _tools(
    tools: Mapping[str, frozenset[str]] | None, place: Place, state: State
) -> Iterator[Complaint]:
    if tools is None:
        return
    for key, tool in (("check", state.check), ("call", state.call), ("undo", state.undo)):
        if tool is None or _comes_later(tool, tools):
            continue
        yield from _unknown((*place, key), tool, tools, "tool")
        for argument in state.arguments if tool in tools else ():
            kind = f"parameter of {tool} called"
            yield from _unknown((*place, "with", argument), argument, tools[tool], kind)


def _comes_later(tool: str, tools: Collection[str]) -> bool:
    """True where nobody knows yet whether there is such a tool: `crm__*` stands for those."""
    return any(name.endswith("*") and tool.startswith(name[:-1]) for name in tools)


def event_complaints(draft: Draft) -> Iterator[Complaint]:
    """Events that nobody may tell, that are never late, or that mean two things."""
    seen: dict[str, Wait] = {}
    for place, state in draft.each_state():
        yield from _late(place, state)
        if state.wait is None or state.wait.event is None:
            continue
        yield from _event((*place, "wait"), state.wait)
        first = seen.setdefault(state.wait.event, state.wait)
        if (first.roles, first.fields) != (state.wait.roles, state.wait.fields):
            yield complaint(
                (*place, "wait", "event"),
                f"another state waits for {state.wait.event} by others, or with other fields",
                "write the same roles and fields in both, or give the event another name",
            )
        if state.wait.event in {s.save for _, s in draft.each_state() if s.save}:
            yield complaint(
                (*place, "wait", "event"),
                f"another state saves its result as {state.wait.event}",
                "give one of the two another name",
            )


def _late(place: Place, state: State) -> Iterator[Complaint]:
    wait = state.wait
    if wait is None:
        return
    timed = wait.until is not None or wait.duration is not None
    if wait.event is None or not timed:
        if state.late:
            yield complaint(
                (*place, "late"),
                f"{place[-1]} is never late",
                "late is for a wait with an event, and until or for",
            )
    elif not state.late:
        yield complaint(
            place, f"nothing is said for when {wait.event} comes too late", "add late: <state>"
        )
    if wait.event is None and (wait.roles or wait.fields):
        yield complaint(
            (*place, "wait"), "roles and fields are an event's", "add event: <name>, or remove them"
        )


def _event(place: Place, wait: Wait) -> Iterator[Complaint]:
    name = wait.event or ""
    if not NAME.match(name) or name in (DECISION, ERROR):
        yield complaint(
            (*place, "event"),
            f"{name!r} can't be an event's name",
            "use small letters, digits and _, a letter first, and neither decision nor error",
        )
    if not wait.roles:
        yield complaint(
            place, f"nobody may tell that {name} happened", "add roles: [warehouse], say"
        )
    for field, slot in wait.fields.items():
        here = (*place, "fields", field)
        if not NAME.match(field):
            remedy = "use small letters, digits and _, and a letter first"
            yield complaint(here, f"{field!r} can't be a name here", remedy)
        if slot.kind.is_file:
            yield complaint(
                here, "an event brings no file: it would be nobody's", "have it bring a text"
            )
        for key in ("check", "lookup", "ask"):
            if getattr(slot, key):
                yield complaint(
                    (*here, key), f"{key} does nothing in an event's field", "remove it"
                )
        part = slot.kind.made_of
        if part and not getattr(slot, part):
            remedy = f"add {part}: …"
            yield complaint(here, f"a field of type {slot.type} needs {part}", remedy)
