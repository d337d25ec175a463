"""Sentences that ask for a tool by themselves: which of the shipped ones a message has."""

import json
from pathlib import Path

import pytest

from activities.capabilities import Capabilities
from router.domain.locale import Localised
from router.entities.normalisation import normalise
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.understanding.names import FlowNames
from router.understanding.triggers.patterns import PhraseIndex, ToolPhrases
from tests.table import each_row
from tests.unit.entities.tables import phrases
from tests.unit.understanding.flows import EMPLOYEE
from tests.unit.understanding.test_interruption import PARKING

DATA = Path(__file__).parent / "data"
TITLE = Localised(zh="茶", en="Tea")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Capabilities:
    return load_capabilities(Settings.load(data=tmp_path_factory.mktemp("data")))


def asked_for(offered: Capabilities, typed: str) -> tuple[str, str]:
    """The tools, and what their pattern takes for the request that is meant."""
    text = normalise(typed)
    names = [FlowNames.of(flow) for flow in offered.catalog]
    found = PhraseIndex(offered.phrases(), names).find(text, EMPLOYEE)
    spans = [match.groups["request"] for match in found if "request" in match.groups]
    groups = [text.text[slice(*span)] for span in spans]
    return "+".join(match.hit.flow for match in found), "".join(groups)


STATUS = phrases("""
    我的请假批了吗  请假批了没有  我的报销审批通过了吗  报销到哪一步了  我的申请到哪一步了  审批进度
    我的请假审批进度  报销进度怎么样了  请问我的报销批下来了吗  谁在审批我的报销  我的申请
    我有哪些申请  查一下我的申请  我上周提交的报销到哪了  昨天的请假批了吗
    has my leave been approved  Has my leave request been approved yet?  my requests
    status of my claim  what's the status of my leave request?  where is my expense claim?
    did my manager approve my leave?  is my leave approved yet  show my pending requests
""")
WITHDRAWALS = [
    ("撤回我的请假", "请假"),
    ("我要撤销昨天的报销申请", "昨天的报销"),
    ("把我的报销撤回", "报销"),
    ("取消我的请假", "请假"),
    ("我想撤回上周提交的请假申请", "上周提交的请假"),
    ("撤回我上周的请假", "上周的请假"),
    ("撤回12月21日的年假", "12月21日的年假"),
    ("withdraw the leave for next Monday", "leave for next monday"),
    ("cancel my claim", "claim"),
    ("withdraw my trip on December 21st", "trip on december 21st"),
    (
        "cancel my annual leave from 7 December to 8 December",
        "annual leave from 7 december to 8 december",
    ),
    ("取消已经提交的申请", ""),
    *(
        (typed, "")
        for typed in ("取消", "算了，取消吧", "不请了", "cancel", "cancel it", "never mind, cancel")
    ),
    *((typed, "") for typed in ("撤回", "撤回吧", "我要撤回", "撤回来", "把申请撤了")),
    *((typed, "假") for typed in ("我要销假", "销假", "想提前销假")),
    ("never mind, cancel my leave", "leave"),
    ("withdraw my leave request", "leave request"),
    ("cancel my leave request", "leave request"),
    ("take back my claim", "claim"),
    ("take back the expense claim I submitted", "expense claim i submitted"),
]
NUDGES = phrases("""
    催一下  帮我催催经理  催一下审批  催一下我的请假审批  帮我催催经理批报销  提醒经理审批
    nudge my approver  send a reminder  remind my manager to approve my leave
    please nudge my manager  send a reminder to my boss
""")
BALANCES = [
    *("年假还剩几天", "我还有几天年假", "年假余额", "我的年假还有多少天", "调休还有几天"),
    *("how much leave do I have", "how many vacation days are left", "what's my leave balance"),
    *("how many days of annual leave do I have", "我有几天年假", "我的假还剩几天"),
]
RECORDS = [
    ("年假有几天", "search_policies"),
    ("婚假有多少天", "search_policies"),
    ("how does marriage leave work?", "search_policies"),
    ("我的请假记录", "get_my_leave"),
    ("我今年请过哪些假", "get_my_leave"),
    ("when was I on leave this year", "get_my_leave"),
    ("看看我的报销记录", "get_my_claims"),
    ("我报销过哪些费用", "get_my_claims"),
    ("show my expense claims", "get_my_claims"),
]
NOTHING = phrases("""
    余额  查余额  还有几天  能请几天婚假  请假怎么审批  谁审批报销
    报销流程是什么  Bob的请假批了吗  公司年假一共几天  帮我看看张三的请假批了吗  提醒我明天开会
    提醒我请假  取消会议  催眠  催一下快递  年假规定  想休几天年假  状态  审批  撤回消息  取消订单
    我要请假  我的申请怎么写
    cancel my meeting  cancel my subscription  withdraw cash  remind me tomorrow  nudge
    send a reminder to the team about lunch  how much does it cost  my leave
    how much leave does Alice have left  has the meeting been approved
""")


@pytest.mark.slow
@each_row(
    ("typed", "tool"),
    [
        *((typed, "get_my_requests") for typed in STATUS),
        *((typed, "nudge_approver") for typed in NUDGES),
        *((typed, "get_leave_balance") for typed in BALANCES),
        *RECORDS,
        *((typed, "") for typed in NOTHING),
    ],
)
def test_a_plain_sentence_asks_for_its_tool(shipped: Capabilities, typed: str, tool: str) -> None:
    assert asked_for(shipped, typed)[0] == tool


@each_row(("typed", "request_"), WITHDRAWALS)
def test_a_withdrawal_says_of_what(shipped: Capabilities, typed: str, request_: str) -> None:
    assert asked_for(shipped, typed) == ("withdraw_request", request_)


@pytest.mark.slow
def test_no_sentence_that_starts_a_flow_asks_for_a_tool(shipped: Capabilities) -> None:
    files = DATA.glob("prematch_*.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    starts = [row for row in rows if row["label"] != "none"]
    assert [row["text"] for row in starts if asked_for(shipped, row["text"])[0]] == []


def test_a_flow_that_a_stranger_added_is_asked_after_and_withdrawn(shipped: Capabilities) -> None:
    index = PhraseIndex(shipped.phrases(), [FlowNames.of(PARKING)])
    asked = {
        "我的停车位批了吗": "get_my_requests",
        "what's the status of my parking lot request?": "get_my_requests",
        "撤回我的车位申请": "withdraw_request",
        "withdraw my bay": "withdraw_request",
        "催一下我的停车位审批": "nudge_approver",
        "withdraw my trip": "",
    }
    found = {said: [m.hit.flow for m in index.find(normalise(said), EMPLOYEE)] for said in asked}
    assert found == {said: [tool] if tool else [] for said, tool in asked.items()}


def test_only_tools_of_ones_own_roles_are_found() -> None:
    index = PhraseIndex([ToolPhrases("tea", TITLE, ("^tea$",), frozenset({"hr"}))])
    assert index.find(normalise("Tea"), EMPLOYEE) == []
    assert [m.hit.flow for m in index.find(normalise("Tea"), frozenset({"hr"}))] == ["tea"]


def test_a_hit_stands_in_the_text_as_typed_and_tells_its_groups() -> None:
    index = PhraseIndex([ToolPhrases("tea", TITLE, ("^(?P<kind>green|black) tea$",))])
    (match,) = index.find(normalise("Green  tea"), EMPLOYEE)
    assert (match.hit.span, match.groups, match.hit.blocked_by) == ((0, 10), {"kind": (0, 5)}, None)
