"""Expense claims and what may be claimed at most, as tools; claims are made by flows."""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, Field

from activities.phrases import whole
from company.people.people import HumanResources, approved, of_flows
from company.people.records import Claim, ClaimItem, ClaimStatus, MoneyAmount, Owner
from company.policies.limits import Category, ExpenseLimits, Grade, Limit, expense_limits
from company.tools import summaries
from router.domain.locale import Locale, Localised
from router.flow.prompts.field_names import name_in_chinese
from router.flow.prompts.values import named
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.own_objects import MadeBy
from router.tool.tool import tool

name_in_chinese(
    {"claim": "报销单", "claims": "报销单", "invoice": "发票", "items": "明细", "category": "类别"},
    {
        "category": {
            "hotel": "住宿",
            "trip_meals": "餐补",
            "overtime_meal": "加班餐",
            "client_meal": "客户招待",
            "phone": "话费",
            "office_supplies": "办公用品",
        }
    },
)

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


class ExpenseLimitList(BaseModel):
    """The limits that hold; none where the company has set none."""

    grade: Grade
    """Whose they are: as was asked, or else the caller's own."""
    city: str | None
    city_is_listed: bool
    """False where a city was named that the policy doesn't name: all it may be under are here."""
    limits: list[ExpenseLimit]
    summary: str


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
    phrases=[
        # 住宿最多能报多少、加班餐标准是多少、报销限额
        whole(
            "(?:(?P<category>住宿|餐补|加班餐|客户招待|话费|办公用品)费?(?:的)?)?"
            "(?:每[晚天月次]|一[晚天]|最多|最高|一般|可以|能|可)*报销?(?:多少|几多)钱?"
        ),
        whole(
            "(?:(?P<category>住宿|餐补|加班餐|客户招待|话费|办公用品)费?(?:的)?)?(?:报销)"
            "(?:的)?(?:限额|上限|标准|额度)(?:是多少|多少)?"
        ),
        whole(
            "how much (?:can|may) i (?:claim|spend|expense)(?: (?:for|on) (?:an? |the )?"
            "(?P<category>hotel|phone|office supplies))?(?: per (?:night|month|day))?"
        ),
    ],
)
async def get_expense_limits(
    ctx: ToolContext,
    limits: Annotated[ExpenseLimits, Depends(expense_limits)],
    category: Annotated[
        Category | None,
        Field(description="What it is for; everything where left out"),
        ChineseLabel("费用类别"),
    ] = None,
    city: Annotated[
        str | None,
        Field(description="Where, such as 上海 or Paris", max_length=60),
        ChineseLabel("城市"),
    ] = None,
    grade: Annotated[
        Grade | None,
        Field(description="Whose limits; the caller's own where left out"),
        ChineseLabel("职级"),
    ] = None,
) -> ExpenseLimitList:
    """The most that may be claimed for hotels, meals, phone bills and office supplies.

    As figures, by city and grade, each with the policy's file and heading. Where
    `city_is_listed` is false the limits of every place that it may be in are given: which of
    them holds depends on the country. For rules in words see `search_policies`.
    """
    own: Grade = DIRECTOR if DIRECTOR in ctx.caller.roles else "staff"
    whose = grade or own
    found = limits.holding(category, city, whose)
    shown = [_shown(limit, limits, ctx.locale) for limit in found]
    rows = [_row(limit, ctx.locale) for limit in shown]
    return ExpenseLimitList(
        grade=whose,
        city=city,
        city_is_listed=city is None or limits.names(city),
        limits=shown,
        summary=summaries.listed(_LIMITS, _COLUMNS, rows, ctx.locale),
    )


_LIMITS = Localised(zh="最多可以报：", en="What may be claimed at most:")
_COLUMNS: summaries.Columns = {
    "zh": ("费用", "适用", "最多"),
    "en": ("For", "Where, whose", "At most"),
}


def _row(limit: ExpenseLimit, locale: Locale) -> list[str]:
    """`住宿`, `北京`, `800 CNY 每晚`."""
    kind, per = named("category", limit.category, locale), named("per", limit.per, locale)
    most = f"{limit.amount.normalize():,f} {limit.currency}"
    if locale == "zh":
        whose = "、".join(named("grades", one, locale) for one in limit.grades)
        return [kind, "，".join(filter(None, [limit.place, whose])), f"{most} {per}"]
    about = ", ".join(filter(None, [limit.place, " and ".join(limit.grades)]))
    return [kind.replace("_", " "), about, f"{most} per {per}"]


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


Items = Annotated[list[ClaimItem], Field(min_length=1, max_length=100)]
Reason = Annotated[str | None, Field(max_length=1000)]
ClaimId = Annotated[
    str,
    Field(description="The claim's id, as submit_claim gave it"),
    MadeBy("submit_claim", "claim"),
]


class Submitted(BaseModel):
    """A claim on record, and what it comes to."""

    claim: str
    total: MoneyAmount


class Claims(BaseModel):
    """Claims, and line by line."""

    claims: list[Claim]
    summary: str


class ClaimEnded(BaseModel):
    """What became of a claim; nulls where there was none."""

    claim: str | None
    status: ClaimStatus | None


@tool(
    permission="read",
    title={"zh": "我的报销单", "en": "My expense claims"},
    description_zh="你的报销单，最新的在前，带明细和办理结果。",
    examples=[
        "我报销过哪些费用",
        "看看我的报销记录",
        "show my expense claims",
        "which of my invoices were paid",
    ],
    phrases=[
        # 我报销过哪些费用、看看我的报销记录
        whole("我?(?:今年|去年|最近)?(?:都)?报销(?:过|了)(?:哪些|什么|几次)(?:费用|东西)?"),
        whole("我?(?:的)?(?:今年|去年|最近)?(?:的)?报销(?:单)?(?:的)?(?:记录|历史)|我的报销单"),
        whole("(?:list |all )?my (?:past |expense |latest |recent )*claims|my claims? history"),
    ],
)
async def get_my_claims(ctx: ToolContext, hr: HumanResources) -> Claims:
    """Your expense claims, newest first, with their items and what became of them."""
    found = await hr.claims.of(Owner.of(ctx.caller))
    return Claims(claims=found, summary=summaries.claims(found, ctx.locale))


@of_flows(title={"zh": "提交报销单", "en": "Submit an expense claim"})
async def submit_claim(
    items: Items, ctx: ToolContext, hr: HumanResources, reason: Reason = None
) -> Submitted:
    """Put an expense claim of the caller's on record, and its invoices out of others' reach."""
    claim = await hr.claims.submit(Owner.of(ctx.caller), ctx.key, items, reason or "")
    return Submitted(claim=claim.id, total=claim.total)


@of_flows(undoes="submit_claim", title={"zh": "撤回报销单", "en": "Withdraw an expense claim"})
async def withdraw_claim(
    items: Items, ctx: ToolContext, hr: HumanResources, reason: Reason = None
) -> ClaimEnded:
    """Take back a claim that `submit_claim` put on record; its invoices are free again."""
    del items, reason  # the key says which
    claim = await hr.claims.withdraw(Owner.of(ctx.caller), ctx.undoes)
    return ClaimEnded(claim=claim and claim.id, status=claim and claim.status)


@of_flows(title={"zh": "驳回报销单", "en": "Reject an expense claim"})
async def reject_claim(claim: ClaimId, ctx: ToolContext, hr: HumanResources) -> ClaimEnded:
    """Refuse a claim of the caller's, as its approvers decided; its invoices are free again."""
    refused = await hr.claims.reject(Owner.of(ctx.caller), claim, ctx.own_runs)
    return ClaimEnded(claim=refused.id, status=refused.status)


@approved(title={"zh": "报销入账", "en": "Settle an expense claim"})
async def settle_claim(claim: ClaimId, ctx: ToolContext, hr: HumanResources) -> ClaimEnded:
    """Have a claim of the caller's paid, as its approvers decided."""
    settled = await hr.claims.settle(Owner.of(ctx.caller), claim, ctx.own_runs)
    return ClaimEnded(claim=settled.id, status=settled.status)
