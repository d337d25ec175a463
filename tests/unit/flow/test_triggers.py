"""Which sentences start the sample flows."""

from pathlib import Path

from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flows
from router.understanding.triggers.patterns import PatternIndex
from tests.table import each_row

CATALOG = load_flows(Path(__file__).parents[3] / "flows")
INDEX = PatternIndex(CATALOG)


def starts(text: str) -> list[str]:
    """The flows that a sentence starts."""
    matches = INDEX.find(normalise(text), frozenset({"employee"}))
    return sorted({match.hit.flow for match in matches if match.hit.blocked_by is None})


LEAVE = """
我要请假
请个假
想请两天年假，下周四开始
帮我提交一个病假申请
明天身体不舒服请一天病假
申请调休
我要请假，明天到后天，家里有事
下个月要休婚假
年假一天，下周五
请12月1日到5日的假
想休息两天
I'd like to take next Friday off
apply for annual leave
book vacation for Dec 24
I need a day off tomorrow
requesting PTO for Dec 24-26
could I get Thursday off?
Request a personal day on Friday
request leave from Monday to Wednesday
年底想把年假休了
我记得还有年假，帮我请两天
half a day off tomorrow
half a day of annual leave next Monday
"""
CLAIM = """
我要报销
报一下昨天打车的钱 36 块
申请差旅费报销
有张发票要报
垫付了300块酒店钱，想报一下
出差回来了，要报差旅费
打车花了58元，报销
I want to submit an expense claim for lunch
reimburse my hotel bill
claim back 58 yuan for a taxi
I'd like to be reimbursed for a hotel
I want to expense a dinner with a client
报差旅费
I paid 200 yuan for supplies and want to claim it
"""
NEITHER = """
请假制度在哪里可以看到
年假还剩几天
我的报销批了吗
取消我的请假
报销标准
请假流程怎么走
谁批准了我的请假
你好
今天天气如何
leave it to me
写一封请假邮件的模板给我看看
What is the status of my expense claim?
How do I apply for leave?
不用请假了
我没请假
他明天请假
我昨天请假了
提醒我明天请假
放假安排
请把假期表发给我
请帮我订机票
leave me alone
I need to leave now
take off your hat
I'll leave the report on your desk
I don't want to take leave
my colleague wants to take Friday off
I want to know my PTO balance
这张发票已经报过了
不报销
报名参加培训
要报多少税
报告一下进展
我要开发票
我记得年假有10天
我以为打车能报销100块
what's the expense policy
the hotel was expensive
部门今天几个人请假
cancel my expense claim
"""


def lines(block: str) -> list[str]:
    return block.strip().splitlines()


@each_row("text", lines(LEAVE))
def test_a_wish_for_leave_starts_a_leave_request(text: str) -> None:
    assert starts(text) == ["leave_request"]


@each_row("text", lines(CLAIM))
def test_a_wish_for_money_back_starts_an_expense_claim(text: str) -> None:
    assert starts(text) == ["reimbursement"]


@each_row("text", lines(NEITHER))
def test_what_is_only_about_leave_or_claims_starts_nothing(text: str) -> None:
    assert starts(text) == []


@each_row("flow", list(CATALOG), ids=lambda flow: flow.flow)
def test_every_example_of_a_flow_starts_that_flow_alone(flow: FlowDefinition) -> None:
    assert {text: starts(text) for text in flow.triggers.examples} == {
        text: [flow.flow] for text in flow.triggers.examples
    }
