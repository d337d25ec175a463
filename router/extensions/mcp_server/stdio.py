"""`intent-router mcp`: the desk's `/mcp` over stdin and stdout, for programs that start one.

Messages go there as they come, and answers come back: what the desk is to an assistant is said in
one place, and what is begun here is as durable as what is begun in a chat.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import Annotated, Any

import anyio
import httpx2
import typer
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from router.cli.options import Url, api_url
from router.cli.rest import Rest
from router.client import Refused
from router.domain.errors import Forbidden
from router.domain.loopback import may_be_proxied

PATIENCE = 3600.0
"""Seconds that nothing may come for: somebody is thinking about what they were asked."""
CONNECTING = 5.0
PROBLEM = "application/problem+json"


class ReportedTransport(httpx2.AsyncBaseTransport):
    """Says what the API, or its absence, has against a message as an answer to that message."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._inner = httpx2.AsyncHTTPTransport(trust_env=may_be_proxied(url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, or why there is none."""
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError:
            return _error(
                503,
                f"no API answers at {self._url}: start `intent-router dev`, or name another with "
                "--url",
            )
        if response.headers.get("content-type", "") != PROBLEM:
            return response
        said = json.loads(await response.aread())
        await response.aclose()
        detail = said.get("detail") if isinstance(said, dict) else None
        return _error(response.status_code, str(detail or f"it answered {response.status_code}"))

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._inner.aclose()


def _error(status: int, message: str) -> httpx2.Response:
    error = {"code": INTERNAL_ERROR, "message": message}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error})


class Bridge:
    """Passes messages on, each with the headers that HTTP wants of its revision."""

    def __init__(self) -> None:
        self._revision: str | None = None
        """What a handshake has agreed on."""

    async def run(self, url: str, token: str) -> None:
        """Pass them on until one side ends."""
        headers = {"Authorization": f"Bearer {token}"}
        client = httpx2.AsyncClient(
            headers=headers,
            transport=ReportedTransport(url),
            timeout=httpx2.Timeout(PATIENCE, connect=CONNECTING),
        )
        async with (
            client,
            streamable_http_client(f"{url.rstrip('/')}/mcp", http_client=client) as desk,
            stdio_server() as program,
            anyio.create_task_group() as group,
        ):
            group.start_soon(self._pass_back, desk[0], program[1])
            await self._pass_on(program[0], desk[1])
            group.cancel_scope.cancel()

    async def _pass_on(self, incoming: Any, outgoing: Any) -> None:
        async for each in incoming:
            if isinstance(each, SessionMessage):
                metadata = ClientMessageMetadata(headers=self._headers(each.message))
                await outgoing.send(SessionMessage(each.message, metadata=metadata))

    async def _pass_back(self, incoming: Any, outgoing: Any) -> None:
        async for each in incoming:
            if isinstance(each, SessionMessage):
                message = each.message
                if isinstance(message, JSONRPCResponse) and "protocolVersion" in message.result:
                    self._revision = str(message.result["protocolVersion"])
                await outgoing.send(SessionMessage(message))

    def _headers(self, message: JSONRPCMessage) -> dict[str, str]:
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            return self._agreed
        params: Mapping[str, Any] = message.params or {}
        meta = params.get("_meta")
        revision = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, Mapping) else None
        if not isinstance(revision, str):
            return self._agreed
        headers = {MCP_PROTOCOL_VERSION_HEADER: revision, MCP_METHOD_HEADER: message.method}
        name = params.get(NAME_BEARING_METHODS.get(message.method, ""))
        # What is no name is for the desk to refuse: a program's slip mustn't end its connection.
        if not isinstance(name, str) or not name:
            return headers
        return {**headers, MCP_NAME_HEADER: encode_header_value(name)}

    @property
    def _agreed(self) -> dict[str, str]:
        return {MCP_PROTOCOL_VERSION_HEADER: self._revision} if self._revision else {}


async def over_stdio(url: str, token: str) -> None:
    """Serve whoever started this process until its input ends; `Forbidden`: it can't be."""
    async with aclosing(Rest(url, token)) as rest:
        try:
            await rest.get("/v1/capabilities", kind="flow")
        except Refused as error:
            raise Forbidden(
                f"the API won't have this person: {error} Name a user id of its directory with "
                "--user where ROUTER_AUTH=dev, else a valid token in ROUTER_TOKEN"
            ) from None
    # Whatever logs writes to stderr: stdout belongs to the protocol.
    print(f"intent-router mcp: the desk at {url}", file=sys.stderr)
    await Bridge().run(url, token)


def mcp(
    url: Url = None,
    user: Annotated[
        str | None, typer.Option(help="Whom to act as, where ROUTER_AUTH=dev: a user id.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ROUTER_TOKEN",
            help="A bearer token instead, from `intent-router token`; better in the variable.",
        ),
    ] = None,
) -> None:
    """Serve the desk to an assistant over stdin and stdout, as one person.

    It passes on to `/mcp` of the API, which has to run; a program that speaks HTTP needs only that.
    """
    bearer = user or token
    if not bearer or (user and token):
        raise typer.BadParameter("name one of --user and --token (or ROUTER_TOKEN)")
    at = api_url(url)
    if not at.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--url {at!r} is no URL: write http://127.0.0.1:8000")
    asyncio.run(over_stdio(at, bearer))
