"""The chat page and the API's documentation: static files that ask nothing of other hosts."""

from importlib import resources
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

WEB = Path(str(resources.files("router") / "web"))

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
async def chat() -> FileResponse:
    """Serve the chat page."""
    return FileResponse(WEB / "index.html")


@router.api_route("/docs", methods=["GET", "HEAD"])
async def docs() -> FileResponse:
    """Serve the page that shows `/openapi.json` to people."""
    return FileResponse(WEB / "docs.html")


def mount_assets(app: FastAPI) -> None:
    """Serve what the pages are made of."""
    app.mount("/web", StaticFiles(directory=WEB), name="web")
