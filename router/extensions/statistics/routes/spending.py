"""What models cost over some days, for operators: by day, person, model, role and prompt."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from router.api.dependencies import Audited, Given, Services
from router.api.errors import problems
from router.api.figures import CSV, PeriodQuery, csv_response, days_of, written_csv
from router.api.params import StrictRoute
from router.domain.costs import (
    PARTS,
    CostDimension,
    SpendingLine,
    SpendingReport,
    parts_of,
    total_of,
)
from router.domain.periods import Period
from router.domain.principals import Principal

router = APIRouter(prefix="/v1", tags=["operators"], route_class=StrictRoute)


_ONE = f" *({'|'.join(PARTS)}) *"
_SOME = f"^{_ONE}(,{_ONE})*$"
"""For the document alone: which name is none, the answer says."""


def _parts(
    by: Annotated[
        str,
        Query(
            max_length=100,
            description=f"What costs are told apart by: some of {', '.join(PARTS)}, with commas.",
            json_schema_extra={"pattern": _SOME},
        ),
    ] = "day,model",
) -> list[CostDimension]:
    return parts_of(by)


Apart = Annotated[list[CostDimension], Depends(_parts)]


@router.get("/spending", responses=problems(403))
async def show(services: Given, audit: Audited, period: PeriodQuery, by: Apart) -> SpendingReport:
    """Sum up what models cost over at most 92 days, in tokens and in money.

    A day is one of whom it was for. Costs are those of the moment, as far as the models had prices.
    """
    await audit.note("spending.read", detail=f"{days_of(period)} by={','.join(by)}")
    return await _spending(services, audit.person, period, by)


@router.get("/spending.csv", response_class=Response, responses=CSV | problems(403))
async def export(services: Given, audit: Audited, period: PeriodQuery, by: Apart) -> Response:
    """Export the same as CSV (RFC 4180), its names in the first row."""
    await audit.note("spending.read", detail=f"{days_of(period)} by={','.join(by)} csv")
    found = await _spending(services, audit.person, period, by)
    counted = [name for name in SpendingLine.model_fields if name not in PARTS]
    rows = ({**line.model_dump(), "currency": found.currency} for line in found.lines)
    name = f"spending-{'-'.join([*by, str(period.first), str(period.last)])}.csv"
    return csv_response(name, written_csv([*by, *counted, "currency"], rows))


async def _spending(
    services: Services, reader: Principal, period: Period, parts: list[CostDimension]
) -> SpendingReport:
    """What the reader's own tenant has spent."""
    currency = services.currency
    lines = await services.store.spending.lines(reader.tenant, period, parts, currency)
    return SpendingReport(
        since=period.first,
        until=period.last,
        timezone=reader.timezone,
        currency=currency,
        by=parts,
        lines=lines,
        total=total_of(lines),
    )
