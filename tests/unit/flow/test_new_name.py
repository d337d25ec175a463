"""A state or slot that is renamed: everything that names it follows, and nothing else changes."""

import json
import re
from pathlib import Path

import pytest

from router.flow.loader import examine_text
from router.flow.new_name import in_expression, with_new_name
from router.formats.data_edit import EditRefused, RenameKey
from router.formats.yaml_document import read_yaml

FLOWS = sorted(Path("flows").glob("*.yaml"))
NAMES = [
    (path, sort, name)
    for path in FLOWS
    for sort in ("states", "slots")
    for name in read_yaml(path.read_text()).data[sort]
]


def renamed(text: str, stories: str, sort: str, old: str, new: str) -> tuple[str, str]:
    return with_new_name(text, stories, RenameKey(place=(sort, old), key=new))


@pytest.mark.parametrize(
    ("path", "sort", "name"), NAMES, ids=[f"{p.stem}.{s}.{n}" for p, s, n in NAMES]
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
