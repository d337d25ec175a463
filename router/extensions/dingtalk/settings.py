"""The settings of DingTalk."""

from typing import ClassVar, Literal, Self

from pydantic import SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from router.extensions.channels.settings import PlatformSettings
from router.settings.values import WebUrl


class DingTalkSettings(PlatformSettings):
    """What makes DingTalk an entrance."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_DINGTALK_")
    NEEDED: ClassVar = ("app_key", "app_secret", "corp_id", "card_template_id")

    app_key: str = ""
    """The app's client id there; with the three below, DingTalk is an entrance."""
    app_secret: SecretStr = SecretStr("")
    """The app's client secret, by which its requests are told from anybody's."""
    corp_id: str = ""
    """The company's id there: what people of others do is left alone."""
    card_template_id: str = ""
    """The interactive card that `docs/dingtalk.md` describes, as it is called once published."""
    robot_code: str = ""
    """The robot's code, where it isn't the app's key."""
    mode: Literal["http", "stream"] = "http"
    """How DingTalk's events come in: to `/adapters/dingtalk/…`, or by a connection of ours."""
    public_url: WebUrl | None = None
    """Where DingTalk reaches this API, with `http`: it is told to send presses of buttons there."""
    url: WebUrl = "https://api.dingtalk.com"
    """Where DingTalk's Open API is."""
    media_url: WebUrl = "https://oapi.dingtalk.com"
    """Where files are uploaded."""

    @model_validator(mode="after")
    def _reached_somehow(self) -> Self:
        if self.is_complete and self.mode == "http" and self.public_url is None:
            raise ValueError(
                "ROUTER_DINGTALK_PUBLIC_URL isn't set: set it to where DingTalk reaches this API, "
                "such as https://desk.example.com, or set ROUTER_DINGTALK_MODE=stream"
            )
        return self

    @property
    def robot(self) -> str:
        """The robot's code."""
        return self.robot_code or self.app_key
