"""What a model is offered to decide with: functions, made of what the caller may use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from router.domain.principals import Capability
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.llm.types import Function
from router.skill.skill import Skill
from router.tool.tool import Tool

TEXT: dict[str, Any] = {"type": "string"}

RESPOND, CLARIFY, HAND_OFF = "respond_message", "ask_clarification", "hand_off"
FLOW, SKILL, FIND = "dispatch_to_flow", "dispatch_to_skill", "find_capabilities"
FILL, CANCEL = "fill_slots", "cancel_flow"


@dataclass(frozen=True)
class Offer:
    """What a model may choose among, and the flow that is asking, if any.

    `may_search` is False once the model has searched: then it has to do with what there is.
    """

    flows: Mapping[str, FlowDefinition] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    active: FlowView | None = None
    may_search: bool = True

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions, always in the same order, so that servers can keep the prompt cached.

        Those that come and go within a conversation are last.
        """
        flows = [self.flows[name] for name in sorted(self.flows)]
        tools = [_tool(self.tools[name]) for name in sorted(self.tools)]
        to_flows = [dispatch(flows)] if flows else []
        skills = [_to_skill(sorted(self.skills))] if self.skills else []
        search = [function(FIND, "Find what else can be done here.", query=TEXT)]
        passing = [*self._active_functions(), *(search if self.may_search else [])]
        options = {"type": "array", "items": TEXT, "maxItems": 6}
        always = [
            function(RESPOND, "Only talk: greetings, thanks, small talk.", text=TEXT),
            function(CLARIFY, "Ask which of several things is meant.", text=TEXT, options=options),
            function(
                HAND_OFF, "No other function does what is wanted: point to a person.", reason=TEXT
            ),
        ]
        return (*always, *to_flows, *skills, *tools, *passing)

    def _active_functions(self) -> Sequence[Function]:
        if self.active is None or not self.active.asking:
            return []
        fillable = self.active.fillable.items()
        slots = {
            name: slot.kind.quoted(slot)
            for name, slot in fillable
            if _is_asked(slot) or name in self.active.awaiting
        }
        return [
            function(
                FILL,
                "Answer what the active flow asks, or correct what it knows.",
                slots=_object(slots),
            ),
            Function(name=CANCEL, description="Give up the active flow.", parameters=_object({})),
        ]


def described(capabilities: Sequence[Capability]) -> str:
    """The flows and skills as the prompt lists them; tools speak for themselves."""
    listed = sorted((c for c in capabilities if c.kind != "tool"), key=lambda c: (c.kind, c.name))
    return "\n".join(
        f"- {c.kind} {c.name}: {c.title.zh} / {c.title.en}. {c.description.en}"
        f"{_such_as(c.examples)}"
        for c in listed
    )


def dispatch(flows: Sequence[FlowDefinition]) -> Function:
    """One function for all flows, whose slots are those of one of them."""
    parts = [part for flow in flows if (part := _slots_of(flow))["properties"]]
    slots = {"anyOf": parts} if len(parts) > 1 else parts[0] if parts else _object({})
    return Function(
        name=FLOW,
        description="Start a flow, with the slots that the message states.",
        parameters={
            "type": "object",
            "properties": {
                "flow_name": {"type": "string", "enum": [flow.flow for flow in flows]},
                "slots": slots,
            },
            "required": ["flow_name"],
        },
    )


def _slots_of(flow: FlowDefinition) -> dict[str, Any]:
    asked = {name: slot.kind.quoted(slot) for name, slot in flow.slots.items() if _is_asked(slot)}
    return {**_object(asked), "description": f"of {flow.flow}"}


def _to_skill(names: Sequence[str]) -> Function:
    return Function(
        name=SKILL,
        description="Have a specialist work on it, in several steps.",
        parameters={
            "type": "object",
            "properties": {"skill_name": {"type": "string", "enum": list(names)}, "request": TEXT},
            "required": ["skill_name", "request"],
        },
    )


def _is_asked(slot: Slot) -> bool:
    """Not what follows from other slots: a model that may give it makes it up.

    How long and which halves of a day are read by rules, in the words that name the days.
    """
    if slot.part_of_range in ("start_half", "end_half"):
        return False
    if slot.required:
        return slot.lookup is None or slot.ask is not None
    return slot.lookup is None and slot.ask is not None


def _tool(tool: Tool) -> Function:
    """The tool in few words: title, the first paragraph of its description, two examples.

    No examples where an argument may be any words: small models give it the example's.
    """
    about = " ".join(tool.description.split("\n\n", 1)[0].split())
    examples = "" if _takes_any_words(tool) else _such_as(tool.examples)
    said = f"{tool.title.zh}: {about}{examples}"
    return Function(name=tool.name, description=said, parameters=dict(tool.parameters))


def _takes_any_words(tool: Tool) -> bool:
    properties: Any = tool.parameters.get("properties") or {}
    needed: Any = tool.parameters.get("required") or []
    plain = [properties[name] for name in needed if properties[name].get("type") == "string"]
    return any(not {"enum", "format", "pattern"} & set(schema) for schema in plain)


def _such_as(examples: Sequence[str]) -> str:
    """The first and the last, which are of different languages where both have any."""
    shown = " / ".join(dict.fromkeys([*examples[:1], *examples[-1:]]))
    return f" ({shown})" if shown else ""


def function(name: str, description: str, **properties: Any) -> Function:
    """A function all of whose arguments have to be given."""
    schema = {**_object(properties), "required": list(properties)}
    return Function(name=name, description=description, parameters=schema)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}
