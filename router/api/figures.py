"""Figures of some days, as they are asked for: which days, tables for spreadsheets, pictures."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Response

from router.api.audit import in_words
from router.api.dependencies import OPERATOR, Author, Caller, RequestWork
from router.api.files import disposition
from router.api.params import DayParameter
from router.domain.errors import Forbidden, InvalidInput
from router.domain.locale import Localised
from router.domain.periods import MOST_DAYS, Period
from router.drawing import Graph, Journey, can_be_drawn, svg_of
from router.drawing.svg import MOST_STATES, MOST_WAYS

FigureRow = dict[str, Any]


SinceQuery = Annotated[DayParameter | None, Query(description="The first day.")]
Until = Annotated[DayParameter | None, Query(description="The last day; today by default.")]
DaysQuery = Annotated[
    int | None, Query(ge=1, le=MOST_DAYS, description="How many, in place of `since`; else 7.")
]


async def _period(
    caller: Caller, since: SinceQuery = None, until: Until = None, days: DaysQuery = None
) -> Period:
    if OPERATOR not in caller.roles:
        raise Forbidden("Only an operator may see the traffic of the house.")
    return Period.read(since, until, caller.timezone, datetime.now(UTC), days)


async def _authors_period(
    author: Author, since: SinceQuery = None, until: Until = None, days: DaysQuery = None
) -> Period:
    return Period.read(since, until, author.timezone, datetime.now(UTC), days)


PeriodQuery = Annotated[Period, Depends(_period)]
"""The days that an operator asks about."""
AskedByAuthor = Annotated[Period, Depends(_authors_period)]
"""The days that an author, or an operator, asks about."""


CSV: dict[int | str, Any] = {
    200: {"description": "The table.", "content": {"text/csv": {"schema": {"type": "string"}}}}
}


def days_of(period: Period) -> str:
    """Which days these are, for the audit trail."""
    return in_words({"since": period.first, "until": period.last})


def written_csv(columns: Sequence[str], rows: Iterable[FigureRow]) -> str:
    """A table as CSV, its names first; no cell of it is a formula to a spreadsheet."""
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, columns)
    writer.writeheader()
    writer.writerows({name: _harmless(row.get(name, 0)) for name in columns} for row in rows)
    return written.getvalue()


def csv_response(name: str, content: str) -> Response:
    """A table to be saved under this name."""
    headers = {"Content-Disposition": disposition(name)}
    return Response(content, media_type="text/csv", headers=headers)


INERT = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""A picture may look as it says, and do nothing."""
SVG = "image/svg+xml"


def picture_response(drawn: str, media_type: str = SVG) -> Response:
    """A picture to be looked at."""
    return Response(drawn, media_type=media_type, headers={"Content-Security-Policy": INERT})


async def svg_response(work: RequestWork, graph: Graph, over: Journey | None = None) -> Response:
    """A flow to be looked at, with what goes over it; raises `InvalidInput` for too large a one."""
    if not can_be_drawn(graph):
        states, ways = len(graph.nodes), len(graph.edges)
        most = f"{MOST_STATES}/{MOST_WAYS}"
        raise InvalidInput(
            Localised(
                zh=f"这个流程有 {states} 个状态、{ways} 条路，画不成图（最多 {most}）。",
                en=f"This flow can't be drawn: it has {states} states and {ways} ways between "
                f"them; {most} are the most.",
            )
        )
    return picture_response(await work.run(svg_of, graph, over))


def _harmless(cell: Any) -> Any:
    """Spreadsheets compute what begins like a formula: an apostrophe makes it a text."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


FORMULA = ("=", "+", "-", "@", "\t", "\r")
