"""`intent-router token`."""

import re
from datetime import timedelta
from typing import Annotated

import typer

from router.api.auth import mint
from router.cli.options import person
from router.domain.errors import MisconfiguredError
from router.settings import Settings

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def token(
    user: Annotated[str, typer.Option(help="A user id from the directory.")],
    ttl: Annotated[str, typer.Option(help="How long it is good for: 90s, 30m, 1h, 7d.")] = "1h",
    tenant: Annotated[str, typer.Option(help="Of which tenant they are.")] = "default",
) -> None:
    """Mint a signed bearer token.

    Where ROUTER_AUTH=jwt, and ROUTER_JWT_SECRET is what API and issuer share.
    """
    seconds = int(lifetime(ttl).total_seconds())
    settings = Settings.load()
    if settings.auth == "dev":
        raise MisconfiguredError(
            f"ROUTER_AUTH=dev needs no token, the user id is one (Authorization: Bearer {user}): "
            "set ROUTER_AUTH=jwt and ROUTER_JWT_SECRET to sign some"
        )
    typer.echo(mint(settings, person(settings, user, tenant).id, seconds, tenant))


def lifetime(written: str) -> timedelta:
    """A duration as it is typed.

    >>> lifetime("30m")
    datetime.timedelta(seconds=1800)

    Raises `BadParameter`: it isn't one.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,3})([smhd])", written)
    if found is None:
        raise typer.BadParameter(f"--ttl {written!r} is no duration: write 90s, 30m, 1h or 7d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
