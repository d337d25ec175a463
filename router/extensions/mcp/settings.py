"""The settings of the MCP client."""

from pathlib import Path

from pydantic_settings import SettingsConfigDict

from router.settings import Section


class McpSettings(Section):
    """Which MCP servers have tools for the assistant."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_MCP_")

    servers: Path | None = None
    """A JSON file of MCP servers; None is none: they are programs that somebody chose to run."""
