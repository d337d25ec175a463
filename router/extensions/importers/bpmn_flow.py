"""A process in BPMN as a flow: what of it maps is mapped, and everything else is told.

`docs/beginnings.md` has the table. A task becomes the state that does the same, gateways become
the ways between states, and what only its author knows (which tool, which role, what if nobody
agrees) a question.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from router.extensions.importers.beginning import (
    Beginning,
    BeginningContext,
    FlowSketch,
    both,
    written,
)
from router.extensions.importers.bpmn_process import (
    EXIT,
    GATEWAYS,
    KIND,
    WITHIN,
    BpmnProcess,
    FlowNode,
    SequenceFlow,
    read_process,
)
from router.extensions.importers.bpmn_states import StateMaker
from router.extensions.importers.bpmn_words import verdict_of
from router.extensions.importers.conditions import Untranslated, are_opposite, bare, translated
from router.flow.definition import KINDS

MOST_WALKED = 20_000
"""Gateways that are gone through in all: ways through a ladder of them double at each rung."""
MOST_BRANCHES = 40
"""Ways out of one state, gateways behind each other multiplied out."""
DECIDING = frozenset({"exclusiveGateway", "inclusiveGateway", "complexGateway"})
FORKING = frozenset({"parallelGateway"})

BranchData = dict[str, Any]
"""As a flow file has it: `{if, to, name}`."""


def beginning_of_bpmn(content: bytes, around: BeginningContext | None = None) -> Beginning:
    """The draft that a BPMN 2.0 file gives.

    Raises:
        InvalidInput: it isn't BPMN, holds no process, is too large, or isn't safe to read.
    """
    return written(sketch_of(read_process(content)), around or BeginningContext())


def sketch_of(process: BpmnProcess) -> FlowSketch:
    """The flow that the process describes, before it is written down."""
    return _Mapping(process).sketch()


class _Mapping:
    def __init__(self, process: BpmnProcess) -> None:
        self._process = process
        self._sketch = FlowSketch(process.name, process.documentation)
        self._sketch.unmapped += process.unmapped
        _fork_at_tasks(process)
        self._joins = {node.id: _join_of(process, node) for node in self._forks()}
        self._redirected = self._ends_after_forks()
        self._passing = {join for join in self._joins.values() if join and self._decides_next(join)}
        self._names: dict[str, str] = {}
        self._made: set[str] = set()
        self._walked = 0
        self._waiting: deque[FlowNode] = deque()
        self._states = StateMaker(process, self._sketch, self._within_forks())

    def sketch(self) -> FlowSketch:
        """Everything that can be come to from the start, one state after the other."""
        start = self._start()
        fields = start.tag == "startEvent" and self._states.has_fields(start)
        if start.tag == "startEvent" and not fields:
            self._states.tell_start(start)
            self._sketch.start = self._single(start.id, self._process.leaving(start.id))
        else:
            self._sketch.start = self._name(start)
        while self._waiting:
            self._make(self._waiting.popleft())
        self._tell_unreached()
        return self._sketch

    def _start(self) -> FlowNode:
        nodes, process = self._process.nodes.values(), self._process
        starts = [
            each for each in nodes if each.tag == "startEvent" and not process.coming(each.id)
        ]
        for other in starts[1:]:
            self._sketch.leave_out(
                other.where, "另一个开始事件没有带过来", "another start event isn't carried over"
            )
        if starts:
            return starts[0]
        free = (each for each in nodes if not process.coming(each.id))
        first = next((each for each in free if each.tag != "boundaryEvent"), None)
        first = first or next(iter(nodes))
        self._sketch.ask(
            f"原件没有开始事件，草稿从“{first.where}”开始，对吗？",
            f"The file has no start event, so the draft begins with “{first.where}”: "
            "is that right?",
            "start",
        )
        return first

    # What is a state

    def _is_state(self, node: FlowNode) -> bool:
        if node.id in self._passing or node.get(KIND) in KINDS:
            return True
        if node.tag in FORKING:
            return len(self._process.leaving(node.id)) > 1
        if node.tag in DECIDING | WITHIN or node.tag == "boundaryEvent":
            return False
        if node.tag == "startEvent":
            return node.id in self._names or self._states.has_fields(node)
        if node.tag == "intermediateThrowEvent":
            return node.event in {"message", "signal"}
        return node.event != "link" or node.tag != "intermediateCatchEvent"

    def _name(self, node: FlowNode) -> str:
        node = self._process.nodes.get(self._redirected.get(node.id, ""), node)
        if node.tag == "endEvent" and not node.name and not node.event and not node.get(KIND):
            return self._states.done()
        if node.id not in self._names:
            taken = {*self._names.values(), *self._sketch.states}
            self._names[node.id] = self._states.name(node, taken)
            self._waiting.append(node)
        return self._names[node.id]

    def _make(self, node: FlowNode) -> None:
        name, process = self._names[node.id], self._process
        self._made.add(node.id)
        state: BranchData = {}
        self._sketch.states[name] = state
        if node.get(KIND) in KINDS:
            state |= self._states.body(node, name, node.get(KIND))
            state |= self._own_exits(node)
            self._keep_deadlines(node, name, state)
            return
        only_goes_on = node.tag in FORKING | DECIDING and node.id not in self._joins
        if node.id in self._passing or only_goes_on:
            state |= self._states.passing(node) | {"next": self._next(node, name, "next")}
        elif node.id in self._joins:
            state |= self._fork(node)
        elif node.tag == "eventBasedGateway":
            state |= self._race(node, name)
        else:
            state |= self._states.body(node, name, self._kind(node))
            if "end" not in state:
                state |= self._exits(node, name, state)
        for event in process.attached(node.id):
            state |= self._boundary(event, name, state)

    def _kind(self, node: FlowNode) -> str:
        ways = self._decision_after(node)
        verdicts = [verdict_of(way.condition, way.name) for way in ways]
        decides = "approved" in verdicts and len(set(verdicts)) > 1
        return self._states.kind(node, decides=decides)

    # Ways

    def _exits(self, node: FlowNode, name: str, state: BranchData) -> dict[str, Any]:
        if "approve" in state:
            return self._verdicts(node, name)
        way = "completed" if "flow" in state else "next"
        return {way: self._next(node, name, way)}

    def _next(self, node: FlowNode, name: str, way: str) -> Any:
        return self._short(self._branches(node, ("states", name, way), (node.id,)))

    def _short(self, branches: list[BranchData]) -> Any:
        return branches[0]["to"] if len(branches) == 1 and len(branches[0]) == 1 else branches

    def _branches(
        self, node: FlowNode, place: tuple[str, ...], path: tuple[str, ...]
    ) -> list[BranchData]:
        """The ways on from a node, gateways behind each other multiplied out."""
        flows = self._process.leaving(node.id)
        link = self._linked(node)
        if link is not None:
            return self._towards(link, place, path)
        if not flows:
            return [{"to": self._states.done()}]
        if len(flows) == 1:
            return self._towards(self._process.nodes[flows[0].target], place, path)
        found: list[BranchData] = []
        opposite = len(flows) == 2 and are_opposite(*(flow.condition for flow in flows))  # noqa: PLR2004
        default = node.get("default")
        for flow in flows:
            last = flow is flows[-1] and (opposite or flow.id == default)
            condition = None if last else self._condition(flow, node, place)
            behind = self._towards(self._process.nodes[flow.target], place, path)
            found += [_joined(condition, branch, flow.name) for branch in behind]
        if "if" in found[-1]:
            found.append({"to": self._states.ended("undecided")})
            self._sketch.ask(
                f"“{node.where}”的条件都不成立时怎么办？",
                f"What if no condition at “{node.where}” holds?",
                *place,
            )
        if len(found) > MOST_BRANCHES:
            self._sketch.ask(
                f"“{node.where}”之后的分支太多，只带过来前 {MOST_BRANCHES} 条。",
                f"There are too many ways after “{node.where}”: "
                f"the first {MOST_BRANCHES} are here.",
                *place,
            )
            found = [*found[: MOST_BRANCHES - 1], {"to": self._states.ended("undecided")}]
        return found

    def _towards(
        self, node: FlowNode, place: tuple[str, ...], path: tuple[str, ...]
    ) -> list[BranchData]:
        if self._is_state(node):
            return [{"to": self._name(node)}]
        self._walked += 1
        if node.id in path or len(path) > MOST_BRANCHES or self._walked > MOST_WALKED:
            self._sketch.ask(
                f"“{node.where}”绕了一圈，中间什么也不做，该去哪里？",
                f"The way through “{node.where}” goes round without doing anything: where to?",
                *place,
            )
            return [{"to": self._states.ended("undecided")}]
        self._tell_passed(node)
        return self._branches(node, place, (*path, node.id))

    def _tell_passed(self, node: FlowNode) -> None:
        if node.tag in {"inclusiveGateway", "complexGateway"} and (
            len(self._process.leaving(node.id)) > 1
        ):
            self._sketch.leave_out(
                node.where,
                "这种网关可以同时走几条路，草稿只走第一条成立的",
                "such a gateway may take several ways; the draft takes the first that holds",
            )
        elif node.event in {"compensate", "escalation"}:
            self._sketch.leave_out(
                node.where,
                f"{node.event} 事件没有带过来",
                f"the {node.event} event isn't carried over",
            )
        elif node.tag in WITHIN:
            for event in self._process.attached(node.id):
                self._sketch.leave_out(
                    event.where,
                    "子流程边界上的事件没有带过来",
                    "an event on the boundary of a sub-process isn't carried over",
                )

    def _linked(self, node: FlowNode) -> FlowNode | None:
        if node.event != "link" or node.tag != "intermediateThrowEvent":
            return None
        return next(
            (
                each
                for each in self._process.nodes.values()
                if each.tag == "intermediateCatchEvent"
                and each.event == "link"
                and _link(each) == _link(node)
            ),
            None,
        )

    def _condition(self, flow: SequenceFlow, node: FlowNode, place: tuple[str, ...]) -> str:
        try:
            return translated(flow.condition, self._states.known_slots())
        except Untranslated:
            said = bare(flow.condition) or flow.name or flow.id
            self._sketch.ask(
                f"“{node.where}”在什么条件下走“{flow.name or flow.id}”？原件写的是：{said[:200]}",
                f"When does “{node.where}” go by “{flow.name or flow.id}”? "
                f"The file says: {said[:200]}",
                *place,
            )
            # No expression begins so: the draft can't be published before this is answered.
            return f"? {' '.join(said.split())[:200]}"

    def _single(self, source: str, flows: Sequence[SequenceFlow]) -> str:
        """The one state that a way leads to; one that goes on from there where there are more."""
        place, kept = ("states", source, "next"), len(self._sketch.questions)
        found = (
            self._towards(self._process.nodes[flows[0].target], place, ())
            if flows
            else [{"to": self._states.done()}]
        )
        if len(found) == 1:
            return str(found[0]["to"])
        # It is asked again where the state stands that goes on.
        del self._sketch.questions[kept:]
        target = self._process.nodes[flows[0].target]
        self._passing.add(target.id)
        return self._name(target)

    # Approvals

    def _decision_after(self, node: FlowNode) -> list[SequenceFlow]:
        """The ways out of the gateway that decides right after the task; none without one."""
        flows = self._process.leaving(node.id)
        if len(flows) != 1:
            return []
        target = self._process.nodes[flows[0].target]
        ways = self._process.leaving(target.id)
        return ways if target.tag == "exclusiveGateway" and len(ways) > 1 else []

    def _verdicts(self, node: FlowNode, name: str) -> dict[str, Any]:
        ways = self._decision_after(node)
        told = {verdict_of(way.condition, way.name): way for way in ways}
        rest = [way for way in ways if not verdict_of(way.condition, way.name)]
        if len(rest) == 1 and "approved" in told and "rejected" not in told:
            told["rejected"] = rest[0]
        sure = len(told.keys() - {""}) == len(ways) and "approved" in told
        if not sure:
            self._ask_refusal(node, name)
            approved = self._next(node, name, "approved")
            return {"approved": approved, "rejected": self._states.ended("refused")}
        found: dict[str, Any] = {}
        for exit_ in ("approved", "rejected", "returned"):
            if exit_ in told:
                target = self._process.nodes[told[exit_].target]
                place = ("states", name, exit_)
                found[exit_] = self._short(self._towards(target, place, (node.id,)))
            elif exit_ == "rejected":
                self._ask_refusal(node, name)
                found[exit_] = self._states.ended("refused")
        return found

    def _ask_refusal(self, node: FlowNode, name: str) -> None:
        self._sketch.ask(
            f"“{node.where}”不同意时怎么办？原件没有写。",
            f"What happens where “{node.where}” is refused? The file doesn't say.",
            "states",
            name,
            "rejected",
        )

    # Forks, races, boundaries

    def _forks(self) -> list[FlowNode]:
        nodes = self._process.nodes.values()
        forks = (n for n in nodes if n.tag in FORKING and len(self._process.leaving(n.id)) > 1)
        return [node for node in forks if not node.get(KIND)]

    def _decides_next(self, join: str) -> bool:
        """True where what follows a join isn't one state."""
        flows = self._process.leaving(join)
        if len(flows) > 1:
            return False
        seen: set[str] = set()
        while len(flows) == 1 and flows[0].target not in seen:
            node = self._process.nodes[flows[0].target]
            if node.tag not in DECIDING | WITHIN:
                return False
            seen.add(node.id)
            flows = self._process.leaving(node.id)
        return len(flows) != 1

    def _ends_after_forks(self) -> dict[str, str]:
        """Of forks that never join: the ends that they come to, and the one that stands for all."""
        found: dict[str, str] = {}
        for node in self._forks():
            if self._joins[node.id] is None:
                ends = [
                    each
                    for each in _reached(self._process, node.id)
                    if self._process.nodes[each].tag == "endEvent"
                ]
                found |= dict.fromkeys(ends, ends[0] if ends else "")
                self._joins[node.id] = ends[0] if ends else None
                self._sketch.leave_out(
                    node.where,
                    "分支没有汇合，各走各的结束；草稿让它们在一个结束处汇合",
                    "its branches end apart; the draft joins them at one end",
                )
        return found

    def _within_forks(self) -> frozenset[str]:
        """What stands in a branch, where nobody can be asked for slots."""
        found: set[str] = set()
        for fork, join in self._joins.items():
            found |= _reached(self._process, fork, join) - {fork, join}
        return frozenset(found)

    def _fork(self, node: FlowNode) -> dict[str, Any]:
        join = self._joins[node.id]
        target = self._process.nodes[join] if join else None
        if target is None:
            joined = self._states.done()
        elif self._is_state(target):
            joined = self._name(target)
        else:
            joined = self._single(target.id, self._process.leaving(target.id))
        starts = [self._single(flow.id, [flow]) for flow in self._process.leaving(node.id)]
        branches = [each for each in dict.fromkeys(starts) if each != joined]
        if len(branches) < 2:  # noqa: PLR2004
            first = branches[0] if branches else joined
            return self._states.passing(node) | {"next": first}
        return {"parallel": branches, "join": joined}

    def _race(self, node: FlowNode, name: str) -> dict[str, Any]:
        """Of what is waited for at an event gateway one event, and how long."""
        process = self._process
        events = [process.nodes[flow.target] for flow in process.leaving(node.id)]
        timers = [each for each in events if each.event == "timer"]
        others = [each for each in events if each.event != "timer"]
        for each in [*others[1:], *timers[1:]]:
            self._sketch.leave_out(
                each.where,
                "等待只等一个事件，这一个没有带过来",
                "a wait is for one event; this one isn't carried over",
            )
        first = (others or timers)[:1]
        if not first:
            return self._states.passing(node) | {"next": self._states.done()}
        state = self._states.body(first[0], name, "wait")
        state["next"] = self._next(first[0], name, "next")
        if others and timers:
            span = self._states.span(timers[0], "states", name, "wait")
            state["wait"] = {**state["wait"], "for": span}
            state["late"] = self._next(timers[0], name, "late")
        return state

    def _boundary(self, event: FlowNode, name: str, state: BranchData) -> dict[str, Any]:
        """What an event on its boundary adds to a state."""
        if event.event == "error" and ("call" in state or "flow" in state):
            way = "on_error" if "call" in state else "otherwise"
            return {way: self._next(event, name, way)}
        if event.event == "timer" and "approve" in state:
            return self._deadline(event, name, state)
        if event.event == "timer" and "wait" in state and event.get("cancelActivity") != "false":
            waits = {**state["wait"], "for": self._states.span(event, "states", name, "wait")}
            waits.pop("until", None)
            return {"wait": waits, "late": self._next(event, name, "late")}
        kinds = event.event or "none"
        self._sketch.leave_out(
            event.where,
            f"边界事件（{kinds}）在这种状态上没有对应的东西",
            f"a {kinds} event on the boundary has no place in a state of this kind",
        )
        return {}

    def _deadline(self, event: FlowNode, name: str, state: BranchData) -> dict[str, Any]:
        span = self._states.span(event, "states", name, "approve")
        if event.get("cancelActivity") != "false":
            asked = {**state["approve"], "expire_after": span}
            return {"approve": asked, "expired": self._next(event, name, "expired")}
        for flow in self._process.leaving(event.id):
            target = self._process.nodes[flow.target]
            self._sketch.leave_out(
                target.where,
                "到时间就提醒审批人；原来在这里做的事没有带过来",
                "whoever decides is reminded then; what was done here isn't carried over",
            )
        return {"approve": {**state["approve"], "remind_every": span}}

    # Files that were made of a flow

    def _own_exits(self, node: FlowNode) -> dict[str, Any]:
        """Ways out as the file names them: from it, its gateways and the events on its boundary."""
        parts = [node.id, *(event.id for event in self._process.attached(node.id))]
        sources = [*parts, f"{node.id}.join", *(f"{part}.ways" for part in parts)]
        found: dict[str, Any] = {}
        for flow in (flow for source in sources for flow in self._process.leaving(source)):
            if not flow.exit:
                continue
            target = self._process.nodes[flow.target]
            to = self._own_target(target)
            branch: BranchData = {"if": flow.condition} if flow.condition else {}
            branch["to"] = to
            found.setdefault(flow.exit, []).append(branch)
        if "parallel" in found:
            found["parallel"] = [each["to"] for each in found["parallel"]]
        return {
            exit_: each if exit_ == "parallel" else self._short(each)
            for exit_, each in found.items()
        }

    def _keep_deadlines(self, node: FlowNode, name: str, state: BranchData) -> None:
        timers = [each for each in self._process.attached(node.id) if each.event == "timer"]
        for event in timers:
            if "wait" in state:
                state["wait"] = state["wait"] | self._states.timer(event, name)
            elif "approve" in state:
                span = self._states.span(event, "states", name, "approve")
                state["approve"] = state["approve"] | {"expire_after": span}

    def _own_target(self, node: FlowNode) -> str:
        """The state that a way comes to, through the gateways where branches join."""
        seen: set[str] = set()
        while not node.get(KIND) and node.id not in seen:
            seen.add(node.id)
            ways = [
                flow
                for source in (node.id, f"{node.id.removesuffix('.join')}.ways")
                for flow in self._process.leaving(source)
                if flow.exit == "join"
            ]
            if not ways:
                break
            node = self._process.nodes[ways[0].target]
        return self._name(node)

    def _tell_unreached(self) -> None:
        for node in self._process.nodes.values():
            is_done = node.tag in {"startEvent", "boundaryEvent"} | GATEWAYS | WITHIN
            if is_done or node.id in self._made or node.id in self._redirected:
                continue
            if (
                node.tag == "endEvent"
                or not self._is_state(node)
                or node.element.attributes.get(EXIT)
            ):
                continue
            if not any(each.where == node.where for each in self._sketch.unmapped):
                self._sketch.leave_out(
                    node.where,
                    "从开始处走不到这里，没有带过来",
                    "no way that was carried over leads here, so it was left out",
                )


def _joined(condition: str | None, branch: BranchData, name: str) -> BranchData:
    conditions = [each for each in (condition, branch.get("if")) if each]
    unclear = [each for each in conditions if each.startswith("? ")]
    several = [f"({each})" if "||" in each else each for each in conditions]
    found: BranchData = {}
    if conditions:
        found["if"] = unclear[0] if unclear else " && ".join(several)
    found["to"] = branch["to"]
    if said := " · ".join(filter(None, (name, branch.get("name", {}).get("en")))):
        found["name"] = both(said)
    return found


def _link(node: FlowNode) -> str:
    found = node.element.first("linkEventDefinition")
    return found.attributes.get("name", "") if found else ""


def _fork_at_tasks(process: BpmnProcess) -> None:
    """Have a task that several ways leave without a condition be followed by a gateway."""
    for node in list(process.nodes.values()):
        flows = process.leaving(node.id)
        if node.tag in GATEWAYS or len(flows) < 2 or any(f.exit for f in flows):  # noqa: PLR2004
            continue
        tag = "exclusiveGateway" if any(f.condition for f in flows) else "parallelGateway"
        fork = FlowNode(f"{node.id}:fork", tag, node.name, node.element.__class__(tag))
        fork.element.attributes["default"] = node.get("default")
        process.nodes[fork.id] = fork
        moved = [SequenceFlow(**{**vars(flow), "source": fork.id}) for flow in flows]
        process.flows = [f for f in process.flows if f.source != node.id]
        process.flows += [SequenceFlow(f"{node.id}:forks", node.id, fork.id), *moved]
    process.index()


def _reached(process: BpmnProcess, start: str, until: str | None = None) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        if here == until:
            continue
        ways = [
            *process.leaving(here),
            *(f for e in process.attached(here) for f in process.leaving(e.id)),
        ]
        new = {flow.target for flow in ways} - found
        found |= new
        waiting += new
    return found


def _join_of(process: BpmnProcess, fork: FlowNode) -> str | None:
    """The nearest gateway at which all branches of a fork come together; None without one."""
    branches = [_reached(process, flow.target) for flow in process.leaving(fork.id)]
    common = set.intersection(*branches)
    for name in _by_distance(process, fork.id):
        node = process.nodes[name]
        joins = node.tag in FORKING | {"inclusiveGateway", "exclusiveGateway"}
        if name in common and name != fork.id and joins and process.coming(name) > 1:
            return name
    return None


def _by_distance(process: BpmnProcess, start: str) -> Iterable[str]:
    seen, waiting = {start}, deque([start])
    while waiting:
        here = waiting.popleft()
        yield here
        for flow in process.leaving(here):
            if flow.target not in seen:
                seen.add(flow.target)
                waiting.append(flow.target)
