"""The chat page and the API's documentation: static files that ask nothing of other hosts."""

import json
from importlib import resources
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

from router.api.brand import accent_sheet
from router.api.dependencies import Given
from router.api.middleware import page_policy
from router.domain.locale import Localised
from router.flow.view import STATUSES
from router.settings.brand import logo_type

LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
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
    title: Localised | None
    """What the company calls the page; null: as the assistant."""


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
    return PageSettings(
        auth=settings.auth,
        oidc=oidc,
        has_model=has_model,
        extensions=extensions,
        title=settings.page_title,
    )


@router.api_route("/web/logo", methods=["GET", "HEAD"])
def logo(services: Given) -> Response:
    """Serve the company's logo, or the router's."""
    file = services.settings.page_logo
    if file is None:
        return FileResponse(WEB / "icon.svg")
    content = file.read_bytes()
    # An SVG can hold scripts. An image never runs them; the policy is for who opens it by itself.
    return Response(
        content,
        media_type=logo_type(content) or "application/octet-stream",
        headers={"Content-Security-Policy": LOGO_POLICY},
    )


@router.get("/web/brand.css")
async def brand(services: Given) -> Response:
    """Serve the company's colour as a style sheet, which is empty if there is none."""
    accent = services.settings.page_accent
    return Response(accent_sheet(accent) if accent else "", media_type="text/css")


@router.get("/web/statuses.js")
async def statuses() -> Response:
    """Tell the page what the ways that a run stands are called; nothing else of it is made here."""
    words = {status: said.model_dump() for status, said in STATUSES.items()}
    script = f"export const STATUSES = {json.dumps(words, ensure_ascii=False)};\n"
    return Response(script, media_type="text/javascript")


def mount_assets(app: FastAPI) -> None:
    """Serve what the pages are made of."""
    app.mount("/web", StaticFiles(directory=WEB), name="web")
