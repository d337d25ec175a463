"""Where the desk is as a protected resource: its address, who gives tokens for it, who may ask.

A page of a browser that reaches this machine by a name of its own (DNS rebinding) asks for that
name, and a page of another's says where it is from: both are refused.
"""

from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException

from router.api.errors import CHALLENGE
from router.domain.loopback import names_this_machine
from router.extensions.mcp_server.settings import McpServerSettings
from router.settings import Settings

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"


def challenge(request: Request) -> str:
    """Tell a request without a valid token who gives tokens."""
    settings = request.app.state.shared.services.settings.section(McpServerSettings)
    parts = urlsplit(address(settings, request))
    return f'{CHALLENGE}, resource_metadata="{parts.scheme}://{parts.netloc}{METADATA}{parts.path}"'


def address(settings: McpServerSettings, request: Request) -> str:
    """Where assistants reach the desk, as `ROUTER_MCP_URL` says it or else the request does."""
    host = request.headers.get("host", "")
    here = host if names_this_machine(host) else "localhost"
    return settings.url or f"{request.url.scheme}://{here}{PATH}"


def place(settings: McpServerSettings) -> str:
    """The path by which assistants reach the desk, which a proxy may have given it."""
    return (urlsplit(settings.url).path.rstrip("/") if settings.url else "") or PATH


def metadata(settings: Settings, request: Request) -> dict[str, Any]:
    """The document of RFC 9728: who gives tokens, and how they are brought."""
    issuers = [settings.oidc_issuer, settings.jwt_issuer]
    named = [each for each in issuers if each and each.startswith(("https://", "http://"))]
    described: dict[str, Any] = {
        "resource": address(settings.section(McpServerSettings), request),
        "resource_name": "intent-router",
        "bearer_methods_supported": ["header"],
    }
    if named:
        described["authorization_servers"] = named[:1]
    return described


def check_place(settings: McpServerSettings, request: Request) -> None:
    """Return where the request is for this place, and from no page of another's; else raise."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    own = urlsplit(settings.url).netloc.lower() if settings.url else None
    here = names_this_machine(host)
    if not here and host.lower() != own:
        raise HTTPException(
            421,
            f"The request is for {host[:200]!r}, which isn't this desk: set ROUTER_MCP_URL to the "
            "address by which assistants reach it.",
        )
    if origin is None:
        return
    place = origin.partition("://")[2].lower()
    if place != own and not (here and names_this_machine(place)):
        raise HTTPException(
            403,
            f"A page of {origin[:200]!r} asks, and the desk answers programs and its own pages "
            "alone: programs send no Origin.",
        )
