"""Examples added to files: everything else stays, character for character."""

import json

import pytest

from router.extensions.evaluation.examples.text_edit import (
    Unwritable,
    add_list_items,
    add_skill_examples,
)
from router.formats.yaml_document import Place, read_yaml
from tests.table import each_row

PLACE: Place = ("triggers", "examples")
MORE = ['say "hi"', "请假：三天"]


def added(text: str, *items: str, place: Place = PLACE) -> str:
    return add_list_items(text, place, items or MORE)


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
        ("triggers: {}\n", 'triggers:\n  examples: ["it\'s"]\n'),
        ("triggers:\n", 'triggers:\n  examples: ["it\'s"]\n'),
        ("triggers:\n  examples:\n", 'triggers:\n  examples: ["it\'s"]\n'),
        (
            "triggers:\n  roles:\n    - a  # who\n# next\nstart: x\n",
            'triggers:\n  roles:\n    - a  # who\n  examples: ["it\'s"]\n# next\nstart: x\n',
        ),
        ("start: x\n", 'start: x\ntriggers:\n  examples: ["it\'s"]\n'),
        ("triggers:\n  examples: null\n", 'triggers:\n  examples: ["it\'s"]\n'),
        (
            "triggers:\r\n  examples:\r\n    - a\r\nstart: x\r\n",
            'triggers:\r\n  examples:\r\n    - a\r\n    - "it\'s"\r\nstart: x\r\n',
        ),
        (
            "triggers:\n  examples:\n    - |\n      a\n\nstart: x\n",
            'triggers:\n  examples:\n    - |\n      a\n    - "it\'s"\n\nstart: x\n',
        ),
        ("triggers:\n  examples:\n    - a", 'triggers:\n  examples:\n    - a\n    - "it\'s"\n'),
        (
            "triggers:\n  examples:\n    -\n      a\n",
            'triggers:\n  examples:\n    -\n      a\n    - "it\'s"\n',
        ),
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
        ("triggers: [", "this isn't YAML"),
        ("triggers: 5\n", "there is no triggers.examples"),
        ("triggers:\n  examples: none\n", "triggers.examples is no list: write"),
        ("a: &a [x]\ntriggers:\n  examples: *a\n", "by an alias"),
    ],
)
def test_a_text_that_takes_no_list_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(Unwritable, match=said):
        added(text)


BODY = "\n# Do\n\n---\nrouter.examples: |\n"


def head(*lines: str, newline: str = "\n") -> str:
    return newline.join(["---", "name: a", "description: b", *lines, "---"]) + newline + BODY


@each_row("newline", ["\n", "\r\n"])
@each_row(
    ("before", "after"),
    [
        (
            ["metadata:", "  router.examples: |", "    一", "", "  # why", "  router.mode: plan"],
            [
                *["metadata:", "  router.examples: |", "    一", "    # x: y", "    二", ""],
                *["  # why", "  router.mode: plan"],
            ],
        ),
        (
            ["metadata:", "  router.mode: plan  # why"],
            [
                *["metadata:", "  router.mode: plan  # why", "  router.examples: |"],
                *["    # x: y", "    二"],
            ],
        ),
        (
            ["metadata:", "  router.examples: 'it''s one'  # why", "license: x"],
            [
                *["metadata:", "  router.examples: |  # why", "    it's one", "    # x: y"],
                *["    二", "license: x"],
            ],
        ),
        (
            ["metadata:", "  router.examples: >", "    一", "    and"],
            [
                *["metadata:", "  router.examples: |", "    一 and", "    # x: y", "    二"],
            ],
        ),
        (["metadata: {a: b}"], ['metadata: {a: b, router.examples: "# x: y\\n二\\n"}']),
        (["metadata:"], ["metadata:", "  router.examples: |", "    # x: y", "    二"]),
        (
            ["license: x"],
            ["license: x", "metadata:", "  router.examples: |", "    # x: y", "    二"],
        ),
    ],
)
def test_a_skill_gets_a_line_for_each_sentence(
    before: list[str], after: list[str], newline: str
) -> None:
    text = add_skill_examples(head(*before, newline=newline), ["# x: y", "二"])
    assert text == head(*after, newline=newline)


@each_row(
    ("text", "said"),
    [
        ("name: a\n", "it has no head"),
        (head("metadata: ["), "this isn't YAML"),
        (head("metadata: a"), "there is no metadata.router.examples"),
        (head("metadata:", "  router.examples: [a]"), "router.examples is no text"),
    ],
)
def test_a_skill_that_takes_no_examples_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(Unwritable, match=said):
        add_skill_examples(text, ["a"])
