"""The settings of WeCom."""

import re
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from router.extensions.channels.settings import PlatformSettings
from router.settings.values import WebUrl


@dataclass(frozen=True)
class CallbackKey:
    """What callbacks are signed and encrypted with, and whom they are for."""

    token: SecretStr
    aes: SecretStr
    receiver: str


class WecomSettings(PlatformSettings):
    """What makes WeCom an entrance."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_WECOM_")
    NEEDED: ClassVar = ("corp_id", "agent_id", "secret", "token", "encoding_aes_key")

    corp_id: str = ""
    """The company's id there (企业ID); with the four below, WeCom is an entrance."""
    agent_id: int = 0
    """The number of the self-built app (AgentId)."""
    secret: SecretStr = SecretStr("")
    """The app's secret there."""
    token: SecretStr = SecretStr("")
    """What WeCom's callbacks are signed with."""
    encoding_aes_key: SecretStr = SecretStr("")
    """What WeCom's callbacks are encrypted with: 43 letters and digits."""
    url: WebUrl = "https://qyapi.weixin.qq.com"
    """Where WeCom's server API is."""
    robot_token: SecretStr = SecretStr("")
    """What the callbacks of the robot in groups are signed with, where there is one."""
    robot_encoding_aes_key: SecretStr = SecretStr("")
    """What the callbacks of the robot in groups are encrypted with."""

    @field_validator("encoding_aes_key", "robot_encoding_aes_key")
    @classmethod
    def _is_one(cls, key: SecretStr) -> SecretStr:
        if not re.fullmatch(r"(?:[A-Za-z0-9]{43})?", key.get_secret_value()):
            raise ValueError("copy the 43 letters and digits that WeCom's page has")
        return key

    @model_validator(mode="after")
    def _whole_robot(self) -> Self:
        robot = (self.robot_token, self.robot_encoding_aes_key)
        if len({bool(each.get_secret_value()) for each in robot}) > 1:
            raise ValueError(
                f"set {self.prefix()}ROBOT_TOKEN and {self.prefix()}ROBOT_ENCODING_AES_KEY both, "
                "or neither"
            )
        return self

    @property
    def app_key(self) -> CallbackKey:
        """What the app's callbacks are told by."""
        return CallbackKey(self.token, self.encoding_aes_key, self.corp_id)

    @property
    def robot_key(self) -> CallbackKey | None:
        """What the robot's callbacks are told by; None without a robot. They name no company."""
        if not self.robot_token.get_secret_value():
            return None
        return CallbackKey(self.robot_token, self.robot_encoding_aes_key, "")
