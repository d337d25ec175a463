"""A page of a result that is too long to be given whole, and how to read on."""

from typing import Any

from pydantic import BaseModel, ValidationError

READ_ON = "read_more"
"""The tool that gives the next page: it takes a `handle` and the number of a `page`."""


class Page(BaseModel):
    """A part of a result's JSON. `read_more` is there where it goes on: the handle to give.

    The handle comes first: whoever cuts what is shown of a page cuts behind it.
    """

    read_more: str | None = None
    page: int
    pages: int
    text: str


def page_in(value: Any) -> Page | None:
    """The page that a result is; None where it is anything else.

    >>> page_in({"page": 1, "pages": 2, "text": "x", "read_more": "h"}).read_more
    'h'
    """
    if not isinstance(value, dict) or value.keys() != Page.model_fields.keys():
        return None
    try:
        return Page.model_validate(value, strict=True)
    except ValidationError:
        return None
