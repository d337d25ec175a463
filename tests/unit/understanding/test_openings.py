"""What an opening sentence fills of a request for leave, said on a Sunday; and what it doesn't."""

from datetime import datetime
from typing import Any

import pytest

from router.entities.utterance import Utterance
from router.understanding.slots.prefill import prefill
from router.understanding.triggers.patterns import PatternIndex
from tests.unit.understanding.flows import EMPLOYEE, LEAVE

SUNDAY = datetime.fromisoformat("2026-11-22T10:00+08:00")
INDEX = PatternIndex([LEAVE])


def opened(typed: str) -> dict[str, Any]:
    utterance = Utterance.of(typed, SUNDAY)
    return prefill(LEAVE.slots, utterance, INDEX.find(utterance.normalised, EMPLOYEE))


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("Hi there, I'd like to take some time off", None),
        ("Hello, hope you're well. I'd like to take some time off", None),
        ("Hi, quick one: I need annual leave tomorrow", None),
        ("I'd like annual leave tomorrow. Best regards, Frank", None),
        ("sorry to bother you, I need a day of annual leave tomorrow", None),
        ("领导好，我想请假", None),
        ("请婚假，12月10号到20号，顺便问下要带什么材料", None),
        ("我要请假，病假，哦不，事假", None),
        ("请假三天，周一回来", None),
        ("我要请假，家里有事，谢谢领导", "家里有事"),
        ("请假，我妈病了", "我妈病了"),
        ("我因为要搬家想请两天事假，从后天开始", "要搬家"),
        ("since I am moving house I need a day off tomorrow", "I am moving house"),
        ("周五下午想请半天假去接孩子", "去接孩子"),
        ("I need a day off tomorrow to pick up my kids", "to pick up my kids"),
        ("annual leave Dec 1 to Dec 3, family visit", "family visit"),
        ("annual leave tomorrow morning, dentist", "dentist"),
        ("personal leave from Dec 1 for 3 days, moving house", "moving house"),
        ("annual leave Dec 1, kids", "kids"),
        ("annual leave tomorrow, thanks, dentist", "dentist"),
    ],
)
def test_a_reason_is_what_is_said_besides_the_request(typed: str, reason: str | None) -> None:
    assert opened(typed).get("reason") == reason


@pytest.mark.parametrize(
    ("typed", "start", "end"),
    [
        ("补请11月11日到12日的病假，发烧了", "2026-11-11", "2026-11-12"),
        ("I was sick on Nov 16 and 17 and want to file sick leave", "2026-11-16", "2026-11-17"),
        ("sick leave for Nov 10 and Nov 11, fever", None, None),
        ("annual leave for Nov 10 and Nov 11", "2027-11-10", "2027-11-11"),
        ("11月30日补休一天", "2026-11-30", None),
        ("请病假，11月30日到11月25日，发烧了", None, None),
        ("sick leave from Nov 30 to Nov 25, flu", None, None),
        ("请年假12月28号到1月3号", "2026-12-28", "2027-01-03"),
        ("我要请12月1日周三的年假一天", None, None),
        ("annual leave Wednesday 1 Dec", None, None),
        ("annual leave Tuesday 1 Dec", "2026-12-01", None),
        ("我要请12月1日周二的年假一天", "2026-12-01", None),
        ("请一天年假，12月1号，不是周末", None, None),
        ("请年假，下周一还是下周三好呢", None, None),
        ("请三天年假，下周三开始到下周四", "2026-11-25", None),
        ("3 days of annual leave from Dec 1 to Dec 2", "2026-12-01", None),
        ("请两天年假，从12月1号到2号", "2026-12-01", "2026-12-02"),
        ("请一周年假，12月7号到11号", "2026-12-07", "2026-12-11"),
        ("sick leave this Thursday", "2026-11-26", None),
        ("sick leave last Friday", "2026-11-20", None),
        ("我要请年假，下周一，哦不对，下周二到周四，回老家", "2026-11-24", "2026-11-26"),
        (
            "annual leave from Monday, sorry, Tuesday to Thursday next week",
            "2026-11-24",
            "2026-11-26",
        ),
        ("我想从12月28号休年假到1月5号，回家", "2026-12-28", "2027-01-05"),
        ("请年假，12.1到12.3，旅游", "2026-12-01", "2026-12-03"),
        ("下周请三天年假，从周三开始", "2026-11-25", None),
        ("请年假到月底，明天开始", "2026-11-23", "2026-11-30"),
        ("请假到周五，年假，从周三起", "2026-11-25", "2026-11-27"),
        ("I'd like Thursday and Friday off this week", "2026-11-26", "2026-11-27"),
        ("annual leave tomorrow and the day after", "2026-11-23", "2026-11-24"),
        ("annual leave tomorrow and the day after tomorrow", "2026-11-23", "2026-11-24"),
        ("我要请年假到12月4号", None, "2026-12-04"),
        ("请年假，下周一或者下周三", None, None),
    ],
)
def test_the_days_are_those_that_are_meant(typed: str, start: str | None, end: str | None) -> None:
    slots = opened(typed)
    assert (slots.get("start"), slots.get("end")) == (start, end)


@pytest.mark.parametrize(
    "typed", ["请年假周五中午到周一中午", "annual leave Friday afternoon to Monday noon"]
)
def test_noon_is_half_a_day_at_either_end(typed: str) -> None:
    slots = opened(typed)
    assert (slots["start_half"], slots["end_half"]) == ("pm", "am")


def test_a_length_stands_beside_the_day_that_begins_like_it() -> None:
    assert opened("请假一天后天") == {"start": "2026-11-24", "duration": {"days": 1}}


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("妈妈住院了需要我照顾，请三天假，从明天", None),
        ("my son is ill, I need tomorrow off", None),
        ("妹妹结婚，请一天假", None),
        ("我住院了，请三天假", "sick"),
        ("I am ill, I need tomorrow off", "sick"),
        ("参加爷爷葬礼请假两天", "bereavement"),
        ("妈妈住院了，请三天事假", "personal"),
        ("I need annual leave, no wait, sick leave tomorrow", "sick"),
    ],
)
def test_what_happens_to_others_is_no_leave_of_ones_own(typed: str, kind: str | None) -> None:
    assert opened(typed).get("leave_type") == kind
