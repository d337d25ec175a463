"""The chat page and the API's documentation: static files that ask nothing of other hosts."""

import json
from importlib import resources
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

from router.api.dependencies import Given
from router.api.middleware import page_policy
from router.flow.view import STATUSES

WEB = Path(str(resources.files("router") / "web"))

router = APIRouter(include_in_schema=False)


class IdentityProvider(BaseModel):
    """Where people sign in by OpenID Connect, and what the page is there. Nothing secret."""

    issuer: str
    client_id: str
    scope: str


class PageSettings(BaseModel):
    """What the page has to know before anybody has signed in."""

    auth: Literal["dev", "jwt"]
    oidc: IdentityProvider | None
    has_model: bool
    extensions: list[str]
    """The names of those in use, which may have panels."""


@router.api_route("/", methods=["GET", "HEAD"])
async def chat(services: Given) -> FileResponse:
    """Serve the chat page."""
    policy = page_policy(services.settings.oidc_issuer)
    return FileResponse(WEB / "index.html", headers={"Content-Security-Policy": policy})


@router.api_route("/docs", methods=["GET", "HEAD"])
async def docs() -> FileResponse:
    """Serve the page that shows `/openapi.json` to people."""
    return FileResponse(WEB / "docs.html")


@router.get("/web/config.json")
async def config(request: Request, services: Given) -> PageSettings:
    """Tell the page how people sign in, and which capabilities there are."""
    settings, oidc = services.settings, None
    issuer, client_id = settings.oidc_issuer, settings.oidc_client_id
    if issuer and client_id:
        oidc = IdentityProvider(issuer=issuer, client_id=client_id, scope=settings.oidc_scope)
    extensions = request.app.state.extensions
    has_model = bool(settings.models)
    return PageSettings(auth=settings.auth, oidc=oidc, has_model=has_model, extensions=extensions)


@router.get("/web/statuses.js")
async def statuses() -> Response:
    """Tell the page what the ways that a run stands are called; nothing else of it is made here."""
    words = {status: said.model_dump() for status, said in STATUSES.items()}
    script = f"export const STATUSES = {json.dumps(words, ensure_ascii=False)};\n"
    return Response(script, media_type="text/javascript")


def mount_assets(app: FastAPI) -> None:
    """Serve what the pages are made of."""
    app.mount("/web", StaticFiles(directory=WEB), name="web")
