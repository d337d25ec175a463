"""Drafts of flows: what one author has written of one flow and hasn't published."""

from datetime import datetime
from typing import Literal, NamedTuple

from router.domain.records import Record

MOST_DRAFTS = 50
"""Of one person."""
LARGEST_TEXT = 128 * 1024
LARGEST_STORIES = 64 * 1024
"""Bytes."""

FlowOrigin = Literal["file", "document", "draft"]
"""Where a flow stands: in the house's folder, as the tenant's document, nowhere but in drafts."""


class FlowText(NamedTuple):
    """A flow file and the stories beside it, to the byte."""

    text: str
    stories: str = ""
    """Empty where there are none."""


class DraftBase(Record):
    """What held when a draft was begun: whoever publishes it writes over that."""

    source: FlowOrigin
    version: int | None = None
    """Of a document: which of its versions."""
    digest: str = ""
    """Of its text; empty where there was none."""


class FlowDraft(Record):
    """An author's text of a flow, and the stories that go with it."""

    flow: str
    author: str
    text: str
    """A flow file, to the byte."""
    stories: str = ""
    """A story file, to the byte."""
    revision: int
    """1 and up; each time that it is saved one more."""
    base: DraftBase
    updated_at: datetime


class DraftHead(Record):
    """A draft without its texts."""

    flow: str
    author: str
    updated_at: datetime
