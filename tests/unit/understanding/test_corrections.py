from datetime import datetime
from typing import Any

import pytest

from router.entities.utterance import Utterance
from router.understanding.corrections.values import correction
from tests.unit.understanding.flows import EXPENSE, LEAVE
from tests.unit.understanding.test_answers import TRANSPORT, asking

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
KNOWN = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "搬家"}
LEAVING = asking(LEAVE, None, KNOWN, "confirming")
CLAIMING = asking(EXPENSE, None, {"items": [TRANSPORT, TRANSPORT]}, "confirming")


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("结束日期改成周五", {"end": "2026-11-27"}),
        ("change the end date to Friday", {"end": "2026-11-27"}),
        ("no, change the end date to Friday", {"end": "2026-11-27"}),
        ("开始日期改为下周二", {"start": "2026-11-24"}),
        ("事由改成家里有事", {"reason": "家里有事"}),
        ("reason should be moving house", {"reason": "moving house"}),
        ("假别改成病假", {"leave_type": "sick"}),
        ("把请假类型改成病假", {"leave_type": "sick"}),
        ("改成病假", {"leave_type": "sick"}),
        ("不是年假，是病假", {"leave_type": "sick"}),
        ("改成下周二", {"start": "2026-11-24"}),
        ("结束日期改成11月20日", {"end": "2026-11-20"}),
        ("结束日期改成1月4日", {"end": "2027-01-04"}),
        ("改成到周五", {"end": "2026-11-27"}),
        ("改成下周二到周四", {"start": "2026-11-24", "end": "2026-11-26"}),
        ("actually, make it sick leave", {"leave_type": "sick"}),
    ],
)
def test_a_leave_is_put_right(typed: str, slots: dict[str, Any]) -> None:
    assert correction(LEAVING, Utterance.of(typed, NOW)) == slots


@pytest.mark.parametrize("typed", ["不对，是下周二", "no, next Tuesday", "改成下周二"])
@pytest.mark.parametrize(("latest", "moves"), [(["end"], "end"), (["start"], "start")])
def test_a_day_alone_puts_right_what_was_given_last(
    typed: str, latest: list[str], moves: str
) -> None:
    view = LEAVING.model_copy(update={"latest": latest})
    assert correction(view, Utterance.of(typed, NOW)) == {moves: "2026-11-24"}


def test_both_ends_of_a_single_day_move() -> None:
    view = LEAVING.model_copy(update={"slots": {**KNOWN, "end": KNOWN["start"]}})
    assert correction(view, Utterance.of("不对，是下周二", NOW)) == {
        "start": "2026-11-24",
        "end": "2026-11-24",
    }


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("第一项金额改成 50", {"items.0.amount": {"amount": "50.00", "currency": "CNY"}}),
        ("最后一项的金额改成 50", {"items.1.amount": {"amount": "50.00", "currency": "CNY"}}),
        ("change item 1 date to Monday", {"items.0.date": "2026-11-16"}),
    ],
)
def test_a_claims_item_is_put_right(typed: str, slots: dict[str, Any]) -> None:
    assert correction(CLAIMING, Utterance.of(typed, NOW)) == slots


@pytest.mark.parametrize(
    "typed", ["周五", "家里有事", "航班改到周五", "会议改成线上", "好的", "不对", ""]
)
def test_what_is_no_correction(typed: str) -> None:
    assert correction(LEAVING, Utterance.of(typed, NOW)) is None
