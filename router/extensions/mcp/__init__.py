"""Tools of MCP servers, none of whose words are trusted."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from router.extension import Check, Extension, TrustedCheck

if TYPE_CHECKING:
    from router.extensions.mcp.settings import McpSettings
    from router.tool.configuration_kind import ConfigurationKind
    from router.tool.kinds import ToolSource


class McpExtension(Extension):
    """Adds tools of the MCP servers in a file, and of those that tenants' documents declare."""

    name = "mcp"

    def settings(self) -> "type[McpSettings]":
        from router.extensions.mcp.settings import McpSettings

        return McpSettings

    def tool_sources(self) -> "Sequence[type[ToolSource]]":
        from router.extensions.mcp.source import McpSource

        return [McpSource]

    def configuration_kinds(self) -> "Sequence[type[ConfigurationKind]]":
        from router.extensions.mcp.tenant_servers import ServerDocuments

        return [ServerDocuments]

    def checks(self) -> Mapping[str, Check]:
        from router.extensions.mcp.checks import check_servers

        return {"mcp servers": TrustedCheck(check_servers, "ROUTER_MCP_SERVERS")}

    def tool_templates(self) -> Mapping[str, str]:
        return {"mcp": "router.extensions.mcp.scaffold:new_mcp_tool"}

    def file_schemas(self) -> Mapping[str, Path]:
        return {"mcp": Path(__file__).parent / "schemas" / "mcp.json"}
