"""Errors as OpenAI's clients know them: `{"error": {message, type, param, code}}`."""

import json
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from router.api import errors

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class OpenAIFault(BaseModel):
    """What is wrong; `param` is the field at fault, such as `messages.0.content`."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(BaseModel):
    """Why a request wasn't done."""

    error: OpenAIFault


_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_CODES = {
    HTTPStatus.UNAUTHORIZED: "invalid_api_key",
    HTTPStatus.NOT_FOUND: "model_not_found",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_exceeded",
}
"""There is nothing that isn't found at these addresses but models."""


_KEPT = {"retry-after", "www-authenticate", "allow"}


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of a route's ways to fail, those that every route has included."""
    return {
        status: {"description": HTTPStatus(status).phrase, "model": OpenAIError}
        for status in sorted({*statuses, 401, 503})
    } | {"default": {"description": "Any other error.", "model": OpenAIError}}


class ProtocolRoute(APIRoute):
    """A route whose every error is said in OpenAI's shape."""

    def get_route_handler(self) -> Handler:
        """FastAPI's handler, with an answer for whatever it raises."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:  # noqa: BLE001 - whatever it is, this is how it's said
                return await failed(request, error)

        return answered


async def failed(request: Request, error: Exception) -> Response:
    """The answer to a request that came to this: the problem, put in OpenAI's words.

    What is 422 elsewhere is 400: OpenAI has no other, and clients tell it apart.
    """
    if isinstance(error, HTTPException):
        said = errors.problem(error.status_code, error.detail, headers=error.headers)
    else:
        said = await errors.answer_to(request, error)
    status = HTTPStatus(said.status_code)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        status = HTTPStatus.BAD_REQUEST
    about = json.loads(bytes(said.body))
    kept = {k: v for k, v in said.headers.items() if k in _KEPT}
    body = OpenAIError(error=_fault(status, about))
    return JSONResponse(body.model_dump(), status, headers=kept)


def _fault(status: HTTPStatus, problem: dict[str, Any]) -> OpenAIFault:
    ours = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    faults = problem.get("errors") or [{}]
    param = faults[0].get("field")
    if status == HTTPStatus.NOT_FOUND:
        param = "model"
    return OpenAIFault(
        message=problem["detail"],
        type=_TYPES.get(status, ours),
        param=param,
        code=_CODES.get(status),
    )
