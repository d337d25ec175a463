"""The OpenAI-compatible front end: to whatever program asks a model, we are a model."""

import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from router.api.dependencies import Caller, Given, OpenTurns
from router.api.idempotency import IdempotencyKey
from router.api.params import events
from router.extensions.openai import jobs, request, response
from router.extensions.openai.identity import Posted, Speaker, message_id
from router.extensions.openai.request import check_said
from router.extensions.openai.response import ProtocolRoute, described

PATH = "/v1/chat/completions"
REFUSED = ("HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Methods that nothing here has: refused in OpenAI's words, with what there is instead."""

router = APIRouter(tags=["openai"], route_class=ProtocolRoute)

_EXAMPLE = {"model": request.ROUTER, "messages": [{"role": "user", "content": "我有哪些申请？"}]}
_COMPLETION = {"schema": {"$ref": "#/components/schemas/Completion"}, "example": _EXAMPLE}
_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": _COMPLETION}}
}
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A chat completion, or with `stream` its chunks.",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            **events("`data` is a chunk of the completion, and last `[DONE]`."),
        },
    }
}


@router.post(
    PATH,
    response_class=Response,
    openapi_extra=_BODY,
    responses={**_ANSWER, **described(400, 404, 409, 413, 415, 429)},
)
async def complete(
    request: Request,
    services: Given,
    turns: OpenTurns,
    speaker: Speaker,
    asked: Posted,
    key: IdempotencyKey,
) -> Response:
    """Say the last message of the chat to the router, and get its answer as a model's.

    The conversation is the router's own: earlier messages aren't said again.
    """
    id_ = f"chatcmpl-{message_id(asked, request.headers, key)}"
    about = response.Envelope(id_, int(time.time()), asked.model)
    job = jobs.answer(asked, request.headers, speaker.locale)
    if job is not None:
        return response.at_once(asked, about, job)
    check_said(asked)
    exchange = await response.exchange(services, speaker, asked, request.headers, key)
    return await response.answered(request, exchange, turns, asked, about)


@router.get("/v1/models", responses=described())
async def index(services: Given, caller: Caller) -> dict[str, Any]:
    """List what may be asked as a model: the router, and each skill by itself."""
    return {"object": "list", "data": [response.model(n) for n in request.names(services, caller)]}


@router.get("/v1/models/{model:path}", responses=described(404))
async def show(services: Given, caller: Caller, model: str) -> dict[str, Any]:
    """Get one of the models."""
    request.skill_meant(model, services, caller)
    return response.model(model)


@router.api_route(PATH, methods=["GET", *REFUSED], include_in_schema=False, status_code=405)
@router.api_route("/v1/models", methods=["POST", *REFUSED], include_in_schema=False)
async def refuse(request: Request) -> Response:
    """Nothing else can be done here."""
    path = request.url.path
    allowed = {"Allow": "POST" if path == PATH else "GET"}
    raise HTTPException(405, f"{request.method} {path}: method not allowed.", allowed)
