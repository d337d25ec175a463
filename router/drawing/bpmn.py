"""A flow as BPMN 2.0 XML with its picture, for whoever documents processes.

<https://www.omg.org/spec/BPMN/2.0.2>. Each state is the task, event or gateway that says the same;
attributes of our own keep its kind and by which way out a sequence flow leaves it, so that the
`importers` read the same states and ways again. What a flow says beyond that (texts, checks,
arguments) stays in its file.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from xml.sax.saxutils import escape, quoteattr

from pydantic import TypeAdapter

from router.domain.locale import Locale, Localised
from router.drawing.flowchart import EXITS, named
from router.drawing.layout import BoxSize, Layout, label_of, laid_out
from router.drawing.svg import number, width
from router.flow.definition import Approve, Branch, FlowDefinition, State, Wait
from router.flow.slot_types.slot import Slot
from router.flow.slot_types.slot import label_of as slot_label
from router.flow.validation.graph import reached_from

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
CAMUNDA = "http://camunda.org/schema/1.0/bpmn"
OWN = "https://intent-router.dev/bpmn"
_NAMESPACES = {
    "xmlns": MODEL,
    "xmlns:bpmndi": "http://www.omg.org/spec/BPMN/20100524/DI",
    "xmlns:dc": "http://www.omg.org/spec/DD/20100524/DC",
    "xmlns:di": "http://www.omg.org/spec/DD/20100524/DI",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xmlns:camunda": CAMUNDA,
    "xmlns:router": OWN,
    "targetNamespace": OWN,
}
START = "flow.start"
EVENT, GATEWAY = 36.0, 50.0
TASK: BoxSize = (140.0, 80.0)
LABEL = 12.0
"""Pixels of the letters on a way."""
_ROLE = re.compile(r"""role\(\s*['"]([^'"]+)['"]\s*\)\Z""")
_FIELD_TYPES = {
    "choice": "enum",
    "integer": "long",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML may have."""
_SPAN = TypeAdapter(timedelta)
Exits = Mapping[str, Sequence[Branch]]


@dataclass(frozen=True)
class BpmnShape:
    """A task, event or gateway; `inner` is what stands in it, as XML."""

    id: str
    tag: str
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    extension: str = ""
    inner: str = ""
    size: BoxSize = TASK
    host: str = ""
    """What it stands on the boundary of."""


@dataclass(frozen=True)
class BpmnEdge:
    """A sequence flow."""

    id: str
    source: str
    target: str
    exit: str = ""
    name: str = ""
    condition: str | None = None


def bpmn_of(definition: FlowDefinition, locale: Locale) -> str:
    """The XML, the same for the same flow; names are in the language of `locale`.

    Ways to states that aren't there are left out.
    """
    return _NO_XML.sub("\ufffd", _Writer(definition, locale).xml())


class _Writer:
    def __init__(self, definition: FlowDefinition, locale: Locale) -> None:
        self._flow = definition
        self._locale = locale
        self._shapes: dict[str, BpmnShape] = {}
        self._ways: list[BpmnEdge] = []
        self._messages: dict[str, str] = {}
        self._regions = _regions(definition)

    def xml(self) -> str:
        """The whole file."""
        self._shape(BpmnShape(START, "startEvent", size=(EVENT, EVENT)))
        if self._flow.start in self._flow.states:
            self._way(START, self._flow.start, "")
        for name, state in self._flow.states.items():
            self._state(name, state)
        return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *self._definitions(), ""])

    def _shape(self, shape: BpmnShape) -> None:
        self._shapes[shape.id] = shape

    def _way(
        self, source: str, target: str, exit_: str, name: str = "", condition: str | None = None
    ) -> None:
        self._ways.append(
            BpmnEdge(f"way.{len(self._ways) + 1}", source, target, exit_, name, condition)
        )

    def _said(self, words: Localised) -> str:
        return " ".join(words.within(self._locale).split())

    # States

    def _state(self, name: str, state: State) -> None:
        made = _MAKERS[state.kind](self, name, state)
        called = self._said(state.name) if state.name else self._called(name, state)
        own = {"router:kind": state.kind, **dict(made.attributes)}
        self._shape(replace(made, name=called, attributes=own))
        exits = {exit_: list(branches) for exit_, branches in state.exits().items()}
        for exit_ in [each for each in exits if each in _ON_BOUNDARY.get(state.kind, ())]:
            event = self._boundary(name, state, exit_)
            self._leave(event, f"{event}.ways", name, {exit_: exits.pop(exit_)})
        if state.kind == "parallel":
            self._join(name, state, exits)
        else:
            self._leave(name, f"{name}.ways", name, exits)

    def _called(self, name: str, state: State) -> str:
        told = state.ends is not None and isinstance(state.shown, Localised)
        return self._said(state.shown) if told and isinstance(state.shown, Localised) else name

    def _leave(self, source: str, gateway: str, owner: str, exits: Exits) -> None:
        """Ways out of a shape: one right from it, several from a gateway behind it."""
        every = [
            (exit_, branch)
            for exit_, branches in exits.items()
            for branch in branches
            if branch.to in self._flow.states
        ]
        if len(every) > 1:
            self._shape(BpmnShape(gateway, "exclusiveGateway", size=(GATEWAY, GATEWAY)))
            self._way(source, gateway, "")
            source = gateway
        for exit_, branch in every:
            event = named(EXITS, exit_, self._locale)
            condition = self._said(branch.name) if branch.name else branch.condition or ""
            said = ("：" if self._locale == "zh" else ": ").join(filter(None, (event, condition)))
            self._way(source, self._target(owner, branch.to), exit_, said, branch.condition)

    def _target(self, owner: str, to: str) -> str:
        """The state, or the gateway where the branches join that lead to it."""
        within = [p for p, (join, inner) in self._regions.items() if to == join and owner in inner]
        innermost = min(within, key=lambda p: len(self._regions[p][1]), default=None)
        return f"{innermost}.join" if innermost else to

    def _join(self, name: str, state: State, exits: Exits) -> None:
        for branch in state.batch.branches if state.batch else ():
            if branch in self._flow.states:
                self._way(name, branch, "parallel")
        join = f"{name}.join"
        self._shape(BpmnShape(join, "parallelGateway", size=(GATEWAY, GATEWAY)))
        self._leave(join, f"{name}.ways", name, exits)

    def _boundary(self, name: str, state: State, exit_: str) -> str:
        id_ = f"{name}.{exit_}"
        inner = "<errorEventDefinition/>"
        if exit_ == "expired" and state.asks is not None:
            inner = _timer(state.asks.expire_after)
        elif exit_ == "late" and state.awaits is not None:
            inner = _timer(state.awaits.duration, state.awaits.until)
        told = named(EXITS, exit_, self._locale)
        attached = {"attachedToRef": name}
        size = (EVENT, EVENT)
        self._shape(
            BpmnShape(id_, "boundaryEvent", told, attached, inner=inner, size=size, host=name)
        )
        return id_

    def collect(self, name: str, state: State) -> BpmnShape:
        """A task of the requester's with a form."""
        known = self._flow.slots
        fields = "".join(self._field(each, known[each]) for each in state.collects if each in known)
        form = f"<camunda:formData>{fields}</camunda:formData>" if fields else ""
        return BpmnShape(name, "userTask", attributes=_REQUESTER, extension=form)

    def _field(self, name: str, slot: Slot) -> str:
        label = quoteattr(self._said(slot_label(name, slot)))
        kind = _FIELD_TYPES.get(slot.type, "string")
        needed = '<camunda:constraint name="required"/>' if slot.required else ""
        validation = f"<camunda:validation>{needed}</camunda:validation>" if needed else ""
        values = "".join(
            f"<camunda:value id={quoteattr(value)} name={quoteattr(self._said(choice.label))}/>"
            for value, choice in slot.choices.items()
        )
        head = f"<camunda:formField id={quoteattr(name)} label={label} type={quoteattr(kind)}>"
        return f"{head}{validation}{values}</camunda:formField>"

    def confirm(self, name: str, _: State) -> BpmnShape:
        """A task of the requester's."""
        return BpmnShape(name, "userTask", attributes=_REQUESTER)

    def approve(self, name: str, state: State) -> BpmnShape:
        """A task of whoever decides."""
        return BpmnShape(name, "userTask", attributes=_deciders(state.asks))

    def call(self, name: str, state: State) -> BpmnShape:
        """A task of a tool."""
        tool = next(iter(state.tools.values()), "")
        about = {"camunda:type": "external", "camunda:topic": tool}
        if state.saves:
            about["camunda:resultVariable"] = state.saves
        return BpmnShape(name, "serviceTask", attributes=about)

    def sub_flow(self, name: str, state: State) -> BpmnShape:
        """Another process that is called."""
        return BpmnShape(name, "callActivity", attributes={"calledElement": state.starts or ""})

    def wait(self, name: str, state: State) -> BpmnShape:
        """An event for a moment or a while, a task for what somebody tells."""
        waits = state.awaits or Wait()
        if waits.event is None:
            inner, size = _timer(waits.duration, waits.until), (EVENT, EVENT)
            return BpmnShape(name, "intermediateCatchEvent", inner=inner, size=size)
        message = f"message.{waits.event}"
        self._messages[message] = waits.event
        about = {"messageRef": message, "camunda:candidateGroups": ",".join(waits.roles)}
        return BpmnShape(name, "receiveTask", attributes=about)

    def say(self, name: str, state: State) -> BpmnShape:
        """An end, or a message that is sent."""
        if state.ends is None:
            return BpmnShape(name, "sendTask")
        return BpmnShape(
            name, "endEvent", attributes={"router:status": state.ends}, size=(EVENT, EVENT)
        )

    def parallel(self, name: str, _: State) -> BpmnShape:
        """A gateway at which branches begin."""
        return BpmnShape(name, "parallelGateway", size=(GATEWAY, GATEWAY))

    # The file

    def _definitions(self) -> Iterator[str]:
        spaces = " ".join(f"{key}={quoteattr(value)}" for key, value in _NAMESPACES.items())
        flow = self._flow
        yield f'<definitions {spaces} exporter="intent-router">'
        for id_, name in self._messages.items():
            yield f"  <message id={quoteattr(id_)} name={quoteattr(name)}/>"
        title = quoteattr(self._said(flow.title))
        id_ = quoteattr(f"{flow.flow}.process")
        yield f'  <process id={id_} name={title} isExecutable="false">'
        yield f"    <documentation>{escape(self._said(flow.description))}</documentation>"
        for shape in self._shapes.values():
            yield f"    {self._element(shape)}"
        for way in self._ways:
            yield f"    {_sequence_flow(way)}"
        yield "  </process>"
        yield from _diagram(f"{flow.flow}.process", self._shapes, self._ways)
        yield "</definitions>"

    def _element(self, shape: BpmnShape) -> str:
        given = {"id": shape.id, **({"name": shape.name} if shape.name else {}), **shape.attributes}
        last = [way for way in self._ways if way.source == shape.id]
        if shape.tag == "exclusiveGateway" and last and last[-1].condition is None:
            given["default"] = last[-1].id
        head = " ".join(f"{key}={quoteattr(value)}" for key, value in given.items() if value)
        extension = (
            f"<extensionElements>{shape.extension}</extensionElements>" if shape.extension else ""
        )
        ways = "".join(
            f"<incoming>{way.id}</incoming>" for way in self._ways if way.target == shape.id
        )
        ways += "".join(
            f"<outgoing>{way.id}</outgoing>" for way in self._ways if way.source == shape.id
        )
        return f"<{shape.tag} {head}>{extension}{ways}{shape.inner}</{shape.tag}>"


_REQUESTER = {"camunda:assignee": "${initiator}"}
_ON_BOUNDARY: Mapping[str, tuple[str, ...]] = {
    "call": ("on_error",),
    "check": ("on_error",),
    "flow": ("otherwise",),
    "approve": ("expired",),
    "wait": ("late",),
}
_MAKERS: Mapping[str, Callable[[_Writer, str, State], BpmnShape]] = {
    "collect": _Writer.collect,
    "confirm": _Writer.confirm,
    "approve": _Writer.approve,
    "call": _Writer.call,
    "check": _Writer.call,
    "flow": _Writer.sub_flow,
    "wait": _Writer.wait,
    "say": _Writer.say,
    "parallel": _Writer.parallel,
}


def _regions(definition: FlowDefinition) -> dict[str, tuple[str, set[str]]]:
    """By state with branches: where they join, and what stands in them."""
    states = definition.states
    found = {}
    for name, state in states.items():
        joins = state.exits().get("join", ())
        if state.batch is None or not joins:
            continue
        join = joins[0].to
        inner = {n: s.targets() & set(states) if n != join else set() for n, s in states.items()}
        within = {each for b in state.batch.branches for each in reached_from(b, inner)}
        found[name] = (join, within - {join})
    return found


def _deciders(ask: Approve | None) -> dict[str, str]:
    by = ask.by if ask else ()
    roles = [match[1] for each in by if (match := _ROLE.match(each.strip()))]
    if len(roles) == len(by):
        return {"camunda:candidateGroups": ",".join(roles)}
    return {"camunda:assignee": f"${{{', '.join(by)}}}"}


def _timer(span: timedelta | None, until: str | None = None) -> str:
    if until is not None:
        moment = f'<timeDate xsi:type="tFormalExpression">{escape(until)}</timeDate>'
        return f"<timerEventDefinition>{moment}</timerEventDefinition>"
    spelt = _SPAN.dump_python(span or timedelta(), mode="json")
    duration = f'<timeDuration xsi:type="tFormalExpression">{spelt}</timeDuration>'
    return f"<timerEventDefinition>{duration}</timerEventDefinition>"


def _sequence_flow(way: BpmnEdge) -> str:
    given = {"id": way.id, "name": way.name, "sourceRef": way.source, "targetRef": way.target}
    given["router:exit"] = way.exit
    head = " ".join(f"{key}={quoteattr(value)}" for key, value in given.items() if value)
    if way.condition is None:
        return f"<sequenceFlow {head}/>"
    said = escape(way.condition)
    condition = f'<conditionExpression xsi:type="tFormalExpression">{said}</conditionExpression>'
    return f"<sequenceFlow {head}>{condition}</sequenceFlow>"


def _diagram(
    process: str, shapes: Mapping[str, BpmnShape], ways: Iterable[BpmnEdge]
) -> Iterator[str]:
    every = list(ways)
    sizes = {shape.id: shape.size for shape in shapes.values() if not shape.host}
    ends = [(_stands(shapes, way.source), way.target) for way in every]
    labels = [(width(way.name, LABEL), LABEL + 4 if way.name else 0.0) for way in every]
    layout = laid_out(sizes, ends, labels)
    places = {name: (box.x, box.y) for name, box in layout.boxes.items() if name in sizes}
    places |= _on_boundaries(shapes, layout)
    yield '  <bpmndi:BPMNDiagram id="picture">'
    yield f'    <bpmndi:BPMNPlane id="picture.plane" bpmnElement={quoteattr(process)}>'
    for shape in shapes.values():
        x, y = places[shape.id]
        wide, high = shape.size
        about = f"id={quoteattr(f'{shape.id}.shape')} bpmnElement={quoteattr(shape.id)}"
        bounds = (
            f'<dc:Bounds x="{number(x - wide / 2)}" y="{number(y - high / 2)}" '
            f'width="{number(wide)}" height="{number(high)}"/>'
        )
        yield f"      <bpmndi:BPMNShape {about}>{bounds}</bpmndi:BPMNShape>"
    for index, way in enumerate(every):
        points = _points(layout, index, way, shapes, places)
        drawn = "".join(f'<di:waypoint x="{number(x)}" y="{number(y)}"/>' for x, y in points)
        about = f'id="{way.id}.edge" bpmnElement="{way.id}"'
        yield f"      <bpmndi:BPMNEdge {about}>{drawn}</bpmndi:BPMNEdge>"
    yield "    </bpmndi:BPMNPlane>"
    yield "  </bpmndi:BPMNDiagram>"


def _stands(shapes: Mapping[str, BpmnShape], name: str) -> str:
    return shapes[name].host or name


def _on_boundaries(
    shapes: Mapping[str, BpmnShape], layout: Layout
) -> dict[str, tuple[float, float]]:
    """Where events stand on the lower edges of tasks, one beside the other."""
    found, seen = {}, Counter[str]()
    for shape in shapes.values():
        if shape.host:
            box = layout.boxes[shape.host]
            right = box.x + box.width / 2 - EVENT / 2 - seen[shape.host] * (EVENT + 4)
            found[shape.id] = (right, box.bottom)
            seen[shape.host] += 1
    return found


def _points(
    layout: Layout,
    index: int,
    way: BpmnEdge,
    shapes: Mapping[str, BpmnShape],
    places: Mapping[str, tuple[float, float]],
) -> list[tuple[float, float]]:
    """From the lower edge through the ranks to the upper one; up a lane where it leads back."""
    x, y = places[way.source]
    start = (x, y + shapes[way.source].size[1] / 2)
    target = layout.boxes[way.target]
    label = layout.boxes[label_of(index)]
    if index in layout.skeleton.back:
        lane, above = layout.lanes[way.target], layout.tracks["in", way.target]
        out = layout.tracks["out", index]
        around = [(label.x, out), (lane, out), (lane, above), (target.x, above)]
        return [start, (label.x, label.y), *around, (target.x, target.top)]
    chain = layout.skeleton.chains[index][1:-1]
    between = [(layout.boxes[each].x, layout.boxes[each].y) for each in chain]
    return [start, *between, (target.x, target.top)]
