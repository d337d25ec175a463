"""`intent-router traffic`: what went on over some days, as tables or for a spreadsheet."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import typer

from router.cli.options import OPERATOR, TokenOption, Url, UserOption, echo_aligned
from router.cli.rest import asked

DayOption = Annotated[str | None, typer.Option(help="A day, such as 2026-11-23.")]
Row = tuple[str, ...]

DAYS = ("day", "turns", "misses", "handoffs")
FLOWS = (
    *("flow", "begun", "completed", "rejected", "cancelled", "expired", "failed"),
    *("under_way", "abandoned"),
)
APPROVALS = ("flow", "decided", "waiting", "median_hours", "p90_hours")
MODEL = ("day", "calls", "prompt_tokens", "completion_tokens")
OF_FLOW: dict[str, Row] = {
    "versions": ("version", *FLOWS[1:8]),
    "states": (
        *("state", "entered", "here", "median_hours", "p90_hours", "returned"),
        *("cancelled", "expired", "failed", "silent"),
    ),
    "ways": ("source", "event", "target", "taken", "share"),
    "slots": ("slot", "runs", "again", "times"),
    "approvers": ("person", "decided", "approved", "sent_back", "median_hours", "p90_hours"),
    "reasons": ("state", "times", "reason"),
}
"""Tables of one flow, in the order in which they are shown, with their columns."""


def traffic(  # noqa: PLR0913, PLR0917 - each is an option
    since: DayOption = None,
    until: DayOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As REST answers.")] = False,
    as_csv: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="TABLE",
            help="One table as CSV: days, flows, approvals or model; with --flow days, versions, "
            "states, ways, slots, approvers or reasons.",
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(help="How this flow goes: its states and ways, slots, approvers."),
    ] = None,
    version: Annotated[
        int | None, typer.Option(help="With --flow, only runs of this version of it.")
    ] = None,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Sum up turns, runs, approvals and what models cost; of the last seven days by default."""
    if as_json and as_csv is not None:
        raise typer.BadParameter("--json and --csv are two forms of the same: name one")
    if version is not None and flow is None:
        raise typer.BadParameter("--version is of a flow: name it by --flow")
    days: dict[str, object] = {"since": since, "until": until}
    who = token or user
    path = "/v1/traffic"
    if flow is not None:
        path, days = f"/v1/flow-statistics/{quote(flow, safe='')}", {**days, "version": version}
    if as_csv is not None:
        about = {**days, "table": as_csv}
        table = asyncio.run(asked(url, who, lambda rest: rest.text(f"{path}.csv", **about)))
        typer.echo(table, nl=False)
        return
    found = asyncio.run(asked(url, who, lambda rest: rest.get(path, **days)))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        (_echo if flow is None else _echo_flow)(found)


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


def _echo_flow(found: Mapping[str, Any]) -> None:
    typer.echo(f"{found['flow']}, {found['since']} to {found['until']}, {found['timezone']}")
    for heading, names in OF_FLOW.items():
        if found[heading]:
            typer.echo(f"\n{heading}")
            echo_aligned(_table(names, found[heading]), numbers=True)


def _table(names: Row, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Its names first."""
    cells = [tuple(_cell(row.get(name, 0)) for name in names) for row in rows]
    return [names, *cells]


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
