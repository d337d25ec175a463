"""`intent-router chat`: a terminal chat over the REST API."""

import asyncio
from pathlib import Path
from typing import Annotated

import httpx2
import typer

from router.cli.options import LOCAL_API
from router.cli.terminal.screen import screen_of
from router.cli.terminal.session import chat as chatting


def chat(
    user: Annotated[
        str, typer.Option(help="Whom to chat as, where ROUTER_AUTH=dev: a user id.")
    ] = "alice",
    url: Annotated[str, typer.Option(help="Where the REST API is.")] = LOCAL_API,
    conversation: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Which conversation to go on with.", show_default="last"),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ROUTER_TOKEN",
            help="A bearer token in place of --user, from `intent-router token`; better in the "
            "variable.",
        ),
    ] = None,
    state: Annotated[Path | None, typer.Option(envvar="XDG_STATE_HOME", hidden=True)] = None,
    no_colour: Annotated[str | None, typer.Option(envvar="NO_COLOR", hidden=True)] = None,
) -> None:
    """Chat with the desk in this terminal.

    The API has to run: `intent-router dev`. What is piped in is answered line by line, plainly.
    """
    if conversation is not None and new:
        raise typer.BadParameter("name one of --conversation and --new")
    bearer = token or user
    if not (bearer.isascii() and bearer.isprintable()):
        raise typer.BadParameter(f"{bearer!r} is no user id, nor a token: write visible ASCII")

    try:
        valid = httpx2.URL(url).scheme in {"http", "https"} and bool(httpx2.URL(url).host)
    except httpx2.InvalidURL:
        valid = False
    if not valid:
        raise typer.BadParameter(f"--url {url!r} is no URL: write http://127.0.0.1:8000")

    kept = (state or Path.home() / ".local" / "state") / "intent-router"
    screen = screen_of(plain=no_colour is not None)
    asyncio.run(chatting(url, bearer, conversation, new=new, screen=screen, state=kept))
