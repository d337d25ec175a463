"""The flows that are loaded, who may use which, and what a version of one promises.

Two runs of one version ask for the same slots, decide by the same conditions, call the same
tools and wait as long: that is what an operator reads off `version`, so it may not change
beneath it. Wording, patterns and examples may: no run goes another way for them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from router.domain.locale import LOCALES
from router.domain.principals import Capability, Principal
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import SKIPPABLE


class Catalog:
    """Flows by name, in the order of their names. It doesn't change; load anew for a new one."""

    def __init__(self, flows: Iterable[FlowDefinition]) -> None:
        ordered = sorted(flows, key=lambda flow: flow.flow)
        self.flows: Mapping[str, FlowDefinition] = MappingProxyType({f.flow: f for f in ordered})

    def get(self, name: str) -> FlowDefinition | None:
        """The flow of that name, whoever may use it; None where there is none."""
        return self.flows.get(name)

    def visible_to(self, principal: Principal) -> list[FlowDefinition]:
        """The flows that this person may start."""
        return [flow for flow in self if principal.may_use("flow", flow.flow, flow.triggers.roles)]

    def capabilities(self, principal: Principal) -> list[Capability]:
        """The same flows, as they are listed and found."""
        return [flow.capability for flow in self.visible_to(principal)]

    def __iter__(self) -> Iterator[FlowDefinition]:
        return iter(self.flows.values())

    def __len__(self) -> int:
        return len(self.flows)


WORDING = {"flow", "version", "title", "description", "names", "verbs", "triggers"}
"""Of a flow: what it is called and what starts it."""
LEFT_OUT: dict[str, type] = {
    "synonyms": list,
    "names": list,
    "reference": dict,
    SKIPPABLE: bool,
    "bulk": bool,
    "name": dict,
}
"""How people call a choice or see a state, how approvers go through what waits for them, and what
the loader works out from the rest; with the type by which each is told from a slot or an argument
of that name."""


def behaviour(definition: FlowDefinition) -> str:
    """Sixteen hex digits of what the flow's runs do; keys that the file leaves out don't count."""
    whole = definition.model_dump(mode="json", exclude=WORDING, exclude_defaults=True)
    canonical = json.dumps(_unworded(whole), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _unworded(value: Any) -> Any:
    """The value with every text for people reduced to the fact that there is one."""
    if isinstance(value, list):
        return [_unworded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == set(LOCALES):
        return True
    kept = ((k, v) for k, v in value.items() if not isinstance(v, LEFT_OUT.get(k, ())))
    return {key: _unworded(each) for key, each in kept}
