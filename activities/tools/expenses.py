"""Expense claims, as tools: anyone may look at their own; the rest is for flows."""

from typing import Annotated

from pydantic import BaseModel, Field

from activities.people.people import People, human_resources
from activities.people.records import Claim, ClaimItem, ClaimStatus, Money, Owner
from activities.saying import whole
from router.domain.principals import FLOW_ROLE
from router.tool.context import ToolContext
from router.tool.dependencies import Depends
from router.tool.tool import tool

Items = Annotated[list[ClaimItem], Field(min_length=1, max_length=100)]
Reason = Annotated[str | None, Field(max_length=1000)]
ClaimId = Annotated[str, Field(description="The claim's id, as submit_claim gave it")]
HumanResources = Annotated[People, Depends(human_resources)]


class Submitted(BaseModel):
    """A claim on record, and what it comes to."""

    claim: str
    total: Money


class Ended(BaseModel):
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
async def get_my_claims(ctx: ToolContext, hr: HumanResources) -> list[Claim]:
    """Your expense claims, newest first, with their items and what became of them."""
    return await hr.claims.of(Owner.of(ctx.caller))


@tool(
    permission="write",
    roles=[FLOW_ROLE],
    retries=None,
    title={"zh": "提交报销单", "en": "Submit an expense claim"},
)
async def submit_claim(
    items: Items, ctx: ToolContext, hr: HumanResources, reason: Reason = None
) -> Submitted:
    """Put an expense claim of the caller's on record, and its invoices out of others' reach."""
    claim = await hr.claims.submit(Owner.of(ctx.caller), ctx.key, items, reason or "")
    return Submitted(claim=claim.id, total=claim.total)


@tool(
    permission="write",
    roles=[FLOW_ROLE],
    retries=None,
    undoes="submit_claim",
    title={"zh": "撤回报销单", "en": "Withdraw an expense claim"},
)
async def withdraw_claim(
    items: Items, ctx: ToolContext, hr: HumanResources, reason: Reason = None
) -> Ended:
    """Take back a claim that `submit_claim` put on record; its invoices are free again."""
    del items, reason  # the key says which
    claim = await hr.claims.withdraw(Owner.of(ctx.caller), ctx.undoes)
    return Ended(claim=claim.id, status=claim.status) if claim else Ended(claim=None, status=None)


@tool(
    permission="write",
    roles=[FLOW_ROLE],
    retries=None,
    title={"zh": "驳回报销单", "en": "Reject an expense claim"},
)
async def reject_claim(claim: ClaimId, ctx: ToolContext, hr: HumanResources) -> Ended:
    """Refuse a claim of the caller's, as its approvers decided; its invoices are free again."""
    refused = await hr.claims.reject(Owner.of(ctx.caller), claim)
    return Ended(claim=refused.id, status=refused.status)


@tool(
    permission="write",
    roles=[FLOW_ROLE],
    retries=None,
    title={"zh": "报销入账", "en": "Settle an expense claim"},
)
async def settle_claim(claim: ClaimId, ctx: ToolContext, hr: HumanResources) -> Ended:
    """Have a claim of the caller's paid, as its approvers decided."""
    settled = await hr.claims.settle(Owner.of(ctx.caller), claim)
    return Ended(claim=settled.id, status=settled.status)
