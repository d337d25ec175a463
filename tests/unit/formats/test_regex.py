"""Patterns that somebody else wrote: refused in a sentence, or cheap."""

import pytest
import re2

from router.formats.regex import AUTHORED, CODED, compile_foreign, compiled, refused
from tests.costly import REFUSED_PATTERNS, SLOW_PATTERNS
from tests.table import each_row


@each_row("source", REFUSED_PATTERNS.values(), ids=REFUSED_PATTERNS)
def test_a_costly_pattern_is_refused_with_what_to_do(source: str) -> None:
    fault = refused(source)
    assert fault is not None
    assert fault.remedy
    assert len(fault.what) < 200
    with pytest.raises(re2.error):
        compile_foreign(source)


@each_row(
    ("source", "says"),
    [
        ("a" * 501, "has 501 characters: a pattern may have 500"),
        ("a{1000}" * 5, "is too large: RE2's program for it may have 4000 instructions"),
        ("(?P<year>[0-9]{4})", "has 1 groups: a pattern captures nothing here"),
        ("(?=a)", "isn't RE2: at character 1 it looks around"),
        ("(", "isn't RE2: missing )"),
    ],
)
def test_what_exceeds_a_bound_is_named(source: str, says: str) -> None:
    fault = refused(source)
    assert fault is not None
    assert fault.what.startswith(says)


@each_row(
    "source",
    [
        "a" * 500,
        r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        r"^\d{4}-\d{2}-\d{2}$",
        "[\u4e00-\u9fa5]{2,20}",
        r"^\p{L}+$",
        "^.{1,300}$",
        *SLOW_PATTERNS.values(),
    ],
)
def test_ordinary_patterns_are_taken(source: str) -> None:
    assert refused(source) is None


def test_nothing_is_captured_where_only_a_match_is_asked_for() -> None:
    source = "(a)(b)(c)"
    match = compile_foreign(source).search("xabc")
    assert (match.span(), match.groups()) == ((1, 4), ())
    assert compile_foreign(source, AUTHORED).search("xabc").groups() == ("a", "b", "c")
    assert compiled(source).search("xabc").groups() == ("a", "b", "c")


def test_an_author_s_pattern_is_as_long_as_it_is_written() -> None:
    plain = "|".join(f"word{n}" for n in range(100))
    assert len(plain) > AUTHORED.chars
    assert refused(plain, "{WORDS}", AUTHORED) is None
    assert refused(plain, bounds=CODED) is None
    assert refused(plain, bounds=AUTHORED) is not None
    assert refused("(a)" * 21, bounds=AUTHORED) is not None


def test_case_and_line_breaks_are_ignored_where_that_is_asked_for() -> None:
    assert compile_foreign("a.b").search("A\nB") is None
    assert compile_foreign("a.b", ignore_case=True, dot_all=True).search("A\nB") is not None


def test_a_pattern_that_is_taken_is_taken_in_either_case() -> None:
    han_and_words = r"  {1,30}" + r"\p{Han}\w{1,30}" * 29 + r"\p{Han}\wb"
    assert compile_foreign(han_and_words, AUTHORED)

    fault = refused(han_and_words, bounds=AUTHORED)

    assert fault is not None
    assert fault.what.startswith("is too large: RE2's program for it may have 10000")
