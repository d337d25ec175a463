"""`intent-router mcp`: the desk for other agents, over the Model Context Protocol.

On this process's input and output, or over HTTP on loopback.
"""

import asyncio
import json
import logging
import sys
from contextlib import aclosing
from typing import Annotated, Any

import mcp_types as types
import typer
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from router.cli.mcp_tools import ALWAYS, OfferedTool, Session, by_name
from router.cli.options import LOCAL_API
from router.cli.rest import Rest, RestRefused
from router.domain.errors import Forbidden, InvalidInput, NotFound, RouterError, Unavailable

LOOPBACK = "127.0.0.1"
INSTRUCTIONS = """\
The front desk of a company, as one of its people. Say what is wanted; what comes back is a turn.
Nothing is done in this person's name before they have confirmed it: show them what is asked.
"""

_log = logging.getLogger(__name__)


class McpTools:
    """Lists and runs the tools of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def offered(self) -> dict[str, OfferedTool]:
        """Every tool by name; those of the desk itself win."""
        try:
            capabilities = await self._session.capabilities()
        except Unavailable as error:
            _log.warning("%s", error)
            capabilities = []
        named = [by_name(each) for each in capabilities if not each.get("client")]
        return {tool.name: tool for tool in (*named, *ALWAYS)}

    async def list_tools(
        self, _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """What can be done here, by this person, now."""
        tools = [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema.schema,
                annotations=tool.annotations,
            )
            for tool in (await self.offered()).values()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, _: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """What a tool comes to; a refusal is a result too, for whoever asked to read."""
        try:
            answer = await self._run(params.name, params.arguments or {})
        except RouterError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(
            content=[types.TextContent(text=text)], structured_content=answer
        )

    async def _run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        offered = await self.offered()
        if name not in offered:
            raise NotFound(f"there is no tool {name[:80]!r} here; list the tools")
        problems = offered[name].schema.problems(arguments)
        if problems:
            raise InvalidInput("; ".join(problems[:10]))
        return await offered[name].run(self._session, arguments)


def server_of(session: Session) -> Server[Any]:
    """The server of a session, for any transport."""
    tools = McpTools(session)
    return Server(
        "intent-router",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )


async def over_stdio(url: str, token: str) -> None:
    """Serve whoever started this process, until its input ends.

    Raises `Unavailable` and `Forbidden` where nobody could be served.
    """
    async with aclosing(Rest(url, token)) as rest:
        session = Session(rest, keeps=True)
        server = server_of(session)
        await _greet(session, url)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


async def over_http(url: str, token: str, port: int) -> None:
    """Serve programs of this machine until cancelled; all of them as the same person.

    Raises as `over_stdio` does.
    """
    async with aclosing(Rest(url, token)) as rest:
        session = Session(rest, keeps=False)
        app = server_of(session).streamable_http_app(host=LOOPBACK)
        config = uvicorn.Config(
            app, host=LOOPBACK, port=port, log_level="warning", timeout_graceful_shutdown=2
        )
        await _greet(session, url)
        await uvicorn.Server(config).serve()


async def _greet(session: Session, url: str) -> None:
    """Say where the desk is, once it is there and knows the person.

    Whoever starts a server looks at how it ends, not at what its first call would have said.
    """
    try:
        await session.capabilities()
    except RestRefused as error:
        raise Forbidden(
            f"the API won't have this person: {error} Name a user id of its directory with --user "
            "where ROUTER_AUTH=dev, else a valid token in ROUTER_TOKEN"
        ) from None
    # Whatever logs writes to stderr: stdout belongs to the protocol.
    print(f"intent-router mcp: the desk at {url}", file=sys.stderr)


def mcp(
    url: Annotated[str, typer.Option(help="Where the REST API is.")] = LOCAL_API,
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
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=1,
            max=65535,
            help="Serve http://127.0.0.1:PORT/mcp instead of stdin and stdout. Every program of "
            "this machine then acts as that person.",
        ),
    ] = None,
) -> None:
    """Serve the desk to other agents as an MCP server.

    It is a client of the REST API, which has to run: what is begun here is as durable as what is
    begun in a chat, and nothing is confirmed but by whoever calls.
    """
    bearer = user or token
    if not bearer or (user and token):
        raise typer.BadParameter("name one of --user and --token (or ROUTER_TOKEN)")
    if not url.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--url {url!r} is no URL: write http://127.0.0.1:8000")

    asyncio.run(over_stdio(url, bearer) if http is None else over_http(url, bearer, http))
