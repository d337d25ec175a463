"""The audit trail, for operators and auditors of a tenant."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from router.api.body import StrictRoute
from router.api.deps import Auditor, Given, Paged
from router.api.plain import Name, Since
from router.api.problems import problems
from router.domain.deeds import TITLES, Act, Deed, DeedFilter
from router.domain.texts import Locale

router = APIRouter(prefix="/v1/audit", tags=["operators"], route_class=StrictRoute)


class AuditLine(BaseModel):
    """Who set about what, to what of whose, when and why."""

    id: str
    at: datetime
    who: str
    """A user id; `shell:` and an account where it was typed on the house's own machine."""
    act: Act
    title: str
    """The act in the reader's language."""
    subject: str
    """The id of the run or file, `conversation/message id`, or a pseudonym."""
    whose: str
    reason: str
    detail: str
    request_id: str
    trace_id: str

    @classmethod
    def of(cls, deed: Deed, locale: Locale) -> "AuditLine":
        """The line as somebody who speaks this language reads it."""
        title = TITLES[deed.act].within(locale)
        return cls(title=title, **deed.model_dump(exclude={"tenant"}))


class AuditPage(BaseModel):
    """Lines, newest first."""

    items: list[AuditLine]
    next: str | None


async def _filter(
    who: Name | None = None,
    act: Act | None = None,
    subject: Name | None = None,
    whose: Name | None = None,
    since: Since | None = None,
) -> DeedFilter:
    return DeedFilter(who=who, act=act, subject=subject, whose=whose, since=since)


@router.get("", responses=problems(404))
async def index(
    services: Given, caller: Auditor, page: Paged, wanted: Annotated[DeedFilter, Depends(_filter)]
) -> AuditPage:
    """Read the audit trail of one's own tenant, newest first."""
    found, following = await services.store.trail.listed(
        caller.tenant, wanted, page.after, page.limit
    )
    items = [AuditLine.of(deed, caller.locale) for deed in found]
    return AuditPage(items=items, next=following)
