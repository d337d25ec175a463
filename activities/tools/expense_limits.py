"""What may be claimed at most, as a tool: figures to reckon with, where policies have words."""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, Field

from activities.policies.limits import Category, ExpenseLimits, Grade, Limit, expense_limits
from router.domain.texts import Locale
from router.tool.context import ToolContext
from router.tool.dependencies import Depends
from router.tool.labels import Labelled
from router.tool.tool import tool

DIRECTOR: Final = "director"


class ExpenseLimit(BaseModel):
    """An amount that may be claimed at most, and where that is written."""

    category: Category
    amount: Decimal
    currency: str
    per: str
    place: str | None
    """Where it holds, in the caller's language; null everywhere."""
    grades: list[Grade]
    """Whose it is; empty is everyone's."""
    file: str
    heading: str


class Limits(BaseModel):
    """The limits that hold; none where the company has set none."""

    grade: Grade
    """Whose they are: as was asked, or else the caller's own."""
    city: str | None
    city_is_listed: bool
    """False where a city was named that the policy doesn't name: all it may be under are here."""
    limits: list[ExpenseLimit]


@tool(
    permission="read",
    title={"zh": "查报销限额", "en": "Expense limits"},
    description_zh="住宿、餐饮、话费和办公用品最多能报多少，按城市和职级给出金额。",
    examples=[
        "出差上海酒店每晚能报多少",
        "餐补标准一天多少钱",
        "话费每月报销上限",
        "how much may I spend on a hotel in Beijing",
        "what is the meal allowance on a business trip",
        "limit for entertaining a client",
    ],
)
async def get_expense_limits(
    ctx: ToolContext,
    limits: Annotated[ExpenseLimits, Depends(expense_limits)],
    category: Annotated[
        Category | None,
        Field(description="What it is for; everything where left out"),
        Labelled("费用类别"),
    ] = None,
    city: Annotated[
        str | None,
        Field(description="Where, such as 上海 or Paris", max_length=60),
        Labelled("城市"),
    ] = None,
    grade: Annotated[
        Grade | None,
        Field(description="Whose limits; the caller's own where left out"),
        Labelled("职级"),
    ] = None,
) -> Limits:
    """The most that may be claimed for hotels, meals, phone bills and office supplies.

    As figures, by city and grade, each with the policy's file and heading. Where
    `city_is_listed` is false the limits of every place that it may be in are given: which of
    them holds depends on the country. For rules in words see `search_policies`.
    """
    own: Grade = DIRECTOR if DIRECTOR in ctx.caller.roles else "staff"
    whose = grade or own
    found = limits.holding(category, city, whose)
    return Limits(
        grade=whose,
        city=city,
        city_is_listed=city is None or limits.names(city),
        limits=[_shown(limit, limits, ctx.locale) for limit in found],
    )


def _shown(limit: Limit, limits: ExpenseLimits, locale: Locale) -> ExpenseLimit:
    place = limits.places[limit.place].label.within(locale) if limit.place else None
    return ExpenseLimit(
        category=limit.category,
        amount=limit.amount,
        currency=limits.currency,
        per=limit.per,
        place=place,
        grades=list(limit.grades),
        file=f"{limit.policy}.{locale}.md",
        heading=limit.heading.within(locale),
    )
