"""Flow files that would have a worker compute for ever, or take all of its memory."""

from typing import Any

import pytest

from router.flow.language import expressions, templates
from router.flow.language.expressions import ExpressionError
from router.flow.language.templates import TextError
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text
from tests.unit.flow.test_validation import SOUND, faults

TEN = "[1,2,3,4,5,6,7,8,9,10]"
NESTED = f"{TEN}.map(a, " * 8 + TEN + ")" * 8 + " == []"
LONG = "x" * 8_000
MANY = list(range(1_000))
VARIABLES = ("slots", "results", "requester", "now")
SCOPE: dict[str, Any] = {"slots": {"reason": LONG, "many": MANY}}
DOUBLED = "{% set a = slots.reason %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}"


@each_row(
    ("source", "why"),
    [
        (NESTED, "steps"),
        ("[1]" + ".map(x, x + x)" * 40 + " == []", "steps"),
        ("['x']" + ".map(x, [x, x, x, x].map(y, y + y))" * 8 + " == []", "steps"),
        ("1" + " + 1" * 40_000 + " > 0", "4,000 are the most"),
        ("slots" + ".a" * 40_000, "4,000 are the most"),
        ("(" * 40_000 + "1" + ")" * 40_000, "4,000 are the most"),
        ("(" * 900 + "1" + ")" * 900, "can't be read"),
    ],
)
def test_an_expression_without_end_is_refused_when_the_file_is_read(source: str, why: str) -> None:
    assert any(why in fault.what for fault in expressions.problems_of(source, VARIABLES))
    with pytest.raises(ExpressionError, match=why):
        expressions.evaluate(source, SCOPE, {})


@each_row(
    "source",
    [
        "slots.many.map(a, slots.many.map(b, a))",
        "slots.many.exists(a, slots.many.exists(b, b > a))",
        "slots.many.map(a, slots.reason).map(b, b + b + b)",
        "role('all').map(a, role('all').map(b, a))",
    ],
)
def test_what_its_lists_make_endless_is_told_before_it_is_begun(source: str) -> None:
    assert expressions.problems_of(source, VARIABLES) == []
    with pytest.raises(ExpressionError, match="steps over lists of 1,000"):
        expressions.evaluate(source, SCOPE, {'role("all")': [*MANY]})


def test_a_list_that_takes_long_to_compare_is_not_compared() -> None:
    with pytest.raises(ExpressionError, match="2,000 values at most"):
        expressions.evaluate("unique(slots.many)", {"slots": {"many": [*MANY, *MANY, *MANY]}}, {})


@each_row(
    "template",
    [
        "{{ 'a' * 2000000000 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ '%2000000000d' % 1 }}",
        "{{ 'a' | center(2000000000) }}",
        "{{ '%2000000000d' | format(1) }}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for i in slots.many recursive %}{{ loop(slots.many) }}{% endfor %}",
        DOUBLED,
        "{% set a %}xxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40 + "{{ a }}",
        "{% for a in [slots.many] %}{% for b in [a, a] %}{{ b }}{% endfor %}{% endfor %}",
        "{{ " + "(" * 4_000 + "1" + ")" * 4_000 + " }}",
        "{% if slots.many %}" * 200 + "{% endif %}" * 200,
        "好" * 20_000,
    ],
)
def test_a_text_without_end_is_refused_when_the_file_is_read(template: str) -> None:
    assert templates.problems_of(template, {"reason", "many"})
    with pytest.raises(TextError, match="can't be rendered"):
        templates.render(template, SCOPE)


@each_row(
    ("template", "why"),
    [
        ("{{ slots.reason * 2000000 }}", "numbers"),
        ("{{ 1 | round(2000000000, 'ceil') }}", "2000000000 digits"),
        ("{{ slots.reason | replace('x', slots.reason) }}", "100,000 characters"),
        ("{{ slots.reason | join(slots.reason) }}", "100,000 characters"),
        ("{% for i in slots.many %}{{ slots.reason }}{% endfor %}", "100,000 characters"),
        ("{% for i in slots.many %}{% for j in slots.many %}{% endfor %}{% endfor %}", "10,000"),
    ],
)
def test_what_its_values_make_endless_stops_there(template: str, why: str) -> None:
    assert templates.problems_of(template, {"reason", "many"}) == []
    with pytest.raises(TextError, match=why):
        templates.render(template, SCOPE)


def test_a_file_with_either_is_refused_with_its_reason() -> None:
    nested = SOUND.replace("results.quote.price > 0.0", NESTED)
    assert any("steps over lists of" in fault.what for fault in faults(nested))
    endless = SOUND.replace("dear: {say: ", "dear: {say: {zh: \"{{ 'a' * 2000000000 }}\", en: x}}#")
    assert any("computes with a text" in fault.what for fault in faults(endless))


BROKEN = "1 / (slots.n - slots.n) == 1"
ASKED = {"n": {"type": "integer", "ask": text("How many?")}}


@each_row(
    ("slots", "states"),
    [
        (
            {"n": {**ASKED["n"], "check": [{"that": BROKEN, "say": text("No.")}]}},
            {"details": {"collect": ["n"], "next": "done"}},
        ),
        (
            ASKED,
            {
                "details": {"collect": ["n"], "next": "sure"},
                "sure": {
                    "confirm": text("{{ 'a' * slots.n }}"),
                    "confirmed": "done",
                    "declined": "details",
                },
            },
        ),
        (ASKED, {"details": {"collect": ["n"], "next": [{"if": BROKEN, "to": "done"}]}}),
    ],
)
def test_an_error_of_either_is_a_state_of_the_run(slots: Any, states: Any) -> None:
    driver = Driver(flow_of("broken", {**states, "done": {"end": "completed"}}, slots)).begin()
    driver.answer(n=3)
    assert driver.run.status == "failed"
    assert any(event == "failed" and comment for event, _, comment in driver.history)
