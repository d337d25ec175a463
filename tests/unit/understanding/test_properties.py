"""What holds for every text, however strange."""

import time
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.domain.messages import Message
from router.flow.situation import Situation
from router.understanding.dates import find_dates
from router.understanding.days import Calendar
from router.understanding.money import Money, find_money
from router.understanding.normalise import normalise
from router.understanding.reader import Reader
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, FLOWS, LEAVE
from tests.unit.understanding.test_answers import TRANSPORT, asking

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
READER = Reader(FLOWS)
VIEWS = (
    None,
    asking(LEAVE, "leave_type"),
    asking(LEAVE, "end", {"start": "2026-11-23"}),
    asking(LEAVE, "reason"),
    asking(LEAVE, None, {"start": "2026-11-23", "end": "2026-11-25"}, "confirming"),
    asking(EXPENSE, "items.0.amount", {"items": [{"category": "transport"}]}),
    asking(EXPENSE, "items", {"items": [TRANSPORT]}),
)
WORDS = [
    "请假",
    "报销",
    "我要",
    "不是",
    "改成",
    "下周一",
    "到",
    "周三",
    "12月",
    "1号",
    "24",
    "-",
    "、",
    "三天",
    "半",
    "58",
    "块",
    "5",
    "元",
    "￥",
    "明天",
    "上午",
    "打车",
    "年假",
    "因为",
    "取消",
    ",",
    "。",
    "from",
    "to",
    "next",
    "Monday",
    "Dec",
    "24th",
    "the",
    "and",
    "half",
    "a",
    "day",
    "$45",
    "taxi",
    "leave",
    "apply",
    "for",
    "change",
    "end",
    "no",
    "yes",
    "2026",
    "/",
    "31",
    "99999999999",
]
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=30).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(VIEWS))
def test_any_text_is_read_with_valid_spans_and_ordered_intervals(
    typed: str, active: object
) -> None:
    situation = Situation.model_validate(
        {"now": NOW, "locale": "zh", "roles": EMPLOYEE, "active": active}
    )
    reading = READER.read(Message(text=typed), situation)
    for entity in reading.entities:
        start, end = entity.span
        assert 0 <= start < end <= len(typed)
        assert typed[start:end] == entity.text
        if isinstance(entity.value, dict) and "end" in entity.value:
            assert str(entity.value["start"]) <= str(entity.value["end"])
    for hit in reading.patterns:
        assert 0 <= hit.span[0] < hit.span[1] <= len(typed)
    starts = [entity.span for entity in reading.entities]
    assert starts == sorted(starts)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_alignment_covers_every_character_in_order(typed: str) -> None:
    found = normalise(typed)
    assert len(found.text) == len(found.starts) == len(found.ends)
    assert list(found.starts) == sorted(found.starts)
    assert all(0 <= s < e <= len(typed) for s, e in zip(found.starts, found.ends, strict=True))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_normalising_twice_changes_nothing(typed: str) -> None:
    once = normalise(typed).text
    assert normalise(once).text == once


@given(st.dates(date(2001, 1, 1), date(2098, 12, 31)))
def test_a_date_that_is_written_out_is_read_back(day: date) -> None:
    calendar = Calendar(date(2026, 11, 18))
    for written in (
        day.isoformat(),
        f"{day.year}年{day.month}月{day.day}日",
        f"{day:%B} {day.day}, {day.year}",
        f"{day.day} {day:%b} {day.year}",
    ):
        (found,) = find_dates(normalise(written).text, calendar)
        assert (found.value.first, found.value.single) == (day, True)


@given(st.integers(0, 364), st.dates(date(2024, 1, 1), date(2030, 12, 31)))
def test_a_day_without_a_year_is_the_next_one(ahead: int, today: date) -> None:
    day = today + timedelta(days=ahead)
    (found,) = find_dates(f"{day.month}月{day.day}日", Calendar(today))
    assert found.value.first >= today
    assert (found.value.first.month, found.value.first.day) == (day.month, day.day)


@given(st.decimals(0, 999_999, places=2))
def test_an_amount_that_is_written_out_is_read_back(amount: Decimal) -> None:
    for written in (f"{amount}元", f"¥{amount:,}", f"CNY {amount}"):
        (found,) = find_money(normalise(written).text)
        assert found.value == Money(amount)


HOSTILE = (
    "1",
    "一",
    "1月1日",
    "36块",
    "请假",
    "打车",
    "要",
    "ﷺ",
    "a\u0301\u0323",
    "1,",
    "1、",
    "哈，",
    "因为，",
    "no ",
    "the 24th of ",
    "monday to ",
    "下周一到周三36块三天半",
    "apply for ",
    '"',
    "😀",
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("active", VIEWS, ids=lambda v: v.awaiting and v.awaiting[0] if v else "no")
def test_a_hostile_text_costs_time_in_proportion(piece: str, active: object) -> None:
    """Generous, since the machine may be busy: what isn't linear takes many seconds."""
    typed = (piece * 8000)[:8000]
    situation = Situation.model_validate(
        {"now": NOW, "locale": "zh", "roles": EMPLOYEE, "active": active}
    )
    began = time.perf_counter()
    READER.read(Message(text=typed), situation)
    assert time.perf_counter() - began < 1
