"""Outside events: who may tell them, and what they bring."""

from collections.abc import Iterator

from router.documents.yaml_document import Place
from router.flow.model import State, Wait
from router.flow.validation.draft import DECISION, ERROR, Complaint, Draft, complaint
from router.flow.validation.references import NAME
from router.flow.validation.slots import PARTS


def complaints(draft: Draft) -> Iterator[Complaint]:
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
        if slot.type == "file":
            yield complaint(
                here, "an event brings no file: it would be nobody's", "have it bring a text"
            )
        for key in ("check", "lookup", "ask"):
            if getattr(slot, key):
                yield complaint(
                    (*here, key), f"{key} does nothing in an event's field", "remove it"
                )
        part = PARTS.get(slot.type)
        if part and not getattr(slot, part):
            remedy = f"add {part}: …"
            yield complaint(here, f"a field of type {slot.type} needs {part}", remedy)
