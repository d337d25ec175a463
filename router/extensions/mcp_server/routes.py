"""`/mcp`: the desk for assistants, over HTTP in the newest revision of the protocol and before.

Each request is answered by itself, so that every process answers any.
"""

import logging
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from router.api.auth import CallerSession
from router.api.dependencies import Given, OpenTurns, Owned, Person
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey
from router.domain.errors import NotFound
from router.domain.principals import Principal
from router.extensions.mcp_server.calls import McpDesk
from router.extensions.mcp_server.handshake import HandshakeExchange, is_handshake
from router.extensions.mcp_server.resource import (
    METADATA,
    PATH,
    check_place,
    metadata,
    place,
)
from router.extensions.mcp_server.server import McpServer
from router.extensions.mcp_server.settings import McpServerSettings
from router.store.live import Live

router = APIRouter(tags=["mcp"])

# It says of each request that it begins and ends.
logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)


class McpAnswer(Response):
    """What a request is answered with, in the revision that it is of."""

    def __init__(
        self, server: Server[Any], live: Live, caller: Principal, session: CallerSession
    ) -> None:
        super().__init__()
        self._server = server
        self._handshake = HandshakeExchange(server, live, caller, session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it."""
        if is_handshake(Headers(scope=scope).get(MCP_PROTOCOL_VERSION_HEADER)):
            await self._handshake(scope, receive, send)
            return
        manager = StreamableHTTPSessionManager(app=self._server, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


async def _own_place(request: Request, services: Given) -> None:
    check_place(services.settings.section(McpServerSettings), request)


@router.post(
    PATH,
    response_class=Response,
    include_in_schema=False,
    dependencies=[Depends(_own_place)],
    responses=problems(400, 403),
)
async def serve(
    request: Request,
    services: Given,
    turns: OpenTurns,
    ownership: Owned,
    caller: Person,
    key: IdempotencyKey,
) -> Response:
    """Answer one message of the Model Context Protocol, as the person whose token it has."""
    session: CallerSession = request.state.session
    desk = McpDesk(services, turns, ownership, caller)
    server = McpServer(desk, session, key).protocol()
    return McpAnswer(server, services.store.live, caller, session)


@router.get(METADATA, include_in_schema=False)
@router.get(f"{METADATA}/{{path:path}}", include_in_schema=False)
async def describe(request: Request, services: Given, path: str = "") -> Response:
    """Say who gives tokens for the desk (RFC 9728), by its path here or where a proxy has it."""
    if path and f"/{path}" not in {PATH, place(services.settings.section(McpServerSettings))}:
        raise NotFound("Nothing that is protected is there.")
    described = metadata(services.settings, request)
    return JSONResponse(described, headers={"Access-Control-Allow-Origin": "*"})
