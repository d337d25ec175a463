"""Who a command acts as (`--user`), and what it notes of that in the audit trail.

It is noted before it is done: there is no token to go by here.
"""

import os
import pwd
from datetime import UTC, datetime
from difflib import get_close_matches

from router.api.params import fresh_id
from router.directory.sources import people_of
from router.domain.errors import NotFound
from router.domain.principals import DEFAULT_TENANT, Principal
from router.domain.records import SHELL, Act, AuditEntry
from router.settings import Settings
from router.store.audit import AuditTrail


def person(settings: Settings, user: str, tenant: str = DEFAULT_TENANT) -> Principal:
    """The person with this id, of that tenant.

    Raises:
        NotFound: the directory has nobody of that id there.
    """
    everyone = {one.id: one for one in people_of(settings).everyone(tenant)}
    if user not in everyone:
        close = get_close_matches(user, everyone, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"it has {', '.join(everyone) or 'none'}"
        of = "" if tenant == DEFAULT_TENANT else f" of tenant {tenant!r}"
        raise NotFound(f"--user {user!r} isn't in the directory{of}: {remedy}")
    return everyone[user]


async def noted(
    trail: AuditTrail, tenant: str, act: Act, subject: str = "", detail: str = ""
) -> None:
    """Add the line; `Unavailable` where it can't be added, and then it may not be done."""
    deed = AuditEntry(
        id=fresh_id(),
        tenant=tenant,
        at=datetime.now(UTC),
        who=f"{SHELL}{_account()}",
        act=act,
        subject=subject,
        detail=detail,
    )
    await trail.note(deed)


def _account() -> str:
    """The account that the command runs under; its number where a container gave it no name."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
