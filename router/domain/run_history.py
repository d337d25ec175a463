"""What a flow run has been through: the entries of its history, and why it waits for an operator.

People read the texts. Programs decide on an entry's `event` and on the fields of an `Incident`.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator

from router.domain.value import Value
from router.domain.visible_text import one_line


class HistoryEntry(Value):
    """One entry of a flow run's history."""

    at: datetime
    state: str
    event: str
    """A code, such as `began` or `held`."""
    by: str | None = None
    comment: str | None = None
    """A text for people, in the language of whoever wrote it."""


IncidentKind = Literal["call", "undo", "lookup", "approver", "data", "code", "lost", "over_limit"]


MAX_DETAIL_CHARS = 300
"""Characters of an incident's detail; the history has the whole error."""


class Incident(Value):
    """Why a run waits for an operator."""

    kind: IncidentKind
    """What failed: a call, an undo or a lookup; or who or what is missing: an approver, usable
    data, deployed code, the workflow (`lost`) or room for more (`over_limit`)."""
    at: datetime
    """Since when the run waits."""
    name: str = ""
    """The tool, flow or lookup that failed."""
    detail: Annotated[str, AfterValidator(lambda text: one_line(text, MAX_DETAIL_CHARS))] = ""
    """For operators, in one line: the error."""
    people: list[str] = []
    """The ids of the approvers who are gone."""
