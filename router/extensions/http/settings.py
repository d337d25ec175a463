"""The settings of declared tools."""

from pathlib import Path

from pydantic_settings import SettingsConfigDict

from router.settings import Section
from router.settings.settings import Origins


class HttpSettings(Section):
    """Where files of declared tools are, and where their requests may go."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_HTTP_")

    tools: Path | None = None
    """A folder of JSON files that declare tools, or one such file; None is the project's own."""
    allow: Origins = []
    """Origins that tools which files declare may call over http or at private addresses too, as
    JSON: `["http://127.0.0.1:9000"]`. Any public one that a tool's file names over https is
    allowed. Tenants' documents reach none of these: `ROUTER_TENANTS` says which they reach."""
