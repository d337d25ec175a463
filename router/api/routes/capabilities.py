"""What can be done here, for this caller."""

from fastapi import APIRouter
from pydantic import BaseModel

from router.api.deps import Caller, Given
from router.api.problems import problems
from router.domain.capabilities import Capability, CapabilityKind
from router.domain.texts import Locale

router = APIRouter(prefix="/v1/capabilities", tags=["capabilities"])


class CapabilityView(BaseModel):
    """A flow, skill or tool in the reader's language."""

    kind: CapabilityKind
    name: str
    title: str
    description: str

    @classmethod
    def of(cls, capability: Capability, locale: Locale) -> "CapabilityView":
        """The capability in this language."""
        return cls(
            kind=capability.kind,
            name=capability.name,
            title=capability.title.within(locale),
            description=capability.description.within(locale),
        )


class CapabilityPage(BaseModel):
    """All of them; there is never a next page."""

    items: list[CapabilityView]
    next: str | None = None


@router.get("", responses=problems())
async def index(
    services: Given, caller: Caller, kind: CapabilityKind | None = None
) -> CapabilityPage:
    """List what the caller may use; what they may not use isn't there."""
    wanted = (c for c in services.offered.visible_to(caller) if kind in {None, c.kind})
    return CapabilityPage(items=[CapabilityView.of(c, caller.locale) for c in wanted])
