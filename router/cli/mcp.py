"""`intent-router mcp`: the desk for other agents, over the Model Context Protocol."""

import asyncio
from typing import Annotated

import typer


def mcp(
    url: Annotated[str, typer.Option(help="Where the REST API is.")] = "http://127.0.0.1:8000",
    user: Annotated[
        str | None, typer.Option(help="Whom to act as, where ROUTER_AUTH=dev: a user id.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="INTENT_ROUTER_TOKEN",
            help="A bearer token instead, from `intent-router token`; better in the variable.",
        ),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=1,
            max=65535,
            help="Serve http://127.0.0.1:PORT/mcp instead of stdin and stdout. Every program of "
            "this machine then acts as that person.",
        ),
    ] = None,
) -> None:
    """Serve the desk to other agents as an MCP server.

    It is a client of the REST API, which has to run: what is begun here is as durable as what is
    begun in a chat, and nothing is confirmed but by whoever calls.
    """
    bearer = user or token
    if not bearer or (user and token):
        raise typer.BadParameter("name one of --user and --token (or INTENT_ROUTER_TOKEN)")
    if not url.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--url {url!r} is no URL: write http://127.0.0.1:8000")

    from router.cli.mcp_face.server import over_http, over_stdio

    asyncio.run(over_stdio(url, bearer) if http is None else over_http(url, bearer, http))
