"""Tables within texts, as GitHub's Markdown writes them: <https://github.github.com/gfm/#tables->.

What is listed is one text for everybody. Whoever shows tables finds one; `as_lines` is for chats
that have none, `in_columns` for terminals, where every character has its width.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from router.domain.locale import Locale

_LINE = re.compile(r"^ {0,3}\|(.*)\|[ \t]*$")
_RULE = re.compile(r"^:?-+:?$")
_BETWEEN = re.compile(r"(?<!\\)\|")
_AMOUNT = re.compile(r"^[-+–]?(?:[A-Z]{3} |[¥$€£])?\d[\d,]*(?:\.\d+)?(?:\s?(?:%|[A-Z]{3}|天|元))?$")


@dataclass(frozen=True)
class TextTable:
    """What stands in a table, row by row; `right` has the numbers of columns of amounts."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


def written(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""The table as text; columns in which there are amounts alone are aligned at the right.

    >>> print(written(["kind", "days"], [["annual", "12"], ["a|b", "3"]]))
    | kind | days |
    | --- | ---: |
    | annual | 12 |
    | a\|b | 3 |
    """
    body = [[_cell(cell) for cell in row] for row in rows]
    amounts = (body and all(_AMOUNT.match(row[n]) for row in body) for n in range(len(head)))
    rule = ["---:" if right else "---" for right in amounts]
    return "\n".join(_row(cells) for cells in ([_cell(each) for each in head], rule, *body))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def parts_of(text: str) -> Iterator[str | TextTable]:
    """The text between tables, and the tables, in their order."""
    lines, plain = text.split("\n"), list[str]()
    number = 0
    while number < len(lines):
        table, after = _table_at(lines, number)
        if table is None:
            plain.append(lines[number])
            number += 1
            continue
        if plain:
            yield "\n".join(plain)
        yield table
        plain, number = [], after
    if plain:
        yield "\n".join(plain)


def _table_at(lines: Sequence[str], number: int) -> tuple[TextTable | None, int]:
    head, rule = _cells(lines, number), _cells(lines, number + 1)
    if not head or len(rule) != len(head) or not all(_RULE.match(cell) for cell in rule):
        return None, number
    rows, after = [], number + 2
    while cells := _cells(lines, after):
        # As GFM has it: what is missing is empty, what is too much is left out.
        rows.append((*cells, *[""] * len(head))[: len(head)])
        after += 1
    right = frozenset(n for n, cell in enumerate(rule) if cell.endswith(":") and cell[0] != ":")
    return TextTable(tuple(head), tuple(rows), right), after


def _cells(lines: Sequence[str], number: int) -> list[str]:
    found = _LINE.match(lines[number]) if number < len(lines) else None
    cells = _BETWEEN.split(found[1]) if found else []
    return [cell.strip().replace("\\|", "|") for cell in cells]


def as_lines(text: str, locale: Locale) -> str:
    """The text with a line for each row: its first cell, and what the others are.

    >>> print(as_lines(written(["kind", "left", "in all"], [["annual", "12", "15"]]), "en"))
    - annual: left 12, in all 15
    """
    parts = (part if isinstance(part, str) else _lines(part, locale) for part in parts_of(text))
    return "\n".join(parts)


def _lines(table: TextTable, locale: Locale) -> str:
    colon, comma = ("：", "，") if locale == "zh" else (": ", ", ")
    lines = []
    for first, *others in table.rows:
        named = zip(table.head[1:], others, strict=True)
        said = comma.join(f"{label} {cell}" for label, cell in named if cell)
        lines.append(f"- {first}{colon if first and said else ''}{said}")
    return "\n".join(lines)


def in_columns(text: str) -> str:
    """The text with its tables in columns, for a font of one width.

    >>> print(in_columns(written(["kind", "days"], [["年假", "12"], ["sick", "3"]])))
    kind  days
    年假    12
    sick     3
    """
    parts = (part if isinstance(part, str) else _columns(part) for part in parts_of(text))
    return "\n".join(parts)


def _columns(table: TextTable) -> str:
    rows = [table.head, *table.rows]
    widths = [max(_width(row[n]) for row in rows) for n in range(len(table.head))]
    lines = []
    for row in rows:
        cells = []
        for n, cell in enumerate(row):
            room = " " * (widths[n] - _width(cell))
            cells.append(room + cell if n in table.right else cell + room)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(unicodedata.combining(each) > 0 for each in text)
