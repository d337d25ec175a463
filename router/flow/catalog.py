"""The flows that are loaded, and who may use which."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from router.domain.capabilities import Capability
from router.domain.principals import Principal
from router.flow.model import FlowDefinition


class Catalog:
    """Flows by name, in the order of their names. It doesn't change; load anew for a new one.

    >>> catalog = Catalog([])
    >>> catalog.get("leave_request") is None, len(catalog)
    (True, 0)
    """

    def __init__(self, flows: Iterable[FlowDefinition]) -> None:
        ordered = sorted(flows, key=lambda flow: flow.flow)
        self.flows: Mapping[str, FlowDefinition] = MappingProxyType({f.flow: f for f in ordered})

    def get(self, name: str) -> FlowDefinition | None:
        """The flow of that name, whoever may use it; None where there is none."""
        return self.flows.get(name)

    def visible_to(self, principal: Principal) -> list[FlowDefinition]:
        """The flows that this person may start."""
        return [flow for flow in self if principal.may(flow.triggers.roles)]

    def capabilities(self, principal: Principal) -> list[Capability]:
        """The same flows, as they are listed and found."""
        return [flow.capability for flow in self.visible_to(principal)]

    def __iter__(self) -> Iterator[FlowDefinition]:
        return iter(self.flows.values())

    def __len__(self) -> int:
        return len(self.flows)
