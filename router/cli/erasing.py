"""`intent-router erase`."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer


def erase(
    user: Annotated[str, typer.Argument(help="A user id; they need not be in the directory.")],
    tenant: Annotated[str, typer.Option(help="The tenant that they are of.")] = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Erase it, not only say what.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="The folder of all state.", show_default=".data")
    ] = None,
) -> None:
    """Erase a person: conversations, files, what is under way, histories in Temporal.

    Decisions stay on record under a pseudonym. Take them out of the directory first.
    """
    from router.cli import erasure
    from router.settings import Settings

    given: dict[str, Any] = {} if data is None else {"data": data}
    settings = Settings.load(**given)
    erased = asyncio.run(erasure.erase(settings, tenant, user, confirmed=yes))
    typer.echo(f"erased: {erasure.in_short(erased.holdings, erased.executions)}")
    typer.echo(f"what stays on record is of {erased.pseudonym}")
    if runs := erased.holdings.named:
        typer.echo(
            f"{len(runs)} requests of others go on and know them ({', '.join(runs)}): "
            "erase again once those have ended"
        )
