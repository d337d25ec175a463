"""BPMN 2.0 XML as a graph: what is done, what leads where, who does it.

Sub-processes are taken apart, so that their parts stand in the process itself. What the graph has
no place for is named. Files are strangers': a tree of a bounded size, nothing outside of it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from router.documents.file_format import FileReading, Limits, UnreadableFile
from router.documents.xml_tree import Element, parsed
from router.domain.errors import InvalidInput
from router.domain.locale import Localised
from router.extensions.importers.beginning import Unmapped

LARGEST = 5 * 1024 * 1024
MOST_ELEMENTS = 2_000
"""Things that are done, events and gateways."""
EXIT, KIND = "exit", "kind"
"""Attributes of `router.drawing.bpmn`, in files that were made of a flow."""

TASKS = frozenset(
    {
        *("task", "userTask", "manualTask", "serviceTask", "sendTask", "receiveTask"),
        *("scriptTask", "businessRuleTask", "callActivity"),
    }
)
EVENTS = frozenset(
    {
        *("startEvent", "endEvent", "boundaryEvent"),
        *("intermediateCatchEvent", "intermediateThrowEvent"),
    }
)
GATEWAYS = frozenset(
    {
        *("exclusiveGateway", "parallelGateway", "inclusiveGateway", "complexGateway"),
        "eventBasedGateway",
    }
)
WITHIN = frozenset({"subProcess", "transaction", "adHocSubProcess"})
NODES = TASKS | EVENTS | GATEWAYS

UNMAPPED = {
    "dataStoreReference": ("数据存储没有对应的东西", "a data store has no place in a flow"),
    "dataObjectReference": ("数据对象没有对应的东西", "a data object has no place in a flow"),
    "multiInstanceLoopCharacteristics": (
        "多实例（逐项办理）没有带过来，只办一次",
        "it is done once; multi-instance isn't carried over",
    ),
    "standardLoopCharacteristics": (
        "循环没有带过来，只办一次",
        "it is done once; its loop isn't carried over",
    ),
    "messageFlow": ("池之间的消息流没有对应的东西", "a message between pools has no place"),
    "transaction": (
        "事务子流程拆开了，不会整体回滚",
        "the transaction was taken apart; it isn't taken back as a whole",
    ),
    "adHocSubProcess": (
        "即席子流程拆开了，按画的顺序走",
        "the ad-hoc sub-process was taken apart; it goes as it is drawn",
    ),
    "eventSubProcess": ("事件子流程没有带过来", "the event sub-process isn't carried over"),
    "choreography": ("编排图没有带过来", "a choreography isn't carried over"),
}


@dataclass
class FlowNode:
    """Something that is done or happens, or a gateway."""

    id: str
    tag: str
    name: str
    element: Element
    lane: str = ""
    """The name of the lane it stands in; empty without one."""

    @property
    def event(self) -> str:
        """What kind of event it is: `timer`, `message`, …; empty for a plain one."""
        found = (each.tag for each in self.element.children if each.tag.endswith("EventDefinition"))
        return next(found, "").removesuffix("EventDefinition")

    @property
    def where(self) -> str:
        """Its name and id, for whoever looks for it in the picture."""
        return f"{self.name} ({self.id})" if self.name else self.id

    def get(self, attribute: str) -> str:
        """What it says there; empty where it doesn't."""
        return self.element.attributes.get(attribute, "").strip()


@dataclass(frozen=True)
class SequenceFlow:
    """A way from one to another, its condition as it is written."""

    id: str
    source: str
    target: str
    name: str = ""
    condition: str = ""
    exit: str = ""
    """By which way out of a state it leads, in a file that was made of a flow."""


@dataclass
class BpmnProcess:
    """A process, taken apart."""

    id: str
    name: str
    documentation: str
    nodes: dict[str, FlowNode] = field(default_factory=dict)
    flows: list[SequenceFlow] = field(default_factory=list)
    messages: Mapping[str, str] = field(default_factory=dict)
    """The names of messages, signals and errors by their ids."""
    unmapped: list[Unmapped] = field(default_factory=list)
    elements: int = 0
    """How many things there are in the file that are done or happen, gateways among them."""

    def leaving(self, node: str) -> list[SequenceFlow]:
        """The ways from it, the default last."""
        return self._by_source.get(node, [])

    def coming(self, node: str) -> int:
        """How many ways lead to it."""
        return self._coming.get(node, 0)

    def attached(self, node: str) -> list[FlowNode]:
        """The events on its boundary."""
        return self._boundary.get(node, [])

    def index(self) -> None:
        """Look up from now on by nodes; called once everything is there."""
        self._by_source = defaultdict[str, list[SequenceFlow]](list)
        self._coming = defaultdict[str, int](int)
        self._boundary = defaultdict[str, list[FlowNode]](list)
        for flow in self.flows:
            self._by_source[flow.source].append(flow)
            self._coming[flow.target] += 1
        for name, flows in self._by_source.items():
            default = self.nodes[name].get("default")
            flows.sort(key=lambda flow: flow.id == default)
        for node in self.nodes.values():
            if node.tag == "boundaryEvent":
                self._boundary[node.get("attachedToRef")].append(node)


def read_process(content: bytes) -> BpmnProcess:
    """The process in a file; of several the largest, and the others are named.

    Raises:
        InvalidInput: it isn't BPMN, holds no process, is too large, or isn't safe to read.
    """
    root = _root(content)
    if root.tag != "definitions":
        raise _refused(
            f"这不是 BPMN 文件：根元素是 {root.tag[:40]}。",
            f"This is no BPMN: its root is {root.tag[:40]}; send a BPMN 2.0 file.",
        )
    processes = sorted(root.all("process"), key=_size, reverse=True)
    if not processes or not _size(processes[0]):
        raise _refused(
            "文件里没有流程：请发含有 process 的 BPMN 文件。",
            "There is no process in it: send a BPMN file that has one.",
        )
    elements = sum(map(_size, processes))
    if elements > MOST_ELEMENTS:
        raise _refused(
            f"流程有 {elements} 个元素，最多 {MOST_ELEMENTS} 个：请拆开再发。",
            f"It has {elements} elements; {MOST_ELEMENTS} are the most: send a part of it.",
        )
    process = _process(root, processes[0], elements)
    for other in processes[1:]:
        _tell(
            process, other, "另一个池的流程没有带过来", "another pool's process isn't carried over"
        )
    _check(process)
    process.index()
    return process


def _root(content: bytes) -> Element:
    if len(content) > LARGEST:
        raise _refused("文件超过 5 MiB。", "It is over 5 MiB: send a part of it.")
    try:
        return parsed(content, FileReading(Limits(nodes=400_000)))
    except UnreadableFile as error:
        raise InvalidInput(error.text) from None


def _refused(zh: str, en: str) -> InvalidInput:
    return InvalidInput(Localised(zh=zh, en=en))


def _size(element: Element) -> int:
    return sum(each.tag in NODES for each in element.within())


def _process(root: Element, element: Element, elements: int) -> BpmnProcess:
    id_ = element.attributes.get("id", "")
    pools = {
        each.attributes.get("processRef", ""): each.attributes.get("name", "")
        for each in root.within()
        if each.tag == "participant"
    }
    named = {
        each.attributes.get("id", ""): each.attributes.get("name", "")
        for each in root.children
        if each.tag in {"message", "signal", "error", "escalation"}
    }
    name = element.attributes.get("name") or pools.get(id_) or id_
    process = BpmnProcess(id_, name, _documentation(element), messages=named, elements=elements)
    _take(process, element, _lanes(element))
    for each in root.within():
        if each.tag in {"messageFlow", "choreography"}:
            _tell(process, each, *UNMAPPED[each.tag])
    return process


def _documentation(element: Element) -> str:
    found = element.first("documentation")
    return found.text if found else ""


def _lanes(element: Element) -> dict[str, str]:
    """The name of the innermost lane that each node stands in."""
    found = {}
    for lane in (each for each in element.within() if each.tag == "lane"):
        for reference in lane.all("flowNodeRef"):
            found[reference.text] = lane.attributes.get("name") or lane.attributes.get("id", "")
    return found


def _tell(process: BpmnProcess, element: Element, zh: str, en: str) -> None:
    id_, name = (element.attributes.get(key, "") for key in ("id", "name"))
    where = f"{name} ({id_})" if name else id_ or element.tag
    process.unmapped.append(Unmapped(Localised(zh=zh, en=en), where[:200]))


def _take(process: BpmnProcess, within: Element, lanes: Mapping[str, str]) -> None:
    """Take over everything in a process or sub-process, whose parts then stand in the process."""
    waiting: list[tuple[Element, str]] = [(within, "")]
    while waiting:
        container, lane = waiting.pop()
        for element in container.children:
            id_ = element.attributes.get("id", "")
            here = lanes.get(id_, lane)
            if element.tag in WITHIN:
                if element.attributes.get("triggeredByEvent") == "true":
                    _tell(process, element, *UNMAPPED["eventSubProcess"])
                    continue
                if element.tag in UNMAPPED:
                    _tell(process, element, *UNMAPPED[element.tag])
                _open(process, element, here)
                waiting.append((element, here))
            elif element.tag in NODES:
                _add(process, element, here)
            elif element.tag == "sequenceFlow":
                process.flows.append(_flow(element))
            elif element.tag in UNMAPPED and container.tag not in WITHIN:
                _tell(process, element, *UNMAPPED[element.tag])
            _loops(process, element)


def _loops(process: BpmnProcess, element: Element) -> None:
    for each in element.children:
        if each.tag.endswith("LoopCharacteristics") and each.tag in UNMAPPED:
            _tell(process, element, *UNMAPPED[each.tag])


def _add(process: BpmnProcess, element: Element, lane: str) -> None:
    id_ = element.attributes.get("id", "")
    if not id_ or id_ in process.nodes:
        shown = f"“{id_[:60]}”"
        raise _refused(
            f"编号 {shown} 重复或为空：每个元素要有自己的 id。",
            f"The id {shown} comes twice or is empty: give every element an id of its own.",
        )
    name = " ".join(element.attributes.get("name", "").split())
    process.nodes[id_] = FlowNode(id_, element.tag, name[:200], element, lane)


def _flow(element: Element) -> SequenceFlow:
    condition = element.first("conditionExpression")
    given = element.attributes
    return SequenceFlow(
        id=given.get("id", ""),
        source=given.get("sourceRef", ""),
        target=given.get("targetRef", ""),
        name=" ".join(given.get("name", "").split())[:200],
        condition=condition.text if condition else "",
        exit=given.get(EXIT, ""),
    )


def _open(process: BpmnProcess, element: Element, lane: str) -> None:
    """Lead into a sub-process where it starts, and out of it where it ends."""
    _add(process, element, lane)
    owner = element.attributes["id"]
    inner = [each for each in element.children if each.tag in NODES | WITHIN]
    targets = {each.attributes.get("targetRef") for each in element.all("sequenceFlow")}
    starts = [each for each in inner if each.tag == "startEvent"]
    firsts = [
        each
        for each in inner
        if each.attributes.get("id") not in targets and each.tag != "boundaryEvent"
    ]
    begin = (starts or firsts)[:1]
    leaving = f"{owner}:end"
    # The way out of the sub-process is one of a node of its own, where its ends come together.
    process.nodes[leaving] = FlowNode(leaving, "exclusiveGateway", "", Element("exclusiveGateway"))
    for first in begin:
        target = first.attributes.get("id", "")
        process.flows.append(SequenceFlow(f"{owner}:in", owner, target, exit="inner"))
    for each in inner:
        if each.tag == "endEvent" and not _is_special(each):
            each.tag = "intermediateThrowEvent"
            id_ = each.attributes.get("id", "")
            process.flows.append(SequenceFlow(f"{id_}:out", id_, leaving))


def _is_special(end: Element) -> bool:
    """True for an end that doesn't go on after the sub-process."""
    special = {"errorEventDefinition", "terminateEventDefinition", "cancelEventDefinition"}
    return any(each.tag in special for each in end.children)


def _check(process: BpmnProcess) -> None:
    """Leave out ways that lead nowhere; have those out of a sub-process begin at its end."""
    known, kept = process.nodes, []
    for flow in process.flows:
        if flow.source not in known or flow.target not in known:
            where = f"{flow.name} ({flow.id})" if flow.name else flow.id
            what = Localised(zh="连线的一端不存在", en="one end of this sequence flow isn't there")
            process.unmapped.append(Unmapped(what, where))
            continue
        outer = known[flow.source].tag in WITHIN and flow.exit != "inner"
        kept.append(
            SequenceFlow(**{**vars(flow), "source": f"{flow.source}:end"}) if outer else flow
        )
    process.flows = kept


def form_fields(node: FlowNode) -> Iterator[Element]:
    """The fields of its form, as Camunda, Flowable and Activiti write them."""
    extension = node.element.first("extensionElements")
    for each in extension.within() if extension else ():
        if each.tag in {"formField", "formProperty"}:
            yield each
