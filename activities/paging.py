"""Long results, page by page."""

from pydantic import BaseModel

PAGE = 6_000
"""Characters of a page: as much as a model is shown of one result."""


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
