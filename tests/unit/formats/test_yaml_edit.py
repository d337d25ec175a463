"""Edits of YAML texts: what an edit isn't about stays to the byte, and the data is as edited."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.formats.data_edit import (
    Edit,
    EditRefused,
    InsertValue,
    MoveValue,
    RemoveValue,
    RenameKey,
    SetValue,
    changed,
    value_at,
)
from router.formats.yaml_document import Place, read_yaml
from router.formats.yaml_edit import edited, respelt
from tests.samples import one_in
from tests.table import each_row

SHIPPED = sorted([*Path("flows").rglob("*.yaml"), *Path("tests").rglob("*.yaml")])

TEXT = """\
# head
flow: a   # name
title: {zh: "一", en: "One"}

slots:
  # about x
  x:
    type: date   # when
    ask: {zh: "何时？", en: "When?"}

  # about y
  y:
    type: text
    check:
      - that: "slots.y != ''"   # not empty
        say: {zh: "a", en: "b"}
      - {that: "true", say: {zh: "c", en: "d"}}
names: [a, "b c"]  # names
empty: {}
none:   # nothing yet
about:
  en: "One two three
    four five."
  zh: |-
    一
    二
pattern: 'a\\b'
base: &base {k: 1}
same: *base
list:
- 1
- 2   # the second
"""
NEW_STATE = {"say": {"zh": "好", "en": "done"}, "next": "x"}


def place(*parts: str | int) -> Place:
    return parts


ROWS: list[tuple[Edit, str, str]] = [
    (SetValue(place=("flow",), value="bb"), "flow: a   # name", "flow: bb   # name"),
    (SetValue(place=("title", "en"), value="Two: 2"), 'en: "One"', 'en: "Two: 2"'),
    (SetValue(place=("pattern",), value="a\\d"), "'a\\b'", "'a\\d'"),
    (
        SetValue(place=("about", "en"), value="One two three four six."),
        "    four five.",
        "    four six.",
    ),
    (SetValue(place=("about", "zh"), value="一\n三"), "    二\n", "    三\n"),
    (SetValue(place=("names", 1), value={"k": 1}), '[a, "b c"]', "[a, {k: 1}]"),
    (SetValue(place=("names",), value=["q"]), '[a, "b c"]', "[q]"),
    (SetValue(place=("none",), value=5), "none:   # nothing yet", "none: 5   # nothing yet"),
    (
        SetValue(place=("none",), value={"k": {"l": 1}}),
        "none:   # nothing yet\n",
        "none:   # nothing yet\n  k:\n    l: 1\n",
    ),
    (SetValue(place=("none", "k"), value=1), "nothing yet\n", "nothing yet\n  k: 1\n"),
    (SetValue(place=("empty", "k"), value=1), "empty: {}\n", "empty:\n  k: 1\n"),
    (SetValue(place=("title", "fr"), value="Un"), 'en: "One"}', 'en: "One", fr: Un}'),
    (
        SetValue(place=("slots", "z"), value=NEW_STATE),
        '{zh: "c", en: "d"}}\n',
        '{zh: "c", en: "d"}}\n\n  z:\n    say: {zh: "好", en: "done"}\n    next: x\n',
    ),
    (
        SetValue(place=("slots", "x", "ask"), value={"zh": "一\n二", "en": "One"}),
        '    ask: {zh: "何时？", en: "When?"}',
        '    ask: {zh: "一\\n二", en: "One"}',
    ),
    (SetValue(place=("flow",), value="a\nb"), "flow: a   # name", "flow: |-   # name\n  a\n  b"),
    (SetValue(place=("same",), value=2), "same: *base", "same: 2"),
    (RemoveValue(place=("names", 0)), '[a, "b c"]', '["b c"]'),
    (RemoveValue(place=("title", "en")), '{zh: "一", en: "One"}', '{zh: "一"}'),
    (RemoveValue(place=("none",)), "none:   # nothing yet\n", ""),
    (RemoveValue(place=("list", 1)), "- 2   # the second\n", ""),
    (
        RemoveValue(place=("slots", "x")),
        '  # about x\n  x:\n    type: date   # when\n    ask: {zh: "何时？", en: "When?"}\n\n',
        "",
    ),
    (
        RemoveValue(place=("slots", "y", "check", 0, "that")),
        "- that: \"slots.y != ''\"   # not empty\n        say",
        "- say",
    ),
    (InsertValue(place=("list",), at=1, value="m"), "- 1\n", "- 1\n- m\n"),
    (InsertValue(place=("list",), at=2, value=3), "# the second\n", "# the second\n- 3\n"),
    (InsertValue(place=("names",), at=0, value="true"), "[a,", '["true", a,'),
    (
        InsertValue(place=("slots",), at=1, key="m", value={"type": "date"}),
        "  # about y\n",
        "  m:\n    type: date\n\n  # about y\n",
    ),
    (
        InsertValue(place=("slots", "y", "check"), at=2, value={"that": "x", "say": {"zh": "1"}}),
        'en: "d"}}\n',
        'en: "d"}}\n      - that: x\n        say: {zh: "1"}\n',
    ),
    (MoveValue(place=("names", 1), at=0), '[a, "b c"]', '["b c", a]'),
    (MoveValue(place=("list", 1), at=0), "- 1\n- 2   # the second", "- 2   # the second\n- 1"),
    (RenameKey(place=("slots", "x"), key="w"), "  x:\n", "  w:\n"),
    (RenameKey(place=("none",), key="1"), "none:", '"1":'),
]


@pytest.mark.slow
@each_row(("edit", "before", "after"), ROWS, ids=[str(row[0]) for row in ROWS])
@each_row("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_an_edit_changes_the_text_at_its_place_alone(
    edit: Edit, before: str, after: str, ends: str
) -> None:
    text, expected = (t.replace("\n", ends) for t in (TEXT, TEXT.replace(before, after, 1)))
    assert TEXT.count(before) >= 1

    assert edited(text, edit) == expected


@each_row(
    ("edit", "said"),
    [
        (SetValue(place=("no", "such"), value=1), "there is no no"),
        (SetValue(place=("flow", "x"), value=1), "there is no"),
        (SetValue(place=("list", 2), value=1), "there is no list.2"),
        (SetValue(place=("list", -1), value=1), "there is no list.-1"),
        (SetValue(place=("same", "k"), value=2), "by an alias"),
        (RemoveValue(place=("base",)), "undefined alias"),
        (SetValue(place=("base", "k"), value=2), "an alias repeats it"),
        (RemoveValue(place=("slots", "nope")), "there is no slots.nope"),
        (InsertValue(place=("list",), at=3, value=1), "number 3"),
        (InsertValue(place=("list",), at=0, key="k", value=1), "no key"),
        (InsertValue(place=("slots",), at=0, value=1), "a key of its own"),
        (InsertValue(place=("slots",), at=0, key="x", value=1), "a key of its own"),
        (MoveValue(place=("list", 0), at=2), "no number 2"),
        (RenameKey(place=("slots", "x"), key="y"), "there is a y already"),
        (RenameKey(place=("list", 0), key="y"), "there is no list.0"),
    ],
)
def test_an_edit_that_can_t_be_made_is_refused_with_words(edit: Edit, said: str) -> None:
    with pytest.raises(EditRefused, match=said):
        edited(TEXT, edit)


@each_row("text", ["a: [", "\ta: 1", "a: 1\na: [2", "a: *b", "", "x", "- x"])
def test_a_text_that_isn_t_a_sound_mapping_takes_no_edit_of_one(text: str) -> None:
    with pytest.raises(EditRefused):
        edited(text, SetValue(place=("a", "b"), value=1))


@each_row(
    ("text", "before"),
    [
        *(("", ""), ("# c\n", "# c\n"), ("# c", "# c\n"), ("---\n", "---\n")),
        *(("null\n", ""), ("~", ""), ("--- # c\nnull\n", "--- # c\n"), ("# c\r\n", "# c\r\n")),
    ],
)
def test_a_text_that_says_nothing_yet_takes_its_first_entry(text: str, before: str) -> None:
    title = {"zh": "一", "en": "One"}

    by_name = edited(text, SetValue(place=("title",), value=title))
    by_rank = edited(text, InsertValue(place=(), at=0, key="title", value=title))

    assert by_name == by_rank
    assert by_name.rstrip() == before + 'title: {zh: "一", en: "One"}'


ANCHORED = """\
states:
  a:
    name: x
    next: &ways   # of both
      - {to: b}
      - to: c
    late: c
  b:
    name: y
    next: *ways
  c: &last
    name: z
  d: &rest !!map
    name: w
shared: {c: *last, d: *rest}
top: &top
- &one 1
"""


@each_row(
    ("edit", "before", "after"),
    [
        (SetValue(place=("states", "a", "name"), value="n"), "name: x", "name: n"),
        (SetValue(place=("states", "a", "late"), value="b"), "late: c", "late: b"),
        (RenameKey(place=("states", "a"), key="q"), "  a:\n", "  q:\n"),
        (SetValue(place=("states", "a", "to"), value=1), "late: c\n", "late: c\n    to: 1\n"),
        (InsertValue(place=("top",), at=1, value=2), "&one 1\n", "&one 1\n- 2\n"),
        (SetValue(place=("top", 0), value=3), "- &one 1\n", "- 3\n"),
    ],
    ids=str,
)
def test_an_anchor_before_a_block_is_in_nobody_s_way(edit: Edit, before: str, after: str) -> None:
    assert edited(ANCHORED, edit) == ANCHORED.replace(before, after, 1)


@each_row("place", [("k", "z"), ("k", "a", "z")], ids=str)
def test_an_anchored_mapping_takes_an_entry_more(place: Place) -> None:
    text = "k: &all   # said once\n  a: &one !!map\n    b: 1\n"

    after = edited(text, SetValue(place=place, value=2))

    assert after == text + " " * 2 * (len(place) - 1) + "z: 2\n"


JSON = """\
{
\t"servers": {
\t\t"crm": {"url": "https://crm", "tools": {}},
\t\t"files": {
\t\t\t"args": ["}", ":"],
\t\t\t"retries": 3
\t\t}
\t},
\t"names": [
\t\t"a"
\t]
}
"""


@each_row(
    ("edit", "before", "after"),
    [
        (SetValue(place=("servers", "files", "retries"), value="no"), ": 3", ': "no"'),
        (SetValue(place=("servers", "crm", "tools"), value={"a": [1]}), "{}", '{"a": [1]}'),
        (SetValue(place=("servers", "crm", "url"), value="x"), '"https://crm"', '"x"'),
        (SetValue(place=("servers", "crm", "n"), value="x"), "{}}", '{}, "n": "x"}'),
        (
            SetValue(place=("servers", "files", "tools"), value={"a": ["b"]}),
            '"retries": 3\n',
            '"retries": 3,\n\t\t\t"tools": {\n\t\t\t\t"a": [\n\t\t\t\t\t"b"\n\t\t\t\t]\n\t\t\t}\n',
        ),
        (InsertValue(place=("names",), at=1, value="b"), '"a"\n', '"a",\n\t\t"b"\n'),
        (InsertValue(place=("names",), at=0, value="b"), '"a"\n', '"b",\n\t\t"a"\n'),
        (
            InsertValue(place=("servers", "files", "args"), at=1, value="b"),
            '"}", ',
            '"}", "b", ',
        ),
        (RenameKey(place=("names",), key="more"), '"names"', '"more"'),
        (RemoveValue(place=("names", 0)), '[\n\t\t"a"\n\t]', "[]"),
    ],
    ids=str,
)
def test_json_stays_json_and_keeps_its_lines(edit: Edit, before: str, after: str) -> None:
    written = edited(JSON, edit)

    assert written == JSON.replace(before, after, 1)
    assert json.loads(written) == changed(json.loads(JSON), edit)


@each_row(
    ("text", "after"),
    [
        ("- 'a'\n- 'b'\n", "- 'a'\n- 'b'\n- 'c'\n"),
        ('- "a"\n', '- "a"\n- "c"\n'),
        ("- a\n", "- a\n- c\n"),
        ("- |\n  a\n", "- |\n  a\n- c\n"),
        ("['a', b]\n", "['a', b, c]\n"),
        ("[b, 'a']\n", "[b, 'a', 'c']\n"),
        ("[\n  a,\n  b\n]\n", "[\n  a,\n  b,\n  c\n]\n"),
    ],
)
def test_a_new_item_is_quoted_and_set_as_the_one_before(text: str, after: str) -> None:
    at = len(read_yaml(text).data)

    assert edited(text, InsertValue(place=(), at=at, value="c")) == after


GALLERY = sorted(Path("flows/gallery").glob("*.yaml"))
_WITH_ANCHOR = re.compile(r"^  (\w+):\n(?:(?: {4}.*)?\n)*? {4}[^\n#]*: &\w+ *\n", re.MULTILINE)
NAMED = [
    (path, state)
    for path in GALLERY
    for state in _WITH_ANCHOR.findall(path.read_text().partition("\nstates:\n")[2])
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "state"), one_in(4, NAMED), ids=[f"{p.stem}.{s}" for p, s in NAMED]
)
def test_a_state_whose_ways_bear_an_anchor_can_be_edited(path: Path, state: str) -> None:
    text, name = path.read_text(), {"zh": "新名", "en": "A new name"}
    edit = SetValue(place=("states", state, "name"), value=name)

    after = edited(text, edit)

    assert read_yaml(after).data == changed(read_yaml(text).data, edit)
    assert len(after.splitlines()) - len(text.splitlines()) in {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("path", one_in(4, SHIPPED), ids=str)
def test_a_file_stays_to_the_byte_where_each_value_is_set_to_what_it_is(path: Path) -> None:
    text = path.read_text()
    data = read_yaml(text).data
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        assert edited(text, SetValue(place=(key,), value=value)) == text


def test_texts_and_keys_are_respelt_at_once() -> None:
    values = {("flow",): "b", ("slots", "y", "check", 0, "that"): "slots.z != ''"}

    after = respelt(TEXT, values, {("slots", "y"): "z"})

    expected = TEXT.replace("flow: a ", "flow: b ").replace("  y:\n", "  z:\n")
    assert after == expected.replace("slots.y", "slots.z")


WORDS = [
    *("x", "何时？", "a b: c", "it's \\d", "line\nbreak", "- a", "#no", "true", "12", "", " lead"),
    *("trail ", "a\nb\n", "{{ slots.x }}", 'quote " here', "é\u2028x", "tab\there", "null", "~"),
    *("@at", "%p", "a #b", "\n", "a\n\n\nb", "---", "[", "{", "&a", "*a", "!t", "\x07", "x" * 200),
]


def _value(chosen: random.Random, depth: int = 0) -> Any:
    sort = chosen.random()
    if depth < 3 and sort < 0.2:
        keys = [f"{chosen.choice(['k', 'a b', '1', 'on', 'zh'])}{n}" for n in range(3)]
        return {key: _value(chosen, depth + 1) for key in keys[: chosen.randint(0, 3)]}
    if depth < 3 and sort < 0.4:
        return [_value(chosen, depth + 1) for _ in range(chosen.randint(0, 3))]
    if sort < 0.45:
        return {"zh": chosen.choice(WORDS), "en": chosen.choice(WORDS)}
    if sort < 0.6:
        return chosen.choice([1, 0, -3, 2.5, True, False, None, 10**20])
    return chosen.choice(WORDS)


def _places(data: Any, here: Place = ()) -> Iterator[Place]:
    yield here
    below = data if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else enumerate(below):
        yield from _places(value, (*here, key))


def _edit(chosen: random.Random, data: Any) -> Edit:
    places = [*_places(data)]
    holders = [each for each in places if isinstance(value_at(data, each), dict | list)]
    at, holder = chosen.choice(places[1:]), chosen.choice(holders)
    held = value_at(data, holder)
    match chosen.choice(["set", "set", "remove", "insert", "move", "rename"]):
        case "set":
            return SetValue(place=at, value=_value(chosen))
        case "remove":
            return RemoveValue(place=at)
        case "insert":
            key = f"new{chosen.randrange(10**6)}" if isinstance(held, dict) else None
            rank = chosen.randint(0, len(held))
            return InsertValue(place=holder, at=rank, key=key, value=_value(chosen))
        case "move":
            return MoveValue(place=at, at=chosen.randrange(len(value_at(data, at[:-1]))))
    keys = [each for each in places[1:] if isinstance(each[-1], str)]
    return RenameKey(place=chosen.choice(keys or [("none",)]), key=f"k{chosen.randrange(10**6)}")


UNDONE = 12
"""Edits of one file, where each that sets a value is also taken back to look at that."""


def _edit_at_random(text: str, chosen: random.Random, times: int) -> int:
    """Make so many edits, each of which gives the data it should; how many were refused."""
    data, refused = read_yaml(text).data, 0
    for _ in range(times):
        if not data:
            break
        edit = _edit(chosen, data)
        try:
            wanted = changed(data, edit)
            after = edited(text, edit)
        except EditRefused:
            refused += 1
            continue
        assert json.dumps(read_yaml(after).data) == json.dumps(wanted), edit
        if isinstance(edit, SetValue) and times <= UNDONE:
            back = edited(after, SetValue(place=edit.place, value=value_at(data, edit.place)))
            assert json.dumps(read_yaml(back).data) == json.dumps(data), edit
        text, data = after, wanted
    return refused


def _without_aliases(path: Path) -> bool:
    return " &" not in path.read_text() and " *" not in path.read_text()


EDITED = [path for path in SHIPPED if path.stat().st_size < 6_000 and _without_aliases(path)]


@pytest.mark.slow
@each_row("path", EDITED, ids=str)
def test_random_edits_give_the_data_that_they_come_to(path: Path) -> None:
    refused = _edit_at_random(path.read_text(), random.Random(path.name), 12)
    # Keys of lists can't be renamed; everything else is written in some way.
    assert refused <= 3


@pytest.mark.slow
@each_row("seed", range(10))
def test_a_thousand_random_edits_give_the_data_that_they_come_to(seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(10):
        _edit_at_random(chosen.choice(SHIPPED).read_text(), chosen, 10)


@pytest.mark.slow
@each_row("path", GALLERY, ids=str)
def test_random_edits_of_flows_with_aliases_are_right_or_refused(path: Path) -> None:
    times = 100 // len(GALLERY) + 1
    # What stands by an alias, or is one's anchor, is for the text.
    assert _edit_at_random(path.read_text(), random.Random(path.name), times) < times


@pytest.mark.slow
@each_row("indent", [None, 2, "\t"])
@each_row("seed", range(10))
def test_random_edits_of_json_give_the_json_that_they_come_to(
    seed: int, indent: int | str | None
) -> None:
    chosen = random.Random(seed)
    data = {f"k{n}": _value(chosen) for n in range(4)}
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    for _ in range(20):
        if not data:
            break
        edit = _edit(chosen, data)
        data, text = changed(data, edit), edited(text, edit)
        assert json.dumps(json.loads(text)) == json.dumps(data), edit
