"""The platforms that are configured, mounted on the application and kept posted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import APIRouter
from pydantic import SecretStr

from router.api.dependencies import AppState
from router.channels.base import Outbound
from router.channels.dispatcher import Dispatcher
from router.channels.outbox import Outbox
from router.domain.errors import MisconfiguredError
from router.settings import Settings


@dataclass
class Platforms:
    """What is mounted, and what runs beside the application for it."""

    routers: list[APIRouter] = field(default_factory=list)
    receptions: list[Dispatcher] = field(default_factory=list)
    postman: Outbox | None = None

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Post what is new for as long as the block lasts; nothing where there is no platform."""
        running = asyncio.create_task(self.postman.run()) if self.postman else None
        try:
            yield
        finally:
            if running is not None:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            for reception in self.receptions:
                await reception.aclose()


def platforms(desk: AppState) -> Platforms:
    """Those that the settings name. A platform's SDK is imported only where it is one of them.

    Raises:
        MisconfiguredError: its SDK isn't installed.
    """
    mounted, outbound = Platforms(), dict[str, Outbound]()
    settings = desk.services.settings
    postman = Outbox(desk.services, outbound)

    def reception(face: str, platform: Outbound) -> Dispatcher:
        outbound[face] = platform
        mounted.receptions.append(Dispatcher(face, desk, platform, postman))
        mounted.postman = postman
        return mounted.receptions[-1]

    if settings.slack_bot_token is not None:
        mounted.routers.append(_slack(settings, reception))
    if settings.feishu_app_id is not None:
        mounted.routers.append(_feishu(settings, reception))
    return mounted


Receptions = Callable[[str, Outbound], Dispatcher]


def _slack(settings: Settings, reception: Receptions) -> APIRouter:
    try:
        from router.channels.slack import SlackClient, SlackRoutes
    except ModuleNotFoundError as error:
        raise MisconfiguredError(
            f"ROUTER_SLACK_BOT_TOKEN is set, and {error.name} isn't installed: "
            "pip install 'intent-router[adapters]'"
        ) from None
    client = SlackClient(settings.slack_url, _known(settings.slack_bot_token))
    secret = _known(settings.slack_signing_secret)
    return SlackRoutes(secret, client, reception("slack", client)).router()


def _feishu(settings: Settings, reception: Receptions) -> APIRouter:
    from router.channels.feishu import FeishuClient, FeishuRoutes

    secret = _known(settings.feishu_app_secret)
    client = FeishuClient(settings.feishu_url, settings.feishu_app_id or "", secret)
    key, token = _known(settings.feishu_encrypt_key), _known(settings.feishu_verification_token)
    return FeishuRoutes(key, token, reception("feishu", client)).router()


def _known(secret: SecretStr | None) -> str:
    """The secret's text; the settings have seen to it that there is one."""
    if secret is None or not secret.get_secret_value():
        raise MisconfiguredError("a chat platform's secret is empty: set it, or none of them")
    return secret.get_secret_value()
