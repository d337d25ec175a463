"""`intent-router erase`: their workflows end, Temporal forgets them, then the database does."""

import asyncio
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from temporalio.client import Client

from router.cli.options import DataFolderOption, noted, settings_in
from router.contracts.conversation import FORGET, is_conversation
from router.domain.errors import Conflict, Forbidden, NotFound, Unavailable
from router.gateway.executions import (
    Execution,
    StillAtWork,
    delete_histories,
    end,
    of_person,
    until_quiet,
    wind_up,
    workflows_of,
)
from router.runtime.data_folder import made
from router.runtime.tables import check_all_loaded, migrate_all, personal_rows, pseudonymized_rows
from router.runtime.temporal import connect
from router.settings import Settings
from router.store.audit import AuditTrail
from router.store.database import Database
from router.store.erasure import Holdings, PersonErasure

WORD = "erased: an operator had everything of this person deleted"


async def erase_person(
    settings: Settings, tenant: str, person: str, *, confirmed: bool
) -> tuple[str, Holdings, int]:
    """Erase the person; their pseudonym, what there was, and how many executions. May be resumed.

    Raises `NotFound` where nothing is kept of them, `Conflict` where others wait for their word,
    `Forbidden`, with what would go, unless it is confirmed, `MisconfiguredError` if an extension
    that has tables isn't loaded.
    """
    made(settings.data)
    database = Database(settings.database_url)
    try:
        await migrate_all(database, settings)
        await check_all_loaded(database, settings)
        deleted, renamed = personal_rows(settings), pseudonymized_rows(settings)
        erasing = PersonErasure(database, tenant, person, deleted, renamed)
        client = await connect(settings)
        there = await erasing.holdings()
        theirs = of_person(tenant, person, there.workflows)
        found = await workflows_of(client, theirs)
        _check(tenant, person, there, len(found), confirmed=confirmed)
        pseudonym = f"erased-{secrets.token_hex(6)}"
        # By the pseudonym: the trail is no place to find out whose it was.
        await noted(AuditTrail(database), tenant, "person.erase", pseudonym)
        executions = await end_workflows(client, theirs, found)
        # Last the database, which knows what else is theirs: so this can be taken up again.
        await delete_histories(client, executions)
        await erasing.erase(pseudonym)
    finally:
        await database.dispose()
    return pseudonym, there, len(executions)


FINISHED_WITHIN_S = 30.0
"""Seconds that turns and calls which are under way have to end before they are cut off."""


async def end_workflows(
    client: Client, theirs: Sequence[str], found: Sequence[Execution]
) -> list[Execution]:
    """End the person's workflows, after what is under way in them, and return all there was."""
    going_on = {each.workflow_id for each in found if each.open}
    conversations = {id_ for id_ in going_on if is_conversation(id_)}
    now, within = datetime.now(UTC), FINISHED_WITHIN_S
    finishing = [wind_up(client, id_, FORGET, now, within) for id_ in sorted(conversations)]
    finishing += [until_quiet(client, id_, within) for id_ in sorted(going_on - conversations)]
    try:
        outcomes = await asyncio.gather(*finishing, return_exceptions=True)
        for outcome in outcomes:
            # What is still at work has had its time.
            if isinstance(outcome, BaseException) and not isinstance(outcome, StillAtWork):
                raise outcome
        return await end(client, theirs, WORD)
    except Unavailable as error:
        raise Unavailable(f"nothing was erased: {error}") from error


def _check(tenant: str, person: str, there: Holdings, executions: int, *, confirmed: bool) -> None:
    if not there.counts and not executions:
        raise NotFound(
            f"nothing is kept of {person!r} of tenant {tenant!r}: see how the id is spelt"
        )
    if there.awaited:
        raise Conflict(
            f"requests of others wait for {person}'s decision ({', '.join(there.awaited)}): "
            f"hand them over first, with `intent-router runs reassign --from {person} --to …`"
        )
    if there.on_hold:
        raise Conflict(
            f"a legal hold keeps what is {person}'s ({'; '.join(there.on_hold)}): nothing was "
            "erased; `intent-router legal-hold release` ends it, if it may end"
        )
    if not confirmed:
        raise Forbidden(
            f"this can't be undone: of {person} of tenant {tenant} there would be erased: "
            f"{in_short(there, executions)}; add --yes"
        )


def in_short(there: Holdings, executions: int) -> str:
    """What there is, in a line.

    >>> in_short(Holdings({"files": 2}, [], [], []), 1)
    'files: 2, workflow executions: 1'
    """
    counts = {**there.counts, "workflow executions": executions}
    return ", ".join(f"{what}: {count}" for what, count in counts.items())


def erase(
    user: Annotated[str, typer.Argument(help="A user id; they need not be in the directory.")],
    tenant: Annotated[str, typer.Option(help="The tenant that they are of.")] = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Erase it, not only say what.")] = False,
    data: DataFolderOption = None,
) -> None:
    """Erase a person: conversations, files, what is under way, histories in Temporal.

    Decisions stay on record under a pseudonym. Take them out of the directory first.
    """
    settings = settings_in(data)
    erasing = erase_person(settings, tenant, user, confirmed=yes)
    pseudonym, holdings, executions = asyncio.run(erasing)
    typer.echo(f"erased: {in_short(holdings, executions)}")
    typer.echo(f"what stays on record is of {pseudonym}")
    if runs := holdings.named:
        typer.echo(
            f"{len(runs)} requests of others go on and know them ({', '.join(runs)}): "
            "erase again once those have ended"
        )
