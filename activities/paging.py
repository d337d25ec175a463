"""Long results, page by page."""

from pydantic import BaseModel

PAGE = 6_000
"""Characters of a page: as much as a model is shown of one result."""
_AROUND = 600
"""Characters of a page's JSON beside its text."""
_SHOWN_AS = dict.fromkeys(map(chr, range(32)), 6) | dict.fromkeys('\n\r\t\b\f"\\', 2)
"""How many characters JSON needs for those that it writes otherwise."""


class Page(BaseModel):
    """A part of a result's JSON. `read_more` is there where it goes on: the handle to give."""

    page: int
    pages: int
    text: str
    read_more: str | None = None


def page_of(text: str, number: int, handle: str) -> Page:
    """One page of a long result; pages count from 1.

    >>> page_of("x" * 7000, 2, "h").read_more is None
    True
    """
    pages = -(-len(text) // PAGE)
    return Page(
        page=number,
        pages=pages,
        text=text[(number - 1) * PAGE : number * PAGE],
        read_more=handle if number < pages else None,
    )


def text_pages(text: str) -> list[str]:
    r"""A text in pages that a model is shown whole, as JSON; they end with a line if they can.

    >>> [len(page) for page in text_pages("a line\n" * 1000)]
    [4725, 2275]
    """
    pages: list[str] = []
    start = 0
    while start < len(text) or not pages:
        end = _end_of_page(text, start)
        pages.append(text[start:end])
        start = end
    return pages


def _end_of_page(text: str, start: int) -> int:
    """Where the page that begins at `start` ends: in JSON a newline takes two characters."""
    room, end = PAGE - _AROUND, start
    while end < len(text) and (room := room - _SHOWN_AS.get(text[end], 1)) >= 0:
        end += 1
    line = text.rfind("\n", start, end) + 1
    return line if end < len(text) and line > start else end
