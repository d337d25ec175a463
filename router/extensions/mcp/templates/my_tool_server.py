"""Sample request, as an MCP server over stdin and stdout."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

server = MCPServer("my_tool", log_level="WARNING", instructions="The sample request.")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def look_up(
    topic: Annotated[str, Field(description="What to look up, in a few words", max_length=60)],
) -> dict[str, str]:
    """Look up the sample request."""
    return {"topic": " ".join(topic.split())}


if __name__ == "__main__":
    server.run("stdio")
