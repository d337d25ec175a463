"""Other people's leave, as tools: for those whom it concerns, and a trail of what they change."""

from collections.abc import AsyncIterator
from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from activities import provided
from company.calendar.work_calendar import FIRST_YEAR, LAST_YEAR
from company.people.people import HumanResources
from company.people.records import Adjustment, Balance, Change, Days, Half, LeaveType, Owner
from company.tools.directory import the_one
from router.domain.errors import Forbidden, PermanentToolError
from router.domain.locale import Localised
from router.domain.principals import Directory, Principal
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

HR = "hr"
MOST_DAYS = 366

Employee = Annotated[
    str,
    Field(description="Whose: a user id or a name", min_length=1, max_length=100),
    ChineseLabel("员工的姓名或用户编号"),
]
Year = Annotated[
    int | None,
    Field(description="The year; this one where left out", ge=FIRST_YEAR, le=LAST_YEAR),
    ChineseLabel("年份"),
]
Everyone = Annotated[Directory, Depends(provided.directory)]


def _something(days: Decimal) -> Decimal:
    if not days:
        raise ValueError("0 days change nothing")
    return days


def _told(reason: str) -> str:
    if not reason.strip():
        raise ValueError("say why; it stays on record")
    return reason.strip()


DaysMore = Annotated[
    Decimal,
    Field(ge=-MOST_DAYS, le=MOST_DAYS, multiple_of=Decimal("0.5")),
    AfterValidator(_something),
    WithJsonSchema(
        {
            "type": "number",
            "minimum": -MOST_DAYS,
            "maximum": MOST_DAYS,
            "multipleOf": 0.5,
            "description": "Days to add, halves too; less than zero takes away",
        }
    ),
    ChineseLabel("增减天数"),
]


class LeaveTaken(BaseModel):
    """A leave on record, without what its owner gave as the reason."""

    leave_type: LeaveType
    start: date
    end: date
    start_half: Half
    end_half: Half
    days: Days
    status: str


class EmployeeLeave(BaseModel):
    """A colleague's year."""

    employee: str
    department: str | None
    year: int
    balances: list[Balance]
    records: list[LeaveTaken]
    adjustments: list[Adjustment] | None
    """Changes to what was granted; null for those who may not see them."""


class Adjusted(BaseModel):
    """What was changed, and the balance that it came to."""

    employee: str
    adjustment: Adjustment
    balance: Balance


def _not_theirs(caller: Principal, person: Principal) -> Localised:
    zh, en = "请向他们询问", "ask one of them"
    if person.id == caller.id:
        zh = "自己的请看“我的请假记录”（get_my_leave）和“查假期余额”（get_leave_balance）"
        en = "your own is in get_my_leave and get_leave_balance"
    return Localised(
        zh=f"{person.name} 的假期在这里只有人事和其上级能看，{zh}",
        en=f"{person.name}'s leave is for HR and for those who lead {person.name}; {en}",
    )


@tool(
    permission="read",
    title={"zh": "查员工假期", "en": "Employee's leave"},
    description_zh="某位员工一年的假期：各类还剩几天，请过哪些假。限人事和其上级使用。",
    examples=[
        "Frank 今年还剩几天年假",
        "我组里的王丽请了哪些假",
        "查一下员工的假期余额",
        "how much leave does Alice have left",
        "show the leave that someone on my team has taken",
    ],
)
async def get_employee_leave(
    employee: Employee, ctx: ToolContext, hr: HumanResources, people: Everyone, year: Year = None
) -> EmployeeLeave:
    """A colleague's leave in a year: balances of every kind, and what is on record.

    For HR, and for those who lead the colleague, directly or over others. Your own is in
    `get_leave_balance`.
    """
    person = await the_one(employee, people, ctx.caller.tenant, "employee")
    is_hr = ctx.caller.may([HR])
    if not (is_hr or ctx.caller.id in [above async for above in _chain(person, people)]):
        raise Forbidden(_not_theirs(ctx.caller, person))
    owner, of_year = Owner.of(person), year or ctx.now.year
    taken = await hr.leave.of(owner, year=of_year)
    return EmployeeLeave(
        employee=person.name,
        department=person.department,
        year=of_year,
        balances=await hr.leave.balances(owner, of_year),
        records=[LeaveTaken.model_validate(record.model_dump()) for record in taken],
        adjustments=await hr.adjustments.of(owner, of_year) if is_hr else None,
    )


async def _may_be_adjusted(
    employee: Employee,
    leave_type: LeaveType,
    days: Decimal,
    ctx: ToolContext,
    hr: HumanResources,
    people: Everyone,
    year: Year,
) -> None:
    person = await _another(employee, ctx, people)
    await hr.adjustments.check(Owner.of(person), leave_type, year or ctx.now.year, days)


@tool(
    permission="admin",
    roles=[HR],
    confirm=True,
    check=_may_be_adjusted,
    title={"zh": "调整员工假期额度", "en": "Adjust an employee's leave"},
    description_zh="给员工增加或扣减某类假期的天数，并留下记录。",
    examples=[
        "给 Frank 加两天年假",
        "把王丽的调休减半天",
        "give Alice three more days of annual leave",
        "correct an employee's leave balance",
    ],
)
async def adjust_leave_balance(  # noqa: PLR0913 - a tool's parameters are what its callers name
    *,
    employee: Employee,
    leave_type: Annotated[
        LeaveType, Field(description="The kind of leave"), ChineseLabel("假期类型")
    ],
    days: DaysMore,
    reason: Annotated[
        str,
        Field(description="Why; it stays on record", min_length=1, max_length=1000),
        ChineseLabel("原因"),
        AfterValidator(_told),
    ],
    ctx: ToolContext,
    hr: HumanResources,
    people: Everyone,
    year: Year = None,
) -> Adjusted:
    """Add days to what an employee may take of a kind of leave, or take some away.

    Never more than are left. Nobody adjusts their own; who changed what, and why, is kept.
    """
    person = await _another(employee, ctx, people)
    change = Change(
        leave_type=leave_type, year=year or ctx.now.year, days=days, reason=reason, by=ctx.caller.id
    )
    adjustment, balance = await hr.adjustments.adjust(Owner.of(person), ctx.key, change)
    return Adjusted(employee=person.name, adjustment=adjustment, balance=balance)


async def _another(employee: str, ctx: ToolContext, people: Directory) -> Principal:
    person = await the_one(employee, people, ctx.caller.tenant, "employee")
    if person.id == ctx.caller.id:
        zh = "自己的假期不能自己调整，请找人事的同事办理"
        en = "nobody adjusts their own leave; ask a colleague in HR"
        raise PermanentToolError(Localised(zh=zh, en=en))
    return person


async def _chain(person: Principal, people: Directory) -> AsyncIterator[str]:
    """The ids of those above, the nearest first. A directory with a circle in it has an end too."""
    seen, above = {person.id}, person.manager
    while above is not None and above not in seen:
        yield above
        seen.add(above)
        manager = await people.find(person.tenant, above)
        above = manager.manager if manager else None
