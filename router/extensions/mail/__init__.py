"""Mail for those who approve: it asks, and a page behind a signed link decides."""

from typing import TYPE_CHECKING, Any

from router.extensions.channels import ChatPlatform

if TYPE_CHECKING:
    from fastapi import APIRouter

    from router.extensions.channels.dispatcher import Entering
    from router.extensions.mail.settings import MailSettings


class MailExtension(ChatPlatform):
    """Sends mail, and serves the pages that its links lead to."""

    name = "mail"
    requires = ("channels", "notifications")

    def settings(self) -> "type[MailSettings]":
        from router.extensions.mail.settings import MailSettings

        return MailSettings

    def mount(self, settings: Any, entering: "Entering") -> "APIRouter":
        from router.extensions.mail.mailer import mount

        return mount(settings, entering)
