"""The settings of mail."""

from email.errors import MessageError
from email.headerregistry import Address
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from router.domain.loopback import is_loopback
from router.extensions.channels.settings import PlatformSettings
from router.settings.values import MIN_SECRET, WebUrl


def _sender(value: str) -> str:
    if value and addressed(value) is None:
        raise ValueError("write an address alone, such as desk@example.com")
    return value


def _long(value: SecretStr) -> SecretStr:
    if 0 < len(value.get_secret_value().encode()) < MIN_SECRET:
        raise ValueError(f"write at least {MIN_SECRET} bytes, such as `openssl rand -hex 32` gives")
    return value


def addressed(written: str) -> Address | None:
    """The address; None where nobody has such a one."""
    try:
        address = Address(addr_spec=written)
    except (MessageError, ValueError, IndexError):
        return None
    return address if address.username and address.domain else None


class MailSettings(PlatformSettings):
    """What makes the desk write mail."""

    model_config = SettingsConfigDict(env_prefix="ROUTER_MAIL_")
    NEEDED: ClassVar = ("host", "sender", "public_url", "link_secret")

    host: str = ""
    """The mail server that takes the desk's mail; with the next three, mail is written."""
    sender: Annotated[str, AfterValidator(_sender)] = ""
    """The address that it comes from. Nobody reads what is sent there."""
    public_url: Literal[""] | WebUrl = ""
    """Where people reach the desk with a browser: links in mails lead there."""
    link_secret: Annotated[SecretStr, AfterValidator(_long)] = SecretStr("")
    """What links are signed with, 32 bytes at least; with another one they are void."""
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    """Of the mail server: 587 with `starttls`, 465 with `implicit`."""
    tls: Literal["starttls", "implicit", "none"] = "starttls"
    """How the connection is encrypted; `none` is for a server on this machine, or without user."""
    user: str = ""
    """Who the desk is to the mail server, where that asks."""
    password: SecretStr = SecretStr("")
    """The password of that user."""
    link_hours: Annotated[int, Field(ge=1, le=720)] = 72
    """How long a link can be used; each reminder has a new one."""

    @model_validator(mode="after")
    def _nothing_in_the_clear(self) -> Self:
        """A password, and a link that decides, go over no wire that others read."""
        if bool(self.user) != bool(self.password.get_secret_value()):
            raise ValueError("set ROUTER_MAIL_USER and ROUTER_MAIL_PASSWORD both, or neither")
        if self.user and self.tls == "none" and not is_loopback(self.host):
            raise ValueError("ROUTER_MAIL_TLS=none would send the password in the clear")
        address = urlsplit(self.public_url)
        if (
            self.public_url
            and address.scheme != "https"
            and not is_loopback(address.hostname or "")
        ):
            raise ValueError("ROUTER_MAIL_PUBLIC_URL: write https://, for links decide")
        return self
