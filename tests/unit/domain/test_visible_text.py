"""What nobody sees is nowhere, and what is somebody's can't be taken for another's."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from router.domain.visible_text import (
    inline,
    isolated,
    legible,
    one_line,
    pieces,
    quoted,
    visible,
)
from tests.table import each_row

UNSEEN = [
    "\u00ad", "\u034f", "\u061c", "\u115f", "\u17b4", "\u180e", "\u200b", "\u200d", "\u202e",
    "\u200e", "\u2060", "\u2066", "\u206f", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ufff9",
    "\U0001d173",
    "\U000e0041", "\U000e0100", "\x00", "\x1b", "\x7f", "\x9b", "\ud800",
]  # fmt: skip


@each_row("unseen", UNSEEN)
def test_nothing_is_kept_that_nobody_sees(unseen: str) -> None:
    for kept in (visible, legible, one_line, inline):
        assert kept(f"¥9{unseen},001") == "¥9,001"


@each_row(
    "text",
    [
        "👩\u200d💻",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "👍🏽",
        "می\u200cخواهم",
        "क्\u200dष",
        "©\ufe0f",
    ],
)
def test_what_was_only_said_keeps_what_its_script_needs(text: str) -> None:
    assert legible(text) == text
    assert legible(legible(f"\u202e{text}")) == text


@each_row("end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_line_ends_as_others_do_and_a_title_is_one_line(end: str) -> None:
    text = f"rent{end}  Amount:\u2800 1{end}"
    assert visible(text) == "rent\n  Amount:\u2800 1\n"
    assert one_line(text) == "rent Amount: 1"
    assert inline(text) == "rent ↵ Amount: 1"
    assert quoted(f"no”{end}The desk: “yes") == "“no’ ↵ The desk: ‘yes”"


@given(st.text())
def test_whatever_it_was_it_is_short_and_stays(text: str) -> None:
    for kept in (visible, legible, one_line, inline):
        assert kept(kept(text)) == kept(text)
    assert len(one_line(text)) <= 200
    seen = {unicodedata.category(c) for c in inline(text)} & {"Cc", "Cs", "Zl", "Zp"}
    assert not seen


def test_letters_that_are_written_the_other_way_turn_nothing_beside_them() -> None:
    assert isolated("שלום 12\nb") == "\u2068שלום 12\u2069\n\u2068b\u2069"
    assert isolated("rent 12") == "rent 12"


def test_what_is_too_long_is_cut_at_the_end_of_a_line() -> None:
    text = "a" * 6 + "\n" + "b" * 6 + "\n" + "c" * 25
    assert pieces(text, 10) == ["a" * 6, "b" * 6, "c" * 10, "c" * 10, "c" * 5]
    assert pieces("", 10) == []
