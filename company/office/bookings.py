"""Meeting rooms and cars: what there is, what is free, and who has it when."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from company.office.ledger import Holder, Ledger
from company.office.service import Asker, Key, Records, Undone
from router.domain.errors import InvalidInput
from router.domain.locale import Localised

router = APIRouter(prefix="/bookings", tags=["bookings"])

FAMILY = "BK"
_GRACE = timedelta(hours=2)
"""How long after its time a car may come back before anybody asks."""

_PASSED = Localised(
    zh="这个时间已经过了，请给一个以后的时间",
    en="that time has passed; please give a later one",
)

What = Literal["room", "car"]


class Resource(NamedTuple):
    """A room or a car that can be booked."""

    id: str
    what: What
    name: Localised
    seats: int


RESOURCES = (
    Resource("R-301", "room", Localised(zh="301 会议室", en="Room 301"), 8),
    Resource("R-302", "room", Localised(zh="302 会议室", en="Room 302"), 12),
    Resource("R-501", "room", Localised(zh="501 培训教室", en="Training room 501"), 40),
    Resource("R-100", "room", Localised(zh="一楼多功能厅", en="The hall on the ground floor"), 200),
    Resource("C-1", "car", Localised(zh="1 号轿车", en="Car 1"), 4),
    Resource("C-2", "car", Localised(zh="2 号商务车", en="Van 2"), 7),
    Resource("C-3", "car", Localised(zh="3 号中巴", en="Minibus 3"), 19),
)
"""What the sample company has, the smallest of each first."""


class Length(BaseModel):
    """How long: hours, days or weeks, one of them."""

    model_config = ConfigDict(extra="forbid")

    hours: Annotated[Decimal, Field(gt=0)] | None = None
    days: Annotated[Decimal, Field(gt=0)] | None = None
    weeks: Annotated[Decimal, Field(gt=0)] | None = None

    @property
    def span(self) -> timedelta:
        """The same as a span of time; a day has 24 hours."""
        hours, days, weeks = (float(n or 0) for n in (self.hours, self.days, self.weeks))
        return timedelta(hours=hours, days=days, weeks=weeks)


class ResourceWish(BaseModel):
    """What somebody would like to have."""

    what: What
    start: datetime
    length: Length
    people: Annotated[int, Field(ge=1, le=500)]
    driver: bool = False


class ResourceOffer(BaseModel):
    """The smallest one that is free and large enough, or when the next is."""

    free: bool
    most: int
    """How many people the largest that there is has room for, whenever it is free."""
    resource: str | None = None
    name: Localised | None = None
    seats: int = 0
    hours: float
    next_free: str | None = None
    """When the first of those that are large enough is free again; null where none ever is."""


class BookingPlan(BaseModel):
    """One room or car, for a time."""

    resource: str
    asked_at: AwareDatetime
    """When it is booked, by the clock of whoever books."""
    start: AwareDatetime
    length: Length
    people: Annotated[int, Field(ge=1, le=500)]
    destination: Annotated[str | None, Field(max_length=100)] = None
    purpose: Annotated[str, Field(max_length=300)]


class Booking(BaseModel):
    """A booking; without a resource somebody else was quicker, and nothing is booked."""

    id: str | None = None
    resource: str | None = None
    status: str = "withdrawn"
    due: datetime | None = None
    """By when a car has to be back."""


@router.post("/search")
async def search(body: ResourceWish, records: Records, asker: Asker) -> ResourceOffer:
    """Find the smallest room or car that is free then and seats so many."""
    end, hours = body.start + body.length.span, body.length.span / timedelta(hours=1)
    driver = int(body.what == "car" and body.driver)
    seats = body.people + driver
    most = max(one.seats for one in RESOURCES if one.what == body.what) - driver
    large_enough = [one for one in RESOURCES if one.what == body.what and one.seats >= seats]
    busy = {one.id: list(_taken(records, asker, one.id, body.start, end)) for one in large_enough}
    for one in large_enough:
        if not busy[one.id]:
            found = {"resource": one.id, "name": one.name, "seats": one.seats}
            return ResourceOffer(free=True, most=most, hours=hours, **found)
    ends = [max(each) for each in busy.values()]
    again = f"{min(ends).astimezone(body.start.tzinfo):%Y-%m-%d %H:%M}" if ends else None
    return ResourceOffer(free=False, most=most, hours=hours, next_free=again)


@router.post("")
async def book(body: BookingPlan, records: Records, asker: Asker, key: Key) -> Booking:
    """Book it, unless somebody has taken it by now; what has begun already is refused."""
    end = body.start + body.length.span
    known = records.made_by(asker, FAMILY, key)
    if known is None and body.start <= body.asked_at:
        raise InvalidInput(_PASSED)
    if known is None and any(_taken(records, asker, body.resource, body.start, end)):
        return Booking()
    made = records.make(asker, FAMILY, key, {**body.model_dump(mode="json"), "end": f"{end}"})
    return Booking(id=made.id, resource=body.resource, status=made.status, due=end + _GRACE)


@router.post("/withdrawals")
async def withdraw(body: Undone, records: Records, asker: Asker) -> Booking:
    """Take back the booking that the call with this key has made."""
    gone = records.take_back(asker, FAMILY, body.undoes)
    return Booking(id=gone.id, status=gone.status) if gone else Booking()


def _taken(
    records: Ledger, asker: Holder, resource: str, start: datetime, end: datetime
) -> Iterator[datetime]:
    """The ends of the bookings, whoever's, that share some of the time."""
    for entry in records.everyones(asker.tenant, FAMILY, {"open"}):
        begins, ends = (datetime.fromisoformat(str(entry.fields[n])) for n in ("start", "end"))
        if entry.fields["resource"] == resource and begins < end and start < ends:
            yield ends
