"""Leave, claims, trips and equipment as values: what the tools take and give."""

import re
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, PlainSerializer

from router.domain.principals import Principal
from router.domain.value import Value
from router.domain.visible_text import visible
from router.entities.normalisation import simplified

LeaveType = Literal[
    "annual",
    "sick",
    "personal",
    "marriage",
    "maternity",
    "paternity",
    "bereavement",
    "compensatory",
]

Half = Literal["", "am", "pm"]
"""A part of a day; empty where the whole day is meant."""

Days = Annotated[Decimal, PlainSerializer(float, return_type=float, when_used="json")]
"""Days in halves. A number in JSON, which carries halves exactly, so that flows can compare."""

ClaimStatus = Literal["submitted", "settled", "rejected", "withdrawn"]

ENTITLED: dict[LeaveType, Decimal] = {
    "annual": Decimal(15),
    "sick": Decimal(15),
    "personal": Decimal(10),
    "marriage": Decimal(10),
    "maternity": Decimal(158),
    "paternity": Decimal(15),
    "bereavement": Decimal(5),
    "compensatory": Decimal(5),
}
"""Days a year of whoever has no entitlement of their own on record."""


_DASHES = str.maketrans("−⁄∕", "-//")
_STRANGE = re.compile("[^!-~\u3400-\u9fff\U00020000-\U0003ffff]")


def one_spelling(number: str) -> str:
    """An invoice number as it is compared: its letters, digits, `-` and `/`.

    Width, case, accents, and what parts or surrounds them don't make it another. `ValueError` where
    a letter is neither Latin nor Chinese: some look like those, Greek Ν and Cyrillic А among them.

    >>> one_spelling(" inv．12–3\u200b/a"), one_spelling("发票 ①²")
    ('INV12-3/A', '发票12')
    """
    unfolded = unicodedata.normalize("NFKD", visible(number)).upper().translate(_DASHES)
    spelt = "".join(map(_spelt, unicodedata.normalize("NFKD", simplified(unfolded))))
    strange = _STRANGE.search(spelt)
    if strange:
        raise ValueError(f"write it in Latin letters, digits or Chinese, without {strange[0]!r}")
    return spelt


def _spelt(sign: str) -> str:
    match unicodedata.category(sign):
        case "Nd":
            return str(unicodedata.digit(sign))
        case "Pd":
            return "-"
        case category:
            return sign if category[0] in "LN" or sign == "/" else ""


InvoiceNumber = Annotated[
    str, Field(max_length=64), AfterValidator(one_spelling), Field(min_length=1)
]


class PeopleModel(Value, extra="forbid"):
    """A value object: frozen, and closed to fields nobody declared."""


class Owner(PeopleModel):
    """Whose leave, claim, trip or equipment it is."""

    tenant: str
    person: str

    @classmethod
    def of(cls, person: Principal) -> "Owner":
        """The same person, as the people system knows them."""
        return cls(tenant=person.tenant, person=person.id)


class Balance(PeopleModel):
    """A year's leave of one type: `days` is what is left of `entitled`."""

    leave_type: LeaveType
    year: int
    entitled: Days
    used: Days
    days: Days


class Leave(PeopleModel):
    """A leave to be recorded, of the year it starts in; "pm" begins and "am" ends at noon."""

    leave_type: LeaveType
    start: date
    end: date
    start_half: Half = ""
    end_half: Half = ""
    days: Days
    reason: str = ""


class LeaveRecord(Leave):
    """A leave on record. One that was taken back stays, as `reverted`."""

    id: str
    status: Literal["standing", "reverted"]


class Change(PeopleModel):
    """A change to somebody's entitlement: by how many days, by whom and why."""

    leave_type: LeaveType
    year: int
    days: Days
    """What is added; less than zero where it is taken away."""
    reason: str
    by: str


class Adjustment(Change):
    """A change on record."""

    id: str
    entitled_before: Days
    at: datetime


class MoneyAmount(PeopleModel):
    """An amount with at most two decimals, and its currency by ISO 4217."""

    amount: Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=2)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]


class ClaimItem(PeopleModel):
    """One expense with its invoice."""

    category: Annotated[str, Field(min_length=1, max_length=40)]
    amount: MoneyAmount
    date: date
    invoice: InvoiceNumber


class Claim(PeopleModel):
    """An expense claim on record."""

    id: str
    status: ClaimStatus
    total: MoneyAmount
    items: list[ClaimItem]
    reason: str


Transport = Literal["train", "plane", "car", "other"]


class Trip(PeopleModel):
    """A business trip to be booked. Both days are included."""

    destination: Annotated[str, Field(min_length=1, max_length=200)]
    start: date
    end: date
    transport: Transport
    estimate: MoneyAmount
    companions: str = ""
    reason: str = ""


class TripRecord(Trip):
    """A trip on record. One that was called off stays, as `cancelled`."""

    id: str
    status: Literal["booked", "cancelled"]


EquipmentKind = Literal[
    "laptop", "monitor", "docking_station", "keyboard", "headset", "phone", "projector"
]


class Stock(NamedTuple):
    """How many pieces the warehouse has to hand out, and what one is worth in cents of CNY."""

    pieces: int
    cents: int


STOCK: dict[EquipmentKind, Stock] = {
    "laptop": Stock(20, 8_999_00),
    "monitor": Stock(30, 1_599_00),
    "docking_station": Stock(15, 899_00),
    "keyboard": Stock(50, 299_00),
    "headset": Stock(40, 499_00),
    "phone": Stock(10, 3_299_00),
    "projector": Stock(2, 4_599_00),
}
"""What the sample warehouse began with; what is reserved comes off it."""


class StockRequest(PeopleModel):
    """One line of a request: so many pieces of a kind."""

    kind: EquipmentKind
    quantity: Annotated[int, Field(ge=1, le=100)]
    note: Annotated[str | None, Field(max_length=200)] = None


class Reservation(StockRequest):
    """Pieces set aside. Those that went back to the shelf stay on record, as `released`."""

    id: str
    status: Literal["reserved", "released"]
    reserved_at: datetime
