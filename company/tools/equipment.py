"""The warehouse, as tools for flows: what a request is worth, set aside, put back."""

from typing import Annotated

from pydantic import BaseModel, Field

from company.people.people import HumanResources, approved, of_flows
from company.people.records import EquipmentKind, MoneyAmount, Owner, Reservation, StockRequest
from router.domain.principals import FLOW_ROLE
from router.tool.context import ToolContext
from router.tool.tool import tool

Pieces = Annotated[int, Field(ge=1, le=100)]
Note = Annotated[str | None, Field(max_length=200)]


class Worth(BaseModel):
    """What a request comes to."""

    total: MoneyAmount


class Released(BaseModel):
    """What went back to the shelf; null where nothing had been set aside."""

    reservation: str | None


@tool(
    permission="read",
    roles=[FLOW_ROLE],
    listed=False,
    title={"zh": "设备估价", "en": "What equipment is worth"},
)
async def value_equipment(
    items: Annotated[list[StockRequest], Field(min_length=1, max_length=100)], hr: HumanResources
) -> Worth:
    """What these pieces of equipment are worth together."""
    return Worth(total=hr.stock.value(items))


@approved(title={"zh": "预留设备", "en": "Reserve equipment"})
async def reserve_equipment(
    kind: EquipmentKind, quantity: Pieces, ctx: ToolContext, hr: HumanResources, note: Note = None
) -> Reservation:
    """Set pieces of one kind aside in the warehouse for the caller."""
    wanted = StockRequest(kind=kind, quantity=quantity, note=note)
    return await hr.stock.reserve(Owner.of(ctx.caller), ctx.key, wanted, ctx.now)


@of_flows(
    undoes="reserve_equipment", title={"zh": "释放预留设备", "en": "Release reserved equipment"}
)
async def release_equipment(
    kind: EquipmentKind, quantity: Pieces, ctx: ToolContext, hr: HumanResources, note: Note = None
) -> Released:
    """Put back what `reserve_equipment` set aside; others may have it."""
    del kind, quantity, note  # the key says which
    released = await hr.stock.release(Owner.of(ctx.caller), ctx.undoes)
    return Released(reservation=released.id if released else None)
