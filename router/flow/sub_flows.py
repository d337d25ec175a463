"""Flows that start flows: whether those are there, take what they are given, and come to an end."""

from collections.abc import Collection, Iterator, Mapping

from router.documents.faults import Fault, nearest
from router.documents.yaml_document import Place
from router.flow.model import FlowDefinition, State

LARGEST = 200 * 1024
"""Bytes of JSON: a flow travels with all that it starts, as the input of its workflow."""

Known = Mapping[str, FlowDefinition]


def sub_flow_faults(
    flow: FlowDefinition, known: Known, faulty: Collection[str] = ()
) -> Iterator[tuple[Place, Fault]]:
    """What is wrong with the flows that this one starts, and where it says so.

    Nothing is said of those that are there and `faulty` themselves.
    """
    for name, state in flow.states.items():
        if state.flow is None:
            continue
        place = ("states", name)
        started = known.get(state.flow)
        if started is None and state.flow in faulty:
            continue
        if started is None:
            remedy = nearest(state.flow, known) or "write its file, or name another"
            yield (*place, "flow"), Fault(f"there is no flow {state.flow}", remedy)
            continue
        yield from _slots(place, state, started)
        way = _way_back(flow.flow, state.flow, known)
        if way:
            what = f"flows would start each other for ever: {' ▸ '.join([flow.flow, *way])}"
            yield (*place, "flow"), Fault(what, "have one of them not start the next")
    size = sum(len(each.model_dump_json().encode()) for each in _with_all(flow, known))
    if size > LARGEST and any(state.flow for state in flow.states.values()):
        what = f"with all that it starts {flow.flow} is {size} bytes; {LARGEST} are the most"
        yield ("flow",), Fault(what, "start fewer flows, or shorten them")


def _slots(place: Place, state: State, started: FlowDefinition) -> Iterator[tuple[Place, Fault]]:
    fillable = [name for name, slot in started.slots.items() if slot.is_fillable]
    for slot in state.arguments:
        if slot not in fillable:
            remedy = nearest(slot, fillable) or f"there are {', '.join(fillable) or 'none'}"
            what = f"{started.flow} has no slot {slot} that can be filled in"
            yield (*place, "with", slot), Fault(what, remedy)


def _way_back(to: str, start: str, known: Known) -> list[str]:
    """The names from `start` to `to`, both included; empty where no way leads there."""
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == to:
            return way
        states = known[way[-1]].states.values() if way[-1] in known else ()
        new = sorted({state.flow for state in states if state.flow} - seen)
        seen.update(new)
        ways += [[*way, name] for name in new]
    return []


def _with_all(flow: FlowDefinition, known: Known) -> list[FlowDefinition]:
    found = {flow.flow: flow}
    waiting = [flow]
    while waiting:
        named = {state.flow for state in waiting.pop().states.values() if state.flow}
        new = [known[name] for name in sorted(named - found.keys()) if name in known]
        found.update({each.flow: each for each in new})
        waiting += new
    return list(found.values())
