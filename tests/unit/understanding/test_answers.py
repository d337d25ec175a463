"""Answers to the question that is open, for slots of every type."""

from datetime import datetime, timedelta
from typing import Any

from router.flow.slot_types.slot import Slot
from router.flow.view import FormView
from tests.table import each_row
from tests.unit.entities.tables import spread, typed
from tests.unit.understanding.dialogue import TAXI, answered, asking, filled, item, yuan
from tests.unit.understanding.flows import EXPENSE, LEAVE, TRIP

MONDAY = datetime.fromisoformat("2026-11-23T10:00+08:00")


def listing(kind: str, path: str = "words.0", known: list[Any] | None = None) -> FormView:
    """A list of plain values that is being asked for."""
    of = {"type": kind, "choices": {"a": {"label": {"zh": "甲", "en": "first"}}}}
    words = Slot.model_validate({"type": "list", "of": of})
    given = {"words": known} if known else {}
    return asking(EXPENSE, path, given, fillable={"words": words})


@each_row(
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
    assert answered(listing(kind), typed) == slots


@each_row(
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
    assert answered(listing("text", path, ["milk"]), typed) == slots


WEEK = {"start": "2026-11-23", "end": "2026-11-25"}
RIDE = {"items.0.category": "transport"}
ASKED = {
    "kind": asking(LEAVE, "leave_type"),
    "start": asking(LEAVE, "start", {"leave_type": "annual"}),
    "end": asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"}),
    "reason": asking(LEAVE, "reason"),
    "category": asking(EXPENSE, "items.0.category"),
    "day of a hotel": asking(EXPENSE, "items.0.date", {"items": [item("hotel", "5.00")]}),
    "any more": asking(EXPENSE, "items", {"items": [TAXI]}),
    "destination": asking(TRIP, "destination"),
}


@each_row(
    ("asked", "slots", "typed"),
    [
        *spread(
            ("kind", {"leave_type": "annual"}, "年假"),
            ("kind", {"leave_type": "sick"}, "2  不是年假，是病假"),
            (
                "kind",
                {**WEEK, "leave_type": "annual", "reason": "家里有事"},
                "年假，下周一到周三，家里有事",
            ),
            ("kind", None, "什么天气  周一的会议改到三点"),
            (
                "kind",
                {"start": "2026-11-23", "duration": {"days": 3}},
                "next Monday for three days",
            ),
            ("kind", WEEK, "下周一到周三"),
            ("kind", {"duration": {"days": 3}}, "三天"),
            ("start", {"start": "2026-11-23"}, "下周一  next Monday"),
            ("start", WEEK, "下周一到周三"),
            ("start", {"start": "2026-11-19", "duration": {"days": 3}}, "从明天起三天"),
            ("start", {"start": "2026-12-24"}, "12-24  20261224"),
            ("start", None, "不知道  11"),
            ("end", {"end": "2026-11-26"}, "到周四  周四"),
            ("end", {"end": "2026-11-27"}, "Friday  the 27th"),
            ("end", {"end": "2026-12-05"}, "5号"),
            ("end", {"duration": {"days": 3}}, "三天"),
            ("end", {"duration": {"days": 0.5}}, "半天"),
            ("end", {"end": "2026-11-27", "end_half": "pm"}, "周五下午"),
            ("end", {"end": "2026-12-01"}, "2026-12-01"),
            ("end", {"end": "2026-11-25"}, "下周一到周三"),
            ("end", None, "随便"),
            ("reason", None, "年假还剩几天？  how many days do I have left?"),
            ("day of a hotel", {"items.0.invoice": "D77"}, "发票 D77, 12 元"),
            ("category", None, "昨天的 58 元怎么还没到?  不知道"),
            ("category", RIDE, "打车  1"),
            (
                "category",
                {**RIDE, "items.0.amount": yuan("36.00"), "items.0.date": "2026-11-17"},
                "打车 36块 昨天",
            ),
            (
                "category",
                {**RIDE, "items.0.amount": yuan("58.00"), "items.1": item("transport", "36.00")},
                "两张打车票 58、36",
            ),
            ("any more", {"items.more": True}, "1  还有  yes  another one"),
            ("any more", {"items.more": False}, "2.  没有了  no  就这些  done  that's all, thanks"),
            ("any more", {"items.1": item("meal", "25.00")}, "午饭 25 块"),
            ("any more", {"items.1": item("transport", "30.00")}, "还有一张打车票 30块"),
            ("any more", None, "天气"),
            ("destination", {"destination": "上海"}, "上海  去上海"),
            ("destination", {"destination": "上海", **WEEK}, "我去上海，下周一到周三"),
            (
                "destination",
                {"destination": "Berlin", "transport": "plane"},
                "to Berlin, by plane",
            ),
            (
                "destination",
                {"destination": "Berlin", "transport": "plane"},
                "I'm flying to Berlin",
            ),
        ),
        ("reason", {"reason": "航班取消了，要改签"}, " 航班取消了，要改签 "),
        ("reason", {"reason": "不知道爸妈什么时候回来"}, "不知道爸妈什么时候回来"),
        ("reason", None, "这个什么时候批来着"),
    ],
)
def test_what_is_said_answers_it(asked: str, typed: str, slots: dict[str, Any] | None) -> None:
    assert answered(ASKED[asked], typed) == slots


@each_row(
    ("asked", "typed", "said"),
    [
        ("quantity", "5", {"quantity": 5}),
        ("quantity", "五", {"quantity": 5}),
        ("quantity", "5个，一个600元", {"quantity": 5, "price": yuan("600.00")}),
        ("price", "600", {"price": yuan("600.00")}),
    ],
)
def test_a_bare_figure_answers_what_was_asked_and_nothing_beside_it(
    asked: str, typed: str, said: dict[str, Any]
) -> None:
    fields = {"article": {"type": "text"}, "quantity": {"type": "integer"}}
    of = {"type": "object", "fields": {**fields, "price": {"type": "money"}}}
    goods = {"items": Slot.model_validate({"type": "list", "of": of})}
    view = asking(EXPENSE, f"items.0.{asked}", {"items": [{"article": "椅子"}]}, fillable=goods)
    assert answered(view, typed) == {f"items.0.{name}": value for name, value in said.items()}


@each_row(
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
def test_what_was_spent_was_in_the_past(
    path: str, typed: str, slots: dict[str, Any] | None
) -> None:
    view = asking(EXPENSE, path, {"items": [{"category": "transport"}]})
    assert answered(view, typed) == slots


@each_row(
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
        (Slot(type="money"), "6k", yuan("6000.00")),
        (Slot(type="money"), "1.2k or so", yuan("1200.00")),
        (Slot(type="money"), "3万", yuan("30000.00")),
        (Slot(type="integer"), "大概3k", 3000),
        (Slot(type="datetime"), "明天下午3点", "2026-11-19T15:00:00+08:00"),
        (Slot(type="datetime"), "2026-12-01T14:30", "2026-12-01T14:30:00+08:00"),
        (Slot(type="datetime"), "2026-12-01T14:30:00+02:00", "2026-12-01T14:30:00+02:00"),
        (Slot(type="datetime"), "明天下午3点到5点", "2026-11-19T15:00:00+08:00"),
        (Slot(type="datetime"), "明天", None),
        (Slot(type="file"), " a2b3c4d5e6f7g2h3i4j5k6m7 ", "a2b3c4d5e6f7g2h3i4j5k6m7"),
        (Slot(type="file"), "我等会儿发", None),
        (Slot(type="file"), "receipt.pdf", None),
    ],
)
def test_every_type_of_slot_is_answered_in_its_shape(slot: Slot, typed: str, value: Any) -> None:
    view = asking(LEAVE, "x", fillable={"x": slot})
    assert answered(view, typed) == (None if value is None else {"x": value})


def test_nothing_asked_is_nothing_answered() -> None:
    assert answered(asking(LEAVE, None), "年假") is None
    assert answered(asking(LEAVE, "unknown"), "年假") is None


@each_row("typed", ["确认", "好的", "yes", "ok", "谢谢", "hi"])
def test_a_yes_or_a_greeting_is_no_text_that_was_asked_for(typed: str) -> None:
    assert answered(asking(TRIP, "destination"), typed) is None


@typed("two days only  just two days  two days in total  只两天  两天而已  just 2 days please")
def test_words_around_a_length_are_no_reason(typed: str) -> None:
    view = asking(LEAVE, "end", {"leave_type": "annual", "start": "2026-11-23"})
    assert answered(view, typed) == {"duration": {"days": 2}}


@each_row(("typed", "half"), [("下午", "pm"), ("the morning", "am"), ("morning", "am")])
def test_which_half_of_a_day_is_no_reason_where_half_a_day_was_said(typed: str, half: str) -> None:
    half_a_day = {"start": "2026-11-26", "end": "2026-11-26", "duration": {"days": 0.5}}
    day = {"leave_type": "annual", **half_a_day}
    given = answered(asking(LEAVE, "reason", day), typed)
    assert given == {"start_half": half}


@each_row(("typed", "named"), [("还有丙", "丙"), ("also Carol", "Carol")])
def test_another_item_that_is_asked_for_by_a_text_first_can_be_named(
    typed: str, named: str
) -> None:
    guest = {"type": "object", "fields": {"name": {"type": "text"}, "age": {"type": "integer"}}}
    guests = Slot.model_validate({"type": "list", "of": guest})
    view = asking(LEAVE, "guests", {"guests": [{"name": "a"}]}, fillable={"guests": guests})
    assert answered(view, typed) == {"guests.1": {"name": named}}
    for none in ("丙", "还有", "还有吗？"):
        assert "guests.1" not in (answered(view, none) or {})


GOING = asking(TRIP, "end", {"destination": "上海", "start": "2026-11-23"})


@each_row(
    ("end", "typed"),
    spread(("2026-11-25", "三天  3 days"), ("2026-11-23", "一天"), ("2026-12-06", "两周")),
)
def test_a_length_tells_the_last_day_where_a_flow_has_no_slot_for_it(typed: str, end: str) -> None:
    assert answered(GOING, typed) == {"end": end}


@each_row("typed", ["半天", "两天半", "3 hours", "99999 days"])
def test_a_part_of_a_day_tells_no_last_day(typed: str) -> None:
    assert answered(GOING, typed) is None


@each_row("weekday", range(7))
def test_an_end_beside_words_of_the_request_comes_after_the_start_on_any_day(weekday: int) -> None:
    view = asking(LEAVE, "end", {"leave_type": "personal", "start": "2026-11-30"})
    now = MONDAY + timedelta(days=weekday)
    said = filled("请到周三，第一天下午才开始", view, now=now)
    assert said == {"end": "2026-12-02", "start_half": "pm"}


@each_row(
    ("said", "reason"),
    [
        ("病假，下周一到周三，发烧了", "发烧了"),
        ("我想请年假下周一到周三，回老家", "回老家"),
        ("I'd like annual leave from Monday to Wednesday, family visit", "family visit"),
        ("我要请假，周五到下周一，谢谢", None),
        ("请三天假", None),
    ],
)
def test_who_asks_for_the_flow_once_more_is_heard_beyond_that(
    said: str, reason: str | None
) -> None:
    assert filled(said, asking(LEAVE, "start")).get("reason") == reason
