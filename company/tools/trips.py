"""Business trips, as tools: anyone may look at their own; booking is for flows."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field

from activities.phrases import whole
from company.people.people import HumanResources, approved, of_flows
from company.people.records import MoneyAmount, Owner, Transport, Trip, TripRecord
from company.tools import summaries
from router.flow.prompts.field_names import name_in_chinese
from router.tool.context import ToolContext
from router.tool.tool import tool

name_in_chinese(
    {
        "companions": "同行人",
        "destination": "目的地",
        "estimate": "预计费用",
        "transport": "交通方式",
        "trips": "出差",
    },
    {"transport": {"train": "火车", "plane": "飞机", "car": "汽车", "other": "其他"}},
)

Place = Annotated[str, Field(min_length=1, max_length=200)]
Remark = Annotated[str | None, Field(max_length=1000)]


class Trips(BaseModel):
    """Trips on record, and line by line."""

    trips: list[TripRecord]
    summary: str


class Booked(BaseModel):
    """A trip that was booked or called off; `trip` is null where there was none."""

    trip: str | None


@tool(
    permission="read",
    title={"zh": "我的出差记录", "en": "My business trips"},
    description_zh="你登记过的出差，最近的在前，含已取消的。",
    examples=["我今年出过几次差", "看看我的出差记录", "show my business trips"],
    phrases=[
        whole("我?(?:今年|去年|最近)?(?:都)?出过(?:哪些|什么|几次|多少次)差"),
        whole("我?(?:的)?(?:今年|去年|最近)?(?:的)?出差(?:的)?(?:记录|历史)"),
        whole("my (?:past )?business trips|my business trip (?:records?|history)"),
    ],
)
async def get_my_trips(ctx: ToolContext, hr: HumanResources) -> Trips:
    """Your business trips on record, the latest first, with those that were called off."""
    found = await hr.trips.of(Owner.of(ctx.caller))
    return Trips(trips=found, summary=summaries.trips(found, ctx.locale))


async def _may_be_booked(start: date, end: date, ctx: ToolContext, hr: HumanResources) -> None:
    await hr.trips.check(Owner.of(ctx.caller), start, end)


@approved(title={"zh": "登记出差", "en": "Book a business trip"}, check=_may_be_booked)
async def book_trip(  # noqa: PLR0913 - a tool's parameters are what its callers name
    *,
    destination: Place,
    start: date,
    end: date,
    transport: Transport,
    estimate: MoneyAmount,
    ctx: ToolContext,
    hr: HumanResources,
    companions: Remark = None,
    reason: Remark = None,
) -> Booked:
    """Put an approved trip of the caller's on record with the travel desk."""
    trip = Trip(
        destination=destination,
        start=start,
        end=end,
        transport=transport,
        estimate=estimate,
        companions=companions or "",
        reason=reason or "",
    )
    record = await hr.trips.book(Owner.of(ctx.caller), ctx.key, trip)
    return Booked(trip=record.id)


@of_flows(undoes="book_trip", title={"zh": "取消出差登记", "en": "Call off a business trip"})
async def cancel_trip(  # noqa: PLR0913 - an undo takes what the call that it undoes took
    *,
    destination: Place,
    start: date,
    end: date,
    transport: Transport,
    estimate: MoneyAmount,
    ctx: ToolContext,
    hr: HumanResources,
    companions: Remark = None,
    reason: Remark = None,
) -> Booked:
    """Call off a trip that `book_trip` booked; its days are free again."""
    del destination, start, end, transport, estimate, companions, reason  # the key says which
    record = await hr.trips.cancel(Owner.of(ctx.caller), ctx.undoes)
    return Booked(trip=record.id if record else None)
