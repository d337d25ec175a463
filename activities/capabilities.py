"""What can be done here, in one place for everything that decides, starts or calls it.

A flow is a file, or the form of a tool: any tool that a person may call can also be started
like a flow, under its own name.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta

from router.contracts.flow import CallLimits
from router.deciding.offer import Offer
from router.deciding.tool_form import form_of
from router.domain.capabilities import Capability
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.flow.model import FlowDefinition, Slot
from router.flow.view import FlowView
from router.tool.registry import Registry, allows
from router.tool.tool import Tool


class Capabilities:
    """The flows and tools of this house, and who may use which."""

    def __init__(self, catalog: Catalog, registry: Registry) -> None:
        self._catalog = catalog
        self._registry = registry

    def visible_to(self, person: Principal) -> list[Capability]:
        """What this person may use, flows first."""
        return [*self._catalog.capabilities(person), *self._registry.capabilities(person)]

    def offer(self, person: Principal, names: Collection[str], active: FlowView | None) -> Offer:
        """What a model may choose among for this person, of the capabilities that are named.

        A tool that writes is not called by a model: it is started as its form, which asks.
        """
        tools = [tool for tool in self._registry.visible_to(person) if tool.name in names]
        forms = {t.name: form_of(t) for t in tools if t.asks_first}
        flows = {f.flow: f for f in self._catalog.visible_to(person) if f.flow in names}
        return Offer(
            flows={**flows, **{name: form for name, form in forms.items() if form is not None}},
            tools={t.name: t for t in tools if not t.asks_first},
            active=active,
        )

    def startable(self, name: str, person: Principal) -> FlowDefinition | None:
        """The flow of this name, or the form of the tool; None where the person may use neither."""
        flow = self._catalog.get(name)
        if flow is not None:
            return flow if person.may(flow.triggers.roles) else None
        if name not in self._registry or not allows(self._registry[name], person):
            return None
        return form_of(self._registry[name])

    def slots(self, name: str) -> Mapping[str, Slot]:
        """The slots of a flow, or of a tool's form."""
        flow = self._catalog.get(name)
        if flow is None and name in self._registry:
            flow = form_of(self._registry[name])
        return flow.slots if flow else {}

    def limits(self, name: str) -> CallLimits:
        """How the tool may be called."""
        if name not in self._registry:
            return CallLimits(timeout=timedelta(seconds=10), attempts=1)
        return _limits_of(self._registry[name])


def _limits_of(tool: Tool) -> CallLimits:
    """A write that doesn't honour its key is called once; a retry could do it twice."""
    if tool.writes and not tool.idempotent:
        return CallLimits(timeout=tool.timeout, attempts=1)
    attempts = 0 if tool.retries is None else tool.retries + 1
    return CallLimits(timeout=tool.timeout, attempts=attempts)
