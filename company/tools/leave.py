"""Leave, as tools: anyone may look; recording is for flows, which have had it approved."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, Field

from activities.phrases import whole
from company.people.people import HumanResources, approved, of_flows
from company.people.records import Balance, Days, Half, Leave, LeaveRecord, LeaveType, Owner
from company.tools import summaries
from router.flow.prompts.field_names import name_in_chinese
from router.tool.context import ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

name_in_chinese(
    {
        "adjustment": "调整",
        "adjustments": "调整记录",
        "balance": "余额",
        "balances": "余额",
        "records": "记录",
        "entitled": "总额",
        "entitled_before": "调整前总额",
        "leave_type": "类型",
        "used": "已用",
        "employee": "员工",
        "start_half": "开始半天",
        "end_half": "结束半天",
    },
    {
        "leave_type": {
            "annual": "年假",
            "sick": "病假",
            "personal": "事假",
            "marriage": "婚假",
            "maternity": "产假",
            "paternity": "陪产假",
            "bereavement": "丧假",
            "compensatory": "调休",
        },
        "start_half": {"am": "上午", "pm": "下午"},
        "end_half": {"am": "上午", "pm": "下午"},
    },
)

LeaveDays = Annotated[Decimal, Field(gt=0, le=366, multiple_of=Decimal("0.5"))]
Reason = Annotated[str | None, Field(max_length=1000)]


class Recorded(BaseModel):
    """A leave that was recorded or taken back; `record` is null where there was none."""

    record: str | None
    days: Days


class LeaveBalance(Balance):
    """The balance of one kind of leave, and in a sentence."""

    summary: str


class LeaveBalances(BaseModel):
    """Those of every kind that there is any of, and line by line."""

    year: int
    balances: list[Balance]
    summary: str


class LeaveRecords(BaseModel):
    """Leave on record, and line by line."""

    records: list[LeaveRecord]
    summary: str


_MINE = "我?(?:的|今年|现在|目前|一共)*"
_KIND = "(?:(?P<leave_type>年休假|年假|病假|事假|婚假|产假|陪产假|丧假|调休)|假期|假)"
_DAYS = "(?:多少天?|几天)"
_LEFT = f"(?:还|剩|余)(?:能|可以|剩|有|余|请|休|下)*{_DAYS}"
_KIND_EN = (
    "(?:(?P<leave_type>annual|sick|personal|compensatory|comp|marriage|maternity|paternity"
    "|bereavement) (?:leave|time)|(?:paid )?(?:leave|vacation|pto|time off|holiday))"
)


@tool(
    permission="read",
    suggested=True,
    title={"zh": "查假期余额", "en": "Leave balance"},
    description_zh="你的假期余额：年假、病假等某类假期今年还剩几天，一共几天。",
    examples=[
        "我还有几天年假",
        "年假还剩多少",
        "how much leave do I have",
        "how many vacation days are left",
    ],
    phrases=[
        # 年假还剩几天、我今年的病假剩多少; 婚假有几天 asks for the rule, not for one's own
        whole(f"{_MINE}{_KIND}(?:今年|现在|一共)*(?:{_LEFT}|{_DAYS}没(?:休|请|用))"),
        whole(f"{_MINE}{_LEFT}(?:的)?{_KIND}(?:可以|能|没)?(?:请|休|用)?"),
        # 我有几天年假、我的年假有几天
        whole(
            f"我(?:的|今年|现在|目前|一共)*(?:有{_DAYS}(?:的)?{_KIND}|{_KIND}(?:一共|还)*有{_DAYS})"
        ),
        # 我还剩几天: of every kind
        whole(f"我(?:的|今年|现在|目前|一共)*{_LEFT}(?:可以|能|没)?(?:请|休|用)?"),
        whole("how many days(?: off)? (?:do i (?:still )?have|have i got)(?: left| remaining)?"),
        # 年假余额
        whole(f"{_MINE}{_KIND}余额(?:有|是|还有|还剩)*(?:多少|几天)?"),
        # how much leave do I have, how many vacation days are left
        whole(
            f"how (?:much|many days(?: of)?|many) {_KIND_EN}(?: days?| leave)*"
            " (?:do i (?:still )?have|have i got|are|is|remains?|i have|i've got)"
            "(?: (?:left|remaining|available|this year))*"
        ),
        whole(f"(?:what(?:'s| is) )?my {_KIND_EN}(?: leave)? balance|leave balance"),
    ],
)
async def get_leave_balance(
    ctx: ToolContext,
    hr: HumanResources,
    leave_type: Annotated[
        LeaveType | None,
        Field(description="The kind of leave; every kind where left out"),
        ChineseLabel("假期类型"),
    ] = None,
    on: Annotated[
        date | None,
        Field(description="A day of the year that is meant; today where left out"),
        ChineseLabel("哪一年（其中任意一天）"),
    ] = None,
) -> LeaveBalance | LeaveBalances:
    """How many days of leave you have left this year, of how many.

    The answer's `days` are what is left, `used` what is taken, `entitled` what was granted.
    """
    owner, year = Owner.of(ctx.caller), (on or ctx.now.date()).year
    if leave_type is not None:
        found = await hr.leave.balance(owner, leave_type, year)
        said = summaries.balance(found, ctx.locale)
        return LeaveBalance(**found.model_dump(), summary=said)
    every = [each for each in await hr.leave.balances(owner, year) if each.entitled or each.used]
    return LeaveBalances(
        year=year, balances=every, summary=summaries.balances(every, year, ctx.locale)
    )


@tool(
    permission="read",
    title={"zh": "我的请假记录", "en": "My leave"},
    description_zh="你的请假记录，最近的在前。",
    examples=[
        "我今年请过哪些假",
        "看看我的请假记录",
        "when was I on leave this year",
        "show the leave I took",
    ],
    phrases=[
        # 我今年请过哪些假、我的请假记录
        whole("我?(?:今年|去年|最近)?(?:都)?(?:请|休)(?:过|了)(?:哪些|什么|几次|多少次?)假"),
        whole("我?(?:的)?(?:今年|去年|最近)?(?:的)?(?:请假|休假)(?:的)?(?:记录|历史)"),
        whole("when was i on leave(?: this year)?"),
        whole("(?:the |all )?(?:my )?leave (?:i took|i have taken|i've taken)"),
        whole("my (?:past )?leave (?:records?|history)"),
    ],
)
async def get_my_leave(ctx: ToolContext, hr: HumanResources) -> LeaveRecords:
    """Your leave on record, the latest first."""
    found = await hr.leave.of(Owner.of(ctx.caller))
    return LeaveRecords(records=found, summary=summaries.leave(found, ctx.locale))


@approved(title={"zh": "登记请假", "en": "Record leave"})
async def record_leave(  # noqa: PLR0913 - a tool's parameters are what its callers name
    *,
    leave_type: LeaveType,
    start: date,
    end: date,
    days: LeaveDays,
    ctx: ToolContext,
    hr: HumanResources,
    start_half: Half | None = None,
    end_half: Half | None = None,
    reason: Reason = None,
) -> Recorded:
    """Record an approved leave of the caller's and charge it to their balance."""
    leave = Leave(
        leave_type=leave_type,
        start=start,
        end=end,
        start_half=start_half or "",
        end_half=end_half or "",
        days=days,
        reason=reason or "",
    )
    record = await hr.leave.record(Owner.of(ctx.caller), ctx.key, leave)
    return Recorded(record=record.id, days=record.days)


@of_flows(undoes="record_leave", title={"zh": "撤销请假登记", "en": "Take leave back"})
async def revert_leave(  # noqa: PLR0913 - an undo takes what the call that it undoes took
    *,
    leave_type: LeaveType,
    start: date,
    end: date,
    days: LeaveDays,
    ctx: ToolContext,
    hr: HumanResources,
    start_half: Half | None = None,
    end_half: Half | None = None,
    reason: Reason = None,
) -> Recorded:
    """Take back a leave that `record_leave` recorded; its days are free again."""
    del leave_type, start, end, days, start_half, end_half, reason  # the key says which
    record = await hr.leave.revert(Owner.of(ctx.caller), ctx.undoes)
    return Recorded(record=record and record.id, days=record.days if record else Decimal(0))
