"""Sentences put into the head of a `SKILL.md`."""

import pytest

from router.extensions.evaluation.examples.marked_text import Unwritable
from router.extensions.evaluation.examples.skill_text import with_sentences
from tests.table import each_row

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
            ["license: x"],
            ["license: x", "metadata:", "  router.examples: |", "    # x: y", "    二"],
        ),
    ],
)
def test_a_line_is_added_for_each(before: list[str], after: list[str], newline: str) -> None:
    text = with_sentences(head(*before, newline=newline), ["# x: y", "二"])
    assert text == head(*after, newline=newline)


@each_row(
    ("text", "said"),
    [
        ("name: a\n", "it has no head"),
        (head("metadata: {a: b}"), "metadata has no lines of its own"),
        (head("metadata:"), "metadata has no lines of its own"),
        (head("metadata:", "  router.examples: [a]"), "router.examples is no text"),
        (head("metadata:", "  router.examples: >", "    a", "    b"), "over several lines"),
    ],
)
def test_what_cannot_be_written_into_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(Unwritable, match=said):
        with_sentences(text, ["a"])
