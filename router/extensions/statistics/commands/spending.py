"""`intent-router spending`: what models cost over some days, as a table or for a spreadsheet."""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from router.cli.options import OPERATOR, TokenOption, Url, UserOption, echo_aligned
from router.cli.rest import asked
from router.domain.costs import PARTS

TableFormat = Literal["table", "csv", "json"]

COUNTED = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
HEADINGS = ("calls", "prompt", "cached", "completion", "cost")


def spending(  # noqa: PLR0913, PLR0917 - each is an option
    since: Annotated[str | None, typer.Option("--from", "--since", help="The first day.")] = None,
    until: Annotated[str | None, typer.Option("--to", "--until", help="The last day.")] = None,
    days: Annotated[int | None, typer.Option(help="How many days, in place of --from.")] = None,
    by: Annotated[
        str, typer.Option(help=f"What it is told apart by: some of {','.join(PARTS)}.")
    ] = "day,model",
    form: Annotated[
        TableFormat, typer.Option("--format", help="csv and json have all columns.")
    ] = "table",
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Sum up what models cost, in tokens and in money; of the last seven days by default."""
    number = None if days is None else str(days)
    about = {"since": since, "until": until, "days": number, "by": by}
    who = token or user
    if form == "csv":
        table = asyncio.run(asked(url, who, lambda rest: rest.text("/v1/spending.csv", **about)))
        typer.echo(table, nl=False)
        return
    found = asyncio.run(asked(url, who, lambda rest: rest.get("/v1/spending", **about)))
    if form == "json":
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        _echo(found)


def _echo(found: Mapping[str, Any]) -> None:
    typer.echo(f"{found['since']} to {found['until']}, {found['timezone']}, in {found['currency']}")
    if not found["lines"]:
        typer.echo("no model was asked")
        return
    parts = found["by"]
    rows = [(*(str(line[part]) for part in parts), *_counts(line)) for line in found["lines"]]
    last = ("total", *[""] * (len(parts) - 1)) if parts else ()
    if parts:
        rows.append((*last, *_counts(found["total"])))
    echo_aligned([(*parts, *HEADINGS), *rows], numbers=True)
    if left := found["total"]["unpriced_calls"]:
        typer.echo(f"at least: {left} calls had no price, or one in another currency")


def _counts(line: Mapping[str, Any]) -> tuple[str, ...]:
    cost = "-" if line["cost"] is None else line["cost"]
    return (*(str(line[name]) for name in COUNTED), cost)
