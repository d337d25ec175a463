"""What anybody said leads nowhere where Markdown is read, whole or in pieces."""

import re

from hypothesis import given
from hypothesis import strategies as st

from router.api.markdown import MarkdownText, markdown
from tests.table import each_row

PICTURE = "![a](https://evil.test/?q=1)"
HOSTILE = [
    PICTURE,
    "[bank](https://evil.test)",
    "![a][r]\n\n[r]: https://evil.test/?q=1",
    "<img src=https://evil.test>",
    "\\<img src=https://evil.test>",
    "<https://evil.test>",
    "<!-- -->",
    # Fences that end sooner than they seem to, or never were any.
    f"```\ncode\n```\n{PICTURE}",
    f"```\ncode\r```\r{PICTURE}",
    f"```\ncode\n   ``````  \n{PICTURE}",
    f"~~~ a`b\ncode\n~~~\n{PICTURE}",
    f"``` a`b\n{PICTURE}",
    f"- item\n  ```\n  code\n{PICTURE}",
    f"> ```\n{PICTURE}",
    f"  ```\ncode\n```\n{PICTURE}",
    f"1. ```\n{PICTURE}\n```\n{PICTURE}",
    f" ~~~\n~~~\n{PICTURE}",
    # What ends a fence to marked, by which Open WebUI reads, and not to CommonMark, or vice versa.
    f"```\n```~\n{PICTURE}",
    f"~~~~\n~~~~~``\n{PICTURE}",
    f"```\n```\t\n```\n{PICTURE}",
    f"```\n    ```\n{PICTURE}",
    f"```\n> ```\n{PICTURE}",
]
LIVE = re.compile(r"!\[|\][(:\[]|<[A-Za-z/!?]")


@each_row("text", HOSTILE)
def test_nothing_that_was_said_is_a_link_a_picture_or_a_tag(text: str) -> None:
    assert LIVE.search(text)
    assert not LIVE.search(markdown(text))


@each_row("code", ["```py\na[0](x) < <b>\n```\n", "~~~\n![a](b)\n```\n~~~~\n"])
def test_code_stays_as_it_is_and_nothing_after_it(code: str) -> None:
    assert markdown(f"1 < 2\n\n{code}{PICTURE}").startswith(f"1 < 2\n\n{code}!\\[")


@each_row(
    ("text", "shown"),
    [
        # Below a paragraph a fence is a part of a heading to marked: the picture would be one.
        ("a\n```\n-\n\n![a](b)\n```\n", "a\n\n```\n-\n\n![a](b)\n```\n"),
        ("a\r```\nb\n```\n", "a\r\n\n```\nb\n```\n"),
        ("a\r\n```\nb\n```\n", "a\r\n\n```\nb\n```\n"),
        ("a\r\n\r\n```\nb\n```\n", "a\r\n\r\n```\nb\n```\n"),
    ],
)
def test_a_fence_stands_below_a_blank_line(text: str, shown: str) -> None:
    assert markdown(text) == shown


@each_row("language", ["html", "HTML", "svg", "xml", "mermaid", "vega-lite", "js", "html x", "css"])
def test_code_that_a_front_end_would_run_is_code_without_a_language(language: str) -> None:
    code = "<img src=https://evil.test/?q=1>\n```\n"
    assert markdown(f"```{language}\n{code}") == f"```\n{code}"


@given(st.lists(st.sampled_from([*"![](<:`~ \n\ra>", "```", "~~~\n", "```\n", "- "]), max_size=30))
def test_pieces_come_to_the_whole(pieces: list[str]) -> None:
    made = MarkdownText()
    assert "".join([*map(made.add, pieces), made.end()]) == markdown("".join(pieces))


def test_a_piece_waits_for_what_could_make_it_act_alone() -> None:
    made = MarkdownText()
    assert [made.add(piece) for piece in ("Look!", "[a", "]", "(b", ") 好")] == [
        "Look", "!\\[a", "", "]\\(b", ") 好",
    ]  # fmt: skip
