"""The settings of Feishu."""

from typing import ClassVar

from pydantic import SecretStr
from pydantic_settings import SettingsConfigDict

from router.extensions.channels.settings import PlatformSettings
from router.settings.values import WebUrl


class FeishuSettings(PlatformSettings):
    """What makes Feishu an entrance."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_FEISHU_")
    NEEDED: ClassVar = ("app_id", "app_secret", "encrypt_key", "verification_token")

    app_id: str = ""
    """With the three below, Feishu is an entrance."""
    app_secret: SecretStr = SecretStr("")
    """The app's secret there."""
    encrypt_key: SecretStr = SecretStr("")
    """What Feishu's events are encrypted with."""
    verification_token: SecretStr = SecretStr("")
    """What Feishu's events have to carry."""
    url: WebUrl = "https://open.feishu.cn"
    """Where Feishu's Open API is."""
