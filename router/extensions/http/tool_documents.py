"""Documents of a tenant that declare HTTP tools."""

from pathlib import Path

from router.extensions.http.declarations import tools_in_text
from router.extensions.http.source import GROUP
from router.outbound.client import Sender
from router.tool.configuration_kind import ConfigurationKind, DeclaredTools, TenantAccess


class ToolDocuments(ConfigurationKind):
    """Documents of declared tools, each of which may stand in for one of the deployment's files."""

    name = "tools"
    replaces = (GROUP,)

    def read(self, path: Path, text: str, access: TenantAccess) -> DeclaredTools:
        """Return the tools of a document."""
        loaded = tools_in_text(path, text, access.variables, Sender(access.guard))
        return DeclaredTools(loaded.tools)
