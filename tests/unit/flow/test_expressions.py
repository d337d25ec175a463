import logging
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import JsonValue

from router.domain.principals import Principal
from router.flow.language.expressions import (
    ExpressionError,
    LookupNeeded,
    evaluate,
    lookup_key,
    person,
    problems_of,
    slots_guarded,
    slots_read,
)
from router.flow.language.functions import LOOKUPS
from tests.table import each_row

SCOPE: dict[str, JsonValue] = {
    "slots": {
        "start": "2026-11-23",
        "days": 5.0,
        "items": [
            {"amount": {"amount": "5.00", "currency": "CNY"}, "invoice": "A1"},
            {"amount": {"amount": "7.50", "currency": "CNY"}, "invoice": "A2"},
        ],
    },
    "results": {"balance": {"days": 3}},
    "requester": {"id": "alice"},
    "now": "2026-11-18T23:30:00+08:00",
}


@each_row(
    ("source", "value"),
    [
        ("slots.days > 3.0", True),
        ("results.balance.days >= slots.days", False),
        ("has(slots.end) ? slots.end : null", None),
        ("has(slots.end) && slots.end > slots.start", False),
        ("slots['start']", "2026-11-23"),
        ("total(slots.items)", 1250),
        ("amount(slots.items[0].amount)", 500),
        ("money(total(slots.items), 'CNY').amount", "12.50"),
        ("unique(slots.items.map(i, i.invoice))", True),
        ("unique(['a', 'b', 'a'])", False),
        ("day(now)", "2026-11-18"),
        ("slots.start > plus_days(day(now), -60)", True),
        ("timestamp(now)", "2026-11-18T23:30:00+08:00"),
        ("duration('1h')", "3600s"),
        ("{'b': 1, 'a': [2.0, null]}", {"a": [2.0, None], "b": 1}),
    ],
)
def test_an_expression_has_the_value_that_cel_gives_it_as_json(source: str, value: object) -> None:
    assert evaluate(source, SCOPE, {}) == value


def test_maps_come_out_in_one_order_whatever_order_cel_has_them_in() -> None:
    value: Any = evaluate("{'d': 1, 'b': {'z': 1, 'y': 2}, 'a': 3}", {}, {})
    assert [*value, *value["b"]] == ["a", "b", "d", "y", "z"]


def test_now_may_be_given_as_a_moment() -> None:
    now = datetime(2026, 11, 18, 23, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert evaluate("day(now)", {"now": now}, {}) == "2026-11-18"  # type: ignore[dict-item]


def test_a_lookup_that_nobody_answered_is_asked_for() -> None:
    with pytest.raises(LookupNeeded) as caught:
        evaluate("manager(requester) == 'bob'", SCOPE, {})
    assert caught.value.name == "manager"
    assert caught.value.arguments == [{"id": "alice"}]
    assert caught.value.key == 'manager({"id":"alice"})'


def test_lookups_within_lookups_are_asked_for_one_after_the_other() -> None:
    source, known = "manager(manager(requester))", dict[str, JsonValue]()
    for answer in ("bob", "carol"):
        with pytest.raises(LookupNeeded) as caught:
            evaluate(source, SCOPE, known)
        known[caught.value.key] = answer
    assert evaluate(source, SCOPE, known) == "carol"


def test_an_answer_of_nobody_is_an_answer() -> None:
    assert evaluate("manager('carol') == null", {}, {'manager("carol")': None}) is True


def test_a_lookup_is_needed_even_where_the_rest_would_do_without() -> None:
    with pytest.raises(LookupNeeded):
        evaluate("manager(requester) == 'bob' || true", SCOPE, {})


def test_a_lookup_that_is_never_reached_is_not_asked_for() -> None:
    assert evaluate("has(slots.end) && claimed(slots.end)", SCOPE, {}) is False


def test_a_lookup_is_asked_for_with_the_arguments_that_are_written() -> None:
    with pytest.raises(LookupNeeded) as caught:
        evaluate("workdays('2026-11-23', '2026-11-25')", {}, {})
    assert caught.value.arguments == ["2026-11-23", "2026-11-25"]


@each_row("source", ["fee_of(slots.days) > 1.0", "size(role(fee_of(slots.days))) > 0"])
def test_a_lookup_that_is_not_deployed_is_asked_for_all_the_same(source: str) -> None:
    with pytest.raises(LookupNeeded) as caught:
        evaluate(source, SCOPE, {})
    assert "fee_of" not in LOOKUPS
    assert caught.value.name == "fee_of"


def test_a_lookup_has_the_same_key_however_its_arguments_are_ordered() -> None:
    assert lookup_key("manager", [{"b": "张", "a": 1}]) == lookup_key(
        "manager", [{"a": 1, "b": "张"}]
    )


def test_a_person_reads_the_same_in_every_process() -> None:
    roles = frozenset({"hr", "employee", "finance", "director"})
    assert person(Principal(id="a", name="A", roles=roles))["roles"] == sorted(roles)


@each_row(
    ("source", "why"),
    [
        ("slots.end > 'x'", "empty; guard it with has()"),
        ("slots.days + 1", "mixes types"),
        ("amount('x')", "takes money"),
        ("amount({'amount': 'x'})", "isn't an amount"),
        ("amount({'amount': '1E+99'})", "no amount that anybody pays"),
        ("amount({'amount': 'NaN'})", "no amount that anybody pays"),
        ("total([{'amount': '1', 'currency': 'CNY'}, {'amount': '1', 'currency': 'USD'}])", "USD"),
        ("total([1])", "adds money"),
        ("total(1)", "takes a list"),
        ("unique(1)", "takes a list"),
        ("money('x', 'CNY')", "takes minor units"),
        ("day('tomorrow')", "isn't a day"),
        ("plus_days(day(now), 'x')", "takes a number"),
        ("plus_days(day(now), 9e9)", "there is no day"),
        ("amount()", "missing"),
        ("1 / 0", "division by zero"),
        ("b'x'", "can't be recorded"),
        ("1 +", "can't be read as CEL"),
        ("nobody", "has no value"),
        ("slots.items[9]", "has no value"),
    ],
)
def test_an_expression_without_a_value_says_which_and_why(source: str, why: str) -> None:
    with pytest.raises(ExpressionError, match="the expression") as caught:
        evaluate(source, SCOPE, {})
    assert source in str(caught.value)
    assert why in str(caught.value)


def test_a_failing_function_is_told_once_and_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(ExpressionError):
        evaluate("total(1) > 0 || true", {}, {})
    assert caplog.records == []


@each_row(
    ("source", "value"),
    [
        ("slots.a", 1.0),
        (r'slots["\u0061"]', 1.0),
        ("'b' in slots", True),
        ("slots.exists(name, slots[name] == 2.0)", True),
        ("[slots][0].b", 2.0),
        ("has(slots.b) && !has(slots.c)", True),
        ("size(slots) + size(results)", 3),
        ("results.slots.c", 3.0),
        ("manager(slots)", "bob"),
    ],
)
def test_an_expression_finds_what_it_reads_however_it_reads_it(source: str, value: object) -> None:
    known: dict[str, JsonValue] = {'manager({"a":1.0,"b":2.0})': "bob"}
    scope: dict[str, JsonValue] = {"slots": {"a": 1.0, "b": 2.0}, "results": {"slots": {"c": 3.0}}}
    assert evaluate(source, scope, known) == value


@each_row(
    ("source", "read", "guarded"),
    [
        ("slots.a > slots.b", {"a", "b"}, set()),
        ("has(slots.a) && slots.a > slots['b']", {"a", "b"}, {"a"}),
        ('slots["a"].c == "slots.x"', {"a"}, set()),
        ("results.slots.a == 'x'", set(), set()),
        ("has(slots.a.b)", {"a"}, {"a"}),
        (r"r'\' + slots.a", {"a"}, set()),
        ("'''slots.x''' == slots.a // slots.y", {"a"}, set()),
        (r"'it\'s slots.x' == slots.a", {"a"}, set()),
        ("slots.items.map(i, i.slots)", {"items"}, set()),
    ],
)
def test_the_slots_that_an_expression_reads_and_guards_are_found(
    source: str, read: set[str], guarded: set[str]
) -> None:
    assert slots_read(source) == read
    assert slots_guarded(source) == guarded


VARIABLES = ("slots", "results", "requester", "now")


@each_row(
    "source",
    [
        "slots.a.size() > 0 && size(slots.b) > 0",
        "slots.items.all(i, has(i.amount)) ? 1 : 2",
        "workdays(slots.a, slots.b) > 1.0",
        "workdays(slots.a, slots.b, '', (1 > 2) ? 'am' : '')",
        "manager(manager(requester)) != null",
        "'a,b)'.startsWith('(') || role('hr') == [1, 2]",
        "slots.items.exists(i, slots.others.exists(j, i == j))",
        "timestamp(now).getFullYear() > 2000",
    ],
)
def test_a_sound_expression_has_no_problems(source: str) -> None:
    assert problems_of(source, VARIABLES) == []


@each_row(
    ("source", "what", "remedy"),
    [
        ("1 +", "column 4", "cel.dev"),
        ("", "can't be read as CEL", "cel.dev"),
        ("(" * 400 + "1" + ")" * 400, "can't be read as CEL", "cel.dev"),
        ("slot.a", "reads slot,", "did you mean slots?"),
        ("world.a", "reads world,", "it may read now, requester"),
        ("manger(requester)", "calls manger()", "did you mean manager?"),
        ("manager()", "with 0 arguments", "it takes 1: person"),
        ("workdays(slots.a)", "with 1 argument", "it takes 2 to 4: start, end"),
        ("workdays('a', 'b', 'c', 'd', 'e')", "with 5 arguments", "it takes 2 to 4"),
        ("unique([1], [2, 3])", "with 2 arguments", "it takes 1: values"),
        ("slots.a.sum()", "no such method", "there are all"),
        ("size(slots)", "without saying which", "slots.start"),
        ("slots[slots.a] == 1", "without saying which", "slots.start"),
        ("slots.a.map(now, 1)", "uses now for an item", "another name"),
    ],
)
def test_a_problem_is_said_with_its_remedy(source: str, what: str, remedy: str) -> None:
    (fault,) = problems_of(source, VARIABLES)
    assert what in fault.what
    assert remedy in fault.remedy
