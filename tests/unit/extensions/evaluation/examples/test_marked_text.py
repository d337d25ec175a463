"""Sentences put into YAML and JSON: everything else stays, character for character."""

import json

import pytest

from router.extensions.evaluation.examples.marked_text import MarkedText, Unwritable
from router.formats.yaml_document import Place, read_yaml
from tests.table import each_row

PLACE: Place = ("triggers", "examples")
MORE = ['say "hi"', "请假：三天"]


def added(text: str, *items: str, place: Place = PLACE) -> str:
    return MarkedText.read(text).with_items(place, items or MORE)


@each_row(
    ("before", "after"),
    [
        (
            "triggers:\n  examples:\n    - 'a'  # first\n    # last\n\nstart: x\n",
            "triggers:\n  examples:\n    - 'a'  # first\n    - 'it''s'\n    # last\n\nstart: x\n",
        ),
        (
            "triggers:\n  examples:\n  - plain\nstart: x",
            'triggers:\n  examples:\n  - plain\n  - "it\'s"\nstart: x',
        ),
        (
            "triggers:\n  examples: ['a', b] # c\n",
            "triggers:\n  examples: ['a', b, \"it's\"] # c\n",
        ),
        ("triggers: {examples: []}\n", 'triggers: {examples: ["it\'s"]}\n'),
        ("triggers: {roles: [a]}\n", 'triggers: {roles: [a], examples: ["it\'s"]}\n'),
        ("triggers: {}\n", 'triggers: {"examples": ["it\'s"]}\n'),
        (
            "triggers:\n  roles:\n    - a  # who\n# next\nstart: x\n",
            'triggers:\n  roles:\n    - a  # who\n  examples:\n    - "it\'s"\n# next\nstart: x\n',
        ),
        ("start: x\n", 'start: x\ntriggers:\n  examples:\n    - "it\'s"\n'),
        ("triggers:\n  examples: null\n", 'triggers:\n  examples: ["it\'s"]\n'),
        (
            "triggers:\r\n  examples:\r\n    - a\r\nstart: x\r\n",
            'triggers:\r\n  examples:\r\n    - a\r\n    - "it\'s"\r\nstart: x\r\n',
        ),
        (
            "triggers:\n  examples:\n    - |\n      a\n\nstart: x\n",
            'triggers:\n  examples:\n    - |\n      a\n    - "it\'s"\n\nstart: x\n',
        ),
        ("triggers:\n  examples:\n    - a", 'triggers:\n  examples:\n    - a\n    - "it\'s"'),
        (
            "triggers:\n  examples: [\n    a,\n    b\n  ]\n",
            'triggers:\n  examples: [\n    a,\n    b,\n    "it\'s"\n  ]\n',
        ),
    ],
)
def test_the_sentence_stands_where_its_author_would_put_it(before: str, after: str) -> None:
    assert added(before, "it's") == after
    data = read_yaml(after).data
    assert data["triggers"]["examples"][-1] == "it's"


@each_row("indent", [None, 2, "\t"])
@each_row(
    "document",
    [
        {"mcpServers": {"files": {"command": "x", "tools": {"read": {"examples": ["a"]}}}}},
        {"mcpServers": {"files": {"command": "x", "tools": {"read": {"title": {"zh": "读"}}}}}},
        {"mcpServers": {"files": {"command": "x", "tools": {"read": {}}}}},
        {"mcpServers": {"files": {"command": "x", "args": ["}"], "tools": {}}}},
        {"mcpServers": {"files": {"command": "x", "retries": 3}}},
    ],
)
def test_json_gets_what_is_missing_around_the_list_and_nothing_else(
    document: dict[str, object], indent: int | str | None
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    place = ("mcpServers", "files", "tools", "read", "examples")
    data = json.loads(added(text, *MORE, place=place))
    entry = data["mcpServers"]["files"]["tools"]["read"]
    assert entry["examples"][-2:] == MORE
    entry["examples"] = entry["examples"][:-2]
    before = json.loads(text)
    there = before["mcpServers"]["files"].setdefault("tools", {}).setdefault("read", {})
    there.setdefault("examples", [])
    assert data == before


def test_a_list_of_json_on_lines_of_its_own_gets_lines() -> None:
    text = '[{"name": "a",\n  "examples": [\n    "一"\n  ]}]'
    assert added(text, "二", place=(0, "examples")) == (
        '[{"name": "a",\n  "examples": [\n    "一",\n    "二"\n  ]}]'
    )


@each_row(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("triggers: [", "it can't be read"),
        ("triggers: 5\n", "triggers is no mapping"),
        ("triggers:\n  examples: none\n", "triggers.examples is no list: write"),
        ("triggers:\n  examples:\n", "triggers.examples is no list: write"),
        ("a: &a [x]\ntriggers:\n  examples: *a\n", "triggers.examples is an alias"),
        ("triggers:\n  examples:\n    - {a: b}\n", "is no text"),
        ("triggers:\n  examples:\n    -\n      a\n", "on the line of its dash"),
    ],
)
def test_what_cannot_be_written_into_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(Unwritable, match=said):
        added(text)
