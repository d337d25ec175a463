from typing import Any

import pytest

from router.domain.file_types import FileMention
from router.domain.locale import Locale
from router.flow.language.templates import (
    TextError,
    problems_of,
    render,
    shown,
    shown_in,
    text_scope,
)
from router.flow.prompts.values import readable
from router.flow.slot_types.slot import Slot
from tests.table import each_row

CATEGORY = {
    "type": "choice",
    "choices": {"transport": {"label": {"zh": "交通", "en": "transport"}}},
}
MONEY, TIME = {"type": "money"}, {"type": "datetime"}
ITEMS = {
    "type": "list",
    "of": {
        "type": "object",
        "fields": {
            "category": CATEGORY,
            "amount": {"type": "money"},
            "date": {"type": "date"},
            "invoice": {"type": "text", "label": {"zh": "发票", "en": "invoice"}},
        },
    },
}
ITEM = {
    "category": "transport",
    "amount": {"amount": "36.00", "currency": "CNY"},
    "date": "2026-11-21",
    "invoice": "A1",
}
SLOTS = {
    "start": Slot(type="date"),
    "items": Slot.model_validate(ITEMS),
    "reason": Slot(type="text", required=False),
    "days": Slot(type="number"),
}


def scope(locale: Locale = "zh", **slots: Any) -> dict[str, Any]:
    results: dict[str, Any] = {"balance": {"days": 5.0}}
    return text_scope(SLOTS, slots, results, {"name": "Alice"}, locale)


@each_row(
    ("slot", "value", "zh", "en"),
    [
        (CATEGORY, "transport", "交通", "transport"),
        (CATEGORY, "gone", "gone", "gone"),
        ({"type": "text"}, "a\n\u2028\u202eb", "a ↵ b", "a ↵ b"),
        ({"type": "date"}, "2026-11-23", "2026年11月23日（周一）", "Mon 23 Nov 2026"),
        ({"type": "date"}, "soon", "soon", "soon"),
        (
            TIME,
            "2026-11-23T14:30:00+08:00",
            "2026年11月23日（周一）14:30",
            "Mon 23 Nov 2026, 14:30",
        ),
        (MONEY, {"amount": "58", "currency": "CNY"}, "¥58.00", "CNY 58.00"),
        (MONEY, {"amount": "12000.00", "currency": "USD"}, *["USD 12,000.00"] * 2),
        (MONEY, {"amount": "much"}, "much", "much"),
        ({"type": "duration"}, {"days": 3.5}, "3.5 天", "3.5 days"),
        ({"type": "duration"}, {"days": 1}, "1 天", "1 day"),
        ({"type": "duration"}, {"weeks": 2.0}, "2 周", "2 weeks"),
        ({"type": "number"}, 3.0, "3", "3"),
        ({"type": "number"}, 0.1 + 0.2, "0.3", "0.3"),
        ({"type": "boolean"}, True, "是", "yes"),
        ({"type": "boolean"}, False, "否", "no"),
        ({"type": "text"}, "家里 {{ x }}", "家里 {{ x }}", "家里 {{ x }}"),
        ({"type": "text"}, None, "", ""),
        (
            ITEMS,
            [ITEM, {"date": "2026-11-22"}, {}],
            "1. 交通 ¥36.00（2026年11月21日，发票 A1）\n2. 2026年11月22日\n3. ",
            "1. transport CNY 36.00 (21 Nov 2026, invoice A1)\n2. 22 Nov 2026\n3. ",
        ),
        ({"type": "list", "of": {"type": "text"}}, ["a", "b"], "a、b", "a, b"),
        ({"type": "list"}, "oops", "oops", "oops"),
    ],
)
def test_a_value_is_shown_as_people_read_it(
    slot: dict[str, Any], value: Any, zh: str, en: str
) -> None:
    made = Slot.model_validate(slot)
    assert (shown(made, value, "zh"), shown(made, value, "en")) == (zh, en)


@each_row(("size", "shown_as"), [(12_500, "12.2 KB"), (0, "0 B"), (10 * 1024 * 1024, "10 MB")])
def test_a_file_that_a_tool_made_is_its_name_and_its_link(size: int, shown_as: str) -> None:
    made: Any = FileMention("a" * 24, "表.csv", "text/csv", size).as_json()
    en = f"表.csv ({shown_as}): /v1/files/{'a' * 24}"
    assert readable(made, "zh") == f"表.csv（{shown_as}）：/v1/files/{'a' * 24}"
    assert readable(made, "en") == en
    assert readable({"report": made}, "en") == f"report: {en}"
    assert readable([made], "en") == f"- {en}"


@each_row("file", ["a.md", {"name": "a.md"}, {}, None])
def test_what_is_only_called_a_file_is_shown_as_anything_is(file: Any) -> None:
    assert "/v1/files/" not in readable({"file": file}, "en")


@each_row(
    ("template", "text"),
    [
        ("{{ shown.start }}，{{ slots.start }}", "2026年11月23日（周一），2026-11-23"),
        ("{{ requester.name }} {{ results.balance.days }}", "Alice 5"),
        ("[{{ slots.reason }}{{ shown.reason }}{{ results.none.at.all }}]", "[]"),
        ("{% if slots.reason %}why{% else %}no why{% endif %}", "no why"),
        ("{{ slots.items[0].amount | money }}", "¥36.00"),
        ("{{ slots.items[0].date | date }}", "2026年11月21日（周六）"),
        ("{% for i in slots.items %}{{ loop.index }}{{ i.invoice }}{% endfor %}", "1A1"),
        ("{{ slots.items | length }}", "1"),
        ("{{ slots.items | map(attribute='invoice') }}", "A1"),
        ("{{ slots.items.append }}{{ slots.keys }}{{ ''.__class__ }}", ""),
        ("<b>{{ '&' }}</b>", "<b>&</b>"),
    ],
)
def test_a_text_is_filled_in(template: str, text: str) -> None:
    assert render(template, scope(start="2026-11-23", items=[ITEM])) == text


def test_a_text_speaks_the_language_of_its_reader() -> None:
    template = "{{ shown.start }} {{ slots.start | date }}"
    there = scope("en", start="2026-11-23")
    assert render(template, there) == "Mon 23 Nov 2026 Mon 23 Nov 2026"


@each_row(
    "template",
    [
        "{{ range(3) }}",
        "{{ [1, 2] | random }}",
        "{{ slots.start.upper() }}",
        "{{ slots.days + 'x' }}",
        "{{ 1 // 0 }}",
        "{% include 'other' %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{% if %}",
    ],
)
def test_a_text_that_can_not_be_rendered_says_which(template: str) -> None:
    with pytest.raises(TextError, match="can't be rendered"):
        render(template, scope(start="2026-11-23", days=1.0))


def test_what_a_person_typed_is_never_read_as_a_template() -> None:
    assert render("{{ slots.reason }}", scope(reason="{{ 1 + 1 }}")) == "{{ 1 + 1 }}"


@each_row(
    ("template", "what", "remedy"),
    [
        ("{{ slots.strat }}", "slots.strat", "did you mean start?"),
        ("{{ shown['strat'] }}", "shown.strat", "did you mean start?"),
        ("{{ results.balanse.days }}", "results.balanse", "did you mean balance?"),
        ("{{ slot.start }}", "reads slot,", "did you mean slots?"),
        ("{% if %}", "isn't a template", "{{ shown.start }}"),
        ("{{ a", "isn't a template", "{{ shown.start }}"),
        ("{{ slots.start | shout }}", "No filter named 'shout'", "{{ shown.start }}"),
        ("{{ slots.start.upper() }}", "calls something", "a filter"),
        ("{% include 'x' %}", "another file", "write the words here"),
    ],
)
def test_a_problem_of_a_text_is_said_with_its_remedy(template: str, what: str, remedy: str) -> None:
    (fault,) = problems_of(template, SLOTS, {"balance"})
    assert what in fault.what
    assert remedy in fault.remedy


@each_row(
    ("template", "read"),
    [
        ("{{ shown.start }} {{ shown['days'] }} {{ slots.reason }}", {"start", "days"}),
        ("Nothing of the kind.", set()),
        ("{{ shown }}", None),
        ("{% for name in shown %}{{ shown[name] }}{% endfor %} {{ shown.start }}", None),
        ("{% set all = shown %}{{ all.start }}", None),
        ("{{ shown.start", None),
    ],
)
def test_only_what_a_text_shows_is_worded_for_it(template: str, read: set[str] | None) -> None:
    assert shown_in(template) == read


def test_a_text_may_set_and_loop_over_names_of_its_own() -> None:
    template = (
        "{% set n = 1 %}{% for i in slots.items %}{{ i.x }}{{ n }}{{ loop.last }}{% endfor %}"
    )
    assert problems_of(template, SLOTS) == []
