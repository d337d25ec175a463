"""Checks in words: each says what its expression says, and is read back from it."""

from typing import Any

from router.extensions.authoring.worded_checks import CHECKS, WordedCheck, currency_in, worded
from router.flow.language.expressions import evaluate, problems_of
from router.flow.slot_types.slot import SLOT_TYPES
from tests.table import each_row

SAMPLES: dict[str, Any] = {
    "count": 30,
    "decimal": 5.0,
    "minor_units": 5_000,
    "slot": "other",
    "currency": "CNY",
}
NOW = "2026-11-25T10:00:00+08:00"
"""A Wednesday."""


def given(check: WordedCheck) -> dict[str, Any]:
    return {name: SAMPLES[kind] for name, kind in check.parameters.items()}


@each_row("check", CHECKS.values(), ids=CHECKS)
@each_row("value", ["slots.it", "item.it"])
def test_a_check_is_sound_and_is_read_back_from_its_expression(
    check: WordedCheck, value: str
) -> None:
    expression = check.expression_of(value, given(check))

    assert not problems_of(expression, frozenset({"slots", "item", "now", "requester"}))
    for type_ in check.types:
        assert type_ in SLOT_TYPES
        first = next(worded(expression, value, type_))
        assert first == (check, given(check))


@each_row("check", CHECKS.values(), ids=CHECKS)
def test_a_check_leaves_no_parameter_unsaid(check: WordedCheck) -> None:
    words = check.words(given(check))
    for text in (words.zh, words.en):
        assert text
        assert "{" not in text


@each_row(
    ("currency", "said"), [("CNY", "at most 50"), ("JPY", "at most 5,000"), ("", "at most 50")]
)
def test_a_limit_is_said_in_the_units_of_its_currency(currency: str, said: str) -> None:
    checks = [f"item.cost.currency == '{currency}'", "amount(item.cost) <= 5000"]
    found = currency_in(checks if currency else checks[1:], "item.cost")
    ((check, given_),) = worded(checks[1], "item.cost", "money")
    assert (found, check.words(given_, found).en) == (currency, said)


@each_row(
    ("name", "parameters", "good", "bad"),
    [
        ("not_before_today", {}, "2026-11-25", "2026-11-24"),
        ("after_today", {}, "2026-11-26", "2026-11-25"),
        ("not_after_today", {}, "2026-11-25", "2026-11-26"),
        ("at_most_days_ago", {"days": 3}, "2026-11-22", "2026-11-21"),
        ("at_most_days_ahead", {"days": 3}, "2026-11-28", "2026-11-29"),
        ("at_least_days_ahead", {"days": 3}, "2026-11-28", "2026-11-27"),
        ("not_before", {"other": "other"}, "2026-12-01", "2026-11-30"),
        ("after", {"other": "other"}, "2026-12-02", "2026-12-01"),
        ("at_most_days_after", {"other": "other", "days": 2}, "2026-12-03", "2026-12-04"),
        ("not_on_a_weekend", {}, "2026-11-27", "2026-11-28"),
        ("not_on_a_weekend", {}, "2026-11-30", "2026-11-29"),
        ("at_most", {"most": 5}, 5.0, 5.5),
        ("at_least", {"least": 5}, 5.0, 4.5),
        ("between", {"least": 1, "most": 5}, 1.0, 0.5),
        ("more_than", {"bound": 0}, 0.5, 0.0),
        ("amount_at_most", {"most": 5_000}, {"amount": "50.00"}, {"amount": "50.01"}),
        ("amount_at_least", {"least": 5_000}, {"amount": "50.00"}, {"amount": "49.99"}),
        ("amount_more_than", {"bound": 0}, {"amount": "0.01"}, {"amount": "0.00"}),
        ("in_currency", {"currency": "CNY"}, {"currency": "CNY"}, {"currency": "USD"}),
        ("in_whole_days", {}, {"days": 2.0}, {"hours": 3.0}),
        ("agreed_to", {}, True, False),
        ("each_once", {}, ["a", "b"], ["a", "a"]),
    ],
)
def test_a_check_takes_what_it_says_and_nothing_else(
    name: str, parameters: dict[str, Any], good: Any, bad: Any
) -> None:
    expression = CHECKS[name].expression_of("slots.it", parameters)

    def holds(value: Any) -> Any:
        slots = {"it": value, "other": "2026-12-01"}
        return evaluate(expression, {"slots": slots, "now": NOW}, {})

    assert (holds(good), holds(bad)) == (True, False)


@each_row(
    ("expression", "type_", "name"),
    [
        ("slots.it>=day( now )", "date", "not_before_today"),
        ('slots.it.currency == "CNY"', "money", "in_currency"),
        ("slots.it >= day(now)", "text", None),
        ("slots.other >= day(now)", "date", None),
        ("slots.it >= day(now) || true", "date", None),
        ("slots.it <= 5", "number", "at_most"),
        ("slots.it <= 5.5.5", "number", None),
        ("slots.it >= slots.other.day", "date", None),
        ("", "date", None),
        ("((((", "date", None),
    ],
)
def test_an_expression_is_read_as_words_only_where_it_says_just_that(
    expression: str, type_: str, name: str | None
) -> None:
    found = [check.name for check, _ in worded(expression, "slots.it", type_)]
    assert found == ([name] if name else [])
