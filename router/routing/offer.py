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
MOST_OPTIONS = 6
"""To choose from: as many as a person reads at a glance."""


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
        options = {"type": "array", "items": TEXT, "maxItems": MOST_OPTIONS}
        nobody = "No other function does what is wanted: point to a person."
        offered = [
            function(RESPOND, "Only talk: greetings, thanks, small talk.", text=TEXT),
            function(CLARIFY, "Ask which of several things is meant.", text=TEXT, options=options),
            function(HAND_OFF, nobody, reason=TEXT),
        ]
        if flows:
            offered.append(dispatch(flows))
        if self.skills:
            skill = {"type": "string", "enum": sorted(self.skills)}
            about = "Have a specialist work on it, in several steps."
            offered.append(function(SKILL, about, skill_name=skill, request=TEXT))
        offered += [_tool(self.tools[name]) for name in sorted(self.tools)]
        offered += self._active_functions()
        if self.may_search:
            offered.append(function(FIND, "Find what else can be done here.", query=TEXT))
        return tuple(offered)

    def _active_functions(self) -> Sequence[Function]:
        if self.active is None or not self.active.asking:
            return []
        slots = {
            name: slot.kind.quoted(slot)
            for name, slot in self.active.fillable.items()
            if _is_asked(slot) or name in self.active.awaiting
        }
        about = "Answer what the active flow asks, or correct what it knows."
        cancel = "Give up the active flow."
        return [
            function(FILL, about, slots=_object(slots)),
            Function(name=CANCEL, description=cancel, parameters=_object({})),
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
    parts = []
    for flow in flows:
        slots = flow.slots.items()
        if asked := {name: slot.kind.quoted(slot) for name, slot in slots if _is_asked(slot)}:
            parts.append({**_object(asked), "description": f"of {flow.flow}"})
    properties = {
        "flow_name": {"type": "string", "enum": [flow.flow for flow in flows]},
        "slots": {"anyOf": parts} if len(parts) > 1 else next(iter(parts), _object({})),
    }
    about = "Start a flow, with the slots that the message states."
    schema = {**_object(properties), "required": ["flow_name"]}
    return Function(name=FLOW, description=about, parameters=schema)


def _is_asked(slot: Slot) -> bool:
    """Not what follows from other slots: a model that may give it makes it up.

    How long and which halves of a day are read by rules, in the words that name the days.
    """
    if slot.part_of_range in ("start_half", "end_half"):
        return False
    found = [slot.lookup is None, slot.ask is not None]
    return any(found) if slot.required else all(found)


def _tool(tool: Tool) -> Function:
    """The tool in few words: title, the first paragraph of its description, two examples.

    No examples where an argument may be any words: small models give it the example's.
    """
    properties: Any = tool.parameters.get("properties") or {}
    needed: Any = tool.parameters.get("required") or []
    plain = [properties[name] for name in needed if properties[name].get("type") == "string"]
    takes_any_words = any(not {"enum", "format", "pattern"} & set(schema) for schema in plain)
    about = " ".join(tool.description.split("\n\n", 1)[0].split())
    said = f"{tool.title.zh}: {about}{'' if takes_any_words else _such_as(tool.examples)}"
    return Function(name=tool.name, description=said, parameters=dict(tool.parameters))


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
