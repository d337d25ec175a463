"""Tools of MCP servers in stories, which connect to no server.

A story or a flow names such a tool. Its stand-in answers what the story says, and takes any
arguments: only the server knows which ones the tool has.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue

from router.domain.errors import PermanentToolError
from router.domain.locale import Localised
from router.domain.source_lines import SourceLine
from router.settings import Settings
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import Arguments, ArgumentSchema, SchemaImplementation
from router.tool.kinds.mcp_servers import servers_of
from router.tool.mcp.file import ServerEntry, group_of, names, prefix_of
from router.tool.tool import Tool, ToolOptions, titled

_ANY_ARGUMENTS: dict[str, JsonValue] = {"type": "object", "additionalProperties": True}


@dataclass(frozen=True)
class StandInImplementation(SchemaImplementation):
    """Refuses the call: a call that the story answers doesn't come here."""

    name: str
    kind = "mcp"

    async def call(self, _: Arguments, __: ToolContext, ___: Dependencies) -> JsonValue:
        """Raise `PermanentToolError`, which says what to write in the story."""
        raise PermanentToolError(
            Localised(
                zh=f"故事里不连接 MCP 服务器，请写明结果：tool_answers: {{{self.name}: …}}",
                en="stories connect to no MCP server: say what it answers, as in "
                f"tool_answers: {{{self.name}: …}}",
            )
        )


def make_stand_ins(settings: Settings, called: Iterable[str]) -> dict[str, list[Tool]]:
    """Return stand-ins for those of the `called` tools that belong to MCP servers.

    Returns:
        Tools by the group that the registry expects them in.
    """
    wanted = sorted(set(called))
    found: dict[str, list[Tool]] = {}
    for server, entry in servers_of(settings).items():
        own_names = {here: own for own, here in names(server, entry.tools).items()}
        for name in wanted:
            if name.startswith(prefix_of(server)):
                own = own_names.get(name, name.removeprefix(prefix_of(server)))
                made = _stand_in(name, own, entry, SourceLine(str(settings.mcp_servers), 1))
                found.setdefault(group_of(server), []).append(made)
    return found


def _stand_in(name: str, own: str, server: ServerEntry, source: SourceLine) -> Tool:
    said = server.entry(own)
    return Tool(
        name=name,
        title=said.title or titled(own),
        description=own,
        examples=said.examples,
        permission=said.permission or "write",
        roles=server.roles if said.roles is None else said.roles,
        confirm=said.confirm,
        idempotent=said.idempotent,
        timeout=said.timeout or server.timeout,
        retries=said.retries,
        implementation=StandInImplementation(ArgumentSchema(_ANY_ARGUMENTS), name),
        source=source,
        options=ToolOptions(per_minute=None),
        description_zh=said.description_zh,
    )
