"""What a model is offered to decide with: functions, made of what the caller may use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from router.domain.commands import MemorySign
from router.domain.principals import Capability
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot
from router.flow.view import FormView
from router.llm.types import Function
from router.skill.skill import Skill
from router.tool.tool import Tool

TEXT: dict[str, Any] = {"type": "string"}

RESPOND, CLARIFY, HAND_OFF = "respond_message", "ask_clarification", "hand_off"
FLOW, SKILL, FIND = "dispatch_to_flow", "dispatch_to_skill", "find_capabilities"
FILL, CANCEL, AMEND = "fill_slots", "cancel_flow", "amend_request"
REMEMBER, FORGET = "remember", "forget"
_LONGEST = 80
"""Characters of an example."""
MOST_OPTIONS = 6
"""To choose from: as many as a person reads at a glance."""


@dataclass(frozen=True)
class Offer:
    """What a model may choose among, and the flow that is asking, if any.

    `handed_in` are the requests that wait for approval, which can be changed.
    `may_search` is False once the model has searched: then it has to do with what there is.
    `examples` has for some of them what was once said to mean them, by name; `askable` are the
    tools whose arguments a form can ask for. `said` is the message, where its own words ask for
    something to be remembered or forgotten (`memory`): nothing else ever is.
    """

    flows: Mapping[str, FlowDefinition] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    active: FormView | None = None
    handed_in: Sequence[FormView] = ()
    may_search: bool = True
    examples: Mapping[str, str] = field(default_factory=dict)
    askable: frozenset[str] = frozenset()
    memory: frozenset[MemorySign] = frozenset()
    said: str = ""

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions: those that there always are first, so that servers keep them cached.

        Behind them are flows, skills and tools, each in the order that they are offered in;
        what comes and goes within a conversation is last.
        """
        found = FIXED if self.may_search else FIXED[:-1]
        offered = [*found]
        if self.flows:
            offered.append(dispatch(list(self.flows.values()), self.examples))
        if self.skills:
            skill = {"type": "string", "enum": list(self.skills)}
            listed = [_line(one.capability, self.examples) for one in self.skills.values()]
            about = "\n".join(["Have a specialist work on it, in several steps:", *listed])
            offered.append(function(SKILL, about, skill_name=skill, request=TEXT))
        offered += [_tool(one, self.examples.get(name)) for name, one in self.tools.items()]
        offered += self._active_functions()
        offered += [one for one in OF_MEMORY if one.name in self.memory]
        return tuple(offered)

    @property
    def capabilities(self) -> list[Capability]:
        """All that may be chosen, as people see it."""
        flows = [one.capability for one in self.flows.values()]
        skills = [one.capability for one in self.skills.values()]
        return [*flows, *skills, *(one.capability for one in self.tools.values())]

    def _active_functions(self) -> Sequence[Function]:
        if self.active is None or not self.active.asking:
            return [amending(self.handed_in)] if self.handed_in else []
        slots = _fillable(self.active)
        about = "Answer what the active flow asks, or correct what it knows."
        cancel = "Give up the active flow."
        return [
            function(FILL, about, slots=_object(slots)),
            Function(name=CANCEL, description=cancel, parameters=_object({})),
        ]


def _fillable(view: FormView) -> dict[str, Any]:
    return {
        name: slot.kind.quoted(slot)
        for name, slot in view.fillable.items()
        if (_is_asked(slot) or name in view.awaiting) and not slot.kind.is_file
    }


def amending(waiting: Sequence[FormView]) -> Function:
    """The function that changes one of the requests that wait for approval."""
    parts = [{**_object(_fillable(one)), "description": f"of {one.flow}"} for one in waiting]
    properties = {
        "request": {"type": "string", "enum": [one.id for one in waiting]},
        "slots": {"anyOf": parts} if len(parts) > 1 else parts[0],
    }
    about = "Change a request that was handed in and waits for approval; never for a new one."
    return function(AMEND, about, **properties)


def dispatch(
    flows: Sequence[FlowDefinition], examples: Mapping[str, str] | None = None
) -> Function:
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
    listed = [_line(flow.capability, examples or {}) for flow in flows]
    about = "\n".join(["Start a flow, with the slots that the message states:", *listed])
    schema = {**_object(properties), "required": ["flow_name"]}
    return Function(name=FLOW, description=about, parameters=schema)


def _line(one: Capability, examples: Mapping[str, str]) -> str:
    """A flow or skill as the function names it that it is called by."""
    titles = f"{one.title.zh} / {one.title.en}"
    return f"- {one.name}: {titles}. {one.description.en}{_once_said(examples.get(one.name))}"


def _is_asked(slot: Slot) -> bool:
    """Not what follows from other slots: a model that may give it makes it up.

    How long and which halves of a day are read by rules, in the words that name the days.
    """
    if slot.part_of_range in ("start_half", "end_half"):
        return False
    if slot.kind.is_file or (slot.of is not None and slot.of.kind.is_file):
        return False
    found = [slot.lookup is None, slot.ask is not None]
    return any(found) if slot.required else all(found)


def _tool(tool: Tool, example: str | None) -> Function:
    """The tool in few words: title, the first paragraph of its description, an example.

    No example where an argument may be any words: small models give it the example's.
    """
    properties: Any = tool.parameters.get("properties") or {}
    needed: Any = tool.parameters.get("required") or []
    plain = [properties[name] for name in needed if properties[name].get("type") == "string"]
    takes_any_words = any(not {"enum", "format", "pattern"} & set(schema) for schema in plain)
    about = " ".join(tool.description.split("\n\n", 1)[0].split())
    said = f"{tool.title.zh}: {about}{'' if takes_any_words else _once_said(example)}"
    return Function(name=tool.name, description=said, parameters=dict(tool.parameters))


def _once_said(example: str | None) -> str:
    """What means it, told such that nobody takes it for the message."""
    return f' (others once said: "{" ".join(example.split())[:_LONGEST]}")' if example else ""


def function(name: str, description: str, **properties: Any) -> Function:
    """A function all of whose arguments have to be given."""
    schema = {**_object(properties), "required": list(properties)}
    return Function(name=name, description=description, parameters=schema)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


FIXED = (
    function(RESPOND, "Only talk: greetings, thanks, small talk.", text=TEXT),
    function(
        CLARIFY,
        "Ask which of several things is meant.",
        text=TEXT,
        options={"type": "array", "items": TEXT, "maxItems": MOST_OPTIONS},
    ),
    function(HAND_OFF, "No other function does what is wanted: point to a person.", reason=TEXT),
    function(FIND, "Find what else can be done here.", query=TEXT),
)
"""What every decision is offered, before anything that depends on the message."""
OF_MEMORY = (
    function(
        REMEMBER,
        "Keep what the message asks to have remembered, in the person's very words.",
        text=TEXT,
    ),
    function(
        FORGET,
        "Forget what the message asks to have remembered no longer, in the person's very words.",
        text=TEXT,
    ),
)
"""What is offered only where the message itself asks for it."""
