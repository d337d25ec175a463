"""The check of `intent-router doctor` of MCP servers."""

import asyncio

from router.cli.tools import in_english_only
from router.domain.errors import MisconfiguredError
from router.domain.source_lines import SourceLine
from router.extensions.mcp.connection import Away, look
from router.extensions.mcp.file import ServerEntry
from router.extensions.mcp.settings import McpSettings
from router.extensions.mcp.source import servers_of
from router.extensions.mcp.tools import ServerOffer
from router.settings import Settings

LOOK_WITHIN_S = 30.0
"""A package runner fetches a server before it starts it."""


async def check_servers(settings: Settings) -> str:
    """Check that every MCP server is there, and return what each has."""
    entries, file = servers_of(settings), settings.section(McpSettings).servers

    async def looked(name: str, entry: ServerEntry) -> tuple[bool, str]:
        try:
            listing = await look(name, entry, settings.environment, LOOK_WITHIN_S)
        except Away as away:
            return False, f"{name} isn't there: {away}"
        there = f"{name}: {', '.join(tool.name for tool in listing.tools) or 'no tools'}"
        source = SourceLine(str(file), 1)
        foreign = in_english_only(ServerOffer(name, entry, listing, (), source, name).tools())
        return True, f"{there}\n{foreign}" if foreign else there

    found = await asyncio.gather(*(looked(*entry) for entry in entries.items()))
    said = [words for _, words in found]
    if not all(fine for fine, _ in found):
        remedy = f"correct {file}, or mend the server; the others are used"
        raise MisconfiguredError("\n".join([*said, remedy]))
    return "\n".join(said) or "none named by ROUTER_MCP_SERVERS"
