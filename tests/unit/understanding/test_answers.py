from datetime import datetime
from typing import Any

import pytest

from router.domain.messages import FlowStatus
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.understanding.slots.answers import answer
from tests.unit.understanding.flows import EXPENSE, LEAVE, TRIP

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
TRANSPORT = {
    "category": "transport",
    "amount": {"amount": "36.00", "currency": "CNY"},
    "date": "2026-11-17",
    "invoice": "A1",
}


def asking(
    flow: FlowDefinition,
    path: str | None,
    slots: dict[str, Any] | None = None,
    status: FlowStatus = "collecting",
) -> FlowView:
    return FlowView(
        id="run",
        flow=flow.flow,
        title=flow.title,
        version=1,
        status=status,
        state="details",
        question="details:1",
        awaiting=[path] if path else [],
        slots=slots or {},
        fillable={n: s for n, s in flow.slots.items() if s.lookup is None or s.ask is not None},
    )


def said(view: FlowView, typed: str) -> dict[str, Any] | None:
    return answer(view, Utterance.of(typed, NOW))


def yuan(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


def listing(kind: str, path: str = "words.0", known: list[Any] | None = None) -> FlowView:
    """A list of plain values that is being asked for."""
    of = {"type": kind, "choices": {"a": {"label": {"zh": "甲", "en": "first"}}}}
    words = Slot.model_validate({"type": "list", "of": of})
    return asking(EXPENSE, path, {"words": known} if known else {}).model_copy(
        update={"fillable": {"words": words}}
    )


@pytest.mark.parametrize(
    ("kind", "typed", "slots"),
    [
        ("text", "milk, eggs and bread", {"words": ["milk", "eggs", "bread"]}),
        ("text", "milk, eggs, and bread", {"words": ["milk", "eggs", "bread"]}),
        ("text", "milk and eggs", {"words": ["milk", "eggs"]}),
        ("text", "张三、李四和王五", {"words": ["张三", "李四", "王五"]}),
        ("text", "张三，李四", {"words": ["张三", "李四"]}),
        ("text", "one\ntwo", {"words": ["one", "two"]}),
        ("text", "和平饭店", {"words.0": "和平饭店"}),
        ("text", "milk", {"words.0": "milk"}),
        ("text", "what can I say?", None),
        ("text", "、,;", None),
        ("number", "3, 5.5 and 8", {"words": [3, 5.5, 8]}),
        ("number", "1,200、3", {"words": [1200, 3]}),
        ("number", "1,200", {"words.0": 1200}),
        ("number", "3, many", None),
        ("date", "12月1日、12月3日", {"words": ["2026-12-01", "2026-12-03"]}),
        ("choice", "甲", {"words.0": "a"}),
    ],
)
def test_plain_values_are_named_in_a_row_or_one_by_one(
    kind: str, typed: str, slots: dict[str, Any] | None
) -> None:
    assert said(listing(kind), typed) == slots


@pytest.mark.parametrize(
    ("path", "typed", "slots"),
    [
        ("words", "没有了", {"words.more": False}),
        ("words", "that's all", {"words.more": False}),
        ("words", "还有", {"words.more": True}),
        ("words", "bread", {"words.1": "bread"}),
        ("words", "bread and butter", {"words": ["milk", "bread", "butter"]}),
        ("words.1", "没有了", {"words.more": False}),
        ("words.1", "bread", {"words.1": "bread"}),
    ],
)
def test_a_list_of_plain_values_goes_on_until_there_are_no_more(
    path: str, typed: str, slots: dict[str, Any]
) -> None:
    assert said(listing("text", path, ["milk"]), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("年假", {"leave_type": "annual"}),
        ("2", {"leave_type": "sick"}),
        ("不是年假，是病假", {"leave_type": "sick"}),
        (
            "年假，下周一到周三，家里有事",
            {
                "leave_type": "annual",
                "start": "2026-11-23",
                "end": "2026-11-25",
                "reason": "家里有事",
            },
        ),
        ("什么天气", None),
    ],
)
def test_a_choice(typed: str, slots: dict[str, Any] | None) -> None:
    assert said(asking(LEAVE, "leave_type"), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("下周一", {"start": "2026-11-23"}),
        ("下周一到周三", {"start": "2026-11-23", "end": "2026-11-25"}),
        ("从明天起三天", {"start": "2026-11-19", "duration": {"days": 3}}),
        ("12-24", {"start": "2026-12-24"}),
        ("20261224", {"start": "2026-12-24"}),
        ("next Monday", {"start": "2026-11-23"}),
        ("不知道", None),
        ("11", None),
    ],
)
def test_a_start(typed: str, slots: dict[str, Any] | None) -> None:
    assert said(asking(LEAVE, "start", {"leave_type": "annual"}), typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("到周四", {"end": "2026-11-26"}),
        ("周四", {"end": "2026-11-26"}),
        ("Friday", {"end": "2026-11-27"}),
        ("the 27th", {"end": "2026-11-27"}),
        ("5号", {"end": "2026-12-05"}),
        ("三天", {"duration": {"days": 3}}),
        ("半天", {"duration": {"days": 0.5}}),
        ("周五下午", {"end": "2026-11-27", "end_half": "pm"}),
        ("2026-12-01", {"end": "2026-12-01"}),
        ("下周一到周三", {"end": "2026-11-25"}),
        ("随便", None),
    ],
)
def test_an_end_is_read_from_the_start_on(typed: str, slots: dict[str, Any] | None) -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"})
    assert said(view, typed) == slots


def test_free_text_is_taken_as_it_is() -> None:
    view = asking(LEAVE, "reason")
    assert said(view, " 航班取消了，要改签 ") == {"reason": "航班取消了，要改签"}


def test_a_question_is_no_free_text() -> None:
    view = asking(LEAVE, "reason")
    assert said(view, "年假还剩几天？") is None
    assert said(view, "how many days do I have left?") is None


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("打车", {"items.0.category": "transport"}),
        ("1", {"items.0.category": "transport"}),
        (
            "打车 36块 昨天",
            {
                "items.0.category": "transport",
                "items.0.amount": yuan("36.00"),
                "items.0.date": "2026-11-17",
            },
        ),
        (
            "两张打车票 58、36",
            {
                "items.0.category": "transport",
                "items.0.amount": yuan("58.00"),
                "items.1": {"category": "transport", "amount": yuan("36.00")},
            },
        ),
    ],
)
def test_a_field_of_an_item(typed: str, slots: dict[str, Any]) -> None:
    assert said(asking(EXPENSE, "items.0.category"), typed) == slots


@pytest.mark.parametrize(
    ("path", "typed", "slots"),
    [
        ("items.0.amount", "36", {"items.0.amount": yuan("36.00")}),
        ("items.0.amount", "三十六块五", {"items.0.amount": yuan("36.50")}),
        ("items.0.amount", "不知道", None),
        ("items.0.date", "周一", {"items.0.date": "2026-11-16"}),
        ("items.0.date", "11月10日", {"items.0.date": "2026-11-10"}),
        ("items.0.invoice", " 12345678 ", {"items.0.invoice": "12345678"}),
        ("items.0.invoice", "发票号 Ab-123456", {"items.0.invoice": "Ab-123456"}),
    ],
)
def test_what_was_spent_was_spent_in_the_past(
    path: str, typed: str, slots: dict[str, Any] | None
) -> None:
    view = asking(EXPENSE, path, {"items": [{"category": "transport"}]})
    assert said(view, typed) == slots


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("1", {"items.more": True}),
        ("2.", {"items.more": False}),
        ("没有了", {"items.more": False}),
        ("no", {"items.more": False}),
        ("就这些", {"items.more": False}),
        ("done", {"items.more": False}),
        ("that's all, thanks", {"items.more": False}),
        ("还有", {"items.more": True}),
        ("yes", {"items.more": True}),
        ("another one", {"items.more": True}),
        ("午饭 25 块", {"items.1": {"category": "meal", "amount": yuan("25.00")}}),
        (
            "还有一张打车票 30块",
            {"items.1": {"category": "transport", "amount": yuan("30.00")}},
        ),
        ("天气", None),
    ],
)
def test_whether_there_is_another_item(typed: str, slots: dict[str, Any] | None) -> None:
    assert said(asking(EXPENSE, "items", {"items": [TRANSPORT]}), typed) == slots


@pytest.mark.parametrize(
    ("slot", "typed", "value"),
    [
        (Slot(type="boolean"), "好的", True),
        (Slot(type="boolean"), "不", False),
        (Slot(type="boolean"), "也许", None),
        (Slot(type="integer"), "三", 3),
        (Slot(type="number"), "3.5", 3.5),
        (Slot(type="duration"), "3", {"days": 3}),
        (Slot(type="duration"), "两周", {"weeks": 2}),
        (Slot(type="money"), "两千五", yuan("2500.00")),
        (Slot(type="datetime"), "明天下午3点", "2026-11-19T15:00:00+08:00"),
        (Slot(type="datetime"), "2026-12-01T14:30", "2026-12-01T14:30:00+08:00"),
        (Slot(type="datetime"), "明天", None),
        (Slot(type="file"), " a2b3c4d5e6f7g2h3i4j5k6m7 ", "a2b3c4d5e6f7g2h3i4j5k6m7"),
        (Slot(type="file"), "我等会儿发", None),
        (Slot(type="file"), "receipt.pdf", None),
    ],
)
def test_every_type_of_slot_is_answered_in_its_shape(slot: Slot, typed: str, value: Any) -> None:
    view = asking(LEAVE, "x").model_copy(update={"fillable": {"x": slot}})
    assert said(view, typed) == (None if value is None else {"x": value})


def test_nothing_asked_is_nothing_answered() -> None:
    assert said(asking(LEAVE, None), "年假") is None
    assert said(asking(LEAVE, "unknown"), "年假") is None


@pytest.mark.parametrize("typed", ["确认", "好的", "yes", "ok", "谢谢", "hi"])
def test_a_yes_or_a_greeting_is_no_text_that_was_asked_for(typed: str) -> None:
    assert said(asking(TRIP, "destination"), typed) is None


@pytest.mark.parametrize(
    ("typed", "slots"),
    [
        ("上海", {"destination": "上海"}),
        ("去上海", {"destination": "上海"}),
        (
            "我去上海，下周一到周三",
            {"destination": "上海", "start": "2026-11-23", "end": "2026-11-25"},
        ),
        ("to Berlin, by plane", {"destination": "to Berlin, by plane"}),
        ("I'm flying to Berlin", {"destination": "Berlin", "transport": "plane"}),
    ],
)
def test_a_text_is_taken_out_of_the_words_that_name_it(typed: str, slots: dict[str, Any]) -> None:
    assert said(asking(TRIP, "destination"), typed) == slots


@pytest.mark.parametrize(
    "typed",
    [
        "two days only",
        "just two days",
        "two days in total",
        "只两天",
        "两天而已",
        "just 2 days please",
    ],
)
def test_words_around_a_length_are_no_reason(typed: str) -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"})
    given = answer(view, Utterance.of(typed, NOW))
    assert given == {"duration": {"days": 2}}


@pytest.mark.parametrize(
    ("typed", "days"),
    [
        ("next Monday for three days", {"start": "2026-11-23", "duration": {"days": 3}}),
        ("下周一到周三", {"start": "2026-11-23", "end": "2026-11-25"}),
        ("三天", {"duration": {"days": 3}}),
    ],
)
def test_days_said_where_a_kind_is_asked_are_kept(typed: str, days: dict[str, Any]) -> None:
    assert answer(asking(LEAVE, "leave_type"), Utterance.of(typed, NOW)) == days


def test_what_is_more_than_days_answers_no_question_for_a_kind() -> None:
    said = Utterance.of("周一的会议改到三点", NOW)
    assert answer(asking(LEAVE, "leave_type"), said) is None


@pytest.mark.parametrize(
    ("typed", "half"), [("下午", "pm"), ("the morning", "am"), ("morning", "am")]
)
def test_which_half_of_a_day_is_no_reason_where_half_a_day_was_said(typed: str, half: str) -> None:
    half_a_day = {"start": "2026-11-26", "end": "2026-11-26", "duration": {"days": 0.5}}
    day = {"leave_type": "annual", **half_a_day}
    given = answer(asking(LEAVE, "reason", day), Utterance.of(typed, NOW))
    assert given == {"start_half": half}


@pytest.mark.parametrize(("typed", "named"), [("还有丙", "丙"), ("also Carol", "Carol")])
def test_another_item_that_is_asked_for_by_a_text_first_can_be_named(
    typed: str, named: str
) -> None:
    guest = {"type": "object", "fields": {"name": {"type": "text"}, "age": {"type": "integer"}}}
    guests = Slot.model_validate({"type": "list", "of": guest})
    view = asking(LEAVE, "guests", {"guests": [{"name": "a"}]})
    view = view.model_copy(update={"fillable": {"guests": guests}})
    assert answer(view, Utterance.of(typed, NOW)) == {"guests.1": {"name": named}}
    for none in ("丙", "还有", "还有吗？"):
        assert "guests.1" not in (answer(view, Utterance.of(none, NOW)) or {})


def test_what_else_is_said_of_an_item_is_kept_where_what_was_asked_is_not() -> None:
    told = {"items": [{"category": "hotel", "amount": yuan("5.00")}]}
    assert said(asking(EXPENSE, "items.0.date", told), "发票 D77, 12 元") == {
        "items.0.invoice": "D77"
    }
    assert said(asking(EXPENSE, "items.0.category"), "昨天的 58 元怎么还没到?") is None
    assert said(asking(EXPENSE, "items.0.category"), "不知道") is None
