"""Tickets and hotels that are booked: what a change costs, and the change itself."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter
from pydantic import BaseModel, Field

from company.office.ledger import Holder, Ledger
from company.office.service import Asker, Key, OnRecord, Records, Undone
from router.domain.errors import InvalidInput
from router.domain.locale import Localised

router = APIRouter(prefix="/journeys", tags=["journeys"])

FAMILY = "JC"

ChangeKind = Literal["move", "extend", "cancel"]


class Fare(NamedTuple):
    """What is booked, what it cost in yuan, and the share of that which each change costs."""

    name: Localised
    price: Decimal
    shares: dict[ChangeKind, Decimal]


FARES = {
    "TK200318": Fare(
        Localised(zh="上海到北京的高铁 G12", en="train G12 from Shanghai to Beijing"),
        Decimal(553),
        {"move": Decimal(0), "cancel": Decimal("0.05")},
    ),
    "TK880112": Fare(
        Localised(zh="上海到北京的航班 MU5101", en="flight MU5101 from Shanghai to Beijing"),
        Decimal(1240),
        {"move": Decimal("0.2"), "cancel": Decimal("0.3")},
    ),
    "TK880540": Fare(
        Localised(zh="上海到新加坡的航班 SQ833", en="flight SQ833 from Shanghai to Singapore"),
        Decimal(6200),
        {"move": Decimal("0.25"), "cancel": Decimal("0.4")},
    ),
    "TK880777": Fare(
        Localised(zh="北京到洛杉矶的航班 CA987", en="flight CA987 from Beijing to Los Angeles"),
        Decimal(28600),
        {"move": Decimal("0.2"), "cancel": Decimal("0.3")},
    ),
    "TK880901": Fare(
        Localised(zh="上海到成都的特价航班 9C8881", en="discount flight 9C8881 to Chengdu"),
        Decimal(399),
        {"cancel": Decimal(1)},
    ),
    "HT500201": Fare(
        Localised(zh="上海人民广场酒店", en="People's Square Hotel in Shanghai"),
        Decimal(680),
        {"extend": Decimal(1), "cancel": Decimal(0)},
    ),
}
"""What the sample company has booked, by the number of its confirmation."""


class JourneyChange(BaseModel):
    """A change that somebody would like."""

    booking: Annotated[str, Field(max_length=40)]
    change: ChangeKind
    new_date: date | None = None


class Fee(BaseModel):
    """An amount of money, nothing included."""

    amount: str
    currency: str = "CNY"


class ChangeQuote(BaseModel):
    """What a change costs, and what comes back."""

    found: bool
    possible: bool = False
    name: Localised | None = None
    why: Localised | None = None
    """What keeps it from being changed so."""
    cost: Fee | None = None
    refund: Fee | None = None


@router.post("/quotes")
async def quote(body: JourneyChange, records: Records, asker: Asker) -> ChangeQuote:
    """Say what it would cost; nothing is changed."""
    found = quoted(body)
    if found.possible and _is_cancelled(records, asker, _number(body.booking)):
        why = Localised(zh="已经退掉了", en="it has been cancelled already")
        return ChangeQuote(found=True, name=found.name, why=why)
    return found


@router.post("/changes")
async def change(body: JourneyChange, records: Records, asker: Asker, key: Key) -> OnRecord:
    """Change it, at the price that was quoted."""
    if not quoted(body).possible:
        zh, en = f"{body.booking} 不能这样改", f"{body.booking} can't be changed so"
        raise InvalidInput(Localised(zh=zh, en=en))
    return OnRecord.of(records.make(asker, FAMILY, key, body.model_dump(mode="json")))


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> OnRecord:
    """Restore what the call with this key has changed."""
    return OnRecord.of(records.take_back(asker, FAMILY, body.undoes))


def quoted(wish: JourneyChange) -> ChangeQuote:
    """The quote for a change.

    >>> quoted(JourneyChange(booking="tk-880112", change="cancel")).refund.amount
    '868.00'
    """
    fare = FARES.get(_number(wish.booking))
    if fare is None:
        return ChangeQuote(found=False)
    share = fare.shares.get(wish.change)
    if share is None:
        why = Localised(zh="这种票或房不支持", en="its fare doesn't allow that")
        return ChangeQuote(found=True, name=fare.name, why=why)
    fee = fare.price * share
    back = fare.price - fee if wish.change == "cancel" else Decimal(0)
    # What a cancelled booking costs was paid already: it is kept of the refund.
    return ChangeQuote(
        found=True, possible=True, name=fare.name, cost=_yuan(fee), refund=_yuan(back)
    )


def _yuan(amount: Decimal) -> Fee:
    return Fee(amount=f"{amount:.2f}")


def _number(booking: str) -> str:
    """`tk-880112` is TK880112."""
    return booking.upper().replace("-", "").strip()


def _is_cancelled(records: Ledger, asker: Holder, booking: str) -> bool:
    standing = records.everyones(asker.tenant, FAMILY, {"open"})
    mine = [each.fields for each in standing if _number(str(each.fields["booking"])) == booking]
    return any(fields["change"] == "cancel" for fields in mine)
