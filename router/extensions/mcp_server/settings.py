"""The settings of the MCP server."""

from pydantic_settings import SettingsConfigDict

from router.settings import Section
from router.settings.values import WebUrl


class McpServerSettings(Section):
    """How assistants reach the desk."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_MCP_")

    url: WebUrl | None = None
    """Where assistants reach the desk by the Model Context Protocol, such as
    `https://desk.example.com/mcp`. None: by the names of this machine alone."""
