"""The office as an HTTP service: its families' routes, who calls, and how it says no.

Callers are told by headers, as the gallery's tool files send them: `X-Tenant`, `X-User`
(percent-encoded), `Accept-Language`, and `Idempotency-Key` with what changes something.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Self
from urllib.parse import unquote

from fastapi import APIRouter, Depends, FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

import company.office
from company.office.ledger import Holder, Ledger, LedgerEntry
from router.domain.errors import Conflict, InvalidInput, NotFound, RouterError
from router.domain.locale import Locale, Localised
from router.domain.principals import DEFAULT_TENANT

_STATUSES: Mapping[type[RouterError], int] = {InvalidInput: 422, NotFound: 404, Conflict: 409}
_MISSING = Localised(zh="缺少请求头 X-User", en="the header X-User is missing")


def routers() -> list[APIRouter]:
    """The routes of every family: what a module beside this one calls `router`."""
    names = (found.name for found in pkgutil.iter_modules(company.office.__path__))
    modules = (importlib.import_module(f"company.office.{n}") for n in names if n != "__main__")
    return [each.router for each in modules if hasattr(each, "router")]


def office(ledger: Ledger | None = None) -> FastAPI:
    """The service over a ledger; without one over a new one in memory."""
    app = FastAPI(title="The sample office", docs_url="/docs")
    app.state.ledger = ledger or Ledger()
    for router in routers():
        app.include_router(router)
    for error in _STATUSES:
        app.add_exception_handler(error, _refused)
    app.add_exception_handler(RequestValidationError, _unread)
    return app


async def _ledger(request: Request) -> Ledger:
    ledger: Ledger = request.app.state.ledger
    return ledger


async def _holder(
    x_user: Annotated[str | None, Header()] = None,
    x_tenant: Annotated[str, Header()] = DEFAULT_TENANT,
) -> Holder:
    if not x_user:
        raise InvalidInput(_MISSING)
    return Holder(tenant=unquote(x_tenant), person=unquote(x_user))


Records = Annotated[Ledger, Depends(_ledger)]
"""What the office has on record."""
Asker = Annotated[Holder, Depends(_holder)]
"""Whom the call is made for."""
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=300)]
"""What makes a second try of a call the same as one."""


class OfficeMoney(BaseModel):
    """Money, as flows have it."""

    amount: Annotated[Decimal, Field(gt=0)]
    currency: str


class Undone(BaseModel):
    """Which call is taken back; its arguments come along, for systems that know it by those."""

    undoes: Annotated[str, Field(min_length=1, max_length=300)]
    """The key that the call had."""


class OnRecord(BaseModel):
    """What there is of something; without an id a call that was taken back had made none."""

    id: str | None
    status: str = "withdrawn"

    @classmethod
    def of(cls, entry: LedgerEntry | None, **more: Any) -> Self:
        """An entry as it is told, and what a family tells beside; None: there is no such entry."""
        return cls(id=entry.id, status=entry.status, **more) if entry else cls(id=None)


async def _refused(request: Request, error: Exception) -> PlainTextResponse:
    assert isinstance(error, RouterError)  # noqa: S101 - it is registered for those
    status = next(code for kind, code in _STATUSES.items() if isinstance(error, kind))
    locale: Locale = "zh" if _wants_chinese(request) else "en"
    return PlainTextResponse(error.said.within(locale), status)


def _wants_chinese(request: Request) -> bool:
    return request.headers.get("accept-language", "").startswith("zh")


async def _unread(_: Request, error: Exception) -> PlainTextResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    faults = (f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
    return PlainTextResponse("; ".join(faults), 422)
