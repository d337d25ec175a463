"""What commands note in the audit trail before they do it: there is no token to go by here."""

import os
import pwd
from datetime import UTC, datetime

from router.api.identifiers import fresh_id
from router.domain.deeds import SHELL, Act, Deed
from router.domain.ports import Trail


async def noted(trail: Trail, tenant: str, act: Act, subject: str = "", detail: str = "") -> None:
    """Add the line; `Unavailable` where it can't be added, and then it may not be done."""
    deed = Deed(
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
