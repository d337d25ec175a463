"""The settings of Slack."""

from typing import ClassVar

from pydantic import SecretStr
from pydantic_settings import SettingsConfigDict

from router.extensions.channels.settings import PlatformSettings
from router.settings.values import WebUrl


class SlackSettings(PlatformSettings):
    """What makes Slack an entrance."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_SLACK_")
    NEEDED: ClassVar = ("bot_token", "signing_secret")

    signing_secret: SecretStr = SecretStr("")
    """By which Slack's requests are told from anybody's; with the token, Slack is an entrance."""
    bot_token: SecretStr = SecretStr("")
    """By which it posts there."""
    url: WebUrl = "https://slack.com/api"
    """Where Slack's Web API is."""
