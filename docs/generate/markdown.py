"""Pieces of Markdown that every page of the reference is made of."""

from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `make reference` from the code; edit that. -->"


def page(title: str, *parts: str) -> str:
    """A whole page; empty parts are left out."""
    return "\n\n".join([f"# {title}", MADE, *filter(None, parts)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty where there are no rows. A bar in a cell is escaped."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    rule = f"|{' --- |' * len(head)}"
    return "\n".join([f"| {' | '.join(head)} |", rule, *lines]) if lines else ""


def code(text: str) -> str:
    """The text as code; nothing where there is none."""
    return f"`{text}`" if text else ""


def one_line(text: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((text or "").partition("\n\n")[0].split())
