"""Long results, page by page."""

from router.domain.pages import Page

PAGE = 6_000
"""Characters of a page: as much as a model is shown of one result."""
_AROUND = 600
"""Characters of a page's JSON beside its text."""
_SHOWN_AS = dict.fromkeys(map(chr, range(32)), 6) | dict.fromkeys('\n\r\t\b\f"\\', 2)
"""How many characters JSON needs for those that it writes otherwise."""


def page_of(text: str, number: int, handle: str) -> Page:
    """One page of a long result, which a model is shown whole; pages count from 1.

    Behind the last one there are pages without text.

    >>> page_of("x" * 7000, 2, "h").read_more is None
    True
    """
    pages = text_pages(text)
    return Page(
        read_more=handle if number < len(pages) else None,
        page=number,
        pages=len(pages),
        text=pages[number - 1] if number <= len(pages) else "",
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
