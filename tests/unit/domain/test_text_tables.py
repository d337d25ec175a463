"""Tables within texts: one text for whoever shows tables and whoever doesn't."""

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from router.domain.text_tables import TextTable, as_lines, in_columns, parts_of, written
from tests.table import each_row

LEFT = written(["假别", "剩余", "共"], [["年假", "12", "15"], ["病假", "9.5", "15"]])


def test_a_table_stands_between_what_is_said_before_and_after_it() -> None:
    table = TextTable(
        ("假别", "剩余", "共"), (("年假", "12", "15"), ("病假", "9.5", "15")), frozenset({1, 2})
    )
    assert list(parts_of(f"你的假：\n\n{LEFT}\n\n还有吗？")) == ["你的假：\n", table, "\n还有吗？"]


@each_row(
    ("locale", "lines"),
    [
        ("zh", "- 年假：剩余 12，共 15\n- 病假：剩余 9.5，共 15"),
        ("en", "- 年假: 剩余 12, 共 15\n- 病假: 剩余 9.5, 共 15"),
    ],
)
def test_a_chat_without_tables_gets_a_line_for_each_row(
    locale: Literal["zh", "en"], lines: str
) -> None:
    assert as_lines(f"有：\n{LEFT}", locale) == f"有：\n{lines}"


def test_what_is_empty_is_not_said_in_a_line() -> None:
    assert (
        as_lines(written(["a", "b", "c"], [["x", "", "y"], ["z", "", ""]]), "en") == "- x: c y\n- z"
    )


@each_row(
    ("cells", "rule"),
    [
        (["12", "3.5", "1,200.00"], "---:"),
        (["45.50 CNY", "8 CNY"], "---:"),
        (["¥45.50", "CNY 8.00"], "---:"),
        (["2 天", "15%"], "---:"),
        (["12", "none"], "---"),
        (["2026-11-25", "12"], "---"),
        ([], "---"),
    ],
)
def test_columns_of_amounts_alone_are_aligned_at_the_right(cells: list[str], rule: str) -> None:
    assert (
        written(["n", "x"], [[cell, "…"] for cell in cells]).split("\n")[1] == f"| {rule} | --- |"
    )


def test_a_column_is_as_wide_as_it_looks() -> None:
    assert in_columns(LEFT) == "假别  剩余  共\n年假    12  15\n病假   9.5  15"


HOSTILE = [
    "| a |",
    "| a | b |\n| --- |\n| 1 | 2 |",
    "| a |\n| - - |",
    "a | b\n--- | ---\n1 | 2",
    "||\n||",
    "|---|",
    "|",
    "    | a |\n    | --- |\n",
    "| a |\n|  |\n",
    "\\| a \\|\n| --- |",
]


@each_row("text", HOSTILE)
def test_what_is_no_table_stays_as_it_is(text: str) -> None:
    assert as_lines(text, "en") == in_columns(text) == text


def test_a_row_that_is_too_short_or_too_long_is_as_wide_as_the_head() -> None:
    (table,) = parts_of("| a | b |\n| --- | --- |\n| 1 |\n| 1 | 2 | 3 |")
    assert isinstance(table, TextTable)
    assert table.rows == (("1", ""), ("1", "2"))


words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=4))
def test_whatever_stands_in_a_cell_is_read_back_in_its_place(rows: list[tuple[str, str]]) -> None:
    (table,) = parts_of(written(["one", "two"], rows))
    assert isinstance(table, TextTable)
    plain = [tuple(" ".join(cell.split()) for cell in row) for row in rows]
    assert list(table.rows) == plain


@given(st.text(max_size=60))
def test_a_text_is_never_refused(text: str) -> None:
    assert isinstance(as_lines(text, "zh"), str)
    assert isinstance(in_columns(text), str)
