"""A state or slot that is renamed: everything that names it follows, and nothing else changes."""

import json
import re
from pathlib import Path

import pytest

from router.extensions.authoring.new_name import doubts, in_expression, with_new_name
from router.flow.loader import examine_text
from router.flow.validation.phrases import said_in
from router.formats.data_edit import EditRefused, RenameKey
from router.formats.yaml_document import read_yaml
from tests.samples import one_in
from tests.table import each_row

FLOWS = sorted(Path("flows").glob("*.yaml"))
NAMES = [
    (path, sort, name)
    for path in FLOWS
    for sort in ("states", "slots")
    for name in read_yaml(path.read_text()).data[sort]
]


def renamed(text: str, stories: str, sort: str, old: str, new: str) -> tuple[str, str]:
    return with_new_name(text, stories, RenameKey(place=(sort, old), key=new))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "sort", "name"), one_in(4, NAMES), ids=[f"{p.stem}.{s}.{n}" for p, s, n in NAMES]
)
def test_a_flow_stays_sound_and_is_itself_again_when_it_is_called_as_before(
    path: Path, sort: str, name: str
) -> None:
    text, stories = path.read_text(), (path.parent / "tests" / path.name).read_text()

    there = renamed(text, stories, sort, name, "another_name")
    back = renamed(*there, sort, "another_name", name)

    assert there[0] != text
    assert not examine_text(Path(path.name), there[0]).problems
    assert json.dumps(read_yaml(back[0]).data) == json.dumps(read_yaml(text).data)
    assert back[1] == stories
    assert [*map(_comments, [there[0], back[0]])] == [_comments(text)] * 2


def _comments(text: str) -> list[str]:
    return re.findall(r"^\s*# .*$", text, re.MULTILINE)


FLOW = """\
flow: trip
title: {zh: "x", en: "x"}
description: {zh: "x", en: "x"}
triggers:
  patterns: ['go on (?P<day>.+)']   # the day
  examples: ["slots.day is no word of mine"]
slots:
  day:
    type: date
    from: document
    ask: {zh: "哪天？", en: "Which day?"}
    check: [{that: "slots.day >= day(now)", say: {zh: "{{ shown.day }}", en: "late"}}]
  days: {type: number, when: "has(slots.day)"}
start: day
states:
  day: {collect: [day, days], next: [{if: "slots.days > 1.0", to: ask}, {to: done}]}
  ask:
    approve: {by: manager(requester), title: {zh: "{{ slots.day }}", en: "{{ slots.days }}"}}
    approved: done
    rejected: day
  done: {say: {zh: "day", en: "the day {{ shown.day }}"}, end: completed}
"""
STORIES = """\
- story: one
  steps:
    - user: {type: start, flow: trip, slots: {day: "2026-11-30", days: 1}}
    - expect: {state: day, awaiting: [day, days], slots: {day: "2026-11-30"}}
"""


def test_a_slot_is_followed_where_it_is_named_and_only_there() -> None:
    text, stories = renamed(FLOW, STORIES, "slots", "day", "when_it_is")

    for gone, new in [
        ("  day:\n    type", "  when_it_is:\n    type"),
        ("(?P<day>", "(?P<when_it_is>"),
        ("from: document\n", "from: document.day\n"),
        ("slots.day >=", "slots.when_it_is >="),
        ("{{ shown.day }}", "{{ shown.when_it_is }}"),
        ("has(slots.day)", "has(slots.when_it_is)"),
        ("collect: [day,", "collect: [when_it_is,"),
        ("{{ slots.day }}", "{{ slots.when_it_is }}"),
    ]:
        assert gone in FLOW
        assert gone not in text.replace(new, "")
        assert new in text
    for kept in ["start: day", "rejected: day", "# the day", 'zh: "day"', "slots.day is no word"]:
        assert kept in text
    assert "slots: {when_it_is:" in stories
    assert "awaiting: [when_it_is, days]" in stories
    assert "state: day" in stories


def test_a_state_is_followed_where_it_is_named_and_only_there() -> None:
    text, stories = renamed(FLOW, STORIES, "states", "day", "first")

    changed = [("start: day", "start: first"), ("  day: {collect", "  first: {collect")]
    changed += [("rejected: day", "rejected: first")]
    expected = FLOW
    for old, new in changed:
        expected = expected.replace(old, new)
    assert text == expected
    assert stories == STORIES.replace("state: day", "state: first")


CHOOSING = """\
flow: desk
title: {zh: "x", en: "x"}
description: {zh: "x", en: "x"}
triggers: {patterns: ['a car'], examples: ["a car"]}
slots:
  what:
    type: choice
    ask: {zh: "什么？", en: "What?"}
    choices:
      car: {label: {zh: "汽车", en: "car"}}
      room: {label: {zh: "房间", en: "room"}}
  guess:
    type: choice
    lookup: "slots.what == 'car' ? 'car' : 'room'"
    choices:
      car: {label: {zh: "轿车", en: "car"}}
      room: {label: {zh: "房间", en: "room"}}
  items:
    type: list
    ask: {zh: "哪些？", en: "Which?"}
    of:
      type: object
      fields:
        kind:
          type: choice
          label: {zh: "类", en: "Kind"}
          choices:
            car: {label: {zh: "车", en: "car"}}
            bus: {label: {zh: "客车", en: "bus"}}
          check: [{that: "item.kind != 'car' || slots.what == 'car'", say: {zh: "x", en: "x"}}]
start: ask
states:
  ask:
    collect: [what, items]
    next:
      - {if: "slots.what == 'car' && size(slots.items) > 1", to: boss}
      - {if: "'car' == slots.what || slots.what in ['room', 'car']", to: boss}
      - {if: "slots.items.exists(i, i.kind == 'car')", to: boss}
      - {to: done}
  boss:
    approve:
      by: manager(requester)
      title: {zh: "{% if slots.what == 'car' %}车{% endif %}", en: "isn't a 'car'"}
    approved: done
    rejected: done
  done:
    say: {zh: "{% for i in slots.items %}{{ '车' if i.kind == 'car' }}{% endfor %}", en: "x"}
    end: completed
"""
CHOSEN = """\
- story: one
  steps:
    - user: {type: start, flow: desk, slots: {what: car, items: [{kind: car}]}}
    - user: "car"
    - expect: {slots: {what: car, guess: car}}
"""


@each_row(
    ("place", "followed", "told"),
    [
        (
            ("slots", "what", "choices", "car"),
            [
                *("lookup: \"slots.what == 'car'", "|| slots.what == 'car'", "'car' == slots.what"),
                *("if: \"slots.what == 'car'", "['room', 'car']", "{% if slots.what == 'car' %}"),
                'car: {label: {zh: "汽车"',
            ],
            "what: car",
        ),
        (
            ("slots", "items", "of", "fields", "kind", "choices", "car"),
            [
                *("item.kind != 'car'", "exists(i, i.kind == 'car')", "'车' if i.kind == 'car'"),
                'car: {label: {zh: "车"',
            ],
            "kind: car",
        ),
        (
            ("slots", "guess", "choices", "car"),
            ["? 'car' :", 'car: {label: {zh: "轿车"'],
            "guess: car",
        ),
    ],
    ids=["slot", "field", "looked up"],
)
def test_what_is_compared_with_a_choice_follows_it_and_nothing_else_does(
    place: tuple[str, ...], followed: list[str], told: str
) -> None:
    expected = CHOOSING
    for old in followed:
        assert CHOOSING.count(old) == 1
        expected = expected.replace(old, old.replace("car", "motor_car", 1))

    text, stories = with_new_name(CHOOSING, CHOSEN, RenameKey(place=place, key="motor_car"))

    assert text == expected
    assert stories == CHOSEN.replace(told, told.replace("car", "motor_car"))
    assert not examine_text(Path("desk.yaml"), text).problems


ALIKE = [
    (r"slots.what == 'car\x21'", "slots.what == 'bus'"),
    (r'slots.what in ["car\u0021"]', 'slots.what in ["bus"]'),
    ("slots.what == r'car!'", "slots.what == r'bus'"),
    ('slots.what == """car!"""', 'slots.what == """bus"""'),
]


@each_row(("written", "after"), ALIKE)
def test_a_choice_is_found_whatever_way_it_is_quoted(written: str, after: str) -> None:
    text = CHOOSING.replace('      car: {label: {zh: "汽车', '      car!: {label: {zh: "汽车')
    text = text.replace("if: \"slots.what == 'car' &&", f"if: {json.dumps(written + ' &&')[:-1]}")

    renamed_, _ = with_new_name(
        text, "", RenameKey(place=("slots", "what", "choices", "car!"), key="bus")
    )

    (condition,) = read_yaml(renamed_).data["states"]["ask"]["next"][:1]
    assert condition["if"].startswith(f"{after} &&")


@pytest.mark.slow
@each_row(
    ("say", "after"),
    [
        ("{% set k = slots.what %}{% if k == 'car' %}x{% endif %}", "bus"),
        ("{%- set k = slots.what -%}{{ 'x' if 'car' != k }}", "bus"),
        ("{% with k = slots.what, n = 1 %}{{ k in ['car'] }}{% endwith %}", "bus"),
        ("{% for i in slots.items %}{% set k = i.kind %}{{ k == 'car' }}{% endfor %}", "car"),
        ("{% set k = slots.what %}{% set k = 'car' %}{{ k == 'car' }}", None),
        ("{% set k = slots.what|lower %}{{ k == 'car' }}", None),
        ("{{ {'car': 1}[slots.what] }}", None),
        ("{{ shown.what == 'car' }} car", "car"),
        ("'car' {{ slots.what }}", "car"),
    ],
)
def test_a_text_follows_a_choice_by_another_name_or_its_author_is_told_to_look(
    say: str, after: str | None
) -> None:
    text = CHOOSING.replace("isn't a 'car'", say)
    edit = RenameKey(place=("slots", "what", "choices", "car"), key="bus")

    renamed_, _ = with_new_name(text, "", edit)

    said = read_yaml(renamed_).data["states"]["boss"]["approve"]["title"]["en"]
    assert said == say.replace("'car'", f"'{after or 'car'}'")
    looks = [place for place, _ in doubts(text, edit)]
    assert looks == ([] if after else [("states", "boss", "approve", "title", "en")])


@each_row(
    ("expression", "told"),
    [
        ("slots.what", "hands on the choice"),
        ("has(slots.what) ? slots.what : null", "hands on the choice"),
        ("slots", "hands on the choice"),
        ("{'car': 1, 'room': 2}[string(now)]", "'car' stands in this expression"),
        ("slots.what == 'car' ? 'sedan' : 'none'", None),
        ("has(slots.what) ? 1 : 2", None),
        ("slots.items.exists(i, i.kind == 'car')", None),
    ],
)
def test_what_is_given_to_a_tool_is_looked_at_where_it_knows_a_choice_by_its_name(
    expression: str, told: str | None
) -> None:
    called = f"  call: {{call: book, with: {{what: {json.dumps(expression)}}}, next: done}}\n"
    text = CHOOSING.replace("  done:\n", f"{called}  done:\n")

    found = [*doubts(text, RenameKey(place=("slots", "what", "choices", "car"), key="bus"))]

    assert [place for place, _ in found] == [("states", "call", "with", "what")] * bool(told)
    for _, fault in found:
        assert told
        assert told in fault.what
        assert fault.remedy.startswith("look here")
        assert all(said_in("zh", words) != words for words in fault)


BUTTON = "- story: one\n  steps:\n    - user: {type: choose, value: %s}\n"


@each_row(("choice", "after"), [("room", "room"), ("bus", "coach")])
def test_a_button_in_a_story_follows_the_only_choice_that_it_can_mean(
    choice: str, after: str
) -> None:
    of = ("slots", "items", "of", "fields", "kind") if choice == "bus" else ("slots", "what")
    edit = RenameKey(place=(*of, "choices", choice), key="coach")

    _, stories = with_new_name(CHOOSING, BUTTON % choice, edit)

    assert stories == BUTTON % after


@each_row("key", ["it's", 'a"b', "a\\b", "{{ x", " a", "a\nb", "x" * 65])
def test_a_choice_is_called_nothing_that_can_t_be_compared_with(key: str) -> None:
    edit = RenameKey(place=("slots", "what", "choices", "car"), key=key)
    with pytest.raises(EditRefused, match="can't be a name"):
        with_new_name(CHOOSING, "", edit)


@each_row(
    ("old", "new", "where"),
    [
        ("if: \"slots.what == 'car'", "if: \"slots.what == 'cart'", "slots.what with 'cart'"),
        ("['room', 'car']", "['room', 'bus']", "slots.what with 'bus'"),
        ("i, i.kind == 'car'", "i, i.kind == 'room'", "slots.items.*.kind with 'room'"),
        ("item.kind != 'car'", "'' != item.kind", "slots.items.*.kind with ''"),
        ("{% if slots.what == 'car'", "{% if slots.what == 'bus'", "slots.what with 'bus'"),
    ],
)
def test_what_is_compared_with_a_choice_that_isn_t_there_is_a_problem(
    old: str, new: str, where: str
) -> None:
    assert old in CHOOSING

    (problem,) = examine_text(Path("desk.yaml"), CHOOSING.replace(old, new, 1)).problems

    assert f"compares {where}, which is none of its choices" in problem.what
    assert said_in("zh", problem.what) != problem.what


@each_row(
    ("source", "after"),
    [
        ("slots.a", "slots.b"),
        ("slots . a", "slots . b"),
        ("has(slots.a) && slots.a > slots.ab", "has(slots.b) && slots.b > slots.ab"),
        ("'slots.a' == slots.a", "'slots.a' == slots.b"),
        ("item.slots.a", "item.slots.a"),
        ("results.a", "results.a"),
        ("slots.x.a", "slots.x.a"),
        ("slots.a.currency", "slots.b.currency"),
        ("((", "(("),
        ("", ""),
    ],
)
def test_an_expression_reads_the_new_name_where_it_read_the_old_one(
    source: str, after: str
) -> None:
    assert in_expression(source, "a", "b") == after


@each_row(
    ("text", "sort", "old", "new"),
    [
        (FLOW, "slots", "day", "days"),
        (FLOW, "slots", "none", "other"),
        (FLOW, "slots", "day", "Not a name"),
        (FLOW, "states", "day", ""),
        ("- a\n", "states", "day", "other"),
        ("a: [", "states", "day", "other"),
        ("states: []", "states", "day", "other"),
        ("", "states", "day", "other"),
    ],
)
def test_what_can_t_be_renamed_is_refused(text: str, sort: str, old: str, new: str) -> None:
    edit = RenameKey.model_construct(place=(sort, old), key=new)
    with pytest.raises(EditRefused):
        with_new_name(text, "", edit)
