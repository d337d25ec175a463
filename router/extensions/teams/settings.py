"""The settings of Microsoft Teams."""

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, SecretStr
from pydantic_settings import SettingsConfigDict

from router.extensions.channels.settings import PlatformSettings
from router.settings.values import WebUrl

_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _guid(value: str) -> str:
    """A name such as contoso.com leads to a tenant, but no activity and no token has it."""
    written = value.strip().lower()
    if written and not _GUID.fullmatch(written):
        raise ValueError(
            "write the id that the portal shows, such as 11111111-2222-3333-4444-555555555555"
        )
    return written


Guid = Annotated[str, AfterValidator(_guid)]


class TeamsSettings(PlatformSettings):
    """What makes Microsoft Teams an entrance."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_TEAMS_")
    NEEDED: ClassVar = ("app_id", "app_password", "tenant_id")

    app_id: Guid = ""
    """The id of the bot's app registration; with the two below, Teams is an entrance."""
    app_password: SecretStr = SecretStr("")
    """A client secret of the app registration."""
    tenant_id: Guid = ""
    """The Entra tenant whose people are let in; what others do is left alone."""
    service_url: WebUrl = "https://smba.trafficmanager.net/teams"
    """Where a chat that nobody has begun yet is opened. Of a gateway, at an address elsewhere than
    with Microsoft, all that has the same origin is trusted."""
    login_url: WebUrl = "https://login.microsoftonline.com"
    """Where the bot gets its token."""
    metadata_url: WebUrl = "https://login.botframework.com/v1/.well-known/openidconfiguration"
    """The OpenID metadata of who signs the Bot Framework's tokens."""
