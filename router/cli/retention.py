"""`intent-router legal-hold …` and `intent-router expire`: what is kept, and what goes."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from router.cli.options import (
    DataFolderOption,
    echo_aligned,
    noted,
    settings_in,
    shell_account,
    with_store,
)
from router.domain.errors import MisconfiguredError, NotFound
from router.store.legal_holds import LegalHold
from router.store.store import Store

legal_hold = typer.Typer(help="Keep what is a person's, or a run's, from expiring and erasing.")

OwnerOption = Annotated[str | None, typer.Option(help="Whose: a user id.")]
RunOption = Annotated[str | None, typer.Option(help="Of which run: its id.")]
Tenant = Annotated[str, typer.Option(help="The tenant that they are of.")]


@legal_hold.command()
def place(
    reason: Annotated[str, typer.Option(help="Why; it is shown to whoever would erase them.")],
    user: OwnerOption = None,
    run: RunOption = None,
    tenant: Tenant = "default",
    data: DataFolderOption = None,
) -> None:
    """Keep conversations, files and results, whatever their age, until it is released."""
    kind, subject = _of(user, run)

    async def placed(store: Store) -> None:
        by = shell_account()
        now = datetime.now(UTC)
        hold = LegalHold(kind=kind, subject=subject, reason=reason, placed_by=by, placed_at=now)
        await noted(store.trail, tenant, "legal_hold.place", subject, reason)
        await store.legal_holds.place(tenant, hold)

    asyncio.run(with_store(settings_in(data), placed))
    typer.echo(f"kept until it is released: {kind} {subject}")


@legal_hold.command()
def release(
    user: OwnerOption = None,
    run: RunOption = None,
    tenant: Tenant = "default",
    data: DataFolderOption = None,
) -> None:
    """Let it expire and be erased again."""
    kind, subject = _of(user, run)

    async def released(store: Store) -> None:
        await noted(store.trail, tenant, "legal_hold.release", subject)
        if not await store.legal_holds.release(tenant, kind, subject):
            raise NotFound(
                f"there is no legal hold on {kind} {subject!r} of tenant {tenant!r}: "
                "`intent-router legal-hold list` has those that there are"
            )

    asyncio.run(with_store(settings_in(data), released))
    typer.echo(f"released: {kind} {subject}")


@legal_hold.command("list")
def list_holds(tenant: Tenant = "default", data: DataFolderOption = None) -> None:
    """List what is kept, by whom and why, newest first."""
    listed = with_store(settings_in(data), lambda store: store.legal_holds.listed(tenant))
    holds = asyncio.run(listed)
    if not holds:
        typer.echo("nothing is on hold", err=True)
        return
    rows = [(h.kind, h.subject, str(h.placed_at)[:16], h.placed_by, h.reason) for h in holds]
    echo_aligned(rows)


def expire(
    yes: Annotated[
        bool, typer.Option("--yes", help="However much goes: clock and setting are right.")
    ] = False,
    data: DataFolderOption = None,
) -> None:
    """Delete what is older than ROUTER_RETENTION_DAYS.

    As every process does once a day.
    """
    settings = settings_in(data)
    days = settings.retention_days
    if days is None:
        raise MisconfiguredError(
            "ROUTER_RETENTION_DAYS isn't set, so nothing expires: set it to a number of days"
        )

    async def expired(store: Store) -> int:
        if yes:
            await noted(store.trail, "default", "conversations.expire", detail=f"{days} days")
        return await store.retention.expire(days, confirmed=yes)

    typer.echo(f"{asyncio.run(with_store(settings, expired))} conversations have expired")


def _of(user: str | None, run: str | None) -> tuple[Any, str]:
    """What is meant: the kind and its id."""
    if user is not None and run is None:
        return "person", user
    if run is not None and user is None:
        return "run", run
    raise typer.BadParameter("give either --user or --run: whose, or of which run")
