"""The one place where errors become answers: RFC 9457 `application/problem+json`, always."""

import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount

from router.domain import errors
from router.domain.errors import reason_of
from router.domain.locale import Locale

log = logging.getLogger(__name__)

CHALLENGE = 'Bearer realm="intent-router"'
"""What a request without a valid token is told to bring, unless an extension says more."""
MEDIA_TYPE = "application/problem+json"
BRANCH = re.compile(r"[a-z-]+\[.*\]", re.DOTALL)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

ALWAYS_POSSIBLE = (401, 408, 413, 422, 429, 503)

STATUS: dict[type[errors.RouterError], int] = {
    errors.InvalidInput: 422,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.DuplicateKey: 422,
    errors.Outdated: 412,
    errors.Conflict: 409,
    errors.TooManyRequests: 429,
    errors.Unavailable: 503,
    errors.RouterError: 500,
}


class FieldFault(BaseModel):
    """One field at fault."""

    field: str
    detail: str


class ProblemDetails(BaseModel):
    """Why a request wasn't done. `errors` is there where fields are at fault.

    With `outcome` it isn't known yet whether it was done; `message_id` is what a message may be
    sent again under.
    """

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldFault] | None = None
    outcome: Literal["unknown"] | None = None
    message_id: str | None = None


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of a route's ways to fail, those that every route has included."""
    schema = {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}
    content = {MEDIA_TYPE: {"schema": schema}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted({*statuses, *ALWAYS_POSSIBLE})
    }


def problem(
    status: int,
    detail: str,
    faults: Sequence[FieldFault] = (),
    headers: Mapping[str, str] | None = None,
    outcome: Literal["unknown"] | None = None,
    message_id: str | None = None,
) -> Response:
    """The answer to a request that failed."""
    phrase = HTTPStatus(status).phrase
    type_ = f"urn:intent-router:problem:{phrase.lower().replace(' ', '-')}"
    body = ProblemDetails(
        type=type_,
        title=phrase,
        status=status,
        detail=detail,
        errors=list(faults) or None,
        outcome=outcome,
        message_id=message_id,
    )
    shown = body.model_dump(exclude_none=True)
    return JSONResponse(shown, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Have every error of the application answered here."""
    app.add_exception_handler(errors.RouterError, _router_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _surprise)


async def answer_to(request: Request, error: Exception) -> Response:
    """What a request that failed with this is answered, also where it is too late for a status."""
    if isinstance(error, HTTPException):
        return await _http_error(request, error)
    known = isinstance(error, errors.RouterError)
    return await (_router_error if known else _surprise)(request, error)


def status_of(error: Exception) -> int:
    """The status of an error of this project's."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def _challenge(request: Request) -> str:
    write = getattr(request.app.state, "challenges", {}).get(request.url.path)
    return write(request) if write else CHALLENGE


async def _router_error(request: Request, error: Exception) -> Response:
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR or not isinstance(error, errors.RouterError):
        return await _surprise(request, error)
    faults: list[FieldFault] = []
    headers: dict[str, str] = {}
    locale: Locale = getattr(request.state, "locale", "en")
    match error:
        case errors.InvalidInput(problems=found):
            faults = [FieldFault(field=each.field, detail=each.within(locale)) for each in found]
        case errors.Unauthenticated():
            headers = {"WWW-Authenticate": _challenge(request)}
        case errors.TooManyRequests(retry_after=seconds):
            headers = {"Retry-After": str(seconds)}
        case errors.Overloaded(retry_after=seconds):
            log.warning("%s %s is answered 503: %s", request.method, request.url.path, error)
            headers = {"Retry-After": str(seconds)}
        case errors.Unavailable():
            log.warning("%s %s is answered 503: %s", request.method, request.url.path, error)
            headers = {"Retry-After": "5"}
    passes = isinstance(error, errors.TooManyRequests | errors.Unavailable)
    message_id = getattr(request.state, "message_id", None) if passes else None
    outcome: Literal["unknown"] | None = None
    if isinstance(error, errors.Unconfirmed):
        outcome = "unknown"
    return problem(status, error.said.within(locale), faults, headers, outcome, message_id)


async def _validation_error(_: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    faults = [
        FieldFault(
            field=_field(fault["loc"]),
            detail=reason_of(fault),
        )
        for fault in found
    ]
    detail = "; ".join(f"{fault.field}: {fault.detail}" for fault in faults[:5])
    return problem(422, detail, faults)


def _field(place: Sequence[str | int]) -> str:
    """`("body", "action", "value")` as `action.value`, the whole body as `body`.

    How pydantic calls a branch of a union, `literal['never']`, is nothing that somebody sent.
    """
    sent = [each for each in map(str, place[1:]) if not BRANCH.fullmatch(each)]
    return ".".join(sent) or str(place[0])


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return await _surprise(request, error)
    detail, headers = error.detail, dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # All methods of the address: the router names those of its first route alone.
        routes = [route for route in request.app.routes if not isinstance(route, Mount)]
        scopes = {method: {**request.scope, "method": method} for method in METHODS}
        full = (m for m, s in scopes.items() if any(r.matches(s)[0] is Match.FULL for r in routes))
        if allowed := ", ".join(full):
            headers["Allow"] = allowed
    if detail == HTTPStatus(error.status_code).phrase:
        allow = headers.get("Allow")
        there_is = f"there is {allow}" if allow else "see /docs for what there is"
        detail = f"{request.method} {request.url.path}: {detail.lower()}; {there_is}"
    return problem(error.status_code, detail, headers=headers)


async def _surprise(request: Request, error: Exception) -> Response:
    """What nobody foresaw: the log gets all of it, the caller nothing that helps an attacker."""
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "This failed for a reason that was written to the log of the server.")
