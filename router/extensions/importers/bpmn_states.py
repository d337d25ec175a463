"""The state that a task or event of BPMN becomes, without the ways out of it."""

import re
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, get_args

from router.domain.messages import EndStatus
from router.extensions.importers.beginning import FlowSketch, both, name_of, slot_name
from router.extensions.importers.bpmn_process import KIND, BpmnProcess, FlowNode, form_fields
from router.extensions.importers.bpmn_words import (
    APPROVAL,
    Performers,
    asked,
    end_status,
    role_of,
    slots_of,
    spelt_span,
)
from router.extensions.importers.conditions import bare
from router.formats.regex import compiled

HUMAN = frozenset({"userTask", "manualTask", "task"})
_RANDOM = compiled(r"(?i)(?:^|_)(?:sid-|id[-_])?[0-9a-z]*\d[0-9a-z-]{4,}$|^_")
_NAMED_BY_KIND = {
    "userTask": "task",
    "manualTask": "task",
    "task": "task",
    "serviceTask": "call",
    "sendTask": "send",
    "receiveTask": "wait",
    "scriptTask": "call",
    "businessRuleTask": "rule",
    "callActivity": "other_flow",
    "endEvent": "end",
    "startEvent": "details",
    "parallelGateway": "branches",
    "eventBasedGateway": "wait",
    "intermediateCatchEvent": "wait",
    "intermediateThrowEvent": "send",
}
_ENDED: Mapping[str, tuple[str, str, EndStatus]] = {
    "refused": ("申请没有获批。", "It was not approved.", "rejected"),
    "undecided": (
        "没有合适的下一步，已停止。",
        "There was no way on, so it was stopped.",
        "failed",
    ),
}
_UNDECIDED_SPAN = "P1D"


class StateMaker:
    """Makes states of nodes, and asks what the file doesn't say."""

    def __init__(
        self, process: BpmnProcess, sketch: FlowSketch, within_forks: Collection[str]
    ) -> None:
        self._process = process
        self._sketch = sketch
        self._within_forks = within_forks
        self._first_lane = self._lane_of_requester()
        self._makers = {
            "collect": self._collect,
            "approve": self._approve,
            "wait": self._wait,
            "call": self._call,
            "check": self._call,
            "flow": self._sub_flow,
            "say": self._say,
            "confirm": self._confirm,
            "parallel": self._parallel,
        }
        for node in process.nodes.values():
            if self.kind(node, decides=False) == "collect":
                sketch.slots.update(slots_of(node, FlowSketch("")))

    def _lane_of_requester(self) -> str:
        nodes = self._process.nodes.values()
        starts = [each for each in nodes if each.tag == "startEvent" and each.lane]
        tasks = [each for each in nodes if each.tag in HUMAN and each.lane]
        return (starts or tasks)[0].lane if starts or tasks else ""

    def known_slots(self) -> Mapping[str, Mapping[str, Any]]:
        """The slots so far; conditions that compare one have it be filled."""
        return self._sketch.slots

    def has_fields(self, node: FlowNode) -> bool:
        """True where it has a form, if only one that stands elsewhere."""
        elsewhere = node.get("formKey") or node.get("formRef")
        return bool(elsewhere) or next(form_fields(node), None) is not None

    def name(self, node: FlowNode, taken: Collection[str]) -> str:
        """What its state is called."""
        if node.get(KIND):
            return node.id
        identity = "" if _RANDOM.search(node.id) or ":" in node.id else node.id
        otherwise = name_of(identity, otherwise=_NAMED_BY_KIND.get(node.tag, "step"))
        return name_of(node.name, taken, name_of(otherwise, taken))

    def kind(self, node: FlowNode, *, decides: bool) -> str:
        """What kind of state it becomes; `decides` where a gateway after it asks yes or no."""
        if node.tag in HUMAN:
            return self._human(node, decides=decides)
        return {
            "startEvent": "collect",
            "endEvent": "say",
            "receiveTask": "wait",
            "intermediateCatchEvent": "wait",
            "callActivity": "flow",
        }.get(node.tag, "call")

    def _human(self, node: FlowNode, *, decides: bool) -> str:
        who = Performers(node)
        by_lane = node.lane == self._first_lane if self._first_lane and node.lane else True
        mine = who.is_requester or (not who.is_said and by_lane)
        approves = APPROVAL.search(node.name) is not None or decides
        if approves and not who.is_requester:
            return "approve"
        return "wait" if not mine or node.id in self._within_forks else "collect"

    def tell_start(self, node: FlowNode) -> None:
        """What of a start event has no place: what begins it other than a person."""
        if node.event and node.event != "message":
            self._sketch.leave_out(
                node.where,
                f"流程由人说起来开始，{node.event} 触发没有带过来",
                f"a flow begins with what somebody says; the {node.event} isn't carried over",
            )

    def body(self, node: FlowNode, name: str, kind: str) -> dict[str, Any]:
        """The state without its ways out."""
        state: dict[str, Any] = {"name": both(node.name)} if node.name else {}
        return state | self._makers[kind](node, name)

    def passing(self, node: FlowNode) -> dict[str, Any]:
        """A state that only goes on, where a way needs one."""
        said = {"zh": "继续办理。", "en": "Going on."}
        return {"name": both(node.name), "say": said} if node.name else {"say": said}

    def done(self) -> str:
        """The state of an end without a word."""
        self._sketch.states.setdefault("done", {"end": "completed"})
        return "done"

    def ended(self, kind: str) -> str:
        """The state of an end that the file hasn't, `refused` or `undecided`."""
        zh, en, status = _ENDED[kind]
        self._sketch.states.setdefault(kind, {"say": {"zh": zh, "en": en}, "end": status})
        return kind

    def _collect(self, node: FlowNode, name: str) -> dict[str, Any]:
        slots = dict(slots_of(node, self._sketch))
        if not slots:
            label = node.name or name
            slot = f"{name}_note"[:60]
            slots = {slot: {"type": "text", "label": both(label), "ask": asked(label)}}
            self._sketch.ask(
                f"“{node.where}”要填哪些内容？原件没有表单，草稿先问一句话。",
                f"What is to be filled in at “{node.where}”? The file has no form, so the draft "
                "asks for a few words.",
                "slots",
                slot,
            )
        for slot, made in slots.items():
            self._sketch.slots.setdefault(slot, made)
        return {"collect": list(slots)}

    def _deciders(self, node: FlowNode, name: str) -> list[str]:
        """The expressions for whoever decides, and what has to be asked of them."""
        who = Performers(node)
        by: list[str] = who.by
        here = ("states", name, "approve", "by")
        if who.unclear:
            self._sketch.ask(
                f"谁来办“{node.where}”？原件写的是 {', '.join(who.unclear)[:150]}。",
                f"Who decides at “{node.where}”? The file says {', '.join(who.unclear)[:150]}.",
                *here,
            )
        elif by:
            self._sketch.ask(
                f"“{node.where}”由 {', '.join(by)[:150]} 办理：这里有这样的角色或用户吗？",
                f"“{node.where}” is done by {', '.join(by)[:150]}: are there such roles or users?",
                *here,
            )
        elif node.lane and node.lane != self._first_lane:
            by = [f"role('{role_of(node.lane)}')"]
            self._sketch.ask(
                f"泳道“{node.lane[:100]}”里是哪个角色的人？",
                f"Which role do people in the lane “{node.lane[:100]}” have?",
                *here,
            )
        else:
            self._sketch.ask(
                f"谁来办“{node.where}”？草稿先请申请人的上级。",
                f"Who decides at “{node.where}”? The draft asks the requester's manager.",
                *here,
            )
        return by or ["manager(requester)"]

    def _approve(self, node: FlowNode, name: str) -> dict[str, Any]:
        by = self._deciders(node, name)
        for field in form_fields(node):
            is_shown = slot_name(field.attributes.get("id", "")) in self._sketch.slots
            if not is_shown and field.attributes.get("type") not in {"boolean", "enum"}:
                self._sketch.leave_out(
                    f"{node.where}: {field.attributes.get('id', '')}",
                    "审批人不填表，只有同意、退回、拒绝和意见",
                    "whoever decides fills in no form: they agree, send back, refuse, and comment",
                )
        title = both(node.name or self._sketch.title)
        said = {
            key: f"{{{{ requester.name }}}}{mark}{title[key]}"
            for key, mark in (
                ("zh", "："),
                ("en", ": "),
            )
        }
        return {"approve": {"by": by[0] if len(by) == 1 else by, "title": said}}

    def _wait(self, node: FlowNode, name: str) -> dict[str, Any]:
        if node.event == "timer":
            return {"wait": self.timer(node, name)}
        if node.event in {"conditional", "signal"}:
            self._sketch.leave_out(
                node.where,
                f"{node.event} 事件在草稿里是外部告知的事件",
                f"the {node.event} event is one that somebody tells of in the draft",
            )
        who = Performers(node)
        reference = node.get("messageRef") or next(
            (
                each.attributes.get("messageRef", "")
                for each in node.element.children
                if each.tag.endswith("EventDefinition")
            ),
            "",
        )
        event = name_of(
            self._process.messages.get(reference) or f"{name}_done", otherwise="happened"
        )
        wait: dict[str, Any] = {"event": event}
        roles = who.roles or ([role_of(node.lane)] if node.lane else [])
        self._sketch.ask(
            f"“{node.where}”办完了由谁来说？草稿里是：{', '.join(roles) or 'operator'}。",
            f"Who tells that “{node.where}” has happened? In the draft: "
            f"{', '.join(roles) or 'operator'}.",
            "states",
            name,
            "wait",
            "roles",
        )
        wait["roles"] = roles or ["operator"]
        fields = {}
        for field, slot in slots_of(node, self._sketch):
            fields[field] = {key: each for key, each in slot.items() if key != "ask"}
        return {"wait": wait | ({"fields": fields} if fields else {})}

    def timer(self, node: FlowNode, name: str) -> dict[str, Any]:
        """Until when or how long is waited for it."""
        definition = node.element.first("timerEventDefinition")
        moment = definition.first("timeDate") if definition else None
        said = moment.text[:10] if moment else ""
        try:
            return {"until": f"'{date.fromisoformat(said)}'"}
        except ValueError:
            return {"for": self.span(node, "states", name, "wait")}

    def span(self, event: FlowNode, *place: str) -> str:
        """How long a timer runs; a day, and a question, where the file doesn't surely say."""
        definition = event.element.first("timerEventDefinition")
        said = " ".join(each.text for each in definition.children) if definition else ""
        found = spelt_span(re.sub(r"^R\d*/(?=P)", "", bare(said)))
        if found is not None:
            return found
        self._sketch.ask(
            f"“{event.where}”要多久？原件写的是：{said[:100] or '没有写'}。草稿先写一天。",
            f"How long is “{event.where}”? The file says: {said[:100] or 'nothing'}. "
            "The draft has a day.",
            *place,
        )
        return _UNDECIDED_SPAN

    def _call(self, node: FlowNode, name: str) -> dict[str, Any]:
        key = node.get(KIND) if node.get(KIND) in {"call", "check"} else "call"
        said = [node.get(each) for each in ("topic", "class", "expression", "delegateExpression")]
        told = "、".join(filter(None, said))[:150]
        tool = name_of(node.get("topic") or node.name or name, otherwise=name)
        self._sketch.ask(
            f"“{node.where}”用哪个工具，带哪些参数？" + (f"原件写的是：{told}。" if told else ""),
            f"Which tool does “{node.where}”, with which arguments?"
            + (f" The file says: {told}." if told else ""),
            "states",
            name,
            key,
        )
        state: dict[str, Any] = {key: tool}
        if saved := node.get("resultVariable"):
            state["save"] = slot_name(saved)
        return state

    def _sub_flow(self, node: FlowNode, name: str) -> dict[str, Any]:
        called = node.get("calledElement")
        self._sketch.ask(
            f"“{node.where}”是哪个流程，带哪些内容？原件叫它 {called[:100] or '没有写'}。",
            f"Which flow is “{node.where}”, and with what? The file calls it "
            f"{called[:100] or 'nothing'}.",
            "states",
            name,
            "flow",
        )
        return {"flow": name_of(bare(called) or node.name, otherwise=name)}

    def _parallel(self, _node: FlowNode, _name: str) -> dict[str, Any]:
        return {}

    def _confirm(self, node: FlowNode, name: str) -> dict[str, Any]:
        said = both(node.name or name)
        return {"confirm": {"zh": f"请确认：{said['zh']}", "en": f"Please confirm: {said['en']}"}}

    def _say(self, node: FlowNode, name: str) -> dict[str, Any]:
        if node.get(KIND) and node.tag != "endEvent":
            return {"say": both(node.name or name)}
        if node.event and node.event not in {"terminate", "error", "cancel"}:
            self._sketch.leave_out(
                node.where,
                f"结束时的 {node.event} 没有带过来",
                f"the {node.event} at the end isn't carried over",
            )
        given = node.get("status") if node.get("status") in get_args(EndStatus) else ""
        status = (
            given
            or {"error": "failed", "cancel": "cancelled"}.get(node.event)
            or end_status(node.name)
        )
        return {"say": both(node.name), "end": status} if node.name else {"end": status}
