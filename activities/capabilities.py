"""What can be done here, in one place for everything that decides, starts or calls it."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from router.contracts.activities import OUTAGE_WINDOW
from router.contracts.flow import CallLimits
from router.contracts.hook_calls import HookStub
from router.domain.locale import Localised
from router.domain.principals import (
    FLOW_ROLE,
    Capability,
    Entitlement,
    Principal,
    TenantScoped,
)
from router.flow.catalog import Catalog
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot
from router.flow.view import FormView
from router.routing.offer import Offer
from router.routing.tool_form import form_of
from router.skill.skill import OF_FOLDER, Skill, SkillCatalog
from router.tool.context import Provider
from router.tool.hook import Hook
from router.tool.implementation import FunctionImplementation
from router.tool.registry import Registry, allows
from router.tool.tool import Tool
from router.understanding.names import FlowNames
from router.understanding.triggers.patterns import ToolPhrases

MARGIN = timedelta(seconds=15)
"""Beyond a tool's own timeout, which its worker keeps: for the gate, the ledger, a free slot. An
outage of the database has its time besides."""
LOST_AFTER = timedelta(seconds=5)
SOONEST = timedelta(seconds=1.5)
"""A worker that is silent for as long as the tool may take counts as dead, within these bounds:
its heartbeats are a second apart, and a busy one misses some."""


class Capabilities(TenantScoped):
    """The flows, skills and tools of this house, and who may use which."""

    def __init__(self, catalog: Catalog, skills: SkillCatalog, registry: Registry) -> None:
        self.catalog = catalog
        self.skills = skills
        self.registry = registry
        self._forms: WeakKeyDictionary[Tool, FlowDefinition | None] = WeakKeyDictionary()

    def without(self, provider: Provider[Any]) -> "Capabilities":
        """The same, with nobody offered the tools that need this."""
        return Capabilities(self.catalog, self.skills, self.registry.without(provider))

    def everything(self) -> list[Capability]:
        """What anybody may be offered; who, is decided at every message."""
        return self._listed(self.registry)

    def forms(self) -> list[FlowDefinition]:
        """The tools as flows; nothing starts them by itself, they are chosen where offered."""
        return list(self._forms_of(self.registry).values())

    def title_of(self, tool: str) -> Localised | None:
        """What the tool of this name is called by people; None where there is none."""
        return self.registry[tool].title if tool in self.registry else None

    def look_ups(self) -> frozenset[str]:
        """The flows that are nobody's requests: forms of tools that read or are about requests."""
        others = (t.name for t in self.registry if not (t.writes and t.options.request))
        return frozenset(others) - self.catalog.flows.keys()

    @property
    def names(self) -> frozenset[str]:
        """What flows, skills and tools are called: nothing else may be called so."""
        named = (*self.catalog.flows, *(skill.name for skill in self.skills))
        return self.registry.names.union(named)

    def names_of(self, flow: str) -> FlowNames | None:
        """What people call a flow; None where there is none of that name."""
        definition = self.catalog.get(flow)
        return None if definition is None else FlowNames.of(definition)

    def phrases(self) -> list[ToolPhrases]:
        """The sentences that ask for a tool by themselves, of those that anybody is offered."""
        offered = (t for t in self.registry.offered() if t.roles != {FLOW_ROLE})
        return [_phrases_of(tool) for tool in offered if tool.phrases]

    def listed(self, *, skills: bool = True) -> list[Capability]:
        """What is named to whoever asks what can be done here; to whom, is decided then.

        Without a model, whose work they are, that is no `skills`.
        """
        named = (one for one in self._listed(self.registry.offered()) if one.by_name)
        return [one for one in named if skills or one.kind != "skill"]

    def _listed(self, tools: Iterable[Tool]) -> list[Capability]:
        shown = (t.capability for t in tools if t.options.listed and t.roles != {FLOW_ROLE})
        flows = (flow.capability for flow in self.catalog)
        return [*flows, *(skill.capability for skill in self.skills), *shown]

    def flows(self) -> list[FlowDefinition]:
        """All that a message may start or choose: the flows, and the tools as flows."""
        return [*self.catalog, *self.forms()]

    def visible_to(self, person: Principal) -> list[Capability]:
        """What this person may use: flows, then skills, then tools."""
        return [
            *self.catalog.capabilities(person),
            *self.skills.capabilities(person),
            *self.registry.capabilities(person),
        ]

    def choosable_by(self, person: Principal) -> list[Capability]:
        """The same, less what people call by name alone: what a model may choose for them."""
        return [one for one in self.visible_to(person) if one.by_model]

    def offer(self, person: Principal, near: Mapping[str, str], active: FormView | None) -> Offer:
        """What a model may choose among for this person, of those of these names, in their order.

        Each has what was once said to mean it, or nothing. A tool that writes comes as its form.
        """
        place = {name: number for number, name in enumerate(near)}
        tools = {t.name: t for t in self.registry.visible_to(person) if t.name in near}
        flows = {f.flow: f for f in self.catalog.visible_to(person) if f.flow in near}
        flows |= self._forms_of(tool for tool in tools.values() if tool.asks_first)
        visible = (s for s in self.skills.visible_to(person) if s.by_model)
        skills = {s.name: s for s in visible if s.name in near}
        return Offer(
            flows={name: flows[name] for name in sorted(flows, key=place.__getitem__)},
            skills={name: skills[name] for name in sorted(skills, key=place.__getitem__)},
            tools={n: tools[n] for n in sorted(tools, key=place.__getitem__) if n not in flows},
            active=active,
            examples={name: said for name, said in near.items() if said},
            askable=frozenset(name for name, tool in tools.items() if self._form(tool) is not None),
        )

    def skills_of(self, names: Iterable[str]) -> dict[str, Skill]:
        """The skills of these names, as far as there are such."""
        found = ((name, self.skills.get(name)) for name in names)
        return {name: skill for name, skill in found if skill is not None}

    def tools_of(self, skill: Skill, person: Principal) -> dict[str, Tool]:
        """What a skill may call for this person: what both may, and what asks nobody first."""
        usable = (tool for tool in self.registry.visible_to(person) if _suits(skill, tool))
        return {t.name: t for t in usable if not t.asks_first}

    def flows_of(self, skill: Skill, person: Principal) -> dict[str, FlowDefinition]:
        """What a skill may send this person to: flows and forms, and only such as it names."""
        named = skill.allowed_tools or frozenset()
        flows = {f.flow: f for f in self.catalog.visible_to(person) if f.flow in named}
        asking = (t for t in self.registry.visible_to(person) if t.asks_first and t.name in named)
        return self._forms_of(asking) | flows

    def startable(self, name: str, person: Principal) -> FlowDefinition | None:
        """The flow of this name, or the form of the tool; None where the person may use neither."""
        flow = self.catalog.get(name)
        if flow is not None:
            return flow if person.may_use("flow", name, flow.triggers.roles) else None
        usable = name in self.registry and allows(self.registry[name], person)
        return self._form(self.registry[name]) if usable else None

    def definition(self, name: str) -> FlowDefinition | None:
        """The flow of this name, or the form of the tool, whoever may start it."""
        form = self._form(self.registry[name]) if name in self.registry else None
        return self.catalog.get(name) or form

    def started_by(
        self, definition: FlowDefinition, entitlement: Entitlement
    ) -> dict[str, FlowDefinition]:
        """The flows that this one starts, and those that they start, by name: those there are."""
        found: dict[str, FlowDefinition] = {}
        waiting = [definition]
        while waiting:
            named = {state.starts for state in waiting.pop().states.values() if state.starts}
            there = [name for name in sorted(named) if entitlement.covers("flow", name)]
            new = [flow for name in there if (flow := self.catalog.get(name))]
            waiting += [flow for flow in new if flow.flow not in found]
            found.update({flow.flow: flow for flow in new})
        return found

    def is_form(self, name: str) -> bool:
        """True where what is started under this name is a tool's form, and no flow file."""
        return self.catalog.get(name) is None

    def slots(self, name: str) -> Mapping[str, Slot]:
        """The slots of a flow, or of a tool's form."""
        flow = self.definition(name)
        return flow.slots if flow else {}

    def result_problems(self, name: str, result: JsonValue) -> list[str]:
        """What is wrong with a front end's result of this tool; nothing if there is no such."""
        made = self.registry[name].implementation if name in self.registry else None
        return made.result_problems(result) if isinstance(made, FunctionImplementation) else []

    def limits(self, name: str) -> CallLimits:
        """How the tool may be called."""
        if name not in self.registry:
            return CallLimits(timeout=timedelta(seconds=10), attempts=1)
        tool = self.registry[name]
        return CallLimits(
            timeout=tool.timeout + MARGIN + OUTAGE_WINDOW,
            # A write that doesn't honour its key is tried again too: the ledger sends it only once.
            attempts=0 if tool.retries is None else tool.retries + 1,
            heartbeat=min(max(tool.timeout, SOONEST), LOST_AFTER),
            ephemeral=tool.options.ephemeral,
            return_direct=tool.options.return_direct,
            client=tool.options.client,
            writes=tool.writes,
            outward=tool.outward,
            title=tool.title,
            defaults=tool.defaults,
            hooks=stubs(self.registry.hooks.around(name)),
        )

    def hooks_about(self, normalised: str) -> tuple[HookStub, ...]:
        """The hooks that hear of a message which reads so, of its turn and of what breaks in it."""
        hooks = self.registry.hooks
        before = [each for each in hooks.at("before_decision") if each.is_about_words(normalised)]
        return stubs([*before, *hooks.at("after_turn", "on_error")])

    def _form(self, tool: Tool) -> FlowDefinition | None:
        """Made once: with some hundred tools all of them take longer than a turn does."""
        if tool not in self._forms:
            self._forms[tool] = form_of(tool)
        return self._forms[tool]

    def _forms_of(self, tools: Iterable[Tool]) -> dict[str, FlowDefinition]:
        forms = ((tool.name, self._form(tool)) for tool in tools)
        return {name: form for name, form in forms if form is not None}


def stubs(hooks: Iterable[Hook]) -> tuple[HookStub, ...]:
    """The hooks as workflows know them."""
    return tuple(
        HookStub(name=each.name, point=each.point, timeout=each.timeout, required=each.required)
        for each in hooks
    )


def _phrases_of(tool: Tool) -> ToolPhrases:
    """One that reads can be called as soon as it is asked for with all that it needs."""
    required = tool.parameters.get("required")
    needs = frozenset(map(str, required)) if isinstance(required, list) else frozenset[str]()
    reads = not tool.asks_first
    return ToolPhrases(tool.name, tool.title, tool.phrases, tool.roles, reads, needs)


def _suits(skill: Skill, tool: Tool) -> bool:
    if tool.name in OF_FOLDER:
        return skill.works_on_folder_by(tool.name)
    return skill.may_use(tool.name) or not tool.options.listed
