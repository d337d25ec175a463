"""What holds for every text, however strange."""

import time
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.entities.dates import find_dates
from router.entities.days import Calendar
from router.entities.extraction import entities_of
from router.entities.money import Money, find_money
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.flow.view import FormView
from tests.samples import one_in
from tests.table import each_row
from tests.unit.entities.tables import phrases
from tests.unit.understanding.dialogue import NOW, TAXI, asking, read
from tests.unit.understanding.flows import EXPENSE, LEAVE

VIEWS = (
    None,
    asking(LEAVE, "leave_type"),
    asking(LEAVE, "end", {"start": "2026-11-23"}),
    asking(LEAVE, "reason"),
    asking(LEAVE, None, {"start": "2026-11-23", "end": "2026-11-25"}, "confirming"),
    asking(EXPENSE, "items.0.amount", {"items": [{"category": "transport"}]}),
    asking(EXPENSE, "items", {"items": [TAXI]}),
)
WORDS = phrases("""
    请假  报销  我要  不是  改成  下周一  到  周三  12月  1号  24  -  、  三天  半  58  块  5  元
    ￥  明天  上午  打车  年假  因为  取消  ,  。  2026  /  31  99999999999
    from  to  next  Monday  Dec  24th  the  and  half  a  day  $45  taxi  leave  apply  for  change
    end  no  yes
""")
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=30).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(VIEWS))
def test_any_text_is_read_with_valid_spans_and_ordered_intervals(
    typed: str, active: FormView | None
) -> None:
    reading = read(typed, active)
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


LONGEST = 8000
ANY_CHARACTER = st.characters(exclude_categories=())
STRANGE = st.sampled_from(
    [
        *("\ud800", "\udfff\ud83d", "\U0003ffff", "\u0378", "\ufffe", "a\u0301\u0323\u0489"),
        *("\u0f73\u0f71", "שלום ", "\u202eمرحبا\u2066", "각\u1100\u1161", "ﷺ", "㍿㌀"),
        *("👩🏽‍🚀", "1\ufe0f\u20e3", "\U000e0041", "İı", "¼½", "ǅﬃ", "\x00\x1b[31m", "乾乾"),
        *("aaab", "!!!?"),
    ]
)
LONG = st.builds(
    lambda pieces, times: ("".join(pieces) * times)[:LONGEST],
    st.lists(st.text(ANY_CHARACTER, max_size=8) | STRANGE | st.sampled_from(WORDS), max_size=6),
    st.integers(1, LONGEST),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(LONG, st.sampled_from(VIEWS))
def test_no_text_up_to_the_limit_is_too_strange(typed: str, active: FormView | None) -> None:
    """Lone surrogates too: JSON can carry them where nobody looks for them."""
    found = normalise(typed)
    found.text.encode()
    assert len(found.text) == len(found.starts) == len(found.ends)
    assert all(0 <= s < e <= len(typed) for s, e in zip(found.starts, found.ends, strict=True))
    spans = [entity.span for entity in entities_of(found, Utterance(found, NOW).things)]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    told = typed.encode("utf-8", "replace").decode()
    reading = read(told, active, locale="en")
    assert all(told[slice(*e.span)] == e.text for e in reading.entities)


KEYS = st.sampled_from(
    [*"请假乾坤瞭解甚麼帳ablne !！…。.,1年7😀🙏", "\ufe0f", "\u200b", "１", "Ａ"]
)
HELD_DOWN = st.lists(KEYS | st.sampled_from(WORDS), max_size=30).map("".join)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(HELD_DOWN | st.text(max_size=300))
def test_what_is_normalised_is_aligned_in_order_and_normalising_it_again_changes_nothing(
    typed: str,
) -> None:
    once = normalise(typed)
    assert normalise(once.text).text == once.text
    assert len(once.text) == len(once.starts) == len(once.ends)
    assert list(once.starts) == sorted(once.starts)
    assert all(0 <= s < e <= len(typed) for s, e in zip(once.starts, once.ends, strict=True))


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


@each_row("typed", ["1" + "0" * 26, "9" * 80, "九" + "亿" * 79, "9" * 30 + "元"])
def test_a_number_beyond_all_amounts_is_read_as_it_stands(typed: str) -> None:
    """A card's number in the wrong field: the flow says that it is too much."""
    view = asking(EXPENSE, "items.0.amount", {"items": [{"category": "transport"}]})
    assert [command.type for command in read(typed, view).commands] in ([], ["fill_slots"])


HOSTILE = (
    *("1", "一", "1月1日", "36块", "请假", "打车", "要", "ﷺ", "a\u0301\u0323", "1,", "1、"),
    *("哈，", "因为，", "no ", "the 24th of ", "monday to ", "下周一到周三36块三天半"),
    *("apply for ", "12.3-", "1/2", "dec 3, ", "a week from ", "五一元旦", "end of the "),
    *("预算两千", '"', "😀", "aaab ", "aaab", "乾", "请 ", "!!!a", "a😀", "\u202e", "\u0301"),
    *("\ufe0f", "我要请", "i want to apply ", "报销 36 元 "),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", one_in(4, HOSTILE))
@pytest.mark.parametrize("active", VIEWS, ids=lambda v: v.awaiting and v.awaiting[0] if v else "no")
def test_a_hostile_text_costs_time_in_proportion(piece: str, active: FormView | None) -> None:
    """Generous: what isn't linear takes many seconds of CPU."""
    typed = (piece * 8000)[:8000]
    began = time.thread_time()
    read(typed, active)
    assert time.thread_time() - began < 1


@pytest.mark.slow
@pytest.mark.parametrize("piece", one_in(4, HOSTILE))
def test_a_text_four_times_as_long_costs_no_more_than_a_few_times_as_much(piece: str) -> None:
    """What is quadratic costs sixteen times as much; ten leaves room for a busy machine."""
    short, long = ((piece * size)[:size] for size in (LONGEST // 4, LONGEST))
    read(long)
    assert _cheapest(long) < 10 * _cheapest(short) + 0.005


def _cheapest(text: str) -> float:
    took = []
    for _ in range(5):
        began = time.thread_time()
        read(text)
        took.append(time.thread_time() - began)
    return min(took)
