"""Kinds of requests by what people call them."""

from router.flow.definition import FlowDefinition
from router.understanding.names import FlowNames, names_no_kind
from tests.table import each_row
from tests.unit.entities.tables import spread
from tests.unit.understanding.flows import EXPENSE, KIT, LEAVE, TRIP

KINDS = {flow.flow: FlowNames.of(flow) for flow in (LEAVE, EXPENSE, TRIP, KIT)}


def kinds_of(said: str) -> list[str]:
    return [flow for flow, names in KINDS.items() if names.in_text(said)]


@each_row(
    ("flow", "said"),
    spread(
        (LEAVE, "请假  我的年假  病假申请  假  调休  leave_request  my leave  annual leave  pto"),
        (LEAVE, "vacation  time off"),
        (EXPENSE, "报销  报销单  expense claim  my claims  expenses"),
        (TRIP, "出差  出差申请  my trip  business trip  travel request"),
        (KIT, "设备  equipment  the hardware request"),
    ),
)
def test_a_kind_has_many_names_and_none_of_another(said: str, flow: FlowDefinition) -> None:
    assert kinds_of(said) == [flow.flow]
    assert not names_no_kind(said)


@each_row(
    "said",
    ["搬家", "", " ", "%", "_", "e", "' or 1=1 --", "申请", "request", "放假", "请客", "审批"],
)
def test_what_says_no_kind_names_none(said: str) -> None:
    assert kinds_of(said) == []


@each_row(
    ("none", "said"),
    spread(
        (True, "我的申请  申请  my request  the one  那个  刚提交的"),
        *((False, ""), (False, "搬家  %  somebody else's  bob  e")),
    ),
)
def test_a_request_can_be_spoken_of_without_its_kind(said: str, none: bool) -> None:
    assert names_no_kind(said) is none
