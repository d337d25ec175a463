"""A few capabilities of an office."""

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.principals import Capability, CapabilityKind


def capability(
    name: str,
    zh: str = "",
    en: str = "",
    *,
    kind: CapabilityKind = "tool",
    examples: tuple[str, ...] = (),
    roles: tuple[str, ...] = (),
    parameters: dict[str, JsonValue] | None = None,
) -> Capability:
    return Capability(
        kind=kind,
        name=name,
        title=Localised(zh=zh, en=en),
        description=Localised(zh=zh, en=en),
        examples=examples,
        roles=frozenset(roles),
        parameters=parameters or {},
    )


LEAVE = capability(
    "leave_request",
    "请假申请",
    "Ask for leave",
    kind="flow",
    examples=("我要请年假", "请一天病假", "I want to take leave", "apply for annual leave"),
)
BALANCE = capability("leave_balance", "查询年假余额", "How many days of leave are left")
ROOM = capability("book_room", "预订会议室", "Reserve a meeting room")
PAYSLIP = capability("payslip", "查看工资条", "Show a payslip", roles=("hr",))
WEATHER = capability("weather", "查询天气预报", "Weather forecast for a city")
OFFICE = [LEAVE, BALANCE, ROOM, PAYSLIP, WEATHER]
