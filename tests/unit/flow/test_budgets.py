"""Flow files that would have a worker compute for ever, or take all of its memory."""

import re
from typing import Any

import pytest

from router.flow.language import expressions, templates
from router.flow.language.budgets import StepBudget, turn_budget
from router.flow.language.expressions import ExpressionError, lookup_key
from router.flow.language.templates import TextError
from tests.costly import SLOW_PATTERNS
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text
from tests.unit.flow.test_validation import SOUND, faults

TEN = "[1,2,3,4,5,6,7,8,9,10]"
NESTED = f"{TEN}.map(a, " * 8 + TEN + ")" * 8 + " == []"
LONG = "x" * 8_000
MANY = list(range(1_000))
VARIABLES = ("slots", "results", "requester", "now")
PURSES = [{"amount": "5.00", "currency": "CNY"}] * 1_000
PATH, PATHS = "a" + ".a" * 3_000, "a" + ",a" * 3_000
SCOPE: dict[str, Any] = {"slots": {"reason": LONG, "many": MANY, "purses": PURSES}}
STEPS = "50,000 steps"
DOUBLED = "{% set a = slots.reason %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}"


_REFUSED_EXPRESSIONS = [
    (NESTED, STEPS),
    ("[1]" + ".map(x, [x, x])" * 40, "more than 100 levels|50,000 steps"),
    ("[['x', 'x']]" + ".map(x, x + x)" * 40 + " == []", STEPS),
    ("[1]" + ".map(x, [x, x, x, x])" * 30, STEPS),
    ("['0123456789']" + ".map(x, x + x)" * 30 + " == []", STEPS),
    ("1" + " + 1" * 40_000 + " > 0", "4,000 are the most"),
    ("slots" + ".a" * 40_000, "4,000 are the most"),
    ("(" * 40_000 + "1" + ")" * 40_000, "4,000 are the most"),
    ("(" * 900 + "1" + ")" * 900, "nests more than 40 levels"),
    ("9" * 3_000, "can't be read as CEL"),
    ("slots.a.matches(slots.reason)", "written out as a text"),
    ("slots.a.matches('a' + 'b')", "written out as a text"),
    (" || ".join(f"slots.a.matches('{n}')" for n in range(11)), "more than 10 patterns"),
    ("slots.a.matches('(a')", "isn't RE2"),
    ("[slots.a.matches((('(?=a)')))]", "isn't RE2"),
]
HOSTILE_EXPRESSIONS = [source for source, _ in _REFUSED_EXPRESSIONS]
GROWING_EXPRESSIONS = [
    "slots.many.map(a, slots.many.map(b, a))",
    "slots.many.exists(a, slots.many.exists(b, b > a + 1000))",
    "slots.many.map(a, slots.reason).map(b, b + b + b)",
    "role('all').map(a, role('all').map(b, a))",
    "slots.many.exists(a, slots.reason.contains('xxxxxxxxxy'))",
    "slots.many.exists(a, slots.reason.matches('(x|y)*z'))",
    f"slots.reason.matches('{SLOW_PATTERNS['optional repeats']}')",
    "slots.many.exists(a, slots.reason + 'x' == slots.reason)",
    "slots.many.exists(a, string(slots.reason + 'x') == '')",
    "slots.many.exists(a, bytes(slots.reason) == b'')",
    "slots.many.exists(a, slots.many == slots.many && false)",
    "slots.many.exists(a, -1 in slots.many)",
    "slots.many.map(a, slots.many + slots.many).size() == 0",
    "slots.many.map(a, slots.many)",
    "slots.many.exists(a, unique(slots.many) && false)",
    "slots.many.exists(a, total(slots.purses) == -1)",
    "slots.many.map(a, manager(slots.many))",
    "slots.many.exists(a, {'a': slots.many} == {'a': slots.many} && false)",
]
HOSTILE_TEXTS = [
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
    "{% set a %}" + "{{ slots.reason }}" * 500 + "{% endset %}{{ a|length }}",
    "{{ " + "1," * 2_000 + " }}",
    "{{ " + "1+" * 100 + "1 }}",
    "{{ 'a'" + "|upper" * 100 + " }}",
    "{{ slots" + ".a" * 100 + " }}",
    "{{ " + "(" * 60 + "1" + ")" * 60 + " }}",
]
_GROWING_TEXTS = [
    ("{{ slots.reason * 2000000 }}", "numbers"),
    ("{{ 1 | round(2000000000, 'ceil') }}", "2000000000 digits"),
    ("{{ slots.reason | replace('x', slots.reason) }}", "100,000 characters"),
    ("{{ slots.reason | join(slots.reason) }}", "100,000 characters"),
    ("{% for i in slots.many %}{{ slots.reason }}{% endfor %}", "100,000 characters"),
    ("{% for i in slots.many %}{% for j in slots.many %}{% endfor %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}" + "{{ shown.many }}" * 300 + "{% endfor %}", STEPS),
    (
        "{% for i in slots.many %}" + "{% if shown.many %}{% endif %}" * 150 + "{% endfor %}",
        STEPS,
    ),
    ("{% for i in slots.many if [" + "shown.many," * 150 + "] %}{% endfor %}", STEPS),
    ("{{ slots.many|select('in', slots.many)|list|length }}", STEPS),
    ("{{ slots.many|reject('in', seq=slots.many)|list|length }}", STEPS),
    ("{{ slots.many|selectattr('a', 'in', slots.many)|list|length }}", STEPS),
    ("{{ slots.many|rejectattr('a', 'in', slots.many)|list|length }}", STEPS),
    ("{% for i in slots.many %}{% if 'y' in slots.reason %}{% endif %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% if 'y' is in slots.reason %}{% endif %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% if slots.many == 1 %}{% endif %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.reason[1:] %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.many|sort %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.reason|upper %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.reason|title %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.reason ~ 'x' %}{% endfor %}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.reason + 'x' %}{% endfor %}", STEPS),
    ("{{ slots.reason" + "|list|string" * 4 + "|length }}", STEPS),
    ("{{ slots.reason|replace('x', '是')" + "|urlencode" * 30 + "|length }}", STEPS),
    ("{{ slots.many" + "|map('string')|list|string" * 12 + " }}", STEPS),
    ("{{ (" + "~".join(["slots.reason"] * 100) + ")|length }}", "100,000 characters"),
    (f"{{{{ slots.many|map(attribute='{PATH}')|list|length }}}}", STEPS),
    (f"{{{{ slots.many|sort(attribute='{PATH}')|length }}}}", STEPS),
    (f"{{{{ slots.many|sort(attribute='{PATHS}')|length }}}}", STEPS),
    (f"{{{{ slots.many|groupby('{PATH}')|length }}}}", STEPS),
    (f"{{{{ slots.many|groupby(attribute='{PATH}', default=1)|length }}}}", STEPS),
    (f"{{{{ slots.many|sum('{PATH}') }}}}", STEPS),
    (f"{{{{ slots.many|selectattr('{PATH}')|list|length }}}}", STEPS),
    (f"{{{{ slots.many|rejectattr('{PATH}', 'in', [1])|list|length }}}}", STEPS),
    (f"{{{{ slots.many|unique(attribute='{PATH}')|list|length }}}}", STEPS),
    (f"{{{{ slots.many|max(attribute='{PATH}') }}}}", STEPS),
    (f"{{{{ slots.many|min(attribute='{PATH}') }}}}", STEPS),
    (f"{{{{ slots.many|join('', '{PATH}')|length }}}}", STEPS),
    (f"{{{{ [slots.many]|map('map', attribute='{PATH}')|list|length }}}}", STEPS),
    ("{{ (slots.reason ~ slots.reason ~ slots.reason)" + "|title" * 20 + "|length }}", STEPS),
    ("{% for i in slots.many %}{% set a = slots.reason|urlencode %}{% endfor %}", STEPS),
    ("{{ slots.reason|trim(slots.reason) }}", "12 characters at most"),
    ("{{ [slots.many, slots.many]|sum(start=[]) }}", "sum adds numbers"),
    ("{{ (1e308|int) * 2 }}", "computed up to"),
]
GROWING_TEXTS = [template for template, _ in _GROWING_TEXTS]


@each_row(("source", "why"), _REFUSED_EXPRESSIONS)
def test_an_expression_without_end_is_refused_when_the_file_is_read(source: str, why: str) -> None:
    assert any(re.search(why, fault.what) for fault in expressions.problems_of(source, VARIABLES))
    with pytest.raises(ExpressionError, match=why):
        expressions.evaluate(source, SCOPE, {})


@each_row("source", GROWING_EXPRESSIONS)
def test_what_its_values_make_endless_stops_at_its_budget(source: str) -> None:
    known: dict[str, Any] = {'role("all")': [*MANY], lookup_key("manager", [[*MANY]]): "bob"}
    assert expressions.problems_of(source, VARIABLES) == []
    with pytest.raises(ExpressionError, match="takes more than 50,000 steps"):
        expressions.evaluate(source, SCOPE, known)


@each_row(
    ("source", "most"),
    [
        ("slots.items.filter(i, has(i.invoice)).map(i, i.invoice).size() == 1000", 8_000),
        ("unique(slots.items.map(i, i.invoice))", 12_000),
        ("total(slots.items) == 500000", 45_000),
        ("slots.reason.contains('y')", 200),
        ("slots.reason.matches('^x+$')", 8_100),
        (r"slots.reason.matches(r'^\p{L}+$')", 40_100),
        ("slots.reason + slots.reason == 'x'", 300),
        ("size(slots.reason) > 0", 10),
    ],
)
def test_what_people_write_costs_no_more_than_it_is_long(source: str, most: int) -> None:
    items: Any = [
        {"amount": {"amount": "5.00", "currency": "CNY"}, "invoice": f"A{n}"} for n in MANY
    ]
    budget = StepBudget()
    expressions.evaluate(source, {"slots": {"items": items, "reason": LONG}}, {}, budget)
    assert 0 < budget.steps <= most


def test_what_an_expression_costs_is_the_same_whenever_it_is_evaluated() -> None:
    counted = []
    for _ in range(2):
        counted.append(StepBudget())
        expressions.evaluate("unique(slots.many.map(a, a * 2))", SCOPE, {}, counted[-1])
    assert counted[0].steps == counted[1].steps


def test_the_expressions_of_a_turn_share_what_they_may_take() -> None:
    turn = turn_budget()
    for _ in range(39):
        expressions.evaluate("slots.many.all(a, a >= 0)", SCOPE, {}, turn)
    with pytest.raises(ExpressionError, match="takes more than 200,000 steps"):
        expressions.evaluate("slots.many.map(a, slots.many.map(b, b))", SCOPE, {}, turn)


def test_an_expression_that_is_wrong_in_many_places_is_told_of_the_first_ones() -> None:
    found = expressions.problems_of("||".join(f"x{n}" for n in range(600)), VARIABLES)
    assert len(found) == 10
    assert sum(len(fault.what) for fault in found) < 3_000


@each_row("template", HOSTILE_TEXTS)
def test_a_text_without_end_is_refused_when_the_file_is_read(template: str) -> None:
    assert templates.problems_of(template, {"reason", "many"})
    with pytest.raises(TextError, match="can't be rendered"):
        templates.render(template, SCOPE)


@each_row(("template", "why"), _GROWING_TEXTS)
def test_what_its_values_make_endless_stops_there(template: str, why: str) -> None:
    assert templates.problems_of(template, {"reason", "many"}) == []
    with pytest.raises(TextError, match=why):
        templates.render(template, SCOPE)


@each_row(
    ("template", "most"),
    [
        ("{{ shown.start }}", 100),
        ("{% for i in slots.many %}{{ i }}\n{% endfor %}", 8_000),
        ("{{ slots.reason|upper|length }}", 500),
        ("{{ slots.many|map('string')|join(', ') }}", 6_000),
        ("{{ slots.many|select('in', [1, 2, 3])|list|length }}", 7_000),
        ("{% for i in slots.many if i > 900 %}{{ i }}{% endfor %}", 10_000),
        ("{{ slots.purses|map(attribute='amount')|join(', ') }}", 14_000),
        ("{{ slots.purses|sort(attribute='currency,amount')|length }}", 26_000),
    ],
)
def test_a_text_costs_no_more_than_it_says(template: str, most: int) -> None:
    budget = StepBudget()
    templates.render(template, SCOPE, budget)
    assert 0 < budget.steps <= most


def test_a_text_that_is_wrong_in_many_places_is_told_of_the_first_ones() -> None:
    found = templates.problems_of("".join(f"{{{{ x{n} }}}}" for n in range(400)), ())
    assert len(found) == 10
    assert sum(len(fault.what) for fault in found) < 5_000


@each_row("amount", ["1E+999999", "-1E+999999", "9" * 40, "Infinity", "NaN"])
def test_an_amount_that_nobody_pays_is_shown_as_it_is_written(amount: str) -> None:
    scope = {"results": {"price": {"amount": amount, "currency": "CNY"}}}
    assert templates.render("{{ results.price|money }}", scope) == amount


def test_a_file_with_either_is_refused_with_its_reason() -> None:
    nested = SOUND.replace("results.quote.price > 0.0", NESTED)
    assert any(STEPS in fault.what for fault in faults(nested))
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
