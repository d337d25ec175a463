"""`intent-router webhooks …`: events that other systems haven't heard of, as operators see them."""

import asyncio
import json
from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from router.cli.options import OPERATOR, TokenOption, Url, UserOption, echo_aligned
from router.cli.rest import Rest, asked

PAGE = 200

app = typer.Typer(help="List events that other systems haven't heard of, and send them again.")

AsJson = Annotated[bool, typer.Option("--json", help="One JSON array, as REST answers.")]
DeliveryStateOption = Annotated[
    Literal["dead", "waiting"], typer.Option(help="Given up, or still on their way.")
]


@app.command("list")
def list_undelivered(
    state: DeliveryStateOption = "dead",
    limit: Annotated[int, typer.Option(min=1, max=PAGE, help="How many at most.")] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON array, as REST answers.")
    ] = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """List them, newest first."""
    query = {"state": state, "limit": limit}
    work = asked(url, token or user, lambda rest: rest.get("/v1/webhooks/deliveries", **query))
    found: list[dict[str, Any]] = asyncio.run(work)["items"]
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    if not found:
        typer.echo(f"nothing is {state}", err=True)
        return
    shown = ("id", "event", "subject", "url", "error")
    echo_aligned([(one["created_at"][:16], *(one[name] for name in shown)) for one in found])


@app.command()
def retry(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="As listed.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that were given up.")] = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Have these sent again, and tried for three more days."""
    if bool(ids) == everything:
        raise typer.BadParameter("give ids, as `intent-router webhooks list` has them, or --all")

    async def sent(rest: Rest) -> int:
        wanted = ids or await _dead(rest)
        for one in wanted:
            await rest.post(f"/v1/webhooks/deliveries/{quote(one, safe='')}/retry", {})
        return len(wanted)

    typer.echo(f"{asyncio.run(asked(url, token or user, sent))} are sent again")


async def _dead(rest: Rest) -> list[str]:
    """All that were given up, the oldest first: so those of one run come in order."""
    found: list[str] = []
    query: dict[str, Any] = {"state": "dead", "limit": PAGE}
    while True:
        page = await rest.get("/v1/webhooks/deliveries", **query)
        found += [one["id"] for one in page["items"]]
        if page["next"] is None:
            return found[::-1]
        query["after"] = page["next"]
