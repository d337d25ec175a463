"""Keys held down."""

import pytest

from router.entities.normalisation import normalise
from router.understanding.triggers.patterns import PatternIndex
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, LEAVE

INDEX = PatternIndex([LEAVE, EXPENSE])


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("请请请假", "请假"),
        ("好好好", "好"),
        ("我 我 我要请假", "我要请假"),
        ("请假！！！！", "请假!"),
        ("谢谢～～～", "谢谢~"),
        ("嗯……请假", "嗯.请假"),
        ("👍👍👍", "👍"),
        ("pleeease", "please"),
        ("LEAVEEEE", "leave"),
        ("i neeeed a week offff", "i need a week off"),
        ("helllloooo", "hello"),
        ("sooooo gooood", "so good"),
        ("hmmmm", "hm"),
        ("下下下雨", "下雨"),
        ("明明明天", "明天"),
    ],
)
def test_a_key_held_down_counts_once(typed: str, text: str) -> None:
    assert normalise(typed).text == text
    assert normalise(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "看看",
        "谢谢",
        "天天",
        "下下下周三",
        "上上上个月",
        "大大大后天",
        "后后后天",
        "人人",
        "妈妈",
        "催催",
        "查查",
        "告诉我我的年假",
        "重要要求",
        "申请请假",
        "book",
        "need",
        "off",
        "www.example.com",
        "iii",
        "100",
        "2000",
        "1000000",
        "二〇〇〇",
        "一一一",
        "aaa7",
        "7aaa",
        "36...50",
        "1--3",
        "好!!",
        "a" * 50 + "b",
    ],
)
def test_what_doubles_or_counts_stays(text: str) -> None:
    assert normalise(text).text == text


def test_a_span_covers_everything_that_was_typed() -> None:
    found = normalise("pleeease 請請請 假！！！")
    assert found.text == "please 请假!"
    assert found.as_typed(2, 4) == "eeea"
    assert found.as_typed(7, 9) == "請請請 假"
    assert found.as_typed(9, 10) == "！！！"


@pytest.mark.parametrize(
    ("typed", "flow"),
    [
        ("我要请假假！！！", "leave_request"),
        ("请请请假", "leave_request"),
        ("我我我要请假", "leave_request"),
        ("我要要请假", "leave_request"),
        ("i want to apply for leaveeee pleeease", "leave_request"),
        ("我要报销销", "reimbursement"),
        ("我要报报报销！！！", "reimbursement"),
        ("怎么怎么怎么请请请假？？？", "none"),
    ],
)
def test_what_starts_a_flow_still_does(typed: str, flow: str) -> None:
    hits = [match.hit for match in INDEX.find(normalise(typed), EMPLOYEE)]
    started = {hit.flow for hit in hits if hit.blocked_by is None}
    assert (" ".join(sorted(started)) or "none") == flow
