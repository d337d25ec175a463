"""Erasing a person: their workflows end, Temporal forgets them, then the database does."""

import secrets
from dataclasses import dataclass

from router.api.temporal import connect
from router.cli.witness import noted
from router.contracts.forgetting import delete_histories, end, workflows_of
from router.dev.data_folder import made
from router.domain.errors import Conflict, Forbidden, NotFound
from router.settings import Settings
from router.store.database import Database
from router.store.erasing import Erasing, Holdings
from router.store.trail import DatabaseTrail

WORD = "erased: an operator had everything of this person deleted"


@dataclass(frozen=True)
class Erased:
    """What there was of a person, and who stands in the records in their place."""

    pseudonym: str
    holdings: Holdings
    executions: int


async def erase(settings: Settings, tenant: str, person: str, *, confirmed: bool) -> Erased:
    """Erase the person. It may be called again after it was cut short, and goes on.

    Raises:
        NotFound: nothing is kept of them.
        Conflict: requests of others wait for their decision.
        Forbidden: it isn't confirmed; it says what would go.
        Unavailable: the database or Temporal is out of reach; nothing is done without either.
    """
    made(settings.data)
    database = Database(settings.database_url)
    try:
        await database.migrate()
        erasing = Erasing(database, tenant, person)
        client = await connect(settings)
        there = await erasing.holdings()
        found = await workflows_of(client, tenant, person, there.workflows)
        _check(tenant, person, there, len(found), confirmed=confirmed)
        pseudonym = f"erased-{secrets.token_hex(6)}"
        # By the pseudonym: the trail is no place to find out whose it was.
        await noted(DatabaseTrail(database), tenant, "person.erase", pseudonym)
        executions = await end(client, tenant, person, there.workflows, WORD)
        # Last the database, which knows what else is theirs: so this can be taken up again.
        await delete_histories(client, executions)
        await erasing.erase(pseudonym)
    finally:
        await database.dispose()
    return Erased(pseudonym, there, len(executions))


def _check(tenant: str, person: str, there: Holdings, executions: int, *, confirmed: bool) -> None:
    if not there.counts and not executions:
        raise NotFound(
            f"nothing is kept of {person!r} of tenant {tenant!r}: see how the id is spelt"
        )
    if there.awaited:
        raise Conflict(
            f"requests of others wait for {person}'s decision ({', '.join(there.awaited)}): "
            "have an operator reassign them first"
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
