"""`intent-router traffic`: what went on over some days, as tables or for a spreadsheet."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from router.cli.options import OPERATOR, Token, Url, User, echo_aligned
from router.cli.rest import asked

Day = Annotated[str | None, typer.Option(help="A day, such as 2026-11-23.")]
Row = tuple[str, ...]

DAYS = ("day", "turns", "misses", "handoffs")
FLOWS = (
    *("flow", "begun", "completed", "rejected", "cancelled", "expired", "failed"),
    *("under_way", "abandoned"),
)
APPROVALS = ("flow", "decided", "waiting", "median_hours", "p90_hours")
MODEL = ("day", "calls", "prompt_tokens", "completion_tokens")


def traffic(
    since: Day = None,
    until: Day = None,
    as_json: Annotated[bool, typer.Option("--json", help="As REST answers.")] = False,
    as_csv: Annotated[
        str | None,
        typer.Option("--csv", metavar="TABLE", help="days, flows, approvals or model, as CSV."),
    ] = None,
    user: User = OPERATOR,
    url: Url = None,
    token: Token = None,
) -> None:
    """Sum up turns, runs, approvals and what models cost; of the last seven days by default."""
    if as_json and as_csv is not None:
        raise typer.BadParameter("--json and --csv are two forms of the same: name one")
    days, who = {"since": since, "until": until}, token or user
    if as_csv is not None:
        about = {**days, "table": as_csv}
        table = asyncio.run(asked(url, who, lambda rest: rest.text("/v1/traffic.csv", **about)))
        typer.echo(table, nl=False)
        return
    found = asyncio.run(asked(url, who, lambda rest: rest.get("/v1/traffic", **days)))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        _echo(found)


def _echo(found: Mapping[str, Any]) -> None:
    typer.echo(f"{found['since']} to {found['until']}, {found['timezone']}")
    for heading, names in (
        ("days", DAYS),
        ("flows", FLOWS),
        ("approvals", APPROVALS),
        ("model", MODEL),
    ):
        if found[heading]:
            typer.echo(f"\n{heading}")
            echo_aligned(_table(names, found[heading]), numbers=True)
    kinds = sorted({kind for day in found["days"] for kind in day["routes"]})
    if kinds:
        typer.echo("\nroutes")
        routes = [{"day": day["day"], **day["routes"]} for day in found["days"]]
        echo_aligned(_table(("day", *kinds), routes), numbers=True)


def _table(names: Row, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Its names first."""
    cells = [tuple(_cell(row.get(name, 0)) for name in names) for row in rows]
    return [names, *cells]


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
