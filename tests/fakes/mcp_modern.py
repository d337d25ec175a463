"""An MCP server of the newest protocol, made with the official library: run as a script.

    mcp_modern.py [--http PORT]

`ask` wants to know a seat first, of whoever calls, and so does `book`, in the middle of the call;
`grow` gets another tool.
"""

import argparse
from pathlib import Path
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

PROGRAM = str(Path(__file__))


class Seat(BaseModel):
    seat: str


server = MCPServer("modern", log_level="WARNING")


async def wanted(name: str) -> Elicit[Seat]:
    return Elicit(f"Which seat for {name}?", Seat)


@server.tool()
async def ask(name: str, wanted: Annotated[Seat, Resolve(wanted)]) -> str:
    """Books a seat."""
    return f"{wanted.seat} for {name}"


@server.tool()
async def book(name: str, ctx: Context) -> str:
    """Books a seat, as servers did it before."""
    found = await ctx.elicit(f"Which seat for {name}?", Seat)
    return found.action


@server.tool()
async def grow(ctx: Context) -> str:
    """Gets another tool."""

    async def sing() -> str:
        """Sings."""
        return "la"

    server.add_tool(sing)
    await ctx.notify_tools_changed()
    return "grown"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int)
    given = parser.parse_args()
    if given.http is None:
        server.run("stdio")
    else:
        app = server.streamable_http_app(host="127.0.0.1")
        uvicorn.run(app, port=given.http, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
