"""What can be done here, as people and models see it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from router.domain.texts import Localised

CapabilityKind = Literal["flow", "skill", "tool"]


class Capability(BaseModel):
    """A flow, skill or tool: enough to list it, find it, and decide who may use it."""

    model_config = ConfigDict(frozen=True)

    kind: CapabilityKind
    name: str
    title: Localised
    description: Localised
    examples: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()
    permission: Literal["read", "write", "admin"] | None = None
    """Of a tool: whether it changes something, and whose."""
    parameters: dict[str, JsonValue] = {}
    """The JSON Schema of what it takes: a tool's arguments, a flow's slots."""
    client: bool = False
    """Of a tool: whether the front end makes the call, so that nothing here can start it."""
